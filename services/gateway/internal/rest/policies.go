package rest

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// PolicyRegistration is the answer to storing a policy.
type PolicyRegistration struct {
	jsonview.Policy
	Created  bool      `json:"created" doc:"False when exactly this content was there already."`
	Warnings []Finding `json:"warnings"`
}

// PolicyList is one page of policies, by name, without definitions.
type PolicyList struct {
	Policies      []jsonview.Policy `json:"policies"`
	NextPageToken string            `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// PromoteRequest makes a version live.
type PromoteRequest struct {
	Version         int64 `json:"version" doc:"The version, from 1: a shadow, or an older one again."`
	ExpectedVersion int64 `json:"expected_version,omitzero" doc:"409 unless this version is live; 0 or absent for any."`
}

// AttachRequest names what a policy is to judge the calls of.
type AttachRequest struct {
	To []jsonview.Attachment `json:"to" doc:"What to attach it to, at most 100."`
}

// PolicyUsage has the counts of the limits of a policy.
type PolicyUsage struct {
	Usages     []jsonview.Usage     `json:"usages"`
	Exceptions []jsonview.Exception `json:"exceptions" doc:"Those from its rules that have not ended."`
}

// SimulateRequest replays recorded calls against a candidate.
type SimulateRequest struct {
	Definition jsontext.Value `json:"definition" doc:"The candidate: a policy."`
	Since      string         `json:"since,omitzero" doc:"Only calls from this time on: RFC 3339, or how long ago, e.g. 24h."`
	RunID      string         `json:"run_id,omitzero" doc:"Only calls of this run."`
}

// Simulation has the decisions that a candidate would change.
type Simulation struct {
	Replayed  int64                      `json:"replayed" doc:"Recorded calls that were replayed."`
	Changes   []jsonview.SimulatedChange `json:"changes" doc:"Those that would be decided otherwise, at most 1000."`
	Truncated bool                       `json:"truncated" doc:"True when there are more."`
	Undecided int64                      `json:"undecided" doc:"Recorded calls that were not replayed: the candidate looks at values that the log does not have, such as the input."`
}

const policyDefinition = "A policy: role, and optionally name, default, allow, ask, deny, session_budget_usd and email_config."

// policies serves the routes of policies.
type policies struct {
	policies policyv1.PolicyServiceClient
	now      func() time.Time
}

func (h *policies) routes(add func(route)) {
	const path = "/v1/policies/{name}"
	name := inPath("name", "Name of the policy.")
	one := answers[jsonview.Policy](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/policies", id: "registerPolicy", summary: "Store a policy as its next version",
		about: "The body is the definition itself, as JSON or YAML. It is live at once, or a shadow that is judged and not enforced. " +
			"201 for a new version, 200 when this content was there already; 422 with every problem when it is invalid.",
		params: registrationParams(
			inQuery("name", "Name of the policy; that in the definition when absent."),
			param{name: "shadow", in: "query", about: "Judge it alongside the live version, and do not enforce it.", values: []string{"true", "false"}},
		), byDigest: true,
		body: definitionBody, definition: policyDefinition,
		answers: answers[PolicyRegistration](http.StatusCreated, http.StatusOK), serve: h.register,
	})
	add(route{
		method: http.MethodGet, path: "/v1/policies", id: "listPolicies", summary: "List policies",
		params: []param{pageSizeParam, pageTokenParam}, answers: answers[PolicyList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodPost, path: "/v1/policies/simulate", id: "simulatePolicy", summary: "The decisions of a policy on recorded calls",
		about: "Replays recorded calls without storing a result.",
		body:  jsonBody, request: reflect.TypeFor[SimulateRequest](), maxBody: maxDocumentBody,
		answers: answers[Simulation](http.StatusOK), serve: taking(h.simulate),
	})
	add(route{
		method: http.MethodGet, path: path, id: "getPolicy", summary: "Live version of a policy",
		params: []param{name}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: path + "/versions/{n}", id: "getPolicyVersion", summary: "One version of a policy",
		params:  []param{name, {name: "n", in: "path", about: "The version, from 1.", integer: true}},
		answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPost, path: path + "/promote", id: "promotePolicy", summary: "Make a version live",
		params: []param{name}, body: jsonBody, request: reflect.TypeFor[PromoteRequest](), answers: one, serve: taking(h.promote),
	})
	add(route{
		method: http.MethodDelete, path: path, id: "deletePolicy", summary: "Delete a policy without attachments",
		about:  "Its versions stay readable by number.",
		params: []param{name}, answers: noContent(), serve: h.delete,
	})
	add(route{
		method: http.MethodGet, path: path + "/usage", id: "getPolicyUsage", summary: "The counts of the limits of a policy",
		params: []param{
			name, inQuery("principal", "Whose usage, for limits per principal."), inQuery("session", "Whose usage, for limits per session."),
			inQuery("human", "Whose usage, for limits per human: the name of a person, or the issuer, # and the name there."),
		},
		fields:  map[string]string{"session_id": "session"},
		answers: answers[PolicyUsage](http.StatusOK), serve: h.usage,
	})
	h.exceptionRoutes(add)
	h.attachmentRoutes(add, path+"/attachments/{kind}/{id}", name)
}

func (h *policies) attachmentRoutes(add func(route), path string, name param) {
	params := []param{
		name,
		{name: "kind", in: "path", about: "Its attachments.", values: jsonview.AttachmentKinds()},
		inPath("id", "Name of the workflow, process, role, principal, human, group or agent, or the session's id, percent-encoded; * for everyone."),
	}
	add(route{
		method: http.MethodPost, path: "/v1/policies/{name}/attachments", id: "attachPolicies", summary: "Make a policy judge the calls of several things",
		about:  "In one commit: all are attached, or none. A repeat has no effect.",
		params: params[:1], body: jsonBody, request: reflect.TypeFor[AttachRequest](),
		answers: answers[jsonview.Policy](http.StatusOK), serve: taking(h.attachAll),
	})
	add(route{
		method: http.MethodPut, path: path, id: "attachPolicy", summary: "Make a policy judge the calls of something",
		about: "Of a workflow, a process, a session with all below it, an agent's sessions, a role, a principal, a human, a group, or everyone in " +
			"the namespace. A policy of a human or group also judges calls whose human or groups are not known. A repeat has no effect.",
		params: params, fields: map[string]string{"to": "id"}, answers: answers[jsonview.Policy](http.StatusOK), serve: h.attach,
	})
	add(route{
		method: http.MethodDelete, path: path, id: "detachPolicy", summary: "End that",
		params: params, fields: map[string]string{"from": "id"},
		answers: noContent(), serve: h.detach,
	})
}

// answerPolicy returns the policy of a response.
func answerPolicy[R interface{ GetPolicy() *policyv1.Policy }](resp R, err error) (*answer, error) {
	return shown(resp.GetPolicy(), err, jsonview.PolicyOf)
}

func (h *policies) register(c *call) (*answer, error) {
	shadow, err := c.flag("shadow")
	if err != nil {
		return nil, err
	}
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	on, err := c.registration()
	if err != nil {
		return nil, err
	}
	resp, err := h.policies.RegisterPolicy(c.ctx, &policyv1.RegisterPolicyRequest{
		Name: c.query.Get("name"), Definition: text, Shadow: shadow, IdempotencyKey: c.header(headerIdempotency),
		ExpectedVersion: on.version, ExpectedDigest: on.digest, Staged: on.staged, DryRun: on.dryRun,
	})
	if err != nil {
		return nil, on.refused(err)
	}
	p := resp.GetPolicy()
	stored := PolicyRegistration{Policy: jsonview.PolicyOf(p), Created: resp.GetCreated(), Warnings: make([]Finding, len(resp.GetWarnings()))}
	for i, w := range resp.GetWarnings() {
		stored.Warnings[i] = Finding{
			Pointer: w.GetPointer(), Code: w.GetCode(), Severity: string(document.SeverityWarning), Message: w.GetMessage(),
		}
	}
	return ok(stored).at(versionPath("/v1/policies", p.GetName(), p.GetVersion()), resp.GetCreated() && !on.dryRun), nil
}

func (h *policies) list(c *call) (*answer, error) {
	resp, err := h.policies.ListPolicies(c.ctx, &policyv1.ListPoliciesRequest{PageSize: c.size, PageToken: c.token})
	return shown(resp, err, func(r *policyv1.ListPoliciesResponse) PolicyList {
		return PolicyList{Policies: jsonview.Each(r.GetPolicies(), jsonview.PolicyOf), NextPageToken: r.GetNextPageToken()}
	})
}

// get serves the live version, or the one in the path.
func (h *policies) get(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.policies.GetPolicy(c.ctx, &policyv1.GetPolicyRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.PolicyOf(resp.GetPolicy())).tagged(`"` + resp.GetPolicy().GetDigest() + `"`), nil
}

func (h *policies) promote(c *call, in PromoteRequest) (*answer, error) {
	if in.Version < 1 {
		return nil, badBody(fault.InvalidRequest, inBody("/version", document.CodeRange, "must be a version, from 1"))
	}
	return answerPolicy(h.policies.PromotePolicy(c.ctx, &policyv1.PromotePolicyRequest{Name: c.path("name"), Version: in.Version, ExpectedVersion: in.ExpectedVersion}))
}

func (h *policies) delete(c *call) (*answer, error) {
	return done(h.policies.DeletePolicy(c.ctx, &policyv1.DeletePolicyRequest{Name: c.path("name")}))
}

// attachment returns the one that the path names.
func (c *call) attachment() (*policyv1.Attachment, error) {
	kind := choice(policyv1.AttachmentKind_value, "ATTACHMENT_KIND_", c.path("kind"))
	if kind == 0 {
		return nil, notOneOf("kind", jsonview.AttachmentKinds())
	}
	return &policyv1.Attachment{Kind: policyv1.AttachmentKind(kind), Id: c.path("id")}, nil
}

func (h *policies) attach(c *call) (*answer, error) {
	to, err := c.attachment()
	if err != nil {
		return nil, err
	}
	return answerPolicy(h.policies.AttachPolicy(c.ctx, &policyv1.AttachPolicyRequest{Name: c.path("name"), To: []*policyv1.Attachment{to}}))
}

func (h *policies) attachAll(c *call, in AttachRequest) (*answer, error) {
	to := make([]*policyv1.Attachment, len(in.To))
	for i, one := range in.To {
		kind := choice(policyv1.AttachmentKind_value, "ATTACHMENT_KIND_", one.Kind)
		if kind == 0 {
			return nil, badBody(fault.InvalidRequest, inBody(fmt.Sprintf("/to/%d/kind", i), "ENUM", "must be one of "+strings.Join(jsonview.AttachmentKinds(), ", ")))
		}
		to[i] = &policyv1.Attachment{Kind: policyv1.AttachmentKind(kind), Id: one.ID}
	}
	return answerPolicy(h.policies.AttachPolicy(c.ctx, &policyv1.AttachPolicyRequest{Name: c.path("name"), To: to}))
}

func (h *policies) detach(c *call) (*answer, error) {
	from, err := c.attachment()
	if err != nil {
		return nil, err
	}
	return done(h.policies.DetachPolicy(c.ctx, &policyv1.DetachPolicyRequest{Name: c.path("name"), From: []*policyv1.Attachment{from}}))
}

func (h *policies) usage(c *call) (*answer, error) {
	resp, err := h.policies.GetPolicyUsage(c.ctx, &policyv1.GetPolicyUsageRequest{
		Name: c.path("name"), Principal: c.query.Get("principal"), SessionId: c.query.Get("session"), Human: c.query.Get("human"),
	})
	return shown(resp, err, func(r *policyv1.GetPolicyUsageResponse) PolicyUsage {
		return PolicyUsage{Usages: jsonview.Each(r.GetUsages(), jsonview.UsageOf), Exceptions: jsonview.Each(r.GetExceptions(), jsonview.ExceptionOf)}
	})
}

func (h *policies) simulate(c *call, in SimulateRequest) (*answer, error) {
	if err := missing(requirement{"/definition", len(in.Definition) > 0}); err != nil {
		return nil, err
	}
	since, valid := moment(in.Since, h.now())
	if !valid {
		return nil, badBody(fault.InvalidRequest, inBody("/since", "INVALID", momentMend))
	}
	resp, err := h.policies.SimulatePolicy(c.ctx, &policyv1.SimulatePolicyRequest{Definition: in.Definition, Since: since, RunId: in.RunID})
	return shown(resp, err, func(r *policyv1.SimulatePolicyResponse) Simulation {
		changes := jsonview.Each(r.GetChanges(), jsonview.SimulatedChangeOf)
		return Simulation{Replayed: r.GetReplayed(), Changes: changes, Truncated: r.GetTruncated(), Undecided: r.GetUndecided()}
	})
}

package rest

import (
	"cmp"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// CheckRequest asks whether a tool call is allowed.
type CheckRequest struct {
	Tool             string         `json:"tool"`
	Input            jsontext.Value `json:"input,omitzero" doc:"The tool's arguments: a JSON object. Absent or null for none."`
	CallID           string         `json:"call_id,omitzero" doc:"The caller's id of this call and its idempotency key; minted when absent."`
	EstimatedCostUSD money          `json:"estimated_cost_usd,omitzero"`
	Branch           string         `json:"branch,omitzero" doc:"The branch of the run's fork that the call is made in; by default the one that unbound callers work in."`
	Folder           string         `json:"folder,omitzero" doc:"The folder that the call is made in, as an absolute path, where it is known: a command outside of the run's workspace is no evidence."`
	JailLevel        int32          `json:"jail_level,omitzero" minimum:"0" maximum:"3" doc:"The level of the jail that the caller runs a command line in if it is allowed; 0 for no jail."`
	DryRun           bool           `json:"dry_run,omitzero" doc:"Only decide: the decision is not counted, logged, announced or asked about, and the call must not be made. The answer has no call_id, and is ASK where humans would be asked."`
	Explain          bool           `json:"explain,omitzero" doc:"Add the reasons, and how to change the decision. Usable with dry_run."`
	As               *TryAs         `json:"as,omitzero" doc:"Whose call it would be, in an operator's dry run; by default the operator's own."`
}

// TryAs is the caller of a call that an operator tries.
type TryAs struct {
	Principal string    `json:"principal,omitzero" maxLength:"256" doc:"Name of the principal, an agent."`
	Human     *TryHuman `json:"human,omitzero" doc:"On whose behalf it is made; by default that of the session."`
	Agent     string    `json:"agent,omitzero" maxLength:"256" doc:"The registered agent that the session would have started from."`
}

// TryHuman is the person on whose behalf a call is tried. An operator vouches for it, or the issuer.
type TryHuman struct {
	Name       string         `json:"name"`
	Issuer     string         `json:"issuer,omitzero" doc:"The issuer of the name; empty for a person of this deployment."`
	Groups     *[]string      `json:"groups,omitzero" doc:"All groups of the person; absent where they are not known."`
	Attributes jsontext.Value `json:"attributes,omitzero" doc:"Texts, numbers, bools and lists of texts, by name: a JSON object."`
}

func (as *TryAs) proto() *policyv1.CallAs {
	if as == nil {
		return nil
	}
	out := &policyv1.CallAs{Principal: as.Principal, Agent: as.Agent}
	if h := as.Human; h != nil {
		out.Human = &policyv1.Human{Name: h.Name, Issuer: h.Issuer, Attributes: h.Attributes}
		if h.Groups != nil {
			out.Human.GroupsKnown, out.Human.Groups = true, *h.Groups
		}
	}
	return out
}

// SessionCheckRequest asks whether a session may call a tool.
type SessionCheckRequest struct {
	Session string `json:"session" doc:"The session, by id or name. It need not drive a run."`
	CheckRequest
}

// SessionDecision is the decision on a call of a session.
type SessionDecision struct {
	jsonview.Decision
	RunID string `json:"run_id,omitzero" doc:"The run that the call was judged by; absent where the session drives none, and policies alone have judged it."`
	State string `json:"state,omitzero" doc:"The state of that run."`
}

// SessionReportRequest records the result of a call of a session.
type SessionReportRequest struct {
	Session string `json:"session" doc:"The session, as in the check."`
	ReportRequest
}

// SessionReportResponse is what follows from the result of a call of a session.
type SessionReportResponse struct {
	Run *jsonview.Run `json:"run,omitzero" doc:"The run whose rules are in force now; absent where the session drives none."`
	ReportOutcome
}

// ReportRequest records the result of a tool call.
type ReportRequest struct {
	CallID       string         `json:"call_id" doc:"The id that the check answered."`
	Tool         string         `json:"tool"`
	OK           *bool          `json:"ok" doc:"Whether the call succeeded."`
	FilesChanged []string       `json:"files_changed,omitzero"`
	ResultBytes  int64          `json:"result_bytes,omitzero" minimum:"0" doc:"Size of the result; at most 2^40."`
	CostUSD      money          `json:"cost_usd,omitzero"`
	Output       jsontext.Value `json:"output,omitzero" doc:"The tool's output: a string, or any JSON. Kept only where the workflow captures output, and read where its evidence asks for it."`
	Branch       string         `json:"branch,omitzero" doc:"As in the check."`
	// OutcomeUnknown is for clients that do not learn how a call ended.
	OutcomeUnknown bool `json:"outcome_unknown,omitzero" doc:"It is unknown whether the call succeeded: it is not evidence then."`
	// NotExecuted is for callers that went away during the check.
	NotExecuted bool `json:"not_executed,omitzero" doc:"The call was not made and will not be: ok is false. An undecided call of this id is never allowed."`
	// Background and BackgroundEnded are the client's names of programs.
	Background      string `json:"background,omitzero" maxLength:"256" doc:"The call has returned, and its program continues in the background: the client's name of that program."`
	BackgroundEnded string `json:"background_ended,omitzero" maxLength:"256" doc:"The result shows that a program of the background has ended: the client's name of that program."`
}

// ReportResponse is the run after a report.
type ReportResponse struct {
	Run jsonview.Run `json:"run" doc:"The run whose rules are in force now."`
	ReportOutcome
}

// ReportOutcome has the consequences of a report.
type ReportOutcome struct {
	Accounted bool                  `json:"accounted" doc:"False when no such call had been allowed."`
	Interrupt *jsonview.Interrupted `json:"interrupt,omitzero" doc:"Set when the call has fired an interrupt."`
	Warning   string                `json:"warning,omitzero" doc:"A text for the agent with the result."`
	Evidence  []string              `json:"evidence,omitempty" doc:"The evidence that the report has given."`
}

// CostsRequest is the cost of a session, as one source knows it.
type CostsRequest struct {
	Source string `json:"source" doc:"Who knows: transcript, otlp, or another word of a-z, 0-9 and _. The largest source counts, not the sum."`
	Costs  []Cost `json:"costs" doc:"1 to 256 costs."`
}

// Cost is one amount.
type Cost struct {
	ID      string    `json:"id" doc:"Its source, such as the id of a message. A repeated id is ignored, unless it is a total."`
	CostUSD money     `json:"cost_usd"`
	Total   bool      `json:"total,omitzero" doc:"cost_usd is the total cost of id until now: it counts by how much it has grown."`
	Tools   []ToolUse `json:"tools,omitzero" doc:"The calls that it was paid for: budgets of their capabilities count it in equal parts."`
}

// ToolUse is a call of a tool.
type ToolUse struct {
	Tool  string         `json:"tool"`
	Input jsontext.Value `json:"input,omitzero" doc:"The tool's arguments: a JSON object."`
}

// CostsResponse has the consequences of costs.
type CostsResponse struct {
	Counted  int32  `json:"counted" doc:"How many of the costs were not known before."`
	TotalUSD string `json:"total_usd" doc:"The cost of the session by its largest source, without the costs that its calls reported."`
}

func (h *toolCalls) reportCosts(c *call, in CostsRequest) (*answer, error) {
	if err := missing(requirement{"/source", in.Source != ""}, requirement{"/costs", len(in.Costs) > 0}); err != nil {
		return nil, err
	}
	req := &policyv1.ReportCostRequest{SessionId: c.path("session_id"), Source: in.Source}
	for _, cost := range in.Costs {
		out := &policyv1.Cost{Id: cost.ID, CostUsd: string(cost.CostUSD), Total: cost.Total}
		for _, use := range cost.Tools {
			input := []byte(use.Input)
			if use.Input.Kind() == 'n' {
				input = nil
			}
			out.Tools = append(out.Tools, &policyv1.ToolUse{Tool: use.Tool, Input: input})
		}
		req.Costs = append(req.Costs, out)
	}
	resp, err := h.policy.ReportCost(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return ok(CostsResponse{Counted: resp.GetCounted(), TotalUSD: resp.GetTotalUsd()}), nil
}

// toolCalls serves the routes of tool calls: checks, reports, costs and open calls.
type toolCalls struct {
	policy policyv1.PolicyEnforcerServiceClient
	// undecided is notified of each check that has failed; nil for none.
	undecided func(error)
}

func (h *toolCalls) routes(add func(route)) {
	h.openRoutes(add)
	h.sessionRoutes(add)
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/costs", id: "reportCosts", summary: "Report the cost of a session",
		about:  "For costs outside of calls, such as the tokens of the agent's model. Idempotent by the ids of the costs.",
		params: []param{inPath("session_id", "Id or name of the session, percent-encoded. It need not be registered.")},
		body:   jsonBody, request: reflect.TypeFor[CostsRequest](), answers: answers[CostsResponse](http.StatusOK), serve: taking(h.reportCosts),
	})
	add(route{
		method: http.MethodGet, path: "/v1/whoami", id: "whoAmI", summary: "Who am I?",
		about:   "The caller of this request, the person on whose behalf it acts, and what it may do.",
		params:  []param{inQuery("session", "The session that the caller acts in, by id or name; by default that of its token."), forParam},
		answers: answers[jsonview.Caller](http.StatusOK), serve: h.whoAmI,
	})
	id := inPath("id", "Id of the run.")
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/check", id: "checkToolCall", summary: "May this tool be called?",
		about: "A denial is a 200 with decision = DENY. Its code is UNAVAILABLE where no decision could be had.",
		params: []param{id, {
			name: headerIdempotency, in: "header", about: "Used as call_id when the body has none.",
		}, forParam},
		body: jsonBody, request: reflect.TypeFor[CheckRequest](),
		answers: answers[jsonview.Decision](http.StatusOK), timeout: checkTimeout, serve: taking(h.check),
	})
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/report", id: "reportToolCall", summary: "Report a tool call's result",
		about:  "Idempotent by call_id.",
		params: []param{id}, body: jsonBody, request: reflect.TypeFor[ReportRequest](),
		answers: answers[ReportResponse](http.StatusOK), serve: taking(h.report),
	})
}

// sessionRoutes adds the routes of calls that name a session and no run.
func (h *toolCalls) sessionRoutes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/check", id: "checkSessionToolCall", summary: "May this session call this tool?",
		about: "The session's run and all policies that apply judge the call; policies alone where it drives no run. A denial is a 200 with decision = DENY. " +
			"404 where there is nothing that could judge it: no run, and no policy that applies.",
		params: []param{{name: headerIdempotency, in: "header", about: "Used as call_id when the body has none."}, forParam},
		body:   jsonBody, request: reflect.TypeFor[SessionCheckRequest](),
		answers: answers[SessionDecision](http.StatusOK), timeout: checkTimeout, serve: taking(h.checkSession),
	})
	add(route{
		method: http.MethodPost, path: "/v1/report", id: "reportSessionToolCall", summary: "Report the result of a session's tool call",
		about: "Idempotent by call_id.", body: jsonBody, request: reflect.TypeFor[SessionReportRequest](),
		answers: answers[SessionReportResponse](http.StatusOK), serve: taking(h.reportSession),
	})
}

func (h *toolCalls) whoAmI(c *call) (*answer, error) {
	resp, err := h.policy.WhoAmI(c.ctx, &policyv1.WhoAmIRequest{SessionId: c.r.URL.Query().Get("session")})
	return shown(resp, err, jsonview.CallerOf)
}

func (h *toolCalls) check(c *call, in CheckRequest) (*answer, error) {
	d, err := h.decide(c, in, &policyv1.CheckToolCallRequest{RunId: c.path("id")})
	if err != nil {
		return nil, err
	}
	return ok(d.Decision), nil
}

func (h *toolCalls) checkSession(c *call, in SessionCheckRequest) (*answer, error) {
	if err := missing(requirement{"/session", in.Session != ""}); err != nil {
		return nil, err
	}
	d, err := h.decide(c, in.CheckRequest, &policyv1.CheckToolCallRequest{SessionId: in.Session})
	if err != nil {
		return nil, err
	}
	return ok(d), nil
}

// decide asks about a call of the run or session that req names.
func (h *toolCalls) decide(c *call, in CheckRequest, req *policyv1.CheckToolCallRequest) (SessionDecision, error) {
	if err := missing(requirement{"/tool", in.Tool != ""}); err != nil {
		return SessionDecision{}, err
	}
	// An input that is not an object is for the policy enforcer to deny.
	if in.Input.Kind() != 'n' {
		req.Input = in.Input
	}
	req.Tool, req.CallId, req.EstimatedCostUsd, req.Branch = in.Tool, cmp.Or(in.CallID, c.header(headerIdempotency)), string(in.EstimatedCostUSD), in.Branch
	req.DryRun, req.Explain, req.Folder, req.JailLevel = in.DryRun, in.Explain, in.Folder, in.JailLevel
	req.As = in.As.proto()
	resp, err := h.policy.CheckToolCall(c.ctx, req)
	if err != nil && !in.DryRun && h.undecided != nil {
		h.undecided(err)
	}
	switch {
	case unavailable(err):
		return SessionDecision{Decision: jsonview.Undecided(req.GetCallId(), fault.From(err).Message)}, nil
	case err != nil:
		return SessionDecision{}, err
	default:
		return SessionDecision{Decision: jsonview.DecisionOf(resp), RunID: resp.GetRunId(), State: resp.GetState()}, nil
	}
}

// unavailable reports a failure of a service, not of the request: there is no decision,
// and so the tool must not be called.
func unavailable(err error) bool {
	switch fault.ReasonOf(err) {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded:
		return true
	}
	return false
}

func (h *toolCalls) report(c *call, in ReportRequest) (*answer, error) {
	resp, err := h.record(c, in, &policyv1.ReportToolCallRequest{RunId: c.path("id")})
	if err != nil {
		return nil, err
	}
	return ok(ReportResponse{Run: jsonview.RunOf(resp.GetRun()), ReportOutcome: outcomeOf(resp)}), nil
}

func (h *toolCalls) reportSession(c *call, in SessionReportRequest) (*answer, error) {
	if err := missing(requirement{"/session", in.Session != ""}); err != nil {
		return nil, err
	}
	resp, err := h.record(c, in.ReportRequest, &policyv1.ReportToolCallRequest{SessionId: in.Session})
	if err != nil {
		return nil, err
	}
	out := SessionReportResponse{ReportOutcome: outcomeOf(resp)}
	if resp.GetRun() != nil {
		out.Run = new(jsonview.RunOf(resp.GetRun()))
	}
	return ok(out), nil
}

func outcomeOf(resp *policyv1.ReportToolCallResponse) ReportOutcome {
	return ReportOutcome{
		Accounted: resp.GetAccounted(), Warning: resp.GetWarning(), Evidence: resp.GetEvidence(), Interrupt: jsonview.InterruptedOf(resp.GetInterrupt()),
	}
}

// record reports the result of a call of the run or session that req names.
func (h *toolCalls) record(c *call, in ReportRequest, req *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
	if err := missing(requirement{"/call_id", in.CallID != ""}, requirement{"/tool", in.Tool != ""},
		requirement{"/ok", in.OK != nil}); err != nil {
		return nil, err
	}
	if in.ResultBytes < 0 {
		return nil, badBody(fault.InvalidRequest, inBody("/result_bytes", document.CodeRange, "must not be negative"))
	}
	output, err := outputBytes(in.Output)
	if err != nil {
		return nil, err
	}
	req.CallId, req.Tool, req.Ok, req.FilesChanged, req.ResultBytes = in.CallID, in.Tool, *in.OK, in.FilesChanged, in.ResultBytes
	req.CostUsd, req.Output, req.Branch, req.OutcomeUnknown = string(in.CostUSD), output, in.Branch, in.OutcomeUnknown
	req.Background, req.BackgroundEnded, req.NotExecuted = in.Background, in.BackgroundEnded, in.NotExecuted
	return h.policy.ReportToolCall(c.ctx, req)
}

// outputBytes returns a tool's output: the text of a JSON string, or any other JSON as it
// was written.
func outputBytes(v jsontext.Value) ([]byte, error) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return nil, badBody(fault.InvalidJSON, inBody("/output", document.CodeUTF8, "is not a valid string"))
		}
		return text, nil
	case 'n':
		return nil, nil
	default:
		return v, nil
	}
}

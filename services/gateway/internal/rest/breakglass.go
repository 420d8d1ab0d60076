package rest

import (
	"net/http"
	"reflect"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/receipts"
)

// BreakGlassRequest makes a grant.
type BreakGlassRequest struct {
	Principal string   `json:"principal" doc:"Name of the principal that may use it."`
	Tools     []string `json:"tools" doc:"Names, each exact or with one * at its end."`
	Commands  []string `json:"commands,omitzero" doc:"The whole command lines that pass; absent for any input."`
	Until     string   `json:"until" doc:"Its end, at most 24 hours from now: RFC 3339, or how long from now, e.g. 8h."`
	Reason    string   `json:"reason"`
}

// BreakGlassList has the grants, the newest first.
type BreakGlassList struct {
	Grants []jsonview.BreakGlassGrant `json:"grants"`
}

// BreakGlassSpool is what a client wrote down.
type BreakGlassSpool struct {
	Lines []string `json:"lines" doc:"All lines of the spool, in order, at most 4,000."`
}

// breakGlass serves the routes of break-glass grants.
type breakGlass struct {
	grants policyv1.BreakGlassServiceClient
	signer receipt.Signer // nil where there is none
	now    func() time.Time
}

func (h *breakGlass) routes(add func(route)) {
	const path = "/v1/breakglass/{grant_id}"
	id := inPath("grant_id", "Id of the grant.")
	add(route{
		method: http.MethodPost, path: "/v1/breakglass", id: "createBreakGlassGrant", summary: "Sign a grant for calls without contact",
		about: "For operators. The answer has the signed token, unless another operator must confirm the grant first. 409 where the deployment has no key.",
		body:  jsonBody, request: reflect.TypeFor[BreakGlassRequest](), answers: answers[jsonview.BreakGlassGrant](http.StatusCreated), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/breakglass", id: "listBreakGlassGrants", summary: "Break-glass grants",
		about: "The newest first, up to 30 days after their end.", answers: answers[BreakGlassList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getBreakGlassGrant", summary: "A break-glass grant with its token",
		about: "For operators.", params: []param{id}, answers: answers[jsonview.BreakGlassGrant](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodPost, path: path + "/confirm", id: "confirmBreakGlassGrant", summary: "Confirm another operator's break-glass grant",
		params: []param{id}, answers: answers[jsonview.BreakGlassGrant](http.StatusOK), serve: h.confirm,
	})
	add(route{
		method: http.MethodPost, path: path + "/revoke", id: "revokeBreakGlassGrant", summary: "Revoke a break-glass grant",
		about:  "No client without contact learns of it: later calls by it are recorded, and flagged.",
		params: []param{id}, answers: answers[jsonview.BreakGlassGrant](http.StatusOK), serve: h.revoke,
	})
	add(route{
		method: http.MethodPost, path: path + "/hand-in", id: "handInBreakGlass", summary: "Hand in the calls that were made without contact",
		about:  "Each call is recorded once, as UNGOVERNED. For the principal of the grant, and for operators.",
		params: []param{id}, fields: map[string]string{"grant_id": "grant_id"}, body: jsonBody, request: reflect.TypeFor[BreakGlassSpool](), maxBody: 2 << 20,
		answers: answers[jsonview.BreakGlassHandIn](http.StatusOK), serve: taking(h.handIn),
	})
}

func (h *breakGlass) create(c *call, in BreakGlassRequest) (*answer, error) {
	if h.signer == nil {
		return nil, errNoReceiptKey
	}
	until, err := endOf(in.Until, h.now())
	if err != nil {
		return nil, err
	}
	resp, err := h.grants.CreateBreakGlassGrant(c.ctx, &policyv1.CreateBreakGlassGrantRequest{
		Principal: in.Principal, Tools: in.Tools, Commands: in.Commands, Until: timestamppb.New(until), Reason: in.Reason,
	})
	a, err := h.signed(c, resp.GetGrant(), err)
	if err != nil {
		return nil, err
	}
	return a.at("/v1/breakglass/"+resp.GetGrant().GetGrantId(), true), nil
}

// signed answers a grant with its token, unless it is pending.
func (h *breakGlass) signed(c *call, g *policyv1.BreakGlassGrant, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	view := jsonview.BreakGlassGrantOf(g)
	if h.signer != nil && !g.GetPending() && g.GetRevokedAt() == nil {
		if view.Token, err = receipts.BreakGlassToken(g, c.namespace(), h.signer); err != nil {
			return nil, fault.From(err)
		}
	}
	return ok(view), nil
}

func (h *breakGlass) list(c *call) (*answer, error) {
	resp, err := h.grants.ListBreakGlassGrants(c.ctx, &policyv1.ListBreakGlassGrantsRequest{})
	return shown(resp, err, func(r *policyv1.ListBreakGlassGrantsResponse) BreakGlassList {
		return BreakGlassList{Grants: jsonview.Each(r.GetGrants(), jsonview.BreakGlassGrantOf)}
	})
}

func (h *breakGlass) get(c *call) (*answer, error) {
	resp, err := h.grants.GetBreakGlassGrant(c.ctx, &policyv1.GetBreakGlassGrantRequest{GrantId: c.path("grant_id")})
	return h.signed(c, resp.GetGrant(), err)
}

func (h *breakGlass) confirm(c *call) (*answer, error) {
	resp, err := h.grants.ConfirmBreakGlassGrant(c.ctx, &policyv1.ConfirmBreakGlassGrantRequest{GrantId: c.path("grant_id")})
	return h.signed(c, resp.GetGrant(), err)
}

func (h *breakGlass) revoke(c *call) (*answer, error) {
	resp, err := h.grants.RevokeBreakGlassGrant(c.ctx, &policyv1.RevokeBreakGlassGrantRequest{GrantId: c.path("grant_id")})
	return shown(resp.GetGrant(), err, jsonview.BreakGlassGrantOf)
}

func (h *breakGlass) handIn(c *call, in BreakGlassSpool) (*answer, error) {
	resp, err := h.grants.HandInBreakGlass(c.ctx, &policyv1.HandInBreakGlassRequest{GrantId: c.path("grant_id"), Lines: in.Lines})
	return shown(resp, err, jsonview.BreakGlassHandInOf)
}

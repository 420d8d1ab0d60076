package rest

import (
	"net/http"
	"reflect"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// UpstreamTool is a tool of an MCP server behind the gate, as it is pinned.
type UpstreamTool struct {
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Accepted    string `json:"accepted" doc:"The digest that may be used."`
	Changed     string `json:"changed,omitempty" doc:"The digest that was seen and is not accepted: the tool is hidden."`
	Description string `json:"description,omitempty" doc:"The changed tool's description of itself. Text of the server."`
	ReportedBy  string `json:"reported_by,omitempty" doc:"The agent whose word the latest digest is; absent where a gateway has reported it."`
	LeftOut     string `json:"left_out,omitempty" doc:"Why the tool cannot be used by agents; absent where it can."`
}

// UpstreamToolList are tools, by server and name.
type UpstreamToolList struct {
	Tools []UpstreamTool `json:"tools"`
}

// AcceptRequest is a change that an operator has seen.
type AcceptRequest struct {
	Digest string `json:"digest" doc:"changed of the tool, as it was seen."`
}

// upstreams serves the routes of tools behind the gate.
type upstreams struct {
	upstreams policyv1.UpstreamServiceClient
}

func (h *upstreams) routes(add func(route)) {
	server, tool := inPath("server", "Name of the server."), inPath("tool", "Name of its tool.")
	listed := answers[UpstreamToolList](http.StatusOK)
	add(route{
		method: http.MethodGet, path: "/v1/upstreams", id: "listUpstreamTools", summary: "List the tools that were seen behind the gate",
		about: "With their changes. Not for agents.", answers: listed, serve: h.list,
	})
	add(route{
		method: http.MethodPost, path: "/v1/upstreams/{server}/tools/{tool}/accept", id: "acceptUpstreamTool", summary: "Accept changes of a tool",
		about:  "For operators. 404 when it has not changed, 409 when it has changed again since.",
		params: []param{server, tool}, body: jsonBody, request: reflect.TypeFor[AcceptRequest](), answers: listed, serve: taking(h.accept),
	})
	const forgets = "For operators. It makes room for others; dropped tools are pinned again when they are next seen. The answer has the dropped tools."
	add(route{
		method: http.MethodDelete, path: "/v1/upstreams/{server}", id: "forgetUpstream", summary: "Forget the tools of a server",
		about: forgets, params: []param{server}, answers: listed, serve: h.forget,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/upstreams/{server}/tools/{tool}", id: "forgetUpstreamTool", summary: "Forget a tool of a server",
		about: forgets, params: []param{server, tool}, answers: listed, serve: h.forget,
	})
}

func (h *upstreams) list(c *call) (*answer, error) {
	resp, err := h.upstreams.ListUpstreamTools(c.ctx, &policyv1.ListUpstreamToolsRequest{})
	return upstreamTools(resp.GetTools(), err)
}

func (h *upstreams) accept(c *call, in AcceptRequest) (*answer, error) {
	resp, err := h.upstreams.AcceptUpstreamTools(c.ctx, &policyv1.AcceptUpstreamToolsRequest{
		Server: c.path("server"), Tool: c.path("tool"), Digest: in.Digest,
	})
	return upstreamTools(resp.GetTools(), err)
}

func (h *upstreams) forget(c *call) (*answer, error) {
	resp, err := h.upstreams.ForgetUpstreamTools(c.ctx, &policyv1.ForgetUpstreamToolsRequest{Server: c.path("server"), Tool: c.path("tool")})
	return upstreamTools(resp.GetTools(), err)
}

func upstreamTools(all []*policyv1.UpstreamTool, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(UpstreamToolList{Tools: jsonview.Each(all, func(t *policyv1.UpstreamTool) UpstreamTool {
		return UpstreamTool{t.GetServer(), t.GetTool(), t.GetAccepted(), t.GetChanged(), t.GetDescription(), t.GetReportedBy(), t.GetLeftOut()}
	})}), nil
}

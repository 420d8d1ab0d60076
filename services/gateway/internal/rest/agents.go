package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// AgentList is one page of agents, by name.
type AgentList struct {
	Agents        []jsonview.Agent `json:"agents"`
	NextPageToken string           `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// agents serves the routes of agents.
type agents struct {
	agents statev1.AgentServiceClient
}

func (h *agents) routes(add func(route)) {
	const path = "/v1/agents/{name}"
	name := inPath("name", "Name of the agent, percent-encoded.")
	one := answers[jsonview.Agent](http.StatusOK)
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the agent: 412 unless it is at this version."}
	add(route{
		method: http.MethodPost, path: "/v1/agents", id: "createAgent", summary: "Create an agent, which sessions start from",
		body: jsonBody, request: reflect.TypeFor[jsonview.AgentSpec](), answers: answers[jsonview.Agent](http.StatusCreated), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/agents", id: "listAgents", summary: "List agents",
		params: []param{pageSizeParam, pageTokenParam}, answers: answers[AgentList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getAgent", summary: "Get an agent",
		params: []param{name, ifNoneMatchParam}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPut, path: path, id: "updateAgent", summary: "Replace the definition of an agent",
		about:  "Sessions that have started from it stay as they are.",
		params: []param{name, ifMatch}, body: jsonBody, request: reflect.TypeFor[jsonview.AgentSpec](), answers: one, serve: taking(h.update),
	})
	add(route{
		method: http.MethodDelete, path: path, id: "deleteAgent", summary: "Delete an agent",
		params: []param{name, ifMatch}, answers: noContent(), serve: h.delete,
	})
}

func answerAgent[R interface{ GetAgent() *statev1.Agent }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(jsonview.AgentOf(resp.GetAgent())).tagged(etag(resp.GetAgent().GetVersion())), nil
}

func (h *agents) create(c *call, in jsonview.AgentSpec) (*answer, error) {
	if err := missing(requirement{"/name", in.Name != ""}); err != nil {
		return nil, err
	}
	resp, err := h.agents.CreateAgent(c.ctx, &statev1.CreateAgentRequest{Spec: in.Proto()})
	reply, err := answerAgent(resp, err)
	if err != nil {
		return nil, err
	}
	return reply.at("/v1/agents/"+url.PathEscape(resp.GetAgent().GetSpec().GetName()), true), nil
}

func (h *agents) list(c *call) (*answer, error) {
	resp, err := h.agents.ListAgents(c.ctx, &statev1.ListAgentsRequest{PageSize: c.size, PageToken: c.token})
	if err != nil {
		return nil, err
	}
	return ok(AgentList{Agents: jsonview.Each(resp.GetAgents(), jsonview.AgentOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *agents) get(c *call) (*answer, error) {
	return answerAgent(h.agents.GetAgent(c.ctx, &statev1.GetAgentRequest{Name: c.path("name")}))
}

func (h *agents) update(c *call, in jsonview.AgentSpec) (*answer, error) {
	if in.Name = cmp.Or(in.Name, c.path("name")); in.Name != c.path("name") {
		return nil, badBody(fault.InvalidRequest, inBody("/name", document.CodeConflict, "must be the name in the path, or absent"))
	}
	return answerAgent(h.agents.UpdateAgent(c.ctx, &statev1.UpdateAgentRequest{Spec: in.Proto(), ExpectedVersion: c.match}))
}

func (h *agents) delete(c *call) (*answer, error) {
	return done(h.agents.DeleteAgent(c.ctx, &statev1.DeleteAgentRequest{Name: c.path("name"), ExpectedVersion: c.match}))
}

package rest

import (
	"net/http"
	"reflect"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// HaltList are the halts in force, those of the whole deployment first.
type HaltList struct {
	Halts []jsonview.Halt `json:"halts"`
}

// HaltRequest stops work.
type HaltRequest struct {
	Kind   string `json:"kind" doc:"session, workflow, principal, person, human, group, agent, namespace or all. all needs the role root."`
	Name   string `json:"name,omitzero" doc:"Name or id of what to stop; absent for namespace and all."`
	Reason string `json:"reason" doc:"Why, in one line: agents and people read it."`
}

// LiftRequest lets work go on.
type LiftRequest struct {
	Reason string `json:"reason" doc:"Why, in one line."`
}

// FreezeList are the freezes in force.
type FreezeList struct {
	Freezes []jsonview.Freeze `json:"freezes"`
}

// FreezeRequest freezes workflows for a time.
type FreezeRequest struct {
	Workflow string `json:"workflow" doc:"A name of workflows, in which * stands for any text."`
	Until    string `json:"until" doc:"Its end, at most 366 days from now: RFC 3339, or how long from now, e.g. 14d."`
	Reason   string `json:"reason" doc:"Why, in one line: agents and people read it."`
}

// haltings serves the routes of halts and freezes.
type haltings struct {
	halts identityv1.HaltServiceClient
	now   func() time.Time
}

func (h *haltings) routes(add func(route)) {
	add(route{
		method: http.MethodPost, path: "/v1/halts", id: "createHalt", summary: "Stop all work in a scope",
		about: "For operators. From the answer on every replica denies tool calls, transitions, starts of runs and new sessions in the scope. " +
			"201 for a new halt, 200 when the caller has made the same one before.",
		body: jsonBody, request: reflect.TypeFor[HaltRequest](),
		answers: answers[jsonview.Halt](http.StatusCreated, http.StatusOK), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/halts", id: "listHalts", summary: "List the halts that are in force",
		answers: answers[HaltList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodPost, path: "/v1/halts/{id}/lift", id: "liftHalt", summary: "Let halted work go on",
		about:  "For operators. 404 when the halt is not in force.",
		params: []param{inPath("id", "Id of the halt.")}, fields: map[string]string{"id": "id"},
		body: jsonBody, request: reflect.TypeFor[LiftRequest](), answers: answers[jsonview.Halt](http.StatusOK), serve: taking(h.lift),
	})
	add(route{
		method: http.MethodPost, path: "/v1/freezes", id: "createFreeze", summary: "Freeze workflows for a time",
		about: "For operators. From the answer on every replica refuses the transitions that the workflows name, or that lead to dangerous states. " +
			"201 for a new freeze, 200 when the caller has made the same one before.",
		body: jsonBody, request: reflect.TypeFor[FreezeRequest](),
		answers: answers[jsonview.Freeze](http.StatusCreated, http.StatusOK), serve: taking(h.createFreeze),
	})
	add(route{
		method: http.MethodGet, path: "/v1/freezes", id: "listFreezes", summary: "List the freezes that are in force",
		answers: answers[FreezeList](http.StatusOK), serve: h.listFreezes,
	})
	add(route{
		method: http.MethodPost, path: "/v1/freezes/{id}/lift", id: "liftFreeze", summary: "End a freeze before its time",
		about:  "For operators. 404 when the freeze is not in force.",
		params: []param{inPath("id", "Id of the freeze.")}, fields: map[string]string{"id": "id"},
		body: jsonBody, request: reflect.TypeFor[LiftRequest](), answers: answers[jsonview.Freeze](http.StatusOK), serve: taking(h.liftFreeze),
	})
}

func (h *haltings) create(c *call, in HaltRequest) (*answer, error) {
	resp, err := h.halts.CreateHalt(c.ctx, &identityv1.CreateHaltRequest{Scope: jsonview.HaltScope(in.Kind, in.Name), Reason: in.Reason})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.HaltOf(resp.GetHalt())).at("/v1/halts", resp.GetCreated()), nil
}

func (h *haltings) list(c *call) (*answer, error) {
	resp, err := h.halts.ListHalts(c.ctx, &identityv1.ListHaltsRequest{})
	if err != nil {
		return nil, err
	}
	return ok(HaltList{Halts: jsonview.Each(resp.GetHalts(), jsonview.HaltOf)}), nil
}

func (h *haltings) lift(c *call, in LiftRequest) (*answer, error) {
	resp, err := h.halts.LiftHalt(c.ctx, &identityv1.LiftHaltRequest{Id: c.path("id"), Reason: in.Reason})
	return shown(resp.GetHalt(), err, jsonview.HaltOf)
}

func (h *haltings) createFreeze(c *call, in FreezeRequest) (*answer, error) {
	until, err := endOf(in.Until, h.now())
	if err != nil {
		return nil, err
	}
	resp, err := h.halts.CreateFreeze(c.ctx, &identityv1.CreateFreezeRequest{Workflow: in.Workflow, Until: timestamppb.New(until), Reason: in.Reason})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.FreezeOf(resp.GetFreeze())).at("/v1/freezes", resp.GetCreated()), nil
}

func (h *haltings) listFreezes(c *call) (*answer, error) {
	resp, err := h.halts.ListFreezes(c.ctx, &identityv1.ListFreezesRequest{})
	if err != nil {
		return nil, err
	}
	return ok(FreezeList{Freezes: jsonview.Each(resp.GetFreezes(), jsonview.FreezeOf)}), nil
}

func (h *haltings) liftFreeze(c *call, in LiftRequest) (*answer, error) {
	resp, err := h.halts.LiftFreeze(c.ctx, &identityv1.LiftFreezeRequest{Id: c.path("id"), Reason: in.Reason})
	return shown(resp.GetFreeze(), err, jsonview.FreezeOf)
}

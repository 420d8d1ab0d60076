package rest

import (
	"math"
	"net/http"
	"reflect"
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// SetList has all sets of a namespace.
type SetList struct {
	Sets []jsonview.DefinitionSet `json:"sets"`
}

// AppliedSet is the answer to an application.
type AppliedSet struct {
	jsonview.DefinitionSet
	Changed bool `json:"changed" doc:"False when everything was as requested before."`
}

// sets serves the routes of sets of definitions.
type sets struct {
	sets policyv1.SetServiceClient
}

func (h *sets) routes(add func(route)) {
	const path = "/v1/sets/{name}"
	name := inPath("name", "Name of the set.")
	add(route{
		method: http.MethodGet, path: "/v1/sets", id: "listSets", summary: "List sets of definitions",
		about: "With kind, name and version: the set that has made this version live, as it was applied then; none when no set has.",
		params: []param{
			inQuery("kind", "The kind of a definition: workflow, process, policy, schema or component."), inQuery("name", "Its name."), inQuery("version", "Its version."),
		},
		answers: answers[SetList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getSet", summary: "Get a set of definitions",
		params: []param{name}, answers: answers[jsonview.DefinitionSet](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodPost, path: path + "/apply", id: "applySet", summary: "Change all objects of a set in one commit, or none",
		about:  "For operators. Versions are stored before, with staged. 409 with every conflict when an object is not as expected, or belongs to another set.",
		params: []param{name}, body: jsonBody, request: reflect.TypeFor[jsonview.SetApplication](),
		answers: answers[AppliedSet](http.StatusOK), serve: taking(h.apply),
	})
}

func (h *sets) list(c *call) (*answer, error) {
	version, err := c.number("version", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	kind, err := c.choice("kind", policyv1.DefinitionKind_value, "DEFINITION_KIND_", jsonview.DefinitionKinds())
	if err != nil {
		return nil, err
	}
	resp, err := h.sets.ListSets(c.ctx, &policyv1.ListSetsRequest{Kind: policyv1.DefinitionKind(kind), Name: c.query.Get("name"), Version: version})
	return shown(resp, err, func(r *policyv1.ListSetsResponse) SetList {
		return SetList{Sets: jsonview.Each(r.GetSets(), jsonview.SetOf)}
	})
}

func (h *sets) get(c *call) (*answer, error) {
	resp, err := h.sets.GetSet(c.ctx, &policyv1.GetSetRequest{Name: c.path("name")})
	return shown(resp.GetSet(), err, jsonview.SetOf)
}

func (h *sets) apply(c *call, in jsonview.SetApplication) (*answer, error) {
	req, pointer, words := in.Proto(c.path("name"))
	if pointer != "" {
		return nil, badBody(fault.InvalidRequest, inBody(pointer, "ENUM", "must be one of "+strings.Join(words, ", ")))
	}
	resp, err := h.sets.ApplySet(c.ctx, req)
	return shown(resp, err, func(r *policyv1.ApplySetResponse) AppliedSet {
		return AppliedSet{DefinitionSet: jsonview.SetOf(r.GetSet()), Changed: r.GetChanged()}
	})
}

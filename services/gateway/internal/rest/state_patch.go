package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// ReplaceStateRequest replaces the document of a state.
type ReplaceStateRequest struct {
	Data            jsontext.Value `json:"data" doc:"The new document. It must conform to the state's schema."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the state is at this version; 0 or absent for any. If-Match says the same, with 412."`
	FencingToken    int64          `json:"fencing_token,omitzero" doc:"Of the lock that the caller holds."`
}

// PatchStateRequest patches the document of a state.
type PatchStateRequest struct {
	Operations      jsontext.Value `json:"operations" doc:"JSON Patch (RFC 6902): all of it is applied, or none."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the state is at this version; 0 or absent for any. If-Match says the same, with 412."`
	FencingToken    int64          `json:"fencing_token,omitzero" doc:"Of the lock that the caller holds."`
}

// MigrateStateRequest moves a state to another version of its schema.
type MigrateStateRequest struct {
	SchemaVersion   int64          `json:"schema_version,omitzero" doc:"0 or absent for the latest."`
	Operations      jsontext.Value `json:"operations,omitzero" doc:"JSON Patch (RFC 6902) that fits the document to it."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the state is at this version; 0 or absent for any. If-Match says the same, with 412."`
	FencingToken    int64          `json:"fencing_token,omitzero" doc:"Of the lock that the caller holds."`
}

// Levels of JSON around the values of a JSON Patch: the array and an operation,
// and the object that has them as a member.
const (
	aroundOperation  = 2
	aroundOperations = 1 + aroundOperation
)

var (
	stateIfMatch = param{name: headerIfMatch, in: "header", about: "ETag of the state: 412 unless the state is at this version."}
	fencingParam = param{name: headerFencing, in: "header", about: "Fencing token of the lock that the caller holds, like fencing_token.", integer: true}
)

func (h *states) changeRoutes(add func(route)) {
	for _, at := range statePlaces {
		params := []param{at.param, idempotencyParam, stateIfMatch, fencingParam, sessionParam}
		add(route{
			method: http.MethodPut, path: at.path, id: "replace" + at.id, summary: "Replace the document of a state", about: at.about,
			params: params, body: jsonBody, request: reflect.TypeFor[ReplaceStateRequest](), maxBody: maxDocumentBody,
			answers: answers[jsonview.State](http.StatusOK), serve: taking(h.replace),
		})
		add(route{
			method: http.MethodPatch, path: at.path, id: "patch" + at.id, summary: "Patch the document of a state", about: at.about,
			params: params, body: patchBody, request: reflect.TypeFor[PatchStateRequest](), maxBody: maxDocumentBody,
			fields:  map[string]string{"patch": "operations"},
			answers: answers[jsonview.State](http.StatusOK), serve: h.patch,
		})
	}
	add(route{
		method: http.MethodPost, path: "/v1/states/{state_id}/migrate", id: "migrateState",
		summary: "Move a state to another version of its schema",
		params:  []param{statePath, idempotencyParam, stateIfMatch, fencingParam, sessionParam},
		body:    optionalJSON, request: reflect.TypeFor[MigrateStateRequest](), maxBody: maxDocumentBody,
		fields:  map[string]string{"patch": "operations"},
		answers: answers[jsonview.State](http.StatusOK), serve: h.migrate,
	})
}

func (h *states) replace(c *call, in ReplaceStateRequest) (*answer, error) {
	if err := missing(requirement{"/data", len(in.Data) > 0}); err != nil {
		return nil, err
	}
	req := &statev1.UpdateStateRequest{Change: &statev1.UpdateStateRequest_Data{Data: in.Data}}
	return h.update(c, req, in.ExpectedVersion, in.FencingToken)
}

func (h *states) patch(c *call) (*answer, error) {
	req := &statev1.UpdateStateRequest{}
	switch c.media {
	case contentPatch:
		if err := strict(c.body, aroundOperation); err != nil {
			return nil, err
		}
		patch, err := array("", c.body)
		if err != nil {
			return nil, err
		}
		req.Change = &statev1.UpdateStateRequest_Patch{Patch: patch}
	case contentMergePatch:
		if err := strict(c.body, 0); err != nil {
			return nil, err
		}
		req.Change = &statev1.UpdateStateRequest_MergePatch{MergePatch: c.body}
	default:
		in, err := decodeAround[PatchStateRequest](c.body, aroundOperations)
		if err != nil {
			return nil, err
		}
		if err := missing(requirement{"/operations", len(in.Operations) > 0}); err != nil {
			return nil, err
		}
		patch, err := array("/operations", in.Operations)
		if err != nil {
			return nil, err
		}
		req.Change = &statev1.UpdateStateRequest_Patch{Patch: patch}
		return h.update(c, req, in.ExpectedVersion, in.FencingToken)
	}
	return h.update(c, req, 0, 0)
}

// update makes the change of the request under the conditions that the body
// and the headers set.
func (h *states) update(c *call, req *statev1.UpdateStateRequest, version, token int64) (*answer, error) {
	version, err := c.expected(version)
	if err != nil {
		return nil, err
	}
	if token, err = c.fencing(token); err != nil {
		return nil, err
	}
	req.StateId, req.Session, req.IdempotencyKey = c.stateID(), c.header(headerSession), c.header(headerIdempotency)
	req.ExpectedVersion, req.FencingToken, req.WithData = version, token, true
	resp, err := h.states.UpdateState(c.ctx, req)
	return answerState(resp, c.inWholeBody(err))
}

// inWholeBody makes an error that blames a member of the usual body blame the body, when
// that is only the patch.
func (c *call) inWholeBody(err error) error {
	member, alone := map[string]string{contentPatch: "/operations", contentMergePatch: "/merge_patch"}[c.media]
	if err == nil || !alone {
		return err
	}
	f := *fault.From(err)
	f.Violations = slices.Clone(f.Violations)
	for i := range f.Violations {
		v := &f.Violations[i]
		if inside, ok := strings.CutPrefix(v.Pointer, member); ok && (inside == "" || inside[0] == '/') {
			v.Pointer = inside
		}
	}
	return &f
}

func (h *states) migrate(c *call) (*answer, error) {
	in, err := decodeAround[MigrateStateRequest](c.body, aroundOperations)
	if err != nil {
		return nil, err
	}
	var patch []byte
	if kind := in.Operations.Kind(); kind != jsontext.KindInvalid && kind != 'n' {
		if patch, err = array("/operations", in.Operations); err != nil {
			return nil, err
		}
	}
	version, err := c.expected(in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	token, err := c.fencing(in.FencingToken)
	if err != nil {
		return nil, err
	}
	return answerState(h.states.MigrateState(c.ctx, &statev1.MigrateStateRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), SchemaVersion: in.SchemaVersion, Patch: patch,
		ExpectedVersion: version, FencingToken: token, IdempotencyKey: c.header(headerIdempotency),
	}))
}

// array passes a user's JSON array through as it was written.
func array(pointer string, v jsontext.Value) ([]byte, error) {
	if kind := v.Kind(); kind != '[' {
		return nil, badBody(fault.InvalidRequest,
			inBody(pointer, document.CodeType, "must be a JSON array, not "+kindName(kind)))
	}
	return v, nil
}

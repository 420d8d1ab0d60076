package rest

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func (h *runs) transition(c *call, in TransitionRequest) (*answer, error) {
	data, version, err := c.moves(requirement{"/event", in.Event != ""}, "/data", in.Data, in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.TransitionRun(c.ctx, &enginev1.TransitionRunRequest{
		RunId: c.path("id"), Event: in.Event, Data: data, ExpectedVersion: version,
		IdempotencyKey: c.header(headerIdempotency), Branch: in.Branch, DryRun: in.DryRun, Tree: in.Tree,
	})
	if err != nil {
		return nil, err
	}
	if in.DryRun { // the answer is not a version of the run
		return ok(transitionOf(resp)), nil
	}
	return ok(transitionOf(resp)).tagged(c.tagOf(resp.GetRun())), nil
}

func transitionOf(resp *enginev1.TransitionRunResponse) TransitionResponse {
	return TransitionResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Note: resp.GetNote(),
		Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
	}
}

func (h *runs) forceState(c *call, in ForceStateRequest) (*answer, error) {
	patch, version, err := c.moves(requirement{"/state", in.State != ""}, "/context", in.Context, in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.ForceState(c.ctx, &enginev1.ForceStateRequest{
		RunId: c.path("id"), State: in.State, Context: patch, ExpectedVersion: version,
		IdempotencyKey: c.header(headerIdempotency), Branch: in.Branch,
	})
	if err != nil {
		return nil, err
	}
	return ok(TransitionResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Rejection: jsonview.RejectionOf(resp.GetRejection()),
	}).tagged(c.tagOf(resp.GetRun())), nil
}

// moves checks the common parts of both: the target, an object that merges into the
// context, and the version that the caller insists on.
func (c *call) moves(to requirement, pointer string, merged jsontext.Value, asked int64) ([]byte, int64, error) {
	if err := missing(to); err != nil {
		return nil, 0, err
	}
	data, err := object(pointer, merged)
	if err != nil {
		return nil, 0, err
	}
	version, err := c.expected(asked)
	return data, version, err
}

// expected returns the version that the caller insists on, by the body or by If-Match; 0
// for any.
func (c *call) expected(asked int64) (int64, error) {
	if asked < 0 {
		return 0, badBody(fault.InvalidRequest, inBody("/expected_version", document.CodeRange,
			"must not be negative; leave it out for any version"))
	}
	if c.match != 0 && asked != 0 && c.match != asked {
		return 0, badParameter(headerIfMatch, "CONFLICT", "If-Match and expected_version name different versions; send one of them")
	}
	return max(c.match, asked), nil
}

// unmatched makes a version conflict a failed precondition when it was If-Match
// that asked for the version (RFC 9110, section 15.5.13).
func unmatched(err error, match int64) error {
	if match == 0 || fault.ReasonOf(err) != fault.VersionConflict {
		return err
	}
	from := problemOf(err, &route{})
	p := newProblem(http.StatusPreconditionFailed, from.Code, from.Detail)
	p.CurrentVersion = from.CurrentVersion
	return p
}

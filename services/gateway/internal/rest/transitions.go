package rest

import (
	"net/http"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func (e *edge) transition(c *call) (*answer, error) {
	in, err := decode[TransitionRequest](c.body)
	if err != nil {
		return nil, err
	}
	if err := missing(requirement{"/event", in.Event != ""}); err != nil {
		return nil, err
	}
	data, err := object("/data", in.Data)
	if err != nil {
		return nil, err
	}
	version, match, err := c.expected(in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.TransitionRun(c.ctx, &enginev1.TransitionRunRequest{
		RunId: c.path("id"), Event: in.Event, Data: data, ExpectedVersion: version,
		IdempotencyKey: c.header(headerIdempotency), Branch: in.Branch,
	})
	if err != nil {
		return nil, unmatched(err, match)
	}
	reply := ok(TransitionResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Note: resp.GetNote(),
		Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
	})
	reply.etag = c.tagOf(resp.GetRun())
	return reply, nil
}

func (e *edge) forceState(c *call) (*answer, error) {
	in, err := decode[ForceStateRequest](c.body)
	if err != nil {
		return nil, err
	}
	if err := missing(requirement{"/state", in.State != ""}); err != nil {
		return nil, err
	}
	patch, err := object("/context", in.Context)
	if err != nil {
		return nil, err
	}
	version, match, err := c.expected(in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.ForceState(c.ctx, &enginev1.ForceStateRequest{
		RunId: c.path("id"), State: in.State, Context: patch, ExpectedVersion: version,
		IdempotencyKey: c.header(headerIdempotency), Branch: in.Branch,
	})
	if err != nil {
		return nil, unmatched(err, match)
	}
	reply := ok(TransitionResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Rejection: jsonview.RejectionOf(resp.GetRejection()),
	})
	reply.etag = c.tagOf(resp.GetRun())
	return reply, nil
}

// expected is the version that the caller insists on, by the body or by If-Match;
// match is that of If-Match. Both are 0 for any.
func (c *call) expected(asked int64) (version, match int64, err error) {
	if asked < 0 {
		return 0, 0, badBody(fault.InvalidRequest, inBody("/expected_version", document.CodeRange,
			"must not be negative; leave it out for any version"))
	}
	if match, err = c.ifMatch(); err != nil {
		return 0, 0, err
	}
	if match != 0 && asked != 0 && match != asked {
		return 0, 0, badParameter(headerIfMatch, "CONFLICT", "If-Match and expected_version name different versions; send one of them")
	}
	return max(match, asked), match, nil
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

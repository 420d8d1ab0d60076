package app

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// request is one command on one run, and on the family that it moves.
type request struct {
	op      authority.Op
	target  Target
	command workflow.Command

	expected int64
	// key of the first answer, see requestName, and the digest of what was asked with
	// it. Both may be empty.
	key, digest string
	// session, when set, drives the run from now on.
	session string
	// settles is the approval whose decision this carries out.
	settles string
}

func (r request) subject() string {
	if r.target.RunID != "" {
		return "run " + r.target.RunID
	}
	return "the run of session " + r.target.SessionID
}

// failed is why a change fails before the machine is asked, or nil.
func (r request) failed(refusal *authority.Refusal, run *workflow.Run, m definition.Compiled) error {
	switch {
	case r.op == authority.Answer && m.Process == nil:
		return noProcess(run)
	case r.expected != 0 && r.expected != run.Version:
		e := fault.New(fault.VersionConflict, "run %s is at version %d, not %d; read it and decide again",
			run.ID, run.Version, r.expected)
		e.Metadata = map[string]string{"current_version": fmt.Sprint(run.Version)}
		return e
	case refusal != nil:
		return refused(refusal)
	default:
		return nil
	}
}

func noProcess(run *workflow.Run) error {
	return fault.New(fault.FailedPrecondition, "run %s is of workflow %q, which asks no questions; use its events",
		run.ID, run.Workflow)
}

// Start is a request for a run.
type Start struct {
	Workflow       string
	Version        int64
	SessionID      string
	Context        []byte
	Workspace      string
	IdempotencyKey string
	Resume         bool
}

// requestOwner is what owns the idempotency key of a request for a run: the
// session's binding when it has one. It is nil when there is neither.
func requestOwner(caller Caller, req Start) *store.Key {
	switch {
	case req.SessionID != "":
		key := bindingKey(caller.Namespace, req.SessionID)
		return &key
	case req.IdempotencyKey != "":
		return &store.Key{Namespace: caller.Namespace, Kind: kindRequest, ID: req.IdempotencyKey}
	default:
		return nil
	}
}

func startDigest(req Start) string {
	return digest("start", req.Workflow, fmt.Sprint(req.Version), req.SessionID, req.Workspace, string(req.Context), fmt.Sprint(req.Resume))
}

package app

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// Target names a run by its id or by the session that drives it, and the branch
// of its fork that is meant: by default the session's own, or the one that
// unbound callers work in.
type Target struct{ RunID, SessionID, Branch string }

// change is one command on one run, and on the family that it moves.
type change struct {
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

func (c change) subject() string {
	if c.target.RunID != "" {
		return "run " + c.target.RunID
	}
	return "the run of session " + c.target.SessionID
}

// failed is why a change fails before the machine is asked, or nil.
func (c change) failed(refusal *authority.Refusal, run *workflow.Run, m definition.Compiled) error {
	switch {
	case c.op == authority.Answer && m.Process == nil:
		return noProcess(run)
	case c.expected != 0 && c.expected != run.Version:
		e := fault.New(fault.VersionConflict, "run %s is at version %d, not %d; read it and decide again",
			run.ID, run.Version, c.expected)
		e.Metadata = map[string]string{"current_version": fmt.Sprint(run.Version)}
		return e
	case refusal != nil:
		return refused(refusal)
	default:
		return nil
	}
}

func noProcess(run *workflow.Run) error {
	return fault.New(fault.FailedPrecondition, "run %s is of workflow %q, which asks no questions; move it on by its events",
		run.ID, run.Workflow)
}

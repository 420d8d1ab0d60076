package mcp

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// refuseState makes a refusal of what the state-store has refused, and says what to
// do about it.
func (s *Server) refuseState(err error, lead string) refusal {
	r := refuseFault(err, lead)
	f := fault.From(err)
	r.StateID = f.Metadata["state_id"]
	r.CurrentVersion, _ = strconv.ParseInt(f.Metadata["current_version"], 10, 64) // 0 when it is not told
	read, schema := s.cfg.ToolPrefix+"state_read", s.cfg.ToolPrefix+"state_schema"
	switch f.Reason {
	case fault.VersionConflict:
		r.next = "Read it with " + read + " and decide again"
		if r.CurrentVersion > 0 {
			r.next += fmt.Sprintf(", with expected_version %d", r.CurrentVersion)
		}
		r.next += "."
	case fault.SchemaViolation:
		r.next = "Mend what is named above and try again."
		if r.CurrentVersion > 0 {
			r.next += " " + schema + " shows the schema, " + read + " the state."
		}
	case fault.PatchFailed:
		r.next = "Read it with " + read + ", then patch again."
	case fault.Locked:
		r.LockedBy, r.LockedUntil = f.Metadata["holder"], f.Metadata["until"]
		r.next = "Meanwhile " + read + " still reads it."
	case fault.SessionEnded:
		r.next = "Whoever started this session can resume it."
	case fault.DeadlineExceeded, fault.CommitUncertain:
		r.next = "It may or may not have been done: look with " + read + " before trying again."
	case fault.FailedPrecondition:
		if r.StateID != "" {
			r.next = "Read it with " + read + "."
		}
	default:
	}
	return r
}

// refuseShared is refuseState for a session that is to have a state, which it may
// not have.
func (s *Server) refuseShared(ctx context.Context, c caller, err error, lead string) refusal {
	r := s.refuseState(err, lead)
	switch fault.ReasonOf(err) {
	case fault.NotFound, fault.PermissionDenied:
		s.explain(ctx, c, &r)
	default:
	}
	return r
}

// explain says why a session has no state to work on, where it has none.
func (s *Server) explain(ctx context.Context, c caller, r *refusal) {
	res, err := s.cfg.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: c.SessionID})
	known := res.GetSession()
	create := s.cfg.ToolPrefix + "state_create(schema_name=..., initial_data=...)"
	switch {
	case isNotFound(err):
		r.Code = codeNoSession
		r.Message = fmt.Sprintf("There is no session %q, so it shares no workflow state.", c.SessionID)
		r.next = "If nobody has started you, " + create + " makes it the root of a tree of sessions. " +
			"Otherwise ask whoever has for the name of your session. " + nameSession
	case err != nil: // what was refused says enough
	case c.StateID != "":
		r.StateID = c.StateID
		r.next = fmt.Sprintf("The header %s (or WORKFLOW_STATE_ID) names this state. Leave it out to work on that of your own session.", StateHeader)
	case known.GetWorkflowStateId() != "":
	case known.GetParentSessionId() == "":
		r.Code, r.Message = codeNoState, fmt.Sprintf("The session %q has created no workflow state yet.", c.SessionID)
		r.next = "Create it with " + create + "."
	default:
		r.Code = codeNoState
		r.Message = fmt.Sprintf("The session %q shares no workflow state: there was none when its parent %q started it.", c.SessionID, known.GetParentSessionName())
		r.next = "The root of its tree creates the state, and sessions that are started afterwards share it. Tell your parent."
	}
}

// quoted adds the likely mend where a string was given in the place of a document.
func (r refusal) quoted(given []byte) refusal {
	if fault.Reason(r.Code) == fault.SchemaViolation && bytes.HasPrefix(given, []byte(`"`)) {
		r.next = "The document was given as a string: give the JSON itself. " + r.next
	}
	return r
}

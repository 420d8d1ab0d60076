package toolcall

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// JailRequired returns the denial of a command line whose caller has no jail, where one is
// demanded.
func JailRequired(tool, why string) Verdict {
	return Verdict{Decision: Deny, Code: CodeJailRequired, Tool: tool, Detail: why}
}

// LineOf returns the line that a call of a shell runs, byte for byte. False: its input has none, or more than
// one.
func LineOf(call Call) (string, bool) {
	v, problem := document.Parse(call.Input, document.Limits{})
	if problem != nil || v.Kind() != document.Object {
		return "", false
	}
	line, given := v.Get("command")
	if other, both := v.Get("cmd"); !given {
		line, given = other, both
	} else if both {
		return "", false
	}
	return line.Str(), given && line.Kind() == document.String
}

// StillJudges reports that an allowed call may still begin: its run is where the call was decided, or in
// the same entry of the state, and the state judges calls.
func StillJudges(m *workflow.Machine, at *workflow.View, version, workflowVersion, entry int64) bool {
	switch standingOf(m, at, m.State(at.State)) {
	case judged:
		return at.Version == version || at.WorkflowVersion == workflowVersion && at.Entry == entry
	case reading:
		return at.Version == version
	default:
		return false
	}
}

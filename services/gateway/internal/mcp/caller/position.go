package caller

import (
	"cmp"
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Position is the run that a caller works on.
type Position struct {
	// Run is the one whose rules are in force.
	Run *enginev1.Run
	// Target is the id of the run that the caller drives or names: that one, or one
	// that has invoked it.
	Target string
}

// Locate looks up the position of a caller. ctx must be outgoing.
func Locate(ctx context.Context, runs enginev1.RunServiceClient, c Caller) (Position, error) {
	res, err := runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: c.RunID, SessionId: c.NamedSession(), Active: true})
	if err != nil {
		return Position{}, err
	}
	return Position{Run: res.GetRun(), Target: cmp.Or(res.GetAskedRunId(), res.GetRun().GetRunId())}, nil
}

// NamedSession returns the session to name in a request: none together with a run's id.
func (c Caller) NamedSession() string {
	if c.RunID != "" {
		return ""
	}
	return c.SessionID
}

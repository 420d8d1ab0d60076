package sdk

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Pong is the result of a ping.
type Pong struct {
	// Session and Run are the client's, and Session is empty for a client without one.
	Session, RunID string
	// Drives is the run whose rules are in force for the client; nil for a session that drives none.
	Drives *Run
}

// Ping asks the server whether it knows the client: its token, its namespace, and its session or
// run. The error is a [*ConfigurationError] that says how to mend it, or that of a server that
// cannot be reached.
func (c *Client) Ping(ctx context.Context) (Pong, error) {
	pong := Pong{Session: c.session, RunID: c.run}
	if _, err := retry(ctx, c.workflows.ListWorkflows, &enginev1.ListWorkflowsRequest{PageSize: 1}); err != nil {
		return pong, c.misconfigured(err)
	}
	if c.run == "" && c.session == "" {
		return pong, nil
	}
	run, err := c.GetRun(ctx)
	if err == nil {
		pong.Drives, pong.RunID = run, run.ID
		return pong, nil
	}
	if c.run != "" || Reason(err) != fault.NotFound {
		return pong, c.misconfigured(err)
	}
	// A session that was created and drives no run is known.
	if _, err := retry(ctx, c.sessions.GetSession, &statev1.GetSessionRequest{SessionId: c.session}); err != nil {
		return pong, c.misconfigured(err)
	}
	return pong, nil
}

// misconfigured returns the error of a ping.
func (c *Client) misconfigured(err error) error {
	f := fault.From(err)
	advice := howToFix(f, c.run != "" || c.session != "")
	if advice == "" {
		return f
	}
	return &ConfigurationError{DeniedError{Code: Code(f.Reason), Message: f.Message + "; " + advice, Err: f}}
}

package sdk

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
)

// BreakGlass names a grant by which calls are allowed while no connection to the server can be made, and its principal. Without
// a grant none is. The calls are written into the spool before they are made; `interlock breakglass hand-in` hands them in.
type BreakGlass struct {
	// Grant is the file with the signed grant. Key is that of its public key, Grant with .pub by default, and Spool the file of the
	// calls, Grant with .spool by default.
	Grant, Key, Spool string
	// Principal is the name of the principal that the token is for.
	Principal string
}

// open returns the grant of a client, if it may be used now.
func (b BreakGlass) open(namespace string) (*breakglass.Glass, error) {
	if namespace == "" {
		namespace = "default"
	}
	return breakglass.Open(breakglass.Settings{Grant: b.Grant, Key: b.Key, Spool: b.Spool, Namespace: namespace, Principal: b.Principal, Client: "go"}, time.Now)
}

// dialFailures are the endings of a connection that was never made.
var dialFailures = []string{
	"connection refused", "no route to host", "network is unreachable", "no such host", "no such file or directory", "i/o timeout", "server misbehaving",
}

// unreachable reports that a call has failed because no connection could be made: gRPC itself says so, and it has none.
func (c *core) unreachable(err error) bool {
	conn, ok := c.base.(interface{ GetState() connectivity.State })
	st, coded := status.FromError(err)
	if !ok || !coded || st.Code() != codes.Unavailable || len(st.Details()) > 0 || conn.GetState() == connectivity.Ready {
		return false
	}
	return strings.Contains(st.Message(), "Error while dialing") && slices.ContainsFunc(dialFailures, func(why string) bool { return strings.Contains(st.Message(), why) })
}

// glass returns a checked call as the spool has it.
func (q *call) glass() breakglass.Call {
	tool := q.req.GetTool()
	if name := q.req.GetQualifiedTool(); name != "" {
		tool = name
	}
	return breakglass.Call{Tool: tool, Input: q.req.GetInput(), Session: q.req.GetSessionId(), Run: q.req.GetRunId()}
}

// throughGlass allows a call by the break-glass grant if its last attempt has failed because no connection could be made. The
// call is written down. Otherwise it returns the error of the check, with the reason where there is a grant.
func (c *core) throughGlass(q *call, last, failed error) (Decision, error) {
	if c.breakGlass.Grant == "" || last == nil || q.req.GetDryRun() || q.jailRequired || !c.unreachable(last) {
		return Decision{}, failed
	}
	g, err := c.breakGlass.open(c.namespace)
	if err == nil {
		err = g.Use(q.glass())
	}
	if err != nil {
		return Decision{}, fault.New(fault.Unavailable, "%s; %v", fault.From(failed).Message, err).Wrap(failed)
	}
	return Decision{
		Decision: Allow, Tool: q.req.GetTool(), CallID: q.req.GetCallId(), RunID: q.req.GetRunId(), SessionID: q.req.GetSessionId(), Code: CodeUngoverned,
		Message: "the server cannot be reached: break-glass grant " + g.ID + " lets the call pass, and it is written down",
	}, nil
}

// keepRefusal writes down that the server has refused a call, so that no grant lets it pass later.
func (c *core) keepRefusal(q *call, d Decision) {
	if c.breakGlass.Grant == "" || d.Decision == Allow || q.req.GetDryRun() {
		return
	}
	g, err := c.breakGlass.open(c.namespace)
	if err == nil {
		err = g.Deny(q.glass())
	}
	if err != nil {
		c.log.Warn("a refused call was not written into the spool of the break-glass grant", "tool", d.Tool, "error", err)
	}
}

// Package sdk is what a Go agent runtime imports: it puts tool calls before the
// gate, moves runs on, shares state with other agents and takes tasks as a runner.
//
// It decides nothing. Whatever keeps it from an answer is a refusal: a tool runs
// after an ALLOW and never otherwise. What it repeats after a failure it repeats
// under the same idempotency key, so that it happens once.
//
// A call whose context has no deadline is tried for 30 seconds; a watch and a
// runner continue until their context ends. What the server refuses is a
// [*fault.Error], see [Reason]. After UNAVAILABLE, COMMIT_UNCERTAIN,
// DEADLINE_EXCEEDED and CANCELLED a change may or may not have been made.
package sdk

import (
	"errors"
	"log/slog"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Options of a Client. The zero value calls as nobody, for no session, on loopback
// or a unix socket only.
type Options struct {
	// Token of the caller.
	Token string
	// Namespace of all calls; the default one when empty.
	Namespace string
	// Session is the one that acts, by id or name: tool calls and events are
	// judged by the run that it drives, and it shares the state of its tree.
	Session string
	// Run is judged by instead of whatever the session drives.
	Run string
	// State is meant wherever a state's id is left empty; by default the session's.
	State string
	// TLS is off unless one of its files is set or it is enabled.
	TLS rpc.ClientTLS
	// Insecure allows another machine without TLS, where the network itself is
	// trusted. The token then travels in the clear.
	Insecure bool
	// Logger is told what has nobody to be returned to: streams that break, tasks
	// whose outcome could not be delivered. Nothing is logged when it is nil.
	Logger *slog.Logger
}

// Client calls Interlock for one session or run. It is safe for concurrent use.
type Client struct {
	conn  grpc.ClientConnInterface
	close func() error

	session, run, state string

	log *slog.Logger

	runs     enginev1.RunServiceClient
	policy   policyv1.PolicyEnforcerServiceClient
	states   statev1.StateServiceClient
	sessions statev1.SessionServiceClient
	tasks    statev1.TaskServiceClient

	components statev1.ComponentServiceClient
	approvals  approvalv1.ApprovalServiceClient
}

// Dial makes a client of the server at a gRPC target, such as "127.0.0.1:7421",
// which connects when it is first used. See [rpc.Dial] for targets with replicas.
// Without TLS other machines are refused with [rpc.ErrPlaintext].
func Dial(target string, opts Options) (*Client, error) {
	if target == "" {
		return nil, errors.New("dial: no target; give the server's gRPC address, such as " + DefaultServer)
	}
	conn, err := rpc.Dial(target, rpc.ClientConfig{
		Token: opts.Token, Namespace: opts.Namespace, TLS: opts.TLS, Insecure: opts.Insecure,
	})
	if err != nil {
		return nil, err
	}
	c := New(conn, opts)
	c.close = conn.Close
	return c, nil
}

// New makes a client over a connection that is the caller's: it stays open, and
// Token, Namespace, TLS and Insecure are its business.
func New(conn grpc.ClientConnInterface, opts Options) *Client {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Client{
		conn: conn, close: func() error { return nil },
		session: opts.Session, run: opts.Run, state: opts.State, log: opts.Logger,
		runs: enginev1.NewRunServiceClient(conn), policy: policyv1.NewPolicyEnforcerServiceClient(conn),
		states: statev1.NewStateServiceClient(conn), sessions: statev1.NewSessionServiceClient(conn),
		tasks: statev1.NewTaskServiceClient(conn), approvals: approvalv1.NewApprovalServiceClient(conn), components: statev1.NewComponentServiceClient(conn),
	}
}

// Close closes the connection that Dial made, for the clients that share it too.
func (c *Client) Close() error { return c.close() }

// Conn is the connection, for calls that have no method here: the contracts are in
// module gen.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Session is the session that acts; empty for none.
func (c *Client) Session() string { return c.session }

// ForSession is a client for another session on the same connection. It is bound
// to no run and no state but the session's.
func (c *Client) ForSession(session string) *Client {
	other := *c
	other.session, other.run, other.state = session, "", ""
	return &other
}

// ForRun is a client on the same connection that is judged by one run.
func (c *Client) ForRun(run string) *Client {
	other := *c
	other.run = run
	return &other
}

// driven names what calls are judged by: the run when there is one, else the
// session.
func (c *Client) driven() (run, session string) {
	if c.run != "" {
		return c.run, ""
	}
	return "", c.session
}

// stateID is the state that an id means; empty for the session's.
func (c *Client) stateID(id string) string {
	if id == "" {
		return c.state
	}
	return id
}

// errNoSession refuses what only a session can do.
func errNoSession(what string) error {
	return fault.New(fault.SessionRequired, "%s requires a session: set Options.Session, or use ForSession", what)
}

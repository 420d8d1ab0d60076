// Package sdk is for Go agent runtimes: it puts tool calls before the gate, moves runs on, shares
// state with other agents, decides approvals and takes tasks as a runner.
//
// It makes no decision. Without a decision a call is refused: a tool runs after an ALLOW and
// never otherwise. A failed call is repeated under the same idempotency key, so that it happens
// once.
//
// A call whose context has no deadline is tried for 30 seconds; a watch and a
// runner continue until their context ends. A refusal of the server is a
// [*fault.Error], see [Reason] and [Retriable]. After UNAVAILABLE, COMMIT_UNCERTAIN,
// DEADLINE_EXCEEDED and CANCELLED a change may or may not have been made.
//
// Methods take the id first, then the change, then options. Package sdktest has a fake of the
// server for unit tests.
package sdk

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// Options of a Client. The zero value calls without credentials, for no session, on
// loopback or a unix socket only.
type Options struct {
	// Token of the caller.
	Token string
	// Namespace of all calls; the default one when empty.
	Namespace string
	// Session is the one that acts, by id or name: tool calls and events are
	// judged by the run that it drives, and it shares the state of its tree.
	Session string
	// Run is judged by instead of the one that the session drives.
	Run string
	// State is meant wherever a state's id is left empty; by default the session's.
	State string
	// Human is the own token of the person on whose behalf the caller acts: of the deployment's OpenID
	// Connect issuer, or of `interlock login`. Empty for none. See [Client.ForHuman].
	Human string
	// TLS is off unless one of its files is set or it is enabled.
	TLS TLS
	// Insecure allows another machine without TLS, where the network itself is
	// trusted. The token then travels in the clear.
	Insecure bool
	// Jail says how GuardCommand gets a jail.
	Jail JailOptions
	// BreakGlass allows calls by a grant while no connection can be made; none without its Grant.
	BreakGlass BreakGlass
	// Logger receives the failures that no call returns: streams that break, outcomes of
	// tasks and of calls that could not be delivered. nil disables logging.
	Logger *slog.Logger
}

// String describes the options without the tokens.
func (o Options) String() string {
	hidden := func(token string) string {
		if token == "" {
			return "none"
		}
		return "(hidden)"
	}
	return fmt.Sprintf("{Token:%s Human:%s Namespace:%q Session:%q Run:%q State:%q TLS:%+v Insecure:%t}",
		hidden(o.Token), hidden(o.Human), o.Namespace, o.Session, o.Run, o.State, o.TLS, o.Insecure)
}

// GoString returns the text of String.
func (o Options) GoString() string { return "sdk.Options" + o.String() }

// TLS are PEM files, which are read again when they change.
type TLS = dial.TLS

// ErrPlaintext refuses to call beyond this machine without TLS, unless the network itself is
// trusted.
var ErrPlaintext = dial.ErrPlaintext

// Client calls Interlock for one session or run. It is safe for concurrent use.
type Client struct {
	*core
	runGroup
	approvalGroup
	sessionGroup
	registryGroup
	teamGroup
	identityGroup
	haltGroup
	scheduleGroup
	setGroup
}

// Groups of methods by noun; a Client has them all.
type (
	runGroup      struct{ *core }
	approvalGroup struct{ *core }
	sessionGroup  struct{ *core }
	registryGroup struct{ *core }
	teamGroup     struct{ *core } // components and agents
	identityGroup struct{ *core } // who calls, and what they may do
	haltGroup     struct{ *core }
	scheduleGroup struct{ *core }
	setGroup      struct{ *core }
)

// core is the state that the groups of methods share: the connection, and the session that acts.
type core struct {
	// base is the connection, and conn is what calls go over: with the person on whose behalf they are.
	base, conn grpc.ClientConnInterface
	close      func() error

	session, run, state string
	namespace           string
	breakGlass          BreakGlass

	log  *slog.Logger
	jail *prison
	// background are the withdrawals of calls, of all clients on the connection.
	background *sync.WaitGroup

	runs      enginev1.RunServiceClient
	workflows enginev1.WorkflowServiceClient
	processes enginev1.ProcessServiceClient
	policy    policyv1.PolicyEnforcerServiceClient
	policies  policyv1.PolicyServiceClient
	decisions policyv1.DecisionServiceClient
	states    statev1.StateServiceClient
	schemas   statev1.SchemaServiceClient
	sessions  statev1.SessionServiceClient
	tasks     statev1.TaskServiceClient
	agents    statev1.AgentServiceClient
	schedules enginev1.ScheduleServiceClient
	sets      policyv1.SetServiceClient

	components statev1.ComponentServiceClient
	approvals  approvalv1.ApprovalServiceClient
	halts      identityv1.HaltServiceClient
}

// client returns a client with all groups of methods.
func (c *core) client() *Client {
	return &Client{c, runGroup{c}, approvalGroup{c}, sessionGroup{c}, registryGroup{c}, teamGroup{c}, identityGroup{c}, haltGroup{c}, scheduleGroup{c}, setGroup{c}}
}

// Dial makes a client of the server at a gRPC target, such as "127.0.0.1:7421",
// which connects when it is first used. "dns:///engine:7421" is all replicas behind a name, and
// "10.0.0.1:7421,10.0.0.2:7421" those that are listed: calls go around one that drains.
// Without TLS other machines are refused with [ErrPlaintext].
func Dial(target string, opts Options) (*Client, error) {
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	conn, err := dial.New(target, dial.Config{
		Caller: dial.Caller{Token: opts.Token, Namespace: opts.Namespace}, TLS: opts.TLS, Insecure: opts.Insecure,
	})
	if err != nil {
		return nil, err
	}
	c := New(conn, opts)
	c.close = conn.Close
	return c, nil
}

// checkTarget refuses a text that is not an address of gRPC services.
func checkTarget(target string) error {
	scheme, _, _ := strings.Cut(strings.ToLower(target), "://")
	switch {
	case target == "":
		return errors.New("dial: no target; give the server's gRPC address, such as " + DefaultServer)
	case scheme == "http", scheme == "https":
		return fmt.Errorf("dial %s: this is an HTTP address; give the address of the gRPC services without a scheme, such as %s", target, DefaultServer)
	default:
		return nil
	}
}

// New makes a client over a connection that is the caller's: it stays open, and
// Token, Namespace, TLS and Insecure are its business.
func New(conn grpc.ClientConnInterface, opts Options) *Client {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	c := &core{
		base: conn, close: func() error { return nil }, background: &sync.WaitGroup{},
		session: opts.Session, run: opts.Run, state: opts.State, namespace: opts.Namespace, breakGlass: opts.BreakGlass, log: opts.Logger, jail: newPrison(opts.Jail),
	}
	c.over(behalf(conn, opts.Human))
	return c.client()
}

// over has the calls go over a connection.
func (c *core) over(conn grpc.ClientConnInterface) {
	c.conn = conn
	c.runs, c.workflows, c.processes = enginev1.NewRunServiceClient(conn), enginev1.NewWorkflowServiceClient(conn), enginev1.NewProcessServiceClient(conn)
	c.policy, c.policies, c.decisions = policyv1.NewPolicyEnforcerServiceClient(conn), policyv1.NewPolicyServiceClient(conn), policyv1.NewDecisionServiceClient(conn)
	c.states, c.schemas, c.sessions = statev1.NewStateServiceClient(conn), statev1.NewSchemaServiceClient(conn), statev1.NewSessionServiceClient(conn)
	c.tasks, c.agents, c.components = statev1.NewTaskServiceClient(conn), statev1.NewAgentServiceClient(conn), statev1.NewComponentServiceClient(conn)
	c.schedules = enginev1.NewScheduleServiceClient(conn)
	c.sets = policyv1.NewSetServiceClient(conn)
	c.approvals, c.halts = approvalv1.NewApprovalServiceClient(conn), identityv1.NewHaltServiceClient(conn)
}

// Close closes the connection that Dial made, for the clients that share it too. Calls that are
// withdrawn in the background are waited for, which takes 15 seconds at most.
func (c *Client) Close() error {
	c.background.Wait()
	return c.close()
}

// Conn returns the connection, for calls that have no method here: the contracts are in
// module gen.
func (c *core) Conn() grpc.ClientConnInterface { return c.conn }

// Session returns the session that acts; empty for none.
func (c *core) Session() string { return c.session }

// ForSession returns a client for another session on the same connection. It is bound to
// no run and no state but the session's.
func (c *Client) ForSession(session string) *Client {
	other := *c.core
	other.session, other.run, other.state = session, "", ""
	return other.client()
}

// ForRun returns a client on the same connection that is judged by one run.
func (c *Client) ForRun(run string) *Client {
	other := *c.core
	other.run = run
	return other.client()
}

// ForHuman returns a client on the same connection that acts on behalf of a person: calls are judged, and recorded,
// as made for that person, and sessions that it creates work for them. The token is the person's own, of the
// deployment's OpenID Connect issuer or of `interlock login`; empty for nobody.
func (c *Client) ForHuman(token string) *Client {
	other := *c.core
	other.over(behalf(c.base, token))
	return other.client()
}

// driven names the run or session whose rules apply to calls: the run when there is one,
// else the session.
func (c *core) driven() (run, session string) {
	if c.run != "" {
		return c.run, ""
	}
	return "", c.session
}

// stateID returns the state that an id means; empty for the session's.
func (c *core) stateID(id string) string {
	if id == "" {
		return c.state
	}
	return id
}

// errNoSession refuses an operation that needs a session.
func errNoSession(what string) error {
	return fault.New(fault.SessionRequired, "%s requires a session: set Options.Session, or use ForSession", what)
}

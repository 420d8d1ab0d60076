package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Config has the parts and settings of the edge. Workflows, Runs and Policy are required.
type Config struct {
	Workflows enginev1.WorkflowServiceClient
	Runs      enginev1.RunServiceClient
	Policy    policyv1.PolicyEnforcerServiceClient
	// Reports takes the results of calls, vouched for by who has made them; Policy by
	// default.
	Reports policyv1.PolicyEnforcerServiceClient
	// Schemas, States and Sessions are the state-store; without them the tools for
	// shared states say that there is none.
	Schemas  statev1.SchemaServiceClient
	States   statev1.StateServiceClient
	Sessions statev1.SessionServiceClient
	// Components has the values that sessions keep; without it there are none.
	Components statev1.ComponentServiceClient
	// Processes asks the questions of processes; without it there are none.
	Processes enginev1.ProcessServiceClient
	// Approvals is waited on for decisions of humans; without it there is no wait.
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where people reach the gateway, as in "https://gate.example":
	// approvals are linked below it. Empty for no links. A link grants nothing.
	PublicURL string

	// Pins remembers the tools of upstream servers; without it their tools may change.
	Pins peerv1.UpstreamPeerServiceClient
	// Identify reports whose a token is. It is set where Pins calls as the gateway
	// itself, and not with its callers' tokens.
	Identify func(ctx context.Context, token string) (auth.Principal, error)
	// Upstreams are the MCP servers behind the gate.
	Upstreams []upstream.Server
	// Shell runs command lines of the client on stdio; nil where no jail can be had.
	Shell *gate.Shell
	// Jailer starts those of Upstreams that run in jails.
	Jailer upstream.Jailer
	// ToolPrefix is put before the names of the own tools about workflows, e.g. "statewright_".
	// Coding agents' hooks know own tools without prefix, with "statewright_" and
	// with "interlock_" (toolcall.Own): with another one, states that restrict tools
	// must allow them by name.
	ToolPrefix string
	// StatePrefix is put before the names of the tools for shared states.
	StatePrefix string
	// Resume is the reason why the agent on stdio was resumed: its task and the callbacks
	// that this delivers. Empty for none.
	Resume map[string]any
	// AllowUnbound lets calls to upstream tools through unchecked while no
	// workflow is loaded. By default they are refused: no run, no permission.
	AllowUnbound bool

	// AllowedOrigins are web origins ("https://example.com") whose pages may
	// send requests. Other cross-origin requests are refused.
	AllowedOrigins []string

	// Alone is whether the only client is the one on stdio: servers may ask it then.
	Alone bool
	// Stdio is who calls on stdio; see Identity.
	Stdio caller.Identity
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Tracer makes spans of requests; nil for none.
	Tracer trace.TracerProvider
	// Undecided is notified of each call that was denied because it could not be decided;
	// nil if there is none.
	Undecided func(error)

	// CheckTimeout bounds a decision (default 5 s): late is denied.
	CheckTimeout time.Duration
	// CallTimeout bounds a call to an upstream tool (default 5 min).
	CallTimeout time.Duration
	// ConnectTimeout bounds the start of an upstream server (default 20 s).
	ConnectTimeout time.Duration
	// ReportTimeout bounds the report of a result while the agent waits for it
	// (default 5 s). Afterwards it is tried again in the background.
	ReportTimeout time.Duration
	// DrainTimeout is how long Close waits for calls under way (default 10 s).
	DrainTimeout time.Duration
	// SessionIdle closes sessions of older clients that were silent for that long
	// (default 1 h).
	SessionIdle time.Duration
	// MaxSessions bounds the sessions of older clients (default 10,000).
	MaxSessions int
	// SessionsEach bounds those of one token (default 1,000).
	SessionsEach int
	// MaxResultBytes bounds the result of an upstream tool (default 8 MiB).
	MaxResultBytes int

	// UpstreamStderr gets the stderr of stdio upstreams; nil drops it.
	UpstreamStderr io.Writer
	// Version of this build, shown to clients.
	Version string
	// Logger gets failures of the edge; nil means slog.Default.
	Logger *slog.Logger

	// backoff is the first wait before an upstream is started again, and before a
	// report is sent again.
	backoff time.Duration
	// progressEvery is how often a client hears that a wait continues (default 10 s).
	progressEvery time.Duration
	// settleWait is how long a run may take to carry out an approval (default 10 s).
	settleWait time.Duration
	// stopGrace is how long an upstream process has after its stdin has closed,
	// and again after SIGTERM, before it is killed.
	stopGrace time.Duration
}

var toolPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{0,32}$`) })

// withDefaults checks a configuration and fills in defaults.
func (c Config) withDefaults() (Config, error) {
	if c.Workflows == nil || c.Runs == nil || c.Policy == nil {
		return c, errors.New("mcp: the clients Workflows, Runs and Policy are required")
	}
	for _, prefix := range []string{c.ToolPrefix, c.StatePrefix} {
		if !toolPrefix().MatchString(prefix) {
			return c, fmt.Errorf("mcp: tool prefix %q must be at most 32 letters, digits, '-' and '_'", prefix)
		}
		if strings.HasPrefix(prefix, upstream.Prefix) {
			return c, fmt.Errorf("mcp: tool prefix %q would look like an upstream tool; choose another", prefix)
		}
	}
	if err := checkPublicURL(c.PublicURL); err != nil {
		return c, err
	}
	c.Logger = cmp.Or(c.Logger, slog.Default())
	defaultTo(&c.CheckTimeout, 5*time.Second)
	defaultTo(&c.CallTimeout, 5*time.Minute)
	defaultTo(&c.ConnectTimeout, 20*time.Second)
	defaultTo(&c.ReportTimeout, 5*time.Second)
	defaultTo(&c.DrainTimeout, 10*time.Second)
	defaultTo(&c.SessionIdle, time.Hour)
	defaultTo(&c.MaxSessions, 10_000)
	defaultTo(&c.SessionsEach, 1000)
	defaultTo(&c.MaxResultBytes, 8<<20)
	defaultTo(&c.backoff, 250*time.Millisecond)
	defaultTo(&c.progressEvery, 10*time.Second)
	defaultTo(&c.settleWait, 10*time.Second)
	defaultTo(&c.stopGrace, 2*time.Second)
	return c, nil
}

// checkPublicURL refuses addresses that cannot have a path.
func checkPublicURL(address string) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("mcp: the public URL %q must be like https://gate.example, without user, query and fragment", address)
	}
	return nil
}

func defaultTo[T ~int | ~int64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

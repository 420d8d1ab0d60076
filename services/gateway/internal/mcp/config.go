package mcp

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Config is what the edge stands on. Workflows, Runs and Policy are required.
type Config struct {
	Workflows enginev1.WorkflowServiceClient
	Runs      enginev1.RunServiceClient
	Policy    policyv1.PolicyEnforcerServiceClient
	// Schemas, States and Sessions are the state-store; without them the tools for
	// shared states say that there is none.
	Schemas  statev1.SchemaServiceClient
	States   statev1.StateServiceClient
	Sessions statev1.SessionServiceClient
	// Processes asks the questions of processes; without it there are none.
	Processes enginev1.ProcessServiceClient
	// Approvals is waited on for what humans decide; without it nothing is waited for.
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where people reach the gateway, as in "https://gate.example":
	// approvals are linked below it. Empty for no links. A link grants nothing.
	PublicURL string

	// Upstreams are the MCP servers behind the gate.
	Upstreams []Upstream
	// ToolPrefix is put before the name of every own tool, e.g. "statewright_".
	// Coding agents' hooks know own tools without prefix, with "statewright_" and
	// with "interlock_" (toolcall.Own): with another one, states that restrict tools
	// must allow them by name.
	ToolPrefix string
	// AllowUnbound lets calls to upstream tools through unchecked while no
	// workflow is loaded. By default they are refused: no run, no permission.
	AllowUnbound bool

	// AllowedOrigins are web origins ("https://example.com") whose pages may
	// send requests. Other cross-origin requests are refused.
	AllowedOrigins []string

	// Stdio is who calls on stdio; see Identity.
	Stdio Identity

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
	// SessionIdle closes sessions of older clients that sent nothing for that
	// long (default 1 h).
	SessionIdle time.Duration
	// MaxSessions bounds the sessions of older clients (default 10,000).
	MaxSessions int
	// MaxResultBytes bounds the result of an upstream tool (default 8 MiB).
	MaxResultBytes int

	// UpstreamStderr gets what stdio upstreams write to stderr; nil drops it.
	UpstreamStderr io.Writer
	// Version of this build, told to clients.
	Version string
	// Logger gets failures of the edge; nil means slog.Default.
	Logger *slog.Logger

	// backoff is the first wait before an upstream is started again.
	backoff time.Duration
	// progressEvery is how often a client hears that a wait goes on (default 10 s).
	progressEvery time.Duration
	// settleWait is how long a run may take to do what was approved (default 10 s).
	settleWait time.Duration
	// stopGrace is how long an upstream process has after its stdin has closed,
	// and again after SIGTERM, before it is killed.
	stopGrace time.Duration
}

// Identity is who calls when no HTTP request says so.
type Identity struct {
	Binding
	// Token is the bearer token sent to the services; empty for none.
	Token string
	// Namespace is empty for the default one.
	Namespace string
	// Workspace is the root that file globs are relative to, sent when a
	// workflow is loaded.
	Workspace string
	// StateID is the shared state to work on; empty for that of the session. It
	// names it only: what the session may do is the state-store's to say.
	StateID string
}

func (i Identity) validate() error {
	if len(i.StateID) > maxStateID || !printable(i.StateID) {
		return fmt.Errorf("the workflow state's id must be at most %d printable ASCII characters", maxStateID)
	}
	return i.Binding.validate()
}

// Upstream is one MCP server behind the gate: a command that speaks MCP on stdio,
// or the URL of a streamable HTTP endpoint.
type Upstream struct {
	// Name is part of its tools' names, mcp__NAME__tool.
	Name string
	// Command and its arguments, started in Dir. It inherits this process's
	// environment without INTERLOCK_ variables; see environment.go for what a
	// state changes of it.
	Command []string
	Env     map[string]string
	Dir     string
	// URL is used when Command is empty. Headers go to its host only.
	URL     string
	Headers map[string]string
}

// upstreamName keeps mcp__NAME__tool unambiguous: "__" and "_" at an end would not.
var upstreamName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]|_[A-Za-z0-9-])*$`)

// reservedUpstreams are names under which agents know Interlock itself. Gates
// take mcp__interlock__... for own tools and always allow them (S3).
var reservedUpstreams = map[string]bool{"interlock": true, "statewright": true}

func (u Upstream) validate() error {
	switch {
	case !upstreamName.MatchString(u.Name) || len(u.Name) > 64:
		return fmt.Errorf("mcp: upstream name %q must be 1 to 64 letters, digits, '-' and single '_' between them", u.Name)
	case reservedUpstreams[strings.ToLower(u.Name)]:
		return fmt.Errorf("mcp: upstream name %q is reserved for Interlock's own tools; choose another", u.Name)
	case len(u.Command) == 0 && u.URL == "":
		return fmt.Errorf("mcp: upstream %q needs a command or a URL", u.Name)
	case len(u.Command) > 0 && u.URL != "":
		return fmt.Errorf("mcp: upstream %q has a command and a URL; keep one", u.Name)
	}
	return nil
}

var toolPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{0,32}$`)

// withDefaults checks a configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.Workflows == nil || c.Runs == nil || c.Policy == nil {
		return c, errors.New("mcp: the clients Workflows, Runs and Policy are required")
	}
	if !toolPrefix.MatchString(c.ToolPrefix) {
		return c, fmt.Errorf("mcp: tool prefix %q must be at most 32 letters, digits, '-' and '_'", c.ToolPrefix)
	}
	if strings.HasPrefix(c.ToolPrefix, qualifiedPrefix) {
		return c, fmt.Errorf("mcp: tool prefix %q would look like an upstream tool; choose another", c.ToolPrefix)
	}
	if err := checkPublicURL(c.PublicURL); err != nil {
		return c, err
	}
	seen := make(map[string]bool, len(c.Upstreams))
	for _, u := range c.Upstreams {
		if err := u.validate(); err != nil {
			return c, err
		}
		if seen[u.Name] {
			return c, fmt.Errorf("mcp: two upstreams are named %q", u.Name)
		}
		seen[u.Name] = true
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	defaultTo(&c.CheckTimeout, 5*time.Second)
	defaultTo(&c.CallTimeout, 5*time.Minute)
	defaultTo(&c.ConnectTimeout, 20*time.Second)
	defaultTo(&c.ReportTimeout, 5*time.Second)
	defaultTo(&c.DrainTimeout, 10*time.Second)
	defaultTo(&c.SessionIdle, time.Hour)
	defaultTo(&c.MaxSessions, 10_000)
	defaultTo(&c.MaxResultBytes, 8<<20)
	defaultTo(&c.backoff, 250*time.Millisecond)
	defaultTo(&c.progressEvery, 10*time.Second)
	defaultTo(&c.settleWait, 10*time.Second)
	defaultTo(&c.stopGrace, 2*time.Second)
	return c, nil
}

// checkPublicURL refuses what could not be put before a path.
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

package gate

import (
	"context"
	"log/slog"
	"sync"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/approvals"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
)

// Config has the parts and settings of a gate. All but Pins, Identify, Shell and Undecided are
// required.
type Config struct {
	Runs    enginev1.RunServiceClient
	Policy  policyv1.PolicyEnforcerServiceClient
	Reports policyv1.PolicyEnforcerServiceClient
	// Pins remembers the tools of servers; without it their tools may change.
	Pins peerv1.UpstreamPeerServiceClient
	// Identify reports whose a token is. It is set where Pins calls as the gateway itself.
	Identify  func(ctx context.Context, token string) (auth.Principal, error)
	Approvals *approvals.Desk
	Clients   *clients.Set
	// Shell runs command lines of the client on stdio; nil where no jail can be had.
	Shell *Shell
	// Undecided is notified of each call that was denied because it could not be decided.
	Undecided func(error)
	// Reserved reports whether a plain name belongs to Interlock's own tools.
	Reserved func(name string) bool

	// Places are where Interlock is on the machine, and Workspace is the folder of the client
	// on stdio; empty without one.
	Places    toolcall.Places
	Workspace string
	// ToolPrefix is that of the own tools which refusals name.
	ToolPrefix string
	// AllowUnbound lets calls through unchecked while no workflow is loaded.
	AllowUnbound bool

	// Calls ends when calls under way must end.
	Calls context.Context
	// CheckTimeout bounds a decision, CallTimeout a call, and ReportTimeout a report while the
	// agent waits for it.
	CheckTimeout, CallTimeout, ReportTimeout time.Duration
	// Backoff is the first wait before a report is sent again.
	Backoff time.Duration
	// ProgressEvery is how often a client hears that a command runs on.
	ProgressEvery time.Duration
	// MaxResultBytes bounds a result.
	MaxResultBytes int
	Logger         *slog.Logger
}

// Gate puts calls before the policy service and, when they are allowed, makes them and reports
// their outcome. It is safe for concurrent use.
type Gate struct {
	cfg       Config
	log       *slog.Logger
	pins      *pins
	reports   *reports
	positions positions
	inflight  sync.WaitGroup
}

// New returns a gate. Close must follow.
func New(cfg Config) *Gate {
	return &Gate{
		cfg: cfg, log: cfg.Logger, reports: newReports(cfg.Reports, cfg.ReportTimeout, cfg.Backoff, cfg.Logger),
		pins: &pins{service: cfg.Pins, identify: cfg.Identify}, positions: newPositions(),
	}
}

// Close waits for the calls under way, and sends the last reports.
func (g *Gate) Close() {
	g.inflight.Wait()
	g.reports.close()
}

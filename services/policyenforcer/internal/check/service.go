// Package check decides tool calls: it decides a call in the pure core, asks approvers, and makes the decision
// and its counters durable in one commit.
//
// It fails closed: without a decision that is both current and durable, the answer is a denial.
package check

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Announcer creates the events about decisions.
type Announcer interface {
	Decided(namespace, root string, d *ledger.Decision) (store.Event, error)
	LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error)
}

// Config has the settings and the ports of a Service.
type Config struct {
	Store     store.Store
	Engine    enforcer.Runs
	Announce  Announcer
	Clock     func() time.Time
	Log       *slog.Logger
	Decisions *decisionlog.Log
	Runs      *runs.Reader
	Policies  *policystore.Store
	Quota     *quota.Accounts
	Calls     *calls.Store
	Sessions  enforcer.Sessions
	// Approvals asks approvers. Without it, calls that need an approval are denied.
	Approvals enforcer.Approvals
	// Points asks decision points. Without it, calls about which a rule asks one are denied.
	Points enforcer.Points
	// Shared reads the values that approvals rest on. Without it, calls with such approvals are denied.
	Shared enforcer.Shared
	// Masks removes secrets from inputs before they are logged.
	Masks redact.Masks
	// Described returns the description of a tool that an operator has accepted, by its full name. Without it, there is none.
	Described func(ctx context.Context, namespace, tool string) (facet.Tools, error)
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Jails is the mode of jails for command lines.
	Jails enforcer.Jails
	// LogAttributes are the attributes of humans that the log has.
	LogAttributes []string
	// Inputs selects the calls whose input the log keeps.
	Inputs Inputs
	// Measure receives each committed decision. It must be quick, and may be nil.
	Measure func(*Measured)
	// TimeAnswer receives each answer to a check and its duration. It must be quick, and may be nil.
	TimeAnswer func(ctx context.Context, d *Decision, took time.Duration)
}

// Measured is a decision for metrics.
type Measured struct {
	Decision toolcall.Decision
	Code     toolcall.Code // empty for an allowed call, or NOT_ENFORCED
	// Reason explains NOT_ENFORCED; empty for any other code.
	Reason string
	// Workflow and State are those of the decision; empty without a run.
	Workflow, State string
	// Limits are those of policies that all callers share, as far as the call was counted.
	Limits []UsedLimit
}

// UsedLimit is the used part of a limit, 1 for all of it.
type UsedLimit struct {
	Policy, Pattern string
	Measure         rules.Measure
	Used            float64
}

// Service decides tool calls.
type Service struct {
	Config
	settings settings
}

// New returns the service of a configuration.
func New(cfg Config) *Service {
	return &Service{cfg, settings{
		masks: cfg.Masks, places: cfg.Places, jails: cfg.Jails, logAttributes: cfg.LogAttributes, inputs: cfg.Inputs, event: cfg.Announce.Decided, seen: cfg.Quota.Seen,
	}}
}

package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Simulation is a candidate policy and the recorded calls to replay against it.
type Simulation struct {
	Definition []byte
	Since      time.Time
	RunID      string
}

// Simulated is what the candidate would have changed.
type Simulated struct {
	Replayed int64
	Changes  []SimulatedChange
	// Truncated: there were more changes, or more calls than one replay takes.
	Truncated bool
}

// SimulatedChange is a recorded call that would be decided otherwise.
type SimulatedChange struct {
	Recorded *ledger.Decision
	Decision toolcall.Decision
	Code     toolcall.Code
	Message  string
}

// Bounds of a replay.
const (
	maxReplayed = 50_000
	maxChanges  = 1_000
)

// Simulate replays recorded calls against a candidate: see rules.Simulate. Inputs
// are replayed as far as the log has them: without, or masked, a candidate that needs
// them denies.
func (a *App) Simulate(ctx context.Context, caller Caller, req Simulation) (*Simulated, error) {
	policy, problems := rules.ParsePolicy(req.Definition)
	if problems.HasErrors() {
		return nil, policystore.InvalidDefinition("policy", problems)
	}
	var records []*ledger.Decision
	query := decisionlog.Query{RunID: req.RunID, Since: req.Since}
	end, err := a.decisions.Scan(ctx, caller.Namespace, query, decisionlog.Place{}, maxReplayed, func(r *ledger.Decision) bool {
		if r.Tool != "" { // it can be read
			records = append(records, r)
		}
		return true
	})
	if err != nil {
		return nil, fault.From(err)
	}
	recorder := recorder{app: a, namespace: caller.Namespace, roots: map[string]string{}}
	calls := make([]rules.Recorded, len(records))
	for i, r := range records {
		if calls[i], err = recorder.call(ctx, r); err != nil {
			return nil, fault.From(err)
		}
	}
	out := &Simulated{Truncated: end != nil}
	for replayed := range rules.Simulate(rules.Compile(policy, 0), calls) {
		out.Replayed++
		if !replayed.Changed {
			continue
		}
		if len(out.Changes) == maxChanges {
			out.Truncated = true
			continue
		}
		out.Changes = append(out.Changes, SimulatedChange{
			Recorded: records[replayed.Index], Decision: replayed.Decision, Code: replayed.Code, Message: replayed.Message(),
		})
	}
	return out, a.addHashesOf(ctx, caller.Namespace, out.Changes)
}

// addHashesOf adds the hashes of the records of changes.
func (a *App) addHashesOf(ctx context.Context, namespace string, changes []SimulatedChange) error {
	byPartition := make(map[string][]*ledger.Decision)
	for _, c := range changes {
		byPartition[c.Recorded.Partition] = append(byPartition[c.Recorded.Partition], c.Recorded)
	}
	for _, records := range byPartition {
		if err := a.decisions.AddHashes(ctx, namespace, records); err != nil {
			return fault.From(err)
		}
	}
	return nil
}

// recorder makes calls of records again.
type recorder struct {
	app       *App
	namespace string
	roots     map[string]string // by session
}

func (c *recorder) call(ctx context.Context, r *ledger.Decision) (rules.Recorded, error) {
	recorded := rules.Recorded{
		Call: rules.Call{
			Tool: r.Tool, Input: r.Input, Principal: r.Principal, Session: r.SessionID, Now: r.Time,
			Approved: r.ApprovalID != "" && r.Decision == toolcall.Allow,
		},
		Decision: r.Decision, Code: r.Code, Policy: r.Policy,
	}
	if cost, ok := quota.ReadCost(r.EstimatedCostUSD); ok {
		recorded.EstimatedCost = cost
	}
	if r.SessionID == "" {
		recorded.Session = r.Partition // whose limits per session it has spent
		recorded.Root = r.Partition
		return c.shell(ctx, r, recorded)
	}
	root, ok := c.roots[r.SessionID]
	if !ok {
		place, err := c.app.Sessions.Place(ctx, c.namespace, r.SessionID, "")
		if err != nil {
			return recorded, err
		}
		root = place.Account
		c.roots[r.SessionID] = root
	}
	recorded.Root = root
	return c.shell(ctx, r, recorded)
}

// shell asks the workflow of the time whether the tool runs command lines there.
func (c *recorder) shell(ctx context.Context, r *ledger.Decision, recorded rules.Recorded) (rules.Recorded, error) {
	if r.RunID == "" {
		recorded.Shell = toolcall.Shell(nil, r.Tool)
		return recorded, nil
	}
	definition, err := c.app.engine.Definition(ctx, c.namespace, r.Workflow, r.WorkflowVersion)
	if err != nil {
		return recorded, err
	}
	recorded.Shell = toolcall.Shell(definition.Machine.State(r.State), r.Tool)
	return recorded, nil
}

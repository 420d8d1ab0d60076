package check

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Simulation is a candidate policy and the recorded calls to replay against it.
type Simulation struct {
	Definition []byte
	Since      time.Time
	RunID      string
}

// Simulated has the decisions that the candidate would have changed.
type Simulated struct {
	Replayed int64
	// Unknown is how many calls the candidate cannot decide by what the log has.
	Unknown int64
	Changes []SimulatedChange
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

// Simulate replays recorded calls against a candidate: see rules.Simulate. Inputs are replayed as far as the log
// has them. A call is left out when the candidate looks at facts of it that the log has not, or has masked.
func (c *Service) Simulate(ctx context.Context, caller enforcer.Caller, req Simulation) (*Simulated, error) {
	policy, problems := rules.ParsePolicy(req.Definition)
	if problems.HasErrors() {
		return nil, policystore.InvalidDefinition("policy", problems)
	}
	var records []*ledger.Decision
	query := decisionlog.Query{RunID: req.RunID, Since: req.Since}
	end, err := c.Decisions.Scan(ctx, caller.Namespace, query, decisionlog.Place{}, maxReplayed, func(r *ledger.Decision) bool {
		if r.Tool != "" { // it can be read
			records = append(records, r)
		}
		return true
	})
	if err != nil {
		return nil, fault.From(err)
	}
	recorded := recorder{checks: c, namespace: caller.Namespace, roots: map[string]string{}}
	calls := make([]rules.Recorded, len(records))
	for i, r := range records {
		if calls[i], err = recorded.call(ctx, r); err != nil {
			return nil, fault.From(err)
		}
	}
	out := &Simulated{Truncated: end != nil}
	candidate := rules.Compile(policy, 0)
	for i, r := range records {
		calls[i].Facts = decisionlog.Facts(r, calls[i].Shell, candidate.Tools())
	}
	for replayed := range rules.Simulate(candidate, calls) {
		if replayed.Unknown {
			out.Unknown++
			continue
		}
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
	return out, c.addHashesOf(ctx, caller.Namespace, out.Changes)
}

// addHashesOf adds the hashes of the records of changes.
func (c *Service) addHashesOf(ctx context.Context, namespace string, changes []SimulatedChange) error {
	byPartition := make(map[string][]*ledger.Decision)
	for _, change := range changes {
		of := change.Recorded
		byPartition[of.Partition] = append(byPartition[of.Partition], of)
	}
	for _, records := range byPartition {
		if err := c.Decisions.AddHashes(ctx, namespace, records); err != nil {
			return fault.From(err)
		}
	}
	return nil
}

// recorder makes calls of records again.
type recorder struct {
	checks    *Service
	namespace string
	roots     map[string]string // by session
}

func (r *recorder) call(ctx context.Context, d *ledger.Decision) (rules.Recorded, error) {
	recorded := rules.Recorded{
		Call: rules.Call{
			Tool: d.Tool, Input: d.Input, Principal: d.Principal, Session: d.SessionID, Now: d.Time,
			Approved: d.ApprovalID != "" && d.Decision == toolcall.Allow,
		},
		Decision: d.Decision, Code: d.Code, Policy: d.Policy,
	}
	if decisionlog.Vouched(d) {
		recorded.Human = rules.HumanAccount(session.Alike(d.Identity.Human.Name), d.Identity.Human.Issuer)
	}
	if cost, ok := quota.ReadCost(d.EstimatedCostUSD); ok {
		recorded.EstimatedCost = cost
	}
	if d.SessionID == "" {
		recorded.Session = d.Partition // whose limits per session it has spent
		recorded.Root = d.Partition
		return r.shell(ctx, d, recorded)
	}
	root, ok := r.roots[d.SessionID]
	if !ok {
		place, err := r.checks.Sessions.Place(ctx, r.namespace, d.SessionID, "")
		if err != nil {
			return recorded, err
		}
		root = place.Account
		r.roots[d.SessionID] = root
	}
	recorded.Root = root
	return r.shell(ctx, d, recorded)
}

// shell asks the workflow of the time whether the tool runs command lines there.
func (r *recorder) shell(ctx context.Context, d *ledger.Decision, recorded rules.Recorded) (rules.Recorded, error) {
	if d.RunID == "" {
		recorded.Shell = toolcall.Shell(nil, d.Tool)
		return recorded, nil
	}
	definition, err := r.checks.Engine.Definition(ctx, r.namespace, d.Workflow, d.WorkflowVersion)
	if err != nil {
		return recorded, err
	}
	recorded.Shell = toolcall.Shell(definition.Machine.State(d.State), d.Tool)
	return recorded, nil
}

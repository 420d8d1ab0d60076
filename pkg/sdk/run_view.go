package sdk

import (
	"encoding/json"
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Run is one instance of a workflow, as far as its agent must know it.
type Run struct {
	ID              string
	Workflow        string
	WorkflowVersion int64
	Status          RunStatus
	State           string
	// Context is a JSON object.
	Context json.RawMessage
	// Version is bumped by every change.
	Version         int64
	TransitionCount int64
	SessionID       string
	Workspace       string
	// WorkspaceClaimed is true if the agent itself has named the workspace.
	WorkspaceClaimed bool

	// Instructions of the state.
	Instructions string
	// Model and ThinkingLevel are advice of the state to the agent's runtime; empty if
	// there is none. To follow them is the runtime's part.
	Model, ThinkingLevel string
	LegalEvents          []LegalEvent
	// ToolsRestricted is false when the state lets all tools pass.
	ToolsRestricted bool
	AllowedTools    []string
	DisallowedTools []string
	// Iterations counts the allowed tool calls in this entry of the state, of
	// MaxIterations; 0 for no limit.
	Iterations, MaxIterations int64
	// EnvOverrides and BlockedEnv are for the environment of tools: variables to set, and
	// variables to remove (S3.4).
	EnvOverrides map[string]string
	BlockedEnv   []string

	// Branch is the one that the state is of; empty outside of forks. Branches are
	// those of the fork that the run is in.
	Branch   string
	Branches []Branch
	// Interrupt is the one whose handler is at work; empty for none. ReturnTo is
	// the state that $return leads to (S4.2).
	Interrupt, ReturnTo string
	// Evidence has the observations that the workflow requires of Interlock (S14), and
	// OutputTools the tools whose results it reads.
	Evidence    []Evidence
	OutputTools []string
	// ParentID is the run that invoked this one; empty for none.
	ParentID string
	// Freeze is the one that the run is under; nil for none. LegalEvents says what it stops.
	Freeze *RunFreeze
	// Halt is the one that stops its work; nil for none.
	Halt *RunHalt

	// Resumed says that Load has continued a paused run.
	Resumed bool
	// Note says why an accepted event has made no change; empty otherwise.
	Note string

	CreatedAt, UpdatedAt time.Time

	// Schedule is the schedule that has started the run (S25.22); empty for none.
	Schedule string
	// ArrivedAt is when the run came to its state from another one: the clock of the state counts from there (S25.1).
	ArrivedAt time.Time
	// Deadline is the latest time at which the run ends (S25.8); zero for never.
	Deadline time.Time
	// LastActivity is when the run made progress last, to the second. It is zero of a run that is not active, and in the
	// answers of changes.
	LastActivity time.Time
	// Dues are what time will bring about, the soonest first, as things stand now; those whose clock stands still are last.
	Dues []Due
	// Holds are the causes of a run that is HELD (S6.2).
	Holds []Hold
}

// Due is one thing that time brings about in a run, and when (S25).
type Due struct {
	// Kind is deadline, fork, after, stale or remind.
	Kind string
	// Event is that of the transition, such as $after:2h; empty for a reminder.
	Event string
	// Branch is empty outside of forks.
	Branch string
	// After is the time on the clock at which it is due: of a deadline since the run began, of a silence since the last progress.
	After time.Duration
	// At is when it is due, if no clock stands still before; zero while its clock stands still.
	At time.Time
	// StoppedBy is why its clock stands still: hold, pause, approval or branches; empty while the clock runs (S25.2).
	StoppedBy string
	// Left is the time that is left on a clock that stands still.
	Left time.Duration
	// Blocked is true of a transition that was due, and that no guard let through: it is tried again.
	Blocked bool
	// Targets are the states that it may lead to, in definition order.
	Targets []string
	// Holds is true of a silence after which the run is held.
	Holds bool
}

// Hold keeps a run HELD until its cause is lifted (S6.2).
type Hold struct {
	// By is the name of the principal that holds it.
	By string
	// Cause is operator, session_end or stale.
	Cause, Reason string
	Since         time.Time
}

// Evidence is an observation of Interlock, which agents cannot claim (S14).
type Evidence struct {
	Name string
	// Held is true when it counts now, Since when it was observed.
	Held  bool
	Since time.Time
	// VoidedBy names the act that voided it, Missing the missing part and how to get it,
	// and Needs the requirement.
	VoidedBy, Missing, Needs string
	// Tree is the digest of the files that it was witnessed on; empty when it is not bound to them.
	Tree string
}

// Branch of a fork (S5.1).
type Branch struct {
	Name   string
	Status BranchStatus
	State  string
	// SessionID is the session that it was given to; empty for none.
	SessionID string
}

// RunHalt stops the work of a run until an operator lifts it (S23.41).
type RunHalt struct {
	ID string
	// Scope is in words, such as workflow "deploy".
	Scope     string
	Reason    string
	CreatedBy string
	CreatedAt time.Time
}

// RunFreeze stops some transitions of a run until a time (S25.12).
type RunFreeze struct {
	ID, Reason, CreatedBy string
	Until                 time.Time
}

// LegalEvent is one event that a state defines.
type LegalEvent struct {
	Event string
	// Targets are all states that it may lead to, in definition order.
	Targets []string
	// Guards are all that it may evaluate, in order.
	Guards           []string
	RequiresApproval bool
	// Frozen is true while a freeze stops it (S25.12).
	Frozen bool
}

// Ended reports whether the run continues no more.
func (r *Run) Ended() bool { return r.Status.Ended() }

func runOf(r *enginev1.Run) *Run {
	rules := r.GetRules()
	run := &Run{
		ID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		Status: RunStatus(word(r.GetStatus(), "RUN_STATUS_")), State: r.GetState(), Context: r.GetContext(),
		Version: r.GetVersion(), TransitionCount: r.GetTransitionCount(), SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(), WorkspaceClaimed: r.GetWorkspaceClaimed(),
		Instructions: rules.GetInstructions(), Model: rules.GetModel(), ThinkingLevel: rules.GetThinkingLevel(), LegalEvents: legalEvents(rules.GetLegalEvents()),
		ToolsRestricted: rules.GetToolsRestricted(), AllowedTools: rules.GetAllowedTools(), DisallowedTools: rules.GetDisallowedTools(),
		Iterations: r.GetUsage().GetIterations(), MaxIterations: rules.GetMaxIterations(), BlockedEnv: rules.GetBlockedEnv(),
		Branch: r.GetBranch(), Interrupt: r.GetInterrupt().GetName(), ReturnTo: r.GetInterrupt().GetReturnTo(),
		ParentID: r.GetParentRunId(), CreatedAt: timeOf(r.GetCreatedAt()), UpdatedAt: timeOf(r.GetUpdatedAt()),
	}
	for _, v := range rules.GetEnvOverrides() {
		if run.EnvOverrides == nil {
			run.EnvOverrides = map[string]string{}
		}
		run.EnvOverrides[v.GetName()] = v.GetValue()
	}
	if h := r.GetHalt(); h != nil {
		run.Halt = &RunHalt{ID: h.GetHaltId(), Scope: h.GetScope(), Reason: h.GetReason(), CreatedBy: h.GetCreatedBy(), CreatedAt: timeOf(h.GetCreatedAt())}
	}
	if f := r.GetFreeze(); f != nil {
		run.Freeze = &RunFreeze{ID: f.GetFreezeId(), Reason: f.GetReason(), CreatedBy: f.GetCreatedBy(), Until: timeOf(f.GetUntil())}
	}
	run.OutputTools = r.GetWorkflowMeta().GetOutputTools()
	for _, e := range r.GetEvidence() {
		run.Evidence = append(run.Evidence, Evidence{
			Name: e.GetName(), Held: e.GetHeld(), Since: timeOf(e.GetSince()), VoidedBy: e.GetVoidedBy(), Missing: e.GetMissing(), Needs: e.GetNeeds(), Tree: e.GetTree(),
		})
	}
	for _, b := range r.GetFork().GetBranches() {
		run.Branches = append(run.Branches, Branch{
			Name: b.GetName(), Status: BranchStatus(word(b.GetStatus(), "BRANCH_STATUS_")), State: b.GetState(), SessionID: b.GetSessionId(),
		})
	}
	run.Schedule = r.GetSchedule()
	run.ArrivedAt, run.Deadline, run.LastActivity = timeOf(r.GetArrivedAt()), timeOf(r.GetDeadline()), timeOf(r.GetLastActivity())
	for _, d := range r.GetDues() {
		run.Dues = append(run.Dues, Due{
			Kind: d.GetKind(), Event: d.GetEvent(), Branch: d.GetBranch(), After: d.GetAfter().AsDuration(), At: timeOf(d.GetAt()),
			StoppedBy: d.GetStoppedBy(), Left: d.GetLeft().AsDuration(), Blocked: d.GetBlocked(), Targets: d.GetTargets(), Holds: d.GetHolds(),
		})
	}
	for _, h := range r.GetHolds() {
		run.Holds = append(run.Holds, Hold{
			By: h.GetBy(), Cause: strings.ToLower(word(h.GetCause(), "HOLD_CAUSE_")), Reason: h.GetReason(), Since: timeOf(h.GetSince()),
		})
	}
	return run
}

func legalEvents(events []*enginev1.LegalEvent) []LegalEvent {
	out := make([]LegalEvent, len(events))
	for i, e := range events {
		out[i] = LegalEvent{Event: e.GetEvent(), Targets: e.GetTargets(), Guards: e.GetGuards(), RequiresApproval: e.GetRequiresApproval(), Frozen: e.GetFrozen()}
	}
	return out
}

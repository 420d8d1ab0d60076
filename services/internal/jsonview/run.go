package jsonview

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Run is one instance of a workflow (S6).
type Run struct {
	RunID           string         `json:"run_id"`
	Workflow        string         `json:"workflow"`
	WorkflowVersion int64          `json:"workflow_version"`
	Status          string         `json:"status" enum:"RUNNING,WAITING,AWAITING_APPROVAL,PAUSED,HELD,COMPLETED,FAILED,BLOCKED,CANCELLED"`
	State           string         `json:"state"`
	Context         jsontext.Value `json:"context" doc:"A JSON object, as the callers wrote it."`
	Iterations      int64          `json:"iterations" doc:"Allowed tool calls in this entry of the state."`
	TransitionCount int64          `json:"transition_count"`
	Version         int64          `json:"version" doc:"Bumped by every change; also the ETag."`
	SessionID       string         `json:"session_id"`
	Workspace       string         `json:"workspace,omitzero" doc:"The folder on the machine of the agent; absent without one, and then no command is evidence."`
	// AllowedTools is nil when the state does not restrict tools.
	AllowedTools *[]string `json:"allowed_tools" doc:"null when the state does not restrict tools."`
	Instructions string    `json:"instructions"`

	Model         string       `json:"model,omitzero" doc:"The model that the state is meant for, for the agent's runtime."`
	ThinkingLevel string       `json:"thinking_level,omitzero" doc:"How much the model is to think."`
	LegalEvents   []LegalEvent `json:"legal_events"`
	CreatedAt     time.Time    `json:"created_at"`
	UpdatedAt     time.Time    `json:"updated_at"`

	Enforcement string `json:"enforcement,omitzero" enum:"until_success,always,while_running" doc:"When the run stops to enforce its rules: once it has succeeded, never, or also while its agent pauses it and after a failure."`
	// SupersededBy is set where it matters: for runs whose rules are no longer in force.
	SupersededBy string        `json:"superseded_by,omitzero" doc:"The run that the session drives now, when that is another."`
	Holds        []Hold        `json:"holds,omitempty" doc:"The causes of its holds."`
	Branch       string        `json:"branch,omitzero" doc:"The branch that state, context, counters and limits are of."`
	BranchOver   bool          `json:"branch_over,omitzero" doc:"True when that branch has ended."`
	Interrupt    *Interruption `json:"interrupt,omitzero" doc:"Set while the handler of an interrupt is at work."`
	Fork         *Fork         `json:"fork,omitzero" doc:"Set while the run is in branches."`
	Child        *Invocation   `json:"child,omitzero" doc:"Set while the run, or this branch of it, waits for a run that it invoked."`
	ParentRunID  string        `json:"parent_run_id,omitzero" doc:"The run that invoked this one."`
	Schedule     string        `json:"schedule,omitzero" doc:"The schedule that has started it."`

	DisallowedTools []string `json:"disallowed_tools,omitempty"`
	// AllowedCommands is nil when the state does not restrict commands.
	AllowedCommands    *[]string         `json:"allowed_commands" doc:"null when the state does not restrict commands."`
	BlockedEnv         []string          `json:"blocked_env,omitempty" doc:"Variables that tools must not read."`
	EnvOverrides       map[string]string `json:"env_overrides,omitempty" doc:"Variables that tools get instead of their own."`
	MaxIterations      int64             `json:"max_iterations,omitzero" doc:"Tool calls that this entry of the state may have."`
	MaxEditLines       int64             `json:"max_edit_lines,omitzero" doc:"Lines that one edit may have."`
	MaxFilesPerState   int64             `json:"max_files_per_state,omitzero" doc:"Files that this entry of the state may change."`
	FilesChanged       int64             `json:"files_changed,omitzero" doc:"Files counted against it."`
	ContextBudgetBytes int64             `json:"context_budget_bytes,omitzero" doc:"Bytes of results that this entry of the state may have."`
	ContextBytes       int64             `json:"context_bytes,omitzero" doc:"Bytes counted against it."`

	PendingApproval     *PendingApproval `json:"pending_approval,omitzero" doc:"The transition that waits for humans, in this branch."`
	LastApproval        *LastApproval    `json:"last_approval,omitzero" doc:"The outcome of the last one that did not fire, until the branch moves on."`
	Leases              []Lease          `json:"leases,omitempty" doc:"Leases of approvers. Only of one run, and for people."`
	ApprovalWaitSeconds int64            `json:"approval_wait_seconds,omitzero" doc:"How long a hook or tool may wait for a decision."`
	Evidence            []Evidence       `json:"evidence,omitempty" doc:"The observations that the workflow requires of Interlock, in definition order."`
	OutputTools         []string         `json:"output_tools,omitempty" doc:"Tools whose results the evidence reads: report their output."`
	ArrivedAt           time.Time        `json:"arrived_at,omitzero" doc:"When it came to its state from another one: the clock of the state counts from there."`
	Deadline            time.Time        `json:"deadline,omitzero" doc:"When it must have ended, whatever it waits for."`
	Dues                []Due            `json:"dues,omitempty" doc:"What time will bring about, the soonest first, as things stand now."`
	LastActivity        time.Time        `json:"last_activity,omitzero" doc:"When it made progress last, to the second. Of active runs, where runs are read."`
	Freeze              *RunFreeze       `json:"freeze,omitzero" doc:"The freeze that the run is under. Only of one run."`
	Halt                *RunHalt         `json:"halt,omitzero" doc:"The halt that stops the work of the run. Only of one run."`
	Process             bool             `json:"process,omitzero" doc:"True when the workflow is a process."`
	Policies            []string         `json:"policies,omitempty" doc:"Policies of the registry that the workflow names."`
}

// Due is one thing that time brings about in a run (S25).
type Due struct {
	Kind         string    `json:"kind" enum:"deadline,fork,after,stale,remind"`
	Event        string    `json:"event,omitzero" doc:"The event of the transition, such as $after:2h."`
	Branch       string    `json:"branch,omitzero"`
	AfterSeconds int64     `json:"after_seconds" doc:"The time on the clock at which it is due: of a deadline since the run began, of a silence since the last progress."`
	At           time.Time `json:"at,omitzero" doc:"When it is due, if no clock stands still before; absent while its clock stands still."`
	StoppedBy    string    `json:"stopped_by,omitzero" enum:"hold,pause,approval,branches" doc:"Why its clock stands still."`
	LeftSeconds  int64     `json:"left_seconds,omitzero" doc:"The time that is left on a clock that stands still."`
	Blocked      bool      `json:"blocked,omitzero" doc:"True when it was due, and no guard let it through."`
	Targets      []string  `json:"targets,omitempty" doc:"The states that it may lead to, in definition order."`
	Holds        bool      `json:"holds,omitzero" doc:"True of a silence after which the run is held."`
}

// RunHalt stops the work of a run until an operator lifts it (S23.41).
type RunHalt struct {
	HaltID    string    `json:"halt_id"`
	Scope     string    `json:"scope" doc:"In words, such as workflow \"deploy\"."`
	Reason    string    `json:"reason"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
}

func runHaltOf(h *enginev1.RunHalt) *RunHalt {
	if h == nil {
		return nil
	}
	return &RunHalt{HaltID: h.GetHaltId(), Scope: h.GetScope(), Reason: h.GetReason(), CreatedBy: h.GetCreatedBy(), CreatedAt: Time(h.GetCreatedAt())}
}

// RunFreeze stops some transitions of a run for a time (S25.12).
type RunFreeze struct {
	FreezeID  string    `json:"freeze_id"`
	Reason    string    `json:"reason"`
	CreatedBy string    `json:"created_by"`
	Until     time.Time `json:"until" doc:"When it ends."`
}

func runFreezeOf(f *enginev1.RunFreeze) *RunFreeze {
	if f == nil {
		return nil
	}
	return &RunFreeze{FreezeID: f.GetFreezeId(), Reason: f.GetReason(), CreatedBy: f.GetCreatedBy(), Until: Time(f.GetUntil())}
}

// Cause is the clock that has brought a change about (S25.9).
type Cause struct {
	Kind         string    `json:"kind" enum:"deadline,fork,after,stale,remind,schedule,trigger"`
	AfterSeconds int64     `json:"after_seconds" doc:"The time on the clock."`
	Due          time.Time `json:"due" doc:"When it was due. The change is late by the time from there to its own."`
}

func duesOf(dues []*enginev1.Due) []Due {
	var out []Due
	for _, d := range dues {
		out = append(out, Due{
			Kind: d.GetKind(), Event: d.GetEvent(), Branch: d.GetBranch(), AfterSeconds: secondsOf(d.GetAfter()), At: Time(d.GetAt()),
			StoppedBy: d.GetStoppedBy(), LeftSeconds: secondsOf(d.GetLeft()), Blocked: d.GetBlocked(), Targets: d.GetTargets(), Holds: d.GetHolds(),
		})
	}
	return out
}

func causeOf(c *enginev1.Cause) *Cause {
	if c == nil {
		return nil
	}
	return &Cause{Kind: c.GetKind(), AfterSeconds: secondsOf(c.GetAfter()), Due: Time(c.GetDue())}
}

// Hold keeps a run paused until its cause is lifted (S6.2).
type Hold struct {
	By     string    `json:"by"`
	Cause  string    `json:"cause" enum:"operator,session_end,stale"`
	Reason string    `json:"reason,omitzero"`
	Since  time.Time `json:"since"`
}

// LegalEvent is one event that the current state defines.
type LegalEvent struct {
	Event            string   `json:"event"`
	Targets          []string `json:"targets" doc:"Every state that it may lead to, in definition order."`
	Guards           []string `json:"guards" doc:"Every guard that it may evaluate, in order."`
	RequiresApproval bool     `json:"requires_approval"`
	Frozen           bool     `json:"frozen,omitzero" doc:"True while a freeze stops it; freeze of the run has the reason and the end."`
}

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name     string         `json:"name"`
	Field    string         `json:"field"`
	Op       string         `json:"op"`
	Expected jsontext.Value `json:"expected" doc:"The guard's value; null when the operator takes none."`
	Actual   jsontext.Value `json:"actual" doc:"The field's value; null when the field is missing."`
	Passed   bool           `json:"passed"`
	Code     string         `json:"code,omitzero" doc:"EVIDENCE_MISSING or CLAIMED, where no comparison failed."`
	Message  string         `json:"message,omitzero" doc:"The requirement and the finding, of a guard that is more than a comparison."`
}

// Evidence is an observation of Interlock, which agents cannot claim (S14).
type Evidence struct {
	Name     string     `json:"name"`
	Held     bool       `json:"held"`
	Since    *time.Time `json:"since,omitzero" doc:"When it was observed."`
	VoidedBy string     `json:"voided_by,omitzero" doc:"The act that voided it."`
	Missing  string     `json:"missing,omitzero" doc:"The missing part and how to get it."`
	Needs    string     `json:"needs" doc:"The requirement."`
	Tree     string     `json:"tree,omitzero" doc:"Digest of the files that it was witnessed on; absent when it is not bound to them."`
}

// Rejection says why a transition was refused and which ones are legal (S2.7).
type Rejection struct {
	Code        string        `json:"code"`
	Message     string        `json:"message" doc:"One sentence that an agent can act on."`
	Guards      []GuardResult `json:"guards" doc:"Every failing guard."`
	LegalEvents []LegalEvent  `json:"legal_events"`
}

// RunOf returns the JSON of a run in the FULL view.
func RunOf(r *enginev1.Run) Run {
	rules, used, meta := r.GetRules(), r.GetUsage(), r.GetWorkflowMeta()
	run := Run{
		RunID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		Status: StatusName(r.GetStatus()), State: r.GetState(), Context: objectOf(r.GetContext()),
		Iterations: used.GetIterations(), TransitionCount: r.GetTransitionCount(), Version: r.GetVersion(),
		SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(), AllowedTools: ListOf(rules.GetToolsRestricted(), rules.GetAllowedTools()),
		Instructions: rules.GetInstructions(), Model: rules.GetModel(), ThinkingLevel: rules.GetThinkingLevel(), LegalEvents: LegalEvents(rules.GetLegalEvents()),
		CreatedAt: Time(r.GetCreatedAt()), UpdatedAt: Time(r.GetUpdatedAt()),

		SupersededBy: r.GetSupersededBy(), Holds: holdsOf(r.GetHolds()), Branch: r.GetBranch(), BranchOver: r.GetBranchOver(), Interrupt: interruptionOf(r.GetInterrupt()),
		Fork: forkOf(r.GetFork()), Child: invocationOf(r.GetChild()), ParentRunID: r.GetParentRunId(), Schedule: r.GetSchedule(),
		DisallowedTools: rules.GetDisallowedTools(), AllowedCommands: ListOf(rules.GetCommandsRestricted(), rules.GetAllowedCommands()),
		BlockedEnv: rules.GetBlockedEnv(), EnvOverrides: variablesOf(rules.GetEnvOverrides()),
		MaxIterations: rules.GetMaxIterations(), MaxEditLines: rules.GetMaxEditLines(),
		MaxFilesPerState: rules.GetMaxFilesPerState(), FilesChanged: used.GetFilesChanged(),
		ContextBudgetBytes: rules.GetContextBudgetBytes(), ContextBytes: used.GetContextBytes(),
		ApprovalWaitSeconds: secondsOf(meta.GetApprovalWait()), Process: meta.GetProcess(), Enforcement: meta.GetEnforcement(), Policies: meta.GetPolicies(),
		Evidence: EvidenceOf(r.GetEvidence()), OutputTools: meta.GetOutputTools(),
	}
	run.ArrivedAt, run.Deadline, run.LastActivity, run.Dues = Time(r.GetArrivedAt()), Time(r.GetDeadline()), Time(r.GetLastActivity()), duesOf(r.GetDues())
	run.Freeze, run.Halt = runFreezeOf(r.GetFreeze()), runHaltOf(r.GetHalt())
	run.PendingApproval, run.LastApproval = runApprovals(r.GetApproval())
	return run
}

// EvidenceOf returns the JSON of the evidence of a run; nil when there is none.
func EvidenceOf(all []*enginev1.Evidence) []Evidence {
	var out []Evidence
	for _, e := range all {
		of := Evidence{Name: e.GetName(), Held: e.GetHeld(), VoidedBy: e.GetVoidedBy(), Missing: e.GetMissing(), Needs: e.GetNeeds(), Tree: e.GetTree()}
		if e.GetSince() != nil {
			since := e.GetSince().AsTime()
			of.Since = &since
		}
		out = append(out, of)
	}
	return out
}

// Standings returns the JSON of evidence of the core; nil when there is none.
func Standings(all []evidence.Status) []Evidence {
	var out []Evidence
	for _, s := range all {
		of := Evidence{Name: s.Name, Held: s.Held, VoidedBy: s.VoidedBy, Missing: s.Missing, Needs: s.Needs, Tree: s.Tree}
		if !s.Since.IsZero() {
			of.Since = &s.Since
		}
		out = append(out, of)
	}
	return out
}

func holdsOf(holds []*enginev1.Hold) []Hold {
	var out []Hold
	for _, h := range holds {
		out = append(out, Hold{
			By: h.GetBy(), Cause: protomap.LowerWord(h.GetCause(), "HOLD_CAUSE_"), Reason: h.GetReason(), Since: Time(h.GetSince()),
		})
	}
	return out
}

func variablesOf(vars []*enginev1.EnvVar) map[string]string {
	if len(vars) == 0 {
		return nil
	}
	out := make(map[string]string, len(vars))
	for _, v := range vars {
		out[v.GetName()] = v.GetValue()
	}
	return out
}

// LegalEvents returns the JSON of the events of a state.
func LegalEvents(events []*enginev1.LegalEvent) []LegalEvent {
	return Each(events, func(ev *enginev1.LegalEvent) LegalEvent {
		return LegalEvent{
			Event: ev.GetEvent(), Targets: ev.GetTargets(), Guards: ev.GetGuards(), RequiresApproval: ev.GetRequiresApproval(), Frozen: ev.GetFrozen(),
		}
	})
}

// GuardResults returns the JSON of guard outcomes; nil when there are none.
func GuardResults(results []*enginev1.GuardResult) []GuardResult {
	if len(results) == 0 {
		return nil
	}
	return Each(results, func(g *enginev1.GuardResult) GuardResult {
		return GuardResult{
			Name: g.GetName(), Field: g.GetField(), Op: protomap.LowerWord(g.GetOperator(), "GUARD_OPERATOR_"),
			Expected: jsontext.Value(g.GetExpected()), Actual: jsontext.Value(g.GetActual()), Passed: g.GetPassed(),
			Code: g.GetCode(), Message: g.GetMessage(),
		}
	})
}

// RejectionOf returns the JSON of a rejection; nil for none.
func RejectionOf(r *enginev1.Rejection) *Rejection {
	if r == nil {
		return nil
	}
	return &Rejection{
		Code: strings.TrimPrefix(r.GetCode().String(), "REJECTION_CODE_"), Message: r.GetMessage(),
		Guards: GuardResults(r.GetGuards()), LegalEvents: LegalEvents(r.GetLegalEvents()),
	}
}

const runStatusPrefix = "RUN_STATUS_"

// StatusName returns a status without its contract prefix: "RUNNING".
func StatusName(s enginev1.RunStatus) string {
	return strings.TrimPrefix(s.String(), runStatusPrefix)
}

// StatusNames returns the names of all statuses, in the contract's order.
func StatusNames() []string { return protomap.Names(enginev1.RunStatus_name, runStatusPrefix) }

package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// Definition is a parsed workflow (S1). Order is as written throughout, because
// order decides: branches, interrupts, fork branches.
type Definition struct {
	ID      string
	Initial string
	Context document.Value // an object; empty when omitted
	// Inputs are the keys of the context that agents may set when they start a run.
	// InputsDeclared is false when they were omitted: see Machine.Claims.
	Inputs         []string
	InputsDeclared bool
	States         []State
	Guards         []Guard
	// Evidence has the observations that the run's guards require (S14.1).
	Evidence   []evidence.Spec
	Interrupts []Interrupt
	Meta       Meta
	// Windows are the spans of time that transitions name; nil for none.
	Windows *condition.Windows
	// Freeze are the events whose transitions a freeze stops; nil where the workflow names none (S25.13).
	Freeze []string
	// Properties must hold in every run (see pkg/verify).
	Properties []Property
}

// State is one state and its rights (S3).
type State struct {
	Name  string
	Final bool
	// Outcome of a final state: given, or derived from its name (S1.5).
	Outcome Outcome
	// Danger is danger_level: how much a freeze must keep runs from coming here; empty for not said (S25.13).
	Danger DangerLevel

	// ToolsRestricted is false when allowed_tools was omitted: no restriction.
	ToolsRestricted bool
	AllowedTools    []string
	DisallowedTools []string
	// Calls are conditions on the calls of allowed tools, all of which must hold (S21.10).
	Calls []CallRule

	Instructions string
	// Model and ThinkingLevel are for the agent's runtime, which Interlock does not
	// enforce (S15.12); empty for none.
	Model, ThinkingLevel string
	// SafeNext is the fallback for undefined events, or empty (S2.2).
	SafeNext string

	// Limits; 0 means none.
	MaxIterations      int64
	MaxEditLines       int64
	MaxFilesPerState   int64
	ContextBudgetBytes int64

	// CommandsRestricted is false when allowed_commands was omitted.
	CommandsRestricted  bool
	AllowedCommands     []string
	AllowedCommandsTool string // default "Bash"
	// OpaqueDenied is opaque_commands == "deny": where no file may be written, no code of
	// the workspace may run either (R3).
	OpaqueDenied bool
	// NoUnknownEffects guards every way into the state: the outcome of each call must be
	// known (S16.3).
	NoUnknownEffects bool
	BlockedEnv       []string
	EnvOverrides     []EnvVar
	// Jail has the state's own settings (S20); StateView.JailRules has those of meta as well.
	Jail jail.Rules

	On []Transition

	// After are the transitions that time takes, by their delays, the shortest first (S25.3).
	After []Delayed
	// Remind are the times on the state's clock at which a reminder is announced, the soonest first (S25.4).
	Remind []time.Duration
	// Stale is how long the state may be silent; nil for any time (S25.5).
	Stale *Stale
	// RunsAsked lets the clock of the state run while people are asked (S25.2).
	RunsAsked bool
}

// Delayed is a transition that is taken when the clock of the state shows its delay.
type Delayed struct {
	Delay time.Duration
	// Written is the delay as the definition has it.
	Written string
	Transition
	targets []string
}

// Stale is the patience with a silent agent.
type Stale struct {
	// After is how long no progress is made, and CallLimit how long that does not count while a call is open; 0 for not
	// at all.
	After, CallLimit time.Duration
	// Hold holds the run, and Target is the state that it goes to. Without either the silence is announced.
	Hold   bool
	Target string
}

// EnvVar is one entry of env_overrides.
type EnvVar struct{ Name, Value string }

// Outcome of a final state.
type Outcome string

// Outcomes.
const (
	Success Outcome = "success"
	Failure Outcome = "failure"
	// Block ends a run as BLOCKED. Workflows cannot ask for it (S8.2).
	Block Outcome = "block"
)

// DangerLevel is how dangerous a state, or the whole task, is.
type DangerLevel string

// The levels.
const (
	Safe      DangerLevel = "safe"
	Moderate  DangerLevel = "moderate"
	Dangerous DangerLevel = "dangerous"
)

// Transition is the result of one event: exactly one of Branches, Invoke, Fork.
type Transition struct {
	Event string
	// Branches has one entry for a plain or guarded target.
	Branches []Branch
	// Branched is true when it was written as an array (S2.4).
	Branched bool
	Invoke   *Invoke
	Fork     *Fork
}

// Branch is one possible target, taken when all Guards pass.
type Branch struct {
	// Target is a state, or "$return".
	Target           string
	Guards           []string
	RequiresApproval bool
	ApprovalMessage  string
	// NotBefore is the time on the state's clock before which it is refused (S25.6).
	NotBefore time.Duration
	// Window names the window outside of which it is refused, or with OutsideAsks asks humans; empty for any time (S25.7).
	Window      string
	OutsideAsks bool

	// OnReject is the state that a rejected approval leads to; empty: the run stays
	// where it is (S9.1). Warn announces that it was taken. Workflows have neither:
	// they are for other forms of definition (S8.2, S8.3).
	OnReject string
	Warn     bool
}

// Invoke delegates to a child run (S5.5).
type Invoke struct {
	Workflow   string
	OnComplete string
	OnFail     string
	Input      document.Value
}

// Fork spawns branches within the workflow (S5.1).
type Fork struct {
	Branches   []ForkBranch
	Join       string // "all" or "any"
	OnComplete string
	OnFail     string
	// After is how long the branches may take before the fork fails; 0 for any time.
	After time.Duration
}

// ForkBranch is one branch of a fork.
type ForkBranch struct{ Name, Initial, Terminal string }

// Guard compares one field of the context with a value (S2.5), asks for an evidence,
// joins other guards (S14.2), or is a condition on the context (S21.17): exactly one of Field, Evidence,
// All, Any, Not and When is set.
type Guard struct {
	Name     string
	Field    string
	Op       string
	Value    document.Value
	HasValue bool
	// Source is where the field's value must come from at least; empty for anywhere
	// (S14.3).
	Source evidence.Source

	Evidence string
	All, Any []Guard
	Not      *Guard
	// When is a guard in the short form.
	When *condition.Condition
}

// each calls f for the guard and all that it joins, until f returns false.
func (g *Guard) each(f func(*Guard) bool) bool {
	if !f(g) || g.Not != nil && !g.Not.each(f) {
		return false
	}
	for _, list := range [...][]Guard{g.All, g.Any} {
		for i := range list {
			if !list[i].each(f) {
				return false
			}
		}
	}
	return true
}

// Interrupt diverts a run to Target when a matching file changed (S4).
type Interrupt struct{ Name, FilePattern, Target string }

// Meta holds the fields under meta that this project acts on.
type Meta struct {
	// Danger is danger_level of the task; empty for not said.
	Danger DangerLevel
	// Debug lets states be forced; DebugAgents lets agents force them, too (S15.7).
	Debug         bool
	DebugAgents   bool
	CaptureOutput bool
	// ApprovalMode is "ui" (the default) or "none": S9.1.
	ApprovalMode string
	// Enforcement is meta.enforcement (S2.9).
	Enforcement           Enforcement
	RequiresHumanApproval bool
	// Approval has the terms of approvals, meta.approval (S9.2, S9.3).
	Approval consent.Terms
	// ApprovalTerms ask for more approvals, by what is asked about (S21.15).
	ApprovalTerms []ApprovalTerm
	// ApprovalWait is how long an agent's call may wait for a decision before it is
	// answered, meta.approval.wait_seconds; 0 for not at all.
	ApprovalWait time.Duration
	// ApprovalReads are the JSON Pointers of the shared state that approvals rest on,
	// meta.approval.reads (S18.5).
	ApprovalReads []string
	// Deadline ends runs, meta.deadline; nil for none (S25.8).
	Deadline *Deadline
	// Policies of the registry that every tool call is judged by, meta.policy (S7).
	Policies []string
	// Commands classify programs that no table of this project has, by their names; nil
	// for none (R3).
	Commands map[string]CommandClass
	// UnknownCommands is meta.unknown_commands == "allow": programs that neither has may
	// run where no file may be written.
	UnknownCommands bool
	// EffectDeadline is when an allowed call that has not been reported is unknown; 0 where
	// no account is kept (S16.1).
	EffectDeadline time.Duration
	// Reconcile are the tools whose results show how such calls ended (S16.5).
	Reconcile []Reconcile
	// Tools are those of the author's own, meta.tools.
	Tools []string
	// Described has the descriptions of tools that meta.tools gives; nil for none.
	Described toolinput.Tools
	// ReadTools are tools that change no files, meta.read_tools; an entry may end with *.
	ReadTools []string
	// Jail has the settings of every state, meta.jail (S20).
	Jail jail.Rules
	// EditTools are tools in addition to the known ones that edit files, by their exact
	// names; nil for none.
	EditTools map[string]EditTool
}

// Deadline is how long a run may take, and the state that it goes to then.
type Deadline struct {
	After  time.Duration
	Target string
}

// Reconcile is a tool whose observed result reports how a call of another ended.
type Reconcile struct {
	Tool string
	// Of is the tool of the call, by its exact name.
	Of string
	// OK and Failed test whether a result shows success, or failure; nil if it cannot
	// show that.
	OK, Failed *evidence.Test
}

// CommandClass is the effect of a program on files.
type CommandClass string

// The classes.
const (
	CommandReads  CommandClass = "reads"
	CommandWrites CommandClass = "writes"
	// CommandOpaque is a program that follows files of the workspace, which are not seen:
	// it may run where no file may be written, unless the state refuses it.
	CommandOpaque CommandClass = "opaque"
)

// ReturnTarget is the target that resolves to the interrupted state (S4.2).
const ReturnTarget = "$return"

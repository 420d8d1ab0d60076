package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Trial is how a definition behaves on a list of steps.
type Trial struct {
	Before  TrialStanding `json:"before" doc:"How things stand before the first step."`
	Steps   []TrialStep   `json:"steps" doc:"The result of each step."`
	Stopped string        `json:"stopped,omitzero" enum:"TIME,SIZE" doc:"Set when not all steps were taken, because they took too long or the answer became too large."`
}

// TrialStep is the result of one step.
type TrialStep struct {
	Action    string                 `json:"action" doc:"The step, for a person."`
	OK        bool                   `json:"ok" doc:"True when it is as the step's expect says, or was allowed where it has none."`
	Different []string               `json:"different,omitempty" doc:"The keys of the step's expect that are not as expected."`
	Decision  string                 `json:"decision,omitzero" doc:"On a call."`
	Code      string                 `json:"code,omitzero" doc:"Of a call that was not allowed."`
	Verdicts  []TrialVerdict         `json:"verdicts,omitempty" doc:"On a call: the verdict of the state, then that of each policy. The strictest decides."`
	Rejected  string                 `json:"rejected,omitzero" doc:"The code of a refusal."`
	Guards    []jsonview.GuardResult `json:"guards,omitempty" doc:"Every failing guard."`
	Message   string                 `json:"message,omitzero" doc:"Why it was not allowed, in the words for an agent."`
	Interrupt string                 `json:"interrupt,omitzero" doc:"The interrupt that it has fired."`
	Events    []string               `json:"events" doc:"Types of the events that it has led to, in order."`
	After     TrialStanding          `json:"after" doc:"How things stand then."`
}

// TrialVerdict is the verdict of the state or of one policy on a call.
type TrialVerdict struct {
	Decision string `json:"decision"`
	Code     string `json:"code,omitzero"`
	Policy   string `json:"policy,omitzero" doc:"The policy; absent for the state's verdict."`
	Rule     string `json:"rule,omitzero" doc:"JSON Pointer to the deciding rule of the policy."`
	Pattern  string `json:"pattern,omitzero" doc:"The capability that the rule names."`
	Message  string `json:"message"`
}

// TrialStanding is how a simulation stands.
type TrialStanding struct {
	Run       TrialRun        `json:"run" doc:"Where the caller's next step would act."`
	Around    []TrialRun      `json:"around" doc:"The branches and runs around that, from inside out."`
	Branches  []TrialBranch   `json:"branches" doc:"Of all forks that are under way."`
	Approvals []TrialApproval `json:"approvals" doc:"Approvals that wait for a human."`
	Time      time.Time       `json:"time" doc:"The virtual time."`
}

// TrialRun is a run of a simulation, or a branch of it.
type TrialRun struct {
	RunID           string                `json:"run_id"`
	Workflow        string                `json:"workflow"`
	Branch          string                `json:"branch,omitzero"`
	State           string                `json:"state"`
	Status          string                `json:"status"`
	Interrupt       string                `json:"interrupt,omitzero" doc:"The interrupt that is being handled."`
	Context         jsontext.Value        `json:"context"`
	Iterations      int64                 `json:"iterations" doc:"Allowed tool calls in this entry of the state."`
	TransitionCount int64                 `json:"transition_count"`
	AllowedTools    *[]string             `json:"allowed_tools" doc:"null when the state does not restrict tools."`
	DisallowedTools []string              `json:"disallowed_tools,omitempty"`
	LegalEvents     []jsonview.LegalEvent `json:"legal_events"`
	Question        string                `json:"question,omitzero" doc:"Of a process: the events are its answers."`
	Evidence        []jsonview.Evidence   `json:"evidence,omitempty" doc:"The observations that the workflow requires of Interlock."`
}

// TrialBranch is a branch of a fork.
type TrialBranch struct {
	RunID  string `json:"run_id"`
	Branch string `json:"branch" doc:"Its path, from outside in."`
	Status string `json:"status"`
	State  string `json:"state"`
	Bound  bool   `json:"bound" doc:"True when it was given to a session of its own."`
}

// TrialApproval is a question that can still be decided.
type TrialApproval struct {
	ApprovalID string    `json:"approval_id"`
	Kind       string    `json:"kind"`
	Message    string    `json:"message"`
	Required   int       `json:"required" doc:"Approvals that grant it."`
	ExpiresAt  time.Time `json:"expires_at"`
	Outcome    string    `json:"outcome" doc:"One sentence on how it stands."`
}

// Bounds of one simulation.
const (
	mostTrialSteps = 1000
	// trialTimeout bounds its work.
	trialTimeout = 5 * time.Second
	// mostTrialBytes bounds the JSON of its answer, but for the last step.
	mostTrialBytes = 8 << 20
)

const trialDefinition = "A workflow or a process, written out; optionally workflows that it invokes, policies that judge its calls, " +
	"workspace, given and steps. They are those of scenario files, whose schema is /scenario-schema.json."

// trials serves trials and proofs of definitions, in memory.
type trials struct {
	may *readers
}

func (h *trials) routes(add func(route)) {
	h.verifyRoutes(add)
	add(route{
		method: http.MethodPost, path: "/v1/simulate", id: "simulateDefinition", summary: "Try a definition step by step",
		about: "Plays at most 1000 steps in memory, on virtual time, and shows the result of each. Nothing is stored, and no run is started. " +
			"422 with every problem when something is invalid.",
		body: definitionBody, definition: trialDefinition, timeout: trialTimeout, answers: answers[Trial](http.StatusOK), serve: h.simulate,
	})
}

func (h *trials) simulate(c *call) (*answer, error) {
	// It shows no data of the server, but costs time: callers must be allowed to read.
	if err := h.may.mayRead(c.ctx, c.namespace()); err != nil {
		return nil, err
	}
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	// The body holds definitions that may nest as deep as one alone.
	v, problems := document.ParseAll(text, document.Limits{Bytes: maxBody, Depth: maxDepth + trialLevels})
	if len(problems) > 0 {
		return nil, badText(problems)
	}
	trial, problems := scenario.ParseTrial(v, mostTrialSteps)
	if trial == nil {
		return nil, badDefinition(problems)
	}
	played, err := play(c.ctx, trial)
	return ok(played), err
}

// trialLevels are around a definition in a simulation: the document, and a list.
const trialLevels = 2

// badDefinition returns a 422 with all that is wrong with a definition.
func badDefinition(problems document.Problems) error {
	return problemAt(http.StatusUnprocessableEntity, fault.InvalidDefinition, jsonview.Each(problems, func(p document.Problem) ProblemDetail {
		return inBody(p.Pointer, p.Code, p.Message)
	}))
}

// play takes the steps of a trial until the context ends or the answer is too large.
func play(ctx context.Context, trial *scenario.Trial) (Trial, error) {
	before, steps := trial.Play()
	t := Trial{Before: standingOf(before), Steps: make([]TrialStep, 0, trial.Steps())}
	size := 0
	for moment := range steps {
		step := trialStepOf(moment)
		text, err := encode(step)
		if err != nil {
			return t, err
		}
		t.Steps = append(t.Steps, step)
		size += len(text)
		if len(t.Steps) == trial.Steps() {
			break
		}
		if size > mostTrialBytes {
			t.Stopped = "SIZE"
			break
		}
		if ctx.Err() != nil {
			t.Stopped = "TIME"
			break
		}
	}
	return t, nil
}

func trialStepOf(m scenario.Moment) TrialStep {
	s := TrialStep{
		Action: m.Action, OK: m.OK, Different: m.Different, Decision: string(m.Decision), Code: string(m.Code), Rejected: m.Rejected,
		Message: m.Message, Interrupt: m.Interrupt, Events: m.Events, After: standingOf(m.After),
		Guards: jsonview.Each(m.Guards, guardOf),
	}
	for i := range m.Verdicts {
		v := &m.Verdicts[i]
		verdict := TrialVerdict{Decision: string(v.Decision), Code: string(v.Code), Message: v.Message}
		if v.By != nil {
			verdict.Policy, verdict.Rule, verdict.Pattern = v.By.Policy, v.By.Pointer(), v.By.Pattern
		}
		s.Verdicts = append(s.Verdicts, verdict)
	}
	return s
}

func guardOf(g workflow.GuardResult) jsonview.GuardResult {
	return jsonview.GuardResult{
		Name: g.Name, Field: g.Field, Op: g.Op, Expected: rawOrNull(g.Expected), Actual: rawOrNull(g.Actual), Passed: g.Passed,
		Code: string(g.Code), Message: g.Why,
	}
}

func rawOrNull(v document.Value) jsontext.Value {
	if v.IsZero() {
		return jsontext.Value("null")
	}
	return v.AppendJSON(nil)
}

func standingOf(s scenario.Standing) TrialStanding {
	runs := jsonview.Each(s.Places, trialRunOf)
	return TrialStanding{
		Run: runs[0], Around: runs[1:], Time: s.Now, Approvals: jsonview.Each(s.Approvals, trialApprovalOf),
		Branches: jsonview.Each(s.Branches, func(b scenario.Branch) TrialBranch {
			return TrialBranch{RunID: b.RunID, Branch: b.Path, Status: string(b.Status), State: b.State, Bound: b.Bound}
		}),
	}
}

func trialRunOf(p scenario.Place) TrialRun {
	return TrialRun{
		RunID: p.RunID, Workflow: p.Workflow, Branch: p.Branch, State: p.State.Name, Status: string(p.Status), Interrupt: p.Interrupt,
		Context: rawOrNull(p.Context), Iterations: p.Iterations, TransitionCount: p.TransitionCount,
		AllowedTools: jsonview.ListOf(p.State.ToolsRestricted, p.State.AllowedTools), DisallowedTools: p.State.DisallowedTools,
		LegalEvents: jsonview.Each(p.State.LegalEvents(), legalEventOf), Question: p.Question,
		Evidence: jsonview.Standings(p.Evidence),
	}
}

func legalEventOf(ev workflow.LegalEvent) jsonview.LegalEvent {
	return jsonview.LegalEvent{Event: ev.Event, Targets: ev.Targets, Guards: ev.Guards, RequiresApproval: ev.RequiresApproval}
}

func trialApprovalOf(a *consent.Approval) TrialApproval {
	return TrialApproval{
		ApprovalID: a.ID, Kind: string(a.Action.Kind), Message: a.Message, Required: a.Terms.Required, ExpiresAt: a.ExpiresAt, Outcome: a.Outcome(),
	}
}

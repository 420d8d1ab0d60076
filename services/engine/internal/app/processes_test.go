package app

import (
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// S8.4, S6.7, S15.10: workflows and processes share one set of names, and everything else that
// holds for versions.
func TestRegisterProcess(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	register := func(caller ports.Caller, src string, asProcess bool) (*registry.Version, bool, error) {
		call := a.Registry.RegisterOn
		if asProcess {
			call = a.Registry.RegisterProcess
		}
		v, created, _, err := call(t.Context(), caller, []byte(src), registry.Terms{})
		return v, created, err
	}
	first, created, err := register(agent, signoff, true)
	if err != nil || !created || first.Number != 1 || !first.Process || first.Name != "signoff" || !strings.HasPrefix(first.ID, "proc_") {
		t.Fatalf("%+v, %t, %v", first, created, err)
	}
	if again, created, err := register(operator, signoff, true); err != nil || created || again.Digest != first.Digest {
		t.Errorf("again: %+v, %t, %v", again, created, err)
	}
	changed := strings.Replace(signoff, "Ready?", "Are you ready?", 1)
	if _, _, err := register(agent, changed, true); fault.ReasonOf(err) != fault.NameTaken {
		t.Errorf("an agent changes what an operator has claimed: %v", err)
	}
	if second, created, err := register(operator, changed, true); err != nil || !created || second.Number != 2 || second.ID != first.ID {
		t.Errorf("%+v, %t, %v", second, created, err)
	}
	for what, tt := range map[string]struct {
		src       string
		asProcess bool
		reason    fault.Reason
		words     string
	}{
		"a workflow of a process's name":  {strings.Replace(review, `"review"`, `"signoff"`, 1), false, fault.NameTaken, `"signoff" is the name of a process`},
		"a process of a workflow's name":  {strings.Replace(signoff, `"signoff"`, `"review"`, 1), true, fault.NameTaken, `"review" is the name of a workflow`},
		"a process as a workflow":         {signoff, false, fault.InvalidDefinition, "looks like a process"},
		"a workflow as a process":         {review, true, fault.InvalidDefinition, "looks like a workflow"},
		"a process that is not valid":     {strings.Replace(signoff, `"r"`, `"s"`, 1), true, fault.InvalidDefinition, "UNKNOWN_STATE"},
		"no JSON":                         {"{", true, fault.InvalidDefinition, "JSON_SYNTAX"},
		"what may be either, as workflow": {either, false, fault.InvalidDefinition, "looks like a process"},
	} {
		if _, _, err := register(operator, review, false); err != nil {
			t.Fatal(err)
		}
		if _, _, err := register(operator, tt.src, tt.asProcess); fault.ReasonOf(err) != tt.reason || !strings.Contains(fault.From(err).Message, tt.words) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// either has the fields of both kinds.
const either = `{"id": "either", "name": "either", "initial": "a", "initial_prompt": "Go on.", "states": {
	"a": {"question": "?", "answers": {"yes": {"next": null}}, "on": {"GO": "z"}}, "z": {"type": "final", "question": "?", "answers": {"yes": {"next": null}}}}}`

// Each kind is listed and read by itself, whatever lies between.
func TestProcessesAreNoWorkflows(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	var flows, gates []string
	for _, letter := range []string{"a", "b", "c", "d", "e"} {
		for _, kind := range []string{"flow", "gate"} {
			var err error
			name := letter + "-" + kind
			if kind == "flow" {
				_, _, _, err = a.Registry.Register(t.Context(), operator, []byte(strings.Replace(review, `"review"`, `"`+name+`"`, 1)), "")
				flows = append(flows, name)
			} else {
				_, _, _, err = a.Registry.RegisterProcess(t.Context(), operator, []byte(strings.Replace(signoff, `"signoff"`, `"`+name+`"`, 1)), registry.Terms{})
				gates = append(gates, name)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for limit := 1; limit <= 6; limit++ {
		var names [2][]string
		for i, list := range []func(after string) ([]*registry.Version, string, error){
			func(after string) ([]*registry.Version, string, error) {
				return a.Registry.Workflows(t.Context(), "default", after, limit)
			},
			func(after string) ([]*registry.Version, string, error) {
				return a.Registry.Processes(t.Context(), "default", after, limit)
			},
		} {
			for after, more := "", true; more; more = after != "" {
				page, next, err := list(after)
				if err != nil || len(page) > limit {
					t.Fatalf("%d, %v", len(page), err)
				}
				for _, v := range page {
					names[i] = append(names[i], v.Name)
				}
				after = next
			}
		}
		if !slices.Equal(names[0], flows) || !slices.Equal(names[1], gates) {
			t.Errorf("limit %d: %q and %q", limit, names[0], names[1])
		}
	}
	if _, _, err := a.Registry.Process(t.Context(), "default", "a-flow", 0); fault.ReasonOf(err) != fault.NotFound || !strings.Contains(err.Error(), "a workflow of that name") {
		t.Errorf("a workflow as a process: %v", err)
	}
	if _, err := a.Starts.StartProcess(t.Context(), agent, Start{Workflow: "a-flow"}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("starts a workflow: %v", err)
	}
	if v, err := a.Registry.Workflow(t.Context(), "default", "a-gate", 0); err != nil || !v.Process {
		t.Errorf("%+v, %v", v, err) // who judges by it reads it like any definition
	}
	if _, err := a.Starts.StartProcess(t.Context(), agent, Start{Workflow: "nope"}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("starts nothing: %v", err)
	}
}

func say(t *testing.T, a *App, target ports.Target, answer, note string) *Outcome {
	t.Helper()
	outcome, err := a.Moves.Answer(t.Context(), agent, Answer{Target: target, Answer: answer, Note: note})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// S8.1, S8.4: an answer is an event of the engine: repeats, versions, sessions and
// refusals are as they are of events.
func TestAnswers(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("signoff", "s")
	session := ports.Target{SessionID: "s"}
	if _, text := say(t, g.App, session, "", "").View.Turn(); !strings.HasPrefix(text, "Think.\nReady?") {
		t.Errorf("the first turn is %q", text)
	}
	refused := say(t, g.App, session, "maybe", "")
	if r := refused.Rejection; r == nil || r.Code != workflow.RejectUnknownEvent || !strings.Contains(r.Message, `Valid answers: "yes", "later", "no"`) {
		t.Errorf("%+v", r)
	}
	if turn, _ := refused.View.Turn(); turn.Question != "Ready?" || !slices.Equal(turn.Answers, []string{"yes", "later", "no"}) {
		t.Errorf("after a refusal: %+v", turn)
	}
	stale := Answer{Target: session, Answer: "later", ExpectedVersion: 7}
	if _, err := g.Moves.Answer(t.Context(), agent, stale); fault.ReasonOf(err) != fault.VersionConflict {
		t.Errorf("%v", err)
	}
	for range 2 {
		outcome, err := g.Moves.Answer(t.Context(), agent, Answer{Target: session, Answer: "later", Note: "coffee", IdempotencyKey: "k"})
		if err != nil || outcome.Rejection != nil {
			t.Fatalf("%+v, %v", outcome, err)
		}
	}
	parked := say(t, g.App, session, "yes", "")
	id := parked.ApprovalID
	if turn, text := parked.View.Turn(); id == "" || turn.Status != workflow.AwaitingApproval || !strings.Contains(text, id) {
		t.Errorf("parked %q: %+v %s", id, turn, text)
	}
	if a := g.humans.asked["default/"+id]; a.Editable || !strings.Contains(a.Message, `"yes" to: Ready?`) {
		t.Errorf("asked %+v", a)
	}
	g.humans.decide(t, id, true, "", "")
	g.settle(run, id, true)
	if _, text := say(t, g.App, session, "", "").View.Turn(); !strings.HasPrefix(text, "Sure?") {
		t.Errorf("continues with %q", text)
	}
	if turn, _ := say(t, g.App, session, "yes", "").View.Turn(); turn.Status != workflow.Completed || turn.Question != "" {
		t.Errorf("ends with %+v", turn)
	}
	entries, _, _ := g.Reads.History(t.Context(), operator, run, Position{}, 10)
	if len(entries) != 5 || entries[1].Rationale != "coffee" || entries[1].Actor != "amir" {
		t.Errorf("history: %s", g.types(run))
	}
}

// S8.3: rejected, the process is blocked; and one that a workflow has invoked fails
// there.
func TestProcessInAWorkflow(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	parent := g.start("outer", "s")
	session := ports.Target{SessionID: "s"}
	if _, err := g.Moves.Answer(t.Context(), agent, Answer{Target: session, Answer: "yes"}); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("a workflow takes an answer: %v", err)
	}
	if _, err := g.Moves.Answer(t.Context(), agent, Answer{Target: session}); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("a workflow asks a question: %v", err)
	}
	accepted(t, g.App, session, "CHECK", "", "")
	child := g.is(parent, workflow.Waiting, "a").Child.RunID
	id := say(t, g.App, session, "yes", "").ApprovalID
	g.humans.decide(t, id, false, "no", "")
	g.settle(child, id, true)
	g.is(child, workflow.Blocked, "$blocked")
	g.is(parent, workflow.Running, "b")

	parent = g.start("outer", "s2")
	session = ports.Target{SessionID: "s2"}
	accepted(t, g.App, session, "CHECK", "", "")
	var outcome *Outcome
	for range 2 { // the repeat comes when a workflow is in force
		var err error
		if outcome, err = g.Moves.Answer(t.Context(), agent, Answer{Target: session, Answer: "no", IdempotencyKey: "k"}); err != nil || outcome.Rejection != nil {
			t.Fatalf("%+v, %v", outcome, err)
		}
	}
	if turn, text := outcome.View.Turn(); turn.State != "b" || !strings.Contains(text, `Workflow "outer" is RUNNING in state "b"`) {
		t.Errorf("after the process: %+v %s", turn, text)
	}
	g.is(parent, workflow.Running, "b")
}

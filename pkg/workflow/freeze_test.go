package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Workflows that a freeze stops by the events that they name, by the level of states, and in doubt.
const (
	namedFreeze = `{"id": "w", "initial": "a", "freeze": ["GO", "FORK", "CALL"], "meta": {"debug": true},
	 "windows": {"work": {"zone": "UTC", "days": ["sat"], "from": "00:00", "to": "24:00"}, "never": {"from": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}},
	 "context": {"n": 0}, "guards": {"no": {"field": "n", "op": "eq", "value": 9}}, "interrupts": {"i": {"trigger": {"file_pattern": "*.x"}, "target": "h"}},
	 "states": {
	  "a": {"safe_next": "d", "after": {"1h": "live", "2h": "z", "3h": "d"}, "stale": {"after": "10m", "do": {"target": "live"}}, "on": {
	   "GO": "live", "AGAIN": "a", "SAME": "live",
	   "ASK": {"target": "live", "requires_approval": true}, "FORK": {"fork": {"after": "1h", "branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "live", "on_fail": "bad"}},
	   "CALL": {"invoke": "child", "on_complete": "live", "on_fail": "bad"}}},
	  "b": {"on": {"GO": [{"target": "z", "guard": "no"}, {"target": "live"}]}},
	  "e": {"safe_next": "d", "on": {"BACK": "a"}},
	  "d": {"stale": {"after": "10m", "do": {"target": "bad"}}, "on": {"BACK": "a", "GO": {"target": "live", "window": "never", "outside": "ask"}}},
	  "x0": {"on": {"OK": "xz", "NO": "xbad"}}, "xz": {"type": "final"}, "xbad": {"type": "final", "outcome": "failure"},
	  "h": {"on": {"DONE": "$return"}}, "live": {"on": {"OFF": "a"}}, "bad": {"on": {"END": "failed"}}, "z": {"type": "final"}, "failed": {"type": "final"}}}`
	markedFreeze = `{"id": "w", "initial": "a", "meta": {"debug": true, "danger_level": "safe", "deadline": {"after": "8h", "target": "late"}},
	 "interrupts": {"i": {"trigger": {"file_pattern": "*.x"}, "target": "h"}},
	 "states": {
	  "a": {"after": {"1h": "live", "2h": "z"}, "on": {"GO": "live", "LOW": "low", "EITHER": [{"target": "live"}],
	   "FORK": {"fork": {"branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "live", "on_fail": "b"}},
	   "FORK2": {"fork": {"branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "b"}},
	   "CALL": {"invoke": "child", "on_complete": "live", "on_fail": "b"}, "CALL2": {"invoke": "child", "on_complete": "b"}}},
	  "b": {"safe_next": "live", "on": {"END": "z"}}, "c": {"on": {"ASK": {"target": "live", "requires_approval": true}}},
	  "x0": {"after": {"1h": "xz"}, "on": {"OK": "xz", "NO": "xbad"}}, "xz": {"type": "final"}, "xbad": {"type": "final", "outcome": "failure"},
	  "h": {"danger_level": "dangerous", "on": {"DONE": "$return"}}, "live": {"danger_level": "dangerous", "on": {"AGAIN": "live", "OFF": "a"}},
	  "low": {"danger_level": "safe", "on": {"END": "z"}}, "z": {"type": "final"}, "late": {"type": "final", "outcome": "failure"}}}`
	unmarkedFreeze = `{"id": "w", "initial": "a", "states": {
	  "a": {"after": {"1h": "b"}, "on": {"GO": "b", "AGAIN": "a", "END": "z", "GIVE_UP": "failed"}}, "b": {"on": {"END": "z"}}, "z": {"type": "final"}, "failed": {"type": "final"}}}`
)

// A freeze stops the transitions that the workflow names, or those to dangerous states, or in doubt all but those to failing
// ends; of clocks only those that lead to a dangerous state which is not final (S25.13, S25.14).
func TestFreeze(t *testing.T) {
	t.Parallel()
	const stopped = "FROZEN"
	fire := func(events ...string) []workflow.Command {
		var all []workflow.Command
		for _, event := range events {
			all = append(all, workflow.Fire{Event: event, ApprovalID: "apr", Child: machine(t, `{"id": "child", "initial": "c", "freeze": ["OK"], "states": {"c": {"on": {"OK": "z"}}, "z": {"type": "final"}}}`), ChildID: "run_2"})
		}
		return all
	}
	elapse := func(kind workflow.DueKind, branch string, after time.Duration) workflow.Command {
		return workflow.Elapse{Due: workflow.Due{Kind: kind, Branch: branch, After: after}}
	}
	child := func(status workflow.Status) workflow.Command {
		return workflow.ChildEnded{Child: workflow.Run{ID: "run_2", Status: status}}
	}
	for name, c := range map[string]struct {
		definition string
		before     []workflow.Command // not frozen
		command    workflow.Command
		want       string // the state afterwards, or FROZEN
	}{
		"a named event":                       {namedFreeze, nil, fire("GO")[0], stopped},
		"another event to the same state":     {namedFreeze, nil, fire("SAME")[0], "live"},
		"an event that is not named":          {namedFreeze, nil, fire("AGAIN")[0], "a"},
		"safe_next":                           {namedFreeze, nil, fire("UNDEFINED")[0], "d"},
		"safe_next of a named event":          {namedFreeze, []workflow.Command{workflow.Force{State: "e"}}, fire("GO")[0], "d"},
		"the first state of a branch":         {namedFreeze, nil, workflow.Force{State: "x0"}, stopped},
		"of several branches":                 {namedFreeze, []workflow.Command{workflow.Force{State: "b"}}, fire("GO")[0], stopped},
		"people are not asked":                {namedFreeze, fire("UNDEFINED"), fire("GO")[0], stopped},
		"a fork":                              {namedFreeze, nil, fire("FORK")[0], stopped},
		"a join":                              {namedFreeze, fire("FORK"), fire("OK")[0], stopped},
		"a fork that fails":                   {namedFreeze, fire("FORK"), fire("NO")[0], "bad"},
		"a fork that takes too long":          {namedFreeze, fire("FORK"), elapse(workflow.DueFork, "", time.Hour), "bad"},
		"an invoked run":                      {namedFreeze, nil, fire("CALL")[0], stopped},
		"the end of an invoked run":           {namedFreeze, fire("CALL"), child(workflow.Completed), stopped},
		"the failure of an invoked run":       {namedFreeze, fire("CALL"), child(workflow.Failed), "bad"},
		"a forced state":                      {namedFreeze, nil, workflow.Force{State: "live"}, stopped},
		"another forced state":                {namedFreeze, nil, workflow.Force{State: "b"}, "b"},
		"after, where a named event leads":    {namedFreeze, nil, elapse(workflow.DueAfter, "", time.Hour), "a"},
		"after, to a final state":             {namedFreeze, nil, elapse(workflow.DueAfter, "", 2*time.Hour), "z"},
		"after, to another state":             {namedFreeze, nil, elapse(workflow.DueAfter, "", 3*time.Hour), "d"},
		"stale, where a named event leads":    {namedFreeze, nil, elapse(workflow.DueStale, "", time.Hour), stopped},
		"stale, to another state":             {namedFreeze, fire("UNDEFINED"), elapse(workflow.DueStale, "", time.Hour), "bad"},
		"an interrupt":                        {namedFreeze, nil, workflow.Divert{Interrupt: "i"}, "h"},
		"$return":                             {namedFreeze, []workflow.Command{workflow.Divert{Interrupt: "i"}}, fire("DONE")[0], "a"},
		"a grant of another event":            {namedFreeze, fire("ASK"), workflow.Grant{ApprovalID: "apr"}, "live"},
		"to a dangerous state":                {markedFreeze, nil, fire("GO")[0], stopped},
		"to a safe state":                     {markedFreeze, nil, fire("LOW")[0], "low"},
		"a list of branches":                  {markedFreeze, nil, fire("EITHER")[0], stopped},
		"safe_next to a dangerous state":      {markedFreeze, []workflow.Command{workflow.Force{State: "b"}}, fire("UNDEFINED")[0], stopped},
		"within the dangerous state":          {markedFreeze, fire("GO"), fire("AGAIN")[0], "live"},
		"out of the dangerous state":          {markedFreeze, fire("GO"), fire("OFF")[0], "a"},
		"asking is stopped":                   {markedFreeze, []workflow.Command{workflow.Force{State: "c"}}, fire("ASK")[0], stopped},
		"an interrupt to a dangerous state":   {markedFreeze, nil, workflow.Divert{Interrupt: "i"}, "h"},
		"$return to a dangerous state":        {markedFreeze, append(fire("GO"), workflow.Divert{Interrupt: "i"}), fire("DONE")[0], "live"},
		"a fork that leads there":             {markedFreeze, nil, fire("FORK")[0], stopped},
		"a fork that leads elsewhere":         {markedFreeze, nil, fire("FORK2")[0], "x0"},
		"a join that leads there":             {markedFreeze, fire("FORK"), fire("OK")[0], stopped},
		"a join that leads elsewhere":         {markedFreeze, fire("FORK2"), fire("OK")[0], "b"},
		"a join by a clock":                   {markedFreeze, fire("FORK"), elapse(workflow.DueAfter, "x", time.Hour), "x0"},
		"an invoked run that leads there":     {markedFreeze, nil, fire("CALL")[0], stopped},
		"an invoked run that leads elsewhere": {markedFreeze, nil, fire("CALL2")[0], "a"},
		"the end that leads there":            {markedFreeze, fire("CALL"), child(workflow.Completed), stopped},
		"the end that leads elsewhere":        {markedFreeze, fire("CALL2"), child(workflow.Completed), "b"},
		"a failure goes on":                   {markedFreeze, fire("CALL"), child(workflow.Failed), "b"},
		"force to a dangerous state":          {markedFreeze, nil, workflow.Force{State: "live"}, stopped},
		"after to a dangerous state":          {markedFreeze, nil, elapse(workflow.DueAfter, "", time.Hour), "a"},
		"after to a final state":              {markedFreeze, nil, elapse(workflow.DueAfter, "", 2*time.Hour), "z"},
		"the deadline":                        {markedFreeze, nil, elapse(workflow.DueDeadline, "", 8*time.Hour), "late"},
		"a pause":                             {markedFreeze, nil, workflow.Pause{}, "a"},
		"a cancelled run":                     {markedFreeze, nil, workflow.Cancel{}, "a"},
		"in doubt all":                        {unmarkedFreeze, nil, fire("GO")[0], stopped},
		"in doubt a success":                  {unmarkedFreeze, nil, fire("END")[0], stopped},
		"in doubt a failing end":              {unmarkedFreeze, nil, fire("GIVE_UP")[0], "failed"},
		"in doubt the same state":             {unmarkedFreeze, nil, fire("AGAIN")[0], "a"},
		"in doubt a clock":                    {unmarkedFreeze, nil, elapse(workflow.DueAfter, "", time.Hour), "b"},
		"a safe task":                         {strings.Replace(unmarkedFreeze, `"states"`, `"meta": {"danger_level": "safe"}, "states"`, 1), nil, fire("GO")[0], "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine(t, c.definition)
			run := started(t, m)
			for _, cmd := range c.before {
				run = steps(t, m, run, cmd).Run
			}
			later := noon.Add(12 * time.Hour)
			if _, ok := c.command.(workflow.Elapse); !ok {
				later = noon
			}
			out := m.Under(&workflow.Freeze{Reason: "end of the year", By: "olga", Until: noon.Add(48 * time.Hour)}).Step(&run, c.command, later)
			at := out.Run.At("")
			switch {
			case c.want == stopped && (out.Rejection == nil || out.Rejection.Code != workflow.RejectFrozen || out.Changed):
				t.Fatalf("it is in %s: %+v", at.State, out.Rejection)
			case c.want == stopped:
				for _, part := range []string{`frozen until 2026-`, `by "olga": end of the year`} {
					if !strings.Contains(out.Rejection.Message, part) {
						t.Errorf("the refusal lacks %q: %s", part, out.Rejection.Message)
					}
				}
			case out.Rejection != nil || at.State != c.want:
				t.Fatalf("it is in %s: %+v", at.State, out.Rejection)
			}
			if out := m.Step(&run, c.command, later); out.Rejection != nil {
				t.Errorf("without a freeze it is refused: %s", out.Rejection.Message)
			}
		})
	}
}

// A transition that people agreed to before a freeze is stale in it (S25.14).
func TestFreezeMakesGrantsStale(t *testing.T) {
	t.Parallel()
	m := machine(t, markedFreeze)
	run := steps(t, m, started(t, m), workflow.Force{State: "c"}, workflow.Fire{Event: "ASK", ApprovalID: "apr"}).Run
	out := m.Under(&workflow.Freeze{Until: noon.Add(time.Hour)}).Step(&run, workflow.Grant{ApprovalID: "apr"}, noon)
	if a := out.Run.Approval; out.Run.State != "c" || out.Run.Status != workflow.Running || a.Outcome != workflow.ApprovalStale || !strings.Contains(a.Note, "frozen until") {
		t.Errorf("in %s, %s: %+v", out.Run.State, out.Run.Status, a)
	}
}

// A clock that a freeze stops is announced once, tried again, and replayed from the history (S25.14).
func TestFreezeBlocksClocks(t *testing.T) {
	t.Parallel()
	m := machine(t, markedFreeze)
	run := started(t, m)
	later := noon.Add(time.Hour)
	due := m.Dues(&run)[0]
	out := m.Under(&workflow.Freeze{Reason: "why", Until: later.Add(time.Hour)}).Step(&run, workflow.Elapse{Due: due}, later)
	if out.Entry.Type != workflow.EventTimerBlocked || !strings.Contains(out.Entry.Reason, "why") {
		t.Fatalf("%s: %s", out.Entry.Type, out.Entry.Reason)
	}
	again, err := m.Replay(&run, &out.Entry)
	if err != nil || again.State != "a" || len(again.Clock.Blocked) != 1 {
		t.Errorf("replayed in %s: %v", again.State, err)
	}
	after := m.Step(&out.Run, workflow.Elapse{Due: due}, later.Add(workflow.RetryBlocked))
	if after.Run.State != "live" {
		t.Errorf("after the freeze it is in %s: %+v", after.Run.State, after.Rejection)
	}
}

// A run may not end while the one that waits for it would go on to a state that is stopped (S25.14).
func TestFreezeKeepsEnd(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "w", "initial": "a", "freeze": ["OTHER"], "meta": {"deadline": {"after": "2h", "target": "z"}}, "states": {"a": {"after": {"1h": "z"}, "on": {"OTHER": "a", "END": "z", "STAY": "b",
	 "ASK": {"target": "z", "requires_approval": true}, "F": {"fork": {"branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "b"}}}},
	 "b": {"on": {"END": "z"}}, "x0": {"on": {"OK": "xz", "NO": "xbad"}}, "xz": {"type": "final"}, "xbad": {"type": "final", "outcome": "failure"}, "z": {"type": "final"}}}`)
	under := m.Under(&workflow.Freeze{Until: noon.Add(time.Hour), KeepsEnd: true})
	run := started(t, m)
	if out := under.Step(&run, workflow.Fire{Event: "END"}, noon); out.Rejection == nil || out.Rejection.Code != workflow.RejectFrozen {
		t.Errorf("it ends: %+v", out.Rejection)
	}
	if out := under.Step(&run, workflow.Fire{Event: "STAY"}, noon); out.Rejection != nil {
		t.Errorf("it may not go on: %s", out.Rejection.Message)
	}
	if out := under.Step(&run, workflow.Elapse{Due: m.Dues(&run)[0]}, noon.Add(time.Hour)); out.Entry.Type != workflow.EventTimerBlocked {
		t.Errorf("a clock ends it: %s", out.Entry.Type)
	}
	deadline := workflow.Elapse{Due: workflow.Due{Kind: workflow.DueDeadline, After: 2 * time.Hour}}
	if out := under.Step(&run, deadline, noon.Add(2*time.Hour)); out.Rejection == nil || out.Rejection.Code != workflow.RejectFrozen || out.Run.Version != run.Version {
		t.Errorf("its deadline ends it: %+v", out.Rejection)
	}
	if out := m.Under(&workflow.Freeze{Until: noon.Add(time.Hour)}).Step(&run, deadline, noon.Add(2*time.Hour)); !out.Run.Status.Ended() {
		t.Errorf("its deadline does not end it: %+v", out.Rejection)
	}
	if out := under.Step(&run, workflow.Cancel{}, noon); out.Run.Status != workflow.Cancelled {
		t.Errorf("it cannot be cancelled: %+v", out.Rejection)
	}
	asked := steps(t, m, run, workflow.Fire{Event: "ASK", ApprovalID: "apr"}).Run
	if out := under.Step(&asked, workflow.Grant{ApprovalID: "apr"}, noon); out.Run.State != "a" || out.Run.Approval.Outcome != workflow.ApprovalStale {
		t.Errorf("a grant ends it: %s", out.Run.State)
	}
	forked := steps(t, m, run, workflow.Fire{Event: "F"}).Run
	if out := under.Step(&forked, workflow.Fire{Event: "NO"}, noon); out.Rejection == nil {
		t.Errorf("a fork that fails ends it: %s", out.Run.Status)
	}
}

// A run does not start in a state that is marked as dangerous, and a workflow that marks nothing may start (S25.14).
func TestFreezeAtStart(t *testing.T) {
	t.Parallel()
	for src, stopped := range map[string]bool{
		strings.Replace(unmarkedFreeze, `"a": {`, `"a": {"danger_level": "moderate", `, 1): true, unmarkedFreeze: false, markedFreeze: false, namedFreeze: false,
	} {
		out := machine(t, src).Under(&workflow.Freeze{Until: noon}).Start(workflow.StartParams{ID: "run_1"}, "ann", noon)
		if got := out.Rejection != nil && out.Rejection.Code == workflow.RejectFrozen; got != stopped {
			t.Errorf("%s: %+v", src, out.Rejection)
		}
	}
}

// Events are listed as stopped where every branch of them is (S25.15).
func TestStops(t *testing.T) {
	t.Parallel()
	m := machine(t, markedFreeze)
	under := m.Under(&workflow.Freeze{})
	for event, want := range map[string]bool{"GO": true, "LOW": false, "FORK": true, "FORK2": false, "CALL": true, "NONE": false} {
		if got := under.Stops("a", event); got != want {
			t.Errorf("%s: %v", event, got)
		}
		if m.Stops("a", event) {
			t.Errorf("%s is stopped without a freeze", event)
		}
	}
	run := started(t, m)
	out := under.Step(&run, workflow.Fire{Event: "GO"}, noon)
	if out.Rejection == nil || !strings.Contains(out.Rejection.Message, "Legal events: GO -> live (frozen); LOW -> low; EITHER -> live (frozen); ") {
		t.Errorf("the refusal does not mark what is frozen: %+v", out.Rejection)
	}
}

package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func evident(t *testing.T, guards, rest string) *workflow.Machine {
	t.Helper()
	def, problems := workflow.Parse([]byte(`{
		"id": "w", "initial": "a", "context": {"limit": 3, "verdict": null}, "meta": {"approval_mode": "ui"},
		"states": {
			"a": {"on": {"SET": "a", "GO": {"target": "b", "guard": "g"}, "ASK": {"target": "a", "requires_approval": true},
				"RUN": {"invoke": "sub", "on_complete": "a", "on_fail": "a"}}},
			"b": {"on": {"END": "done"}}, "done": {"type": "final"}
		},
		"guards": {"g": ` + guards + `}` + rest + `}`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return workflow.Compile(def, 1)
}

var at = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// S14.2: guards that ask for evidence, and join others.
func TestEvidenceGuards(t *testing.T) {
	t.Parallel()
	const declared = `, "evidence": {"e": {"tool": "Bash", "command": "make check"}, "f": {"tool": "Read"}, "h": {"tool": "Read"}, "i": {"tool": "Read"}}`
	held := evidence.Statuses{
		"h": {Name: "h", Missing: "needs h; it is late", Needs: "needs h"}, "i": {Name: "i", Missing: "needs i; it is late", Needs: "needs i"},
		"e": {Name: "e", Held: true, Needs: "needs e"}, "f": {Name: "f", Missing: "needs f, which is missing", Needs: "needs f"},
	}
	for guard, want := range map[string]struct {
		passes bool
		code   workflow.GuardCode
		words  string
	}{
		`{"all": [{"evidence": "e"}, {"evidence": "f"}]}`:                          {false, workflow.GuardEvidenceMissing, "needs f, which is missing"},
		`{"any": [{"evidence": "e"}, {"evidence": "f"}]}`:                          {true, "", ""},
		`{"any": [{"evidence": "f"}, {"field": "limit", "op": "gt", "value": 9}]}`: {false, workflow.GuardEvidenceMissing, "either needs f, which is missing; or requires limit gt 9, but it is 3"},
		// A reason that all have is given once.
		`{"any": [{"evidence": "h"}, {"evidence": "i"}]}`:                                   {false, workflow.GuardEvidenceMissing, "either needs h; or needs i; it is late"},
		`{"any": [{"evidence": "h"}, {"evidence": "f"}]}`:                                   {false, workflow.GuardEvidenceMissing, "either needs h; it is late; or needs f, which is missing"},
		`{"not": {"evidence": "f"}}`:                                                        {true, "", ""},
		`{"not": {"evidence": "e"}}`:                                                        {false, "", "does not pass when this holds: it needs e"},
		`{"all": [{"evidence": "e"}, {"not": {"field": "limit", "op": "eq", "value": 3}}]}`: {false, "", "does not pass when"},
		`{"all": [{"evidence": "e"}, {"field": "limit", "op": "eq", "value": 3}]}`:          {true, "", ""},
	} {
		rest := declared
		m := evident(t, guard, rest)
		run := m.Start(workflow.StartParams{ID: "run"}, "x", at).Run
		out := m.Step(&run, workflow.Fire{Event: "GO", Actor: "x", Evidence: held}, at)
		if out.Changed != want.passes {
			t.Errorf("%s: %+v", guard, out.Rejection)
			continue
		}
		if out.Rejection != nil {
			g := out.Rejection.Guards
			if out.Rejection.Code != workflow.RejectGuardFailed || len(g) != 1 || g[0].Code != want.code || !strings.Contains(out.Rejection.Message, want.words) {
				t.Errorf("%s: %+v: %s", guard, g, out.Rejection.Message)
			}
		}
		// Unknown evidence is not held.
		if out := m.Step(&run, workflow.Fire{Event: "GO", Actor: "x"}, at); strings.HasPrefix(guard, `{"all"`) && out.Changed {
			t.Errorf("%s passes without any evidence", guard)
		}
	}
}

// S14.3: the engine knows where each value comes from, regardless of the context.
func TestSourcesOfContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, field, least string
		do                 func(t *testing.T, m *workflow.Machine, run *workflow.Run)
		passes             bool
	}{
		{"the definition's value", "limit", "operator", nil, true},
		{"an agent has overwritten it", "limit", "observed", fires(`{"limit": 3}`, evidence.Agent), false},
		{"an operator has set it", "limit", "operator", fires(`{"limit": 3}`, evidence.Operator), true},
		{"an agent has claimed results", "results.RUN.n", "observed", fires(`{"results": {"RUN": {"n": 3}}}`, evidence.Agent), false},
		{"an invoked run has left it", "results.RUN.n", "observed", invoked, true},
		{"an agent has overwritten that", "results.RUN.n", "observed", then(invoked, fires(`{"results": {"RUN": {"n": 3}}}`, evidence.Agent)), false},
		{"an agent's key of the same spelling", "/results/RUN/n", "observed", fires(`{"results.RUN": {"n": 3}, "results": {"RUN": {"n": 3}}}`, evidence.Agent), false},
		{"an approver has edited it", "limit", "human", approved(`{"limit": 4}`, `{"limit": 3}`), true},
		{"an approver has let it pass", "limit", "human", approved(`{"limit": 3}`, ""), false},
		{"an approver has edited another key", "limit", "human", approved(`{"limit": 3, "x": 1}`, `{"limit": 3, "x": 2}`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := evident(t, `{"field": "`+c.field+`", "op": "eq", "value": 3, "source": "`+c.least+`"}`, "")
			run := m.Start(workflow.StartParams{ID: "run"}, "x", at).Run
			if c.do != nil {
				c.do(t, m, &run)
			}
			out := m.Step(&run, workflow.Fire{Event: "GO", Actor: "x"}, at)
			if out.Changed != c.passes {
				t.Errorf("%+v", out.Rejection)
			}
			if !c.passes && out.Rejection.Guards[0].Code != workflow.GuardClaimed {
				t.Errorf("%+v", out.Rejection.Guards)
			}
		})
	}
}

type does = func(t *testing.T, m *workflow.Machine, run *workflow.Run)

func then(first, second does) does {
	return func(t *testing.T, m *workflow.Machine, run *workflow.Run) {
		t.Helper()
		first(t, m, run)
		second(t, m, run)
	}
}

func fires(data string, from evidence.Source) does {
	return func(t *testing.T, m *workflow.Machine, run *workflow.Run) {
		t.Helper()
		*run = m.Step(run, workflow.Fire{Event: "SET", Data: parse(t, data), Source: from, Actor: "x"}, at).Run
	}
}

func invoked(t *testing.T, m *workflow.Machine, run *workflow.Run) {
	t.Helper()
	def, problems := workflow.Parse([]byte(`{"id": "sub", "initial": "s", "context": {"n": 3}, "states": {"s": {"on": {"E": "e"}}, "e": {"type": "final"}}}`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	sub := workflow.Compile(def, 1)
	out := m.Step(run, workflow.Fire{Event: "RUN", Child: sub, ChildID: "child", Actor: "x"}, at)
	if out.Spawned == nil {
		t.Fatalf("%+v", out.Rejection)
	}
	*run = out.Run
	ended := sub.Step(&out.Spawned.Run, workflow.Fire{Event: "E", Actor: "x"}, at)
	*run = m.Step(run, workflow.ChildEnded{Child: ended.Run, Actor: "x"}, at).Run
}

func approved(asked, edited string) does {
	return func(t *testing.T, m *workflow.Machine, run *workflow.Run) {
		t.Helper()
		*run = m.Step(run, workflow.Fire{Event: "ASK", Data: parse(t, asked), ApprovalID: "apr", Actor: "x"}, at).Run
		grant := workflow.Grant{ApprovalID: "apr", Actor: "alice"}
		if edited != "" {
			grant.Data = parse(t, edited)
		}
		out := m.Step(run, grant, at)
		if !out.Changed {
			t.Fatalf("%+v", out.Rejection)
		}
		*run = out.Run
	}
}

// S14.1: a run knows the agreements of humans, where an evidence asks.
func TestApprovalIsEvidence(t *testing.T) {
	t.Parallel()
	m := evident(t, `{"evidence": "yes"}`, `, "evidence": {"yes": {"approval": "ASK", "max_age": "1h"}}`)
	run := m.Start(workflow.StartParams{ID: "run"}, "x", at).Run
	judge := func(now time.Time) evidence.Status {
		view := run.At("")
		b := view.EvidenceOf(evidence.Record{}, now)
		return b.Judge(m.Evidence())["yes"]
	}
	if s := judge(at); s.Held {
		t.Errorf("nobody has agreed: %+v", s)
	}
	approved(`{}`, "")(t, m, &run)
	if s := judge(at.Add(time.Hour)); !s.Held {
		t.Errorf("alice has agreed: %+v", s)
	}
	if s := judge(at.Add(time.Hour + time.Second)); s.Held {
		t.Errorf("that was long ago: %+v", s)
	}
}

package e2e

import (
	"cmp"
	"fmt"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// short allows one tool until its end, with the given meta.
func short(id, tool, meta string) string {
	meta = cmp.Or(meta, `"enforcement": "while_running"`)
	return fmt.Sprintf(`{"id": %q, "initial": "a", "meta": {%s}, "states": {
		"a": {"allowed_tools": [%q], "on": {"END": "z", "FAIL": "y"}}, "z": {"type": "final"}, "y": {"type": "final", "outcome": "failure"}}}`,
		id, meta, tool)
}

const always = `"enforcement": "always"`

// TestAlwaysOutlivesItsRun: enforcement always stays in force after a final state, and
// an agent does not get out of it by another workflow, also one that it registers for
// that; it may start the same one again, with the content that it had (S2.9).
func TestAlwaysOutlivesItsRun(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for i, end := range []string{"END", "FAIL"} {
		for j, whose := range []string{"its session's token", "a token of no session"} {
			w := &world{shape: &u.shape, namespace: fmt.Sprint("always-", i, "-", j)}
			t.Run(whose+", after "+end, func(t *testing.T) {
				t.Parallel()
				token := w.tokens[auth.Agent]
				if j == 0 {
					token = u.mint(t, w, "s")
				}
				operator, agent := w.as(t, auth.Operator), w.with(t, 0, token)
				operator.register(t, short("strict", "Read", always))
				operator.register(t, short("lax", "Edit", ""))
				begin := func(f face, workflow string) {
					t.Helper()
					a := ask{token: token, session: "s", workflow: workflow}
					a.run = w.allows(t, whose, f, opStart, a).run
					if d := agent.judged(t, "s", "Edit"); d.GetDecision() != deny {
						t.Errorf("under %s: %v", workflow, d)
					}
					agent.move(t, a.run, end)
					if d := agent.judged(t, "s", "Edit"); d.GetDecision() != deny {
						t.Errorf("after %s: %v", workflow, d)
					}
				}
				stays := func() {
					t.Helper()
					for _, f := range faces {
						own := short("own-"+fmt.Sprint(f.name[0]), "Edit", "")
						w.allows(t, whose, f, opRegister, ask{token: token, definition: own})
					}
					for _, workflow := range []string{"lax", fmt.Sprint("own-", 'R'), fmt.Sprint("own-", 'g'), fmt.Sprint("own-", 'M')} {
						a := ask{token: token, session: "s", workflow: workflow}
						w.refuses(t, whose, opStart, a, fault.EnforcementKept)
						a.resume = true
						w.refuses(t, whose+", to resume it", opStart, a, fault.EnforcementKept)
					}
					if d := agent.judged(t, "s", "Edit"); d.GetDecision() != deny {
						t.Errorf("afterwards: %v", d)
					}
				}
				for _, f := range faces {
					begin(f, "strict")
					stays()
				}
				w.refuses(t, whose+", of an operator's name", opRegister,
					ask{token: token, definition: short("strict", "Edit", "")}, fault.NameTaken)

				// A workflow of its own, which it makes laxer.
				w.allows(t, "an operator", faces[0], opStart, ask{token: w.tokens[auth.Operator], session: "s", workflow: "lax"})
				w.allows(t, whose, faces[2], opRegister, ask{token: token, definition: short("mine", "Read", always)})
				begin(faces[1], "mine")
				w.allows(t, whose, faces[0], opRegister, ask{token: token, definition: short("mine", "Edit", "")})
				w.refuses(t, whose, opStart, ask{token: token, session: "s", workflow: "mine"}, fault.EnforcementKept)
				w.refuses(t, whose, opStart, ask{token: token, session: "s", workflow: "mine", version: 1}, fault.PermissionDenied)
				w.allows(t, whose, faces[0], opRegister, ask{token: token, definition: short("mine", "Read", always+`, "debug": true`)})
				w.refuses(t, whose, opStart, ask{token: token, session: "s", workflow: "mine"}, fault.EnforcementKept)
				w.allows(t, whose, faces[0], opRegister, ask{token: token, definition: short("mine", "Read", always)})
				begin(faces[2], "mine")
				for _, f := range faces {
					w.allows(t, "an operator", f, opStart, ask{token: w.tokens[auth.Operator], session: "s", workflow: "lax"})
				}
			})
		}
	}
}

// TestAgentsStartTheNewest: no agent chooses an older, laxer version; operators do (S6.8).
func TestAgentsStartTheNewest(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	w.as(t, auth.Operator).register(t, short("w", "Edit", ""))
	w.as(t, auth.Operator).register(t, short("w", "Read", ""))
	for who, token := range map[string]string{"s": u.mint(t, w, "s", "--name", "bound"), "free": w.tokens[auth.Agent]} {
		a := ask{token: token, session: who, workflow: "w", version: 1}
		w.refuses(t, who, opStart, a, fault.PermissionDenied)
		a.resume = true
		w.refuses(t, who+", to resume", opStart, a, fault.PermissionDenied)
		a.resume = false
		for _, f := range faces {
			for _, version := range []int64{0, 2} {
				a.version = version
				if said := w.allows(t, who, f, opStart, a); w.with(t, 0, token).get(t, said.run).GetWorkflowVersion() != 2 {
					t.Errorf("%s starts %v over %s", who, said, f.name)
				}
			}
		}
	}
	for _, f := range faces {
		said := w.allows(t, "an operator", f, opStart, ask{token: w.tokens[auth.Operator], session: "o", workflow: "w", version: 1})
		if got := w.as(t, auth.Operator).get(t, said.run).GetWorkflowVersion(); got != 1 {
			t.Errorf("an operator starts version %d over %s", got, f.name)
		}
	}
}

// TestAgentsClaimNothingAtTheStart: an agent does not begin with values that guards ask for, but
// where the definition lists that in its inputs (S6.8).
func TestAgentsClaimNothingAtTheStart(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	gate := func(id, inputs string) string {
		return fmt.Sprintf(`{"id": %q, "initial": "a", "meta": {"enforcement": "while_running"}, "context": {"ok": "no", "review": {"done": false}, "ticket": 0}, %s
			"states": {"a": {"on": {"SHIP": {"target": "z", "guards": ["ok", "reviewed"]}}}, "z": {"type": "final"}},
			"guards": {"ok": {"field": "ok", "op": "eq", "value": "yes"}, "reviewed": {"field": "review.done", "op": "eq", "value": true}}}`, id, inputs)
	}
	operator.register(t, gate("silent", ""))
	operator.register(t, gate("none", `"inputs": [],`))
	operator.register(t, gate("listed", `"inputs": ["ticket", "ok"],`))
	for who, token := range map[string]string{"s": u.mint(t, w, "s"), "free": w.tokens[auth.Agent]} {
		a := ask{token: token, session: who}
		for _, c := range []struct {
			workflow, context string
			may               bool
		}{
			{"silent", `{"ok": "yes"}`, false},
			{"silent", `{"ticket": 7, "ok": "yes"}`, false},
			{"silent", `{"review": {"done": true}}`, false},
			{"silent", `{"review": null}`, false},
			{"silent", `{"review.done": true}`, false},
			{"silent", `{"ticket": 7}`, true},
			{"none", `{"ticket": 7}`, false},
			{"none", `{}`, true},
			{"listed", `{"ticket": 7, "ok": "yes"}`, true},
			{"listed", `{"review": {"done": true}}`, false},
			{"listed", `{"other": 1}`, false},
		} {
			a.workflow, a.context = c.workflow, c.context
			if !c.may {
				w.refuses(t, who+" with "+c.context, opStart, a, fault.PermissionDenied)
				continue
			}
			for _, f := range faces[:2] {
				w.allows(t, who+" with "+c.context, f, opStart, a)
			}
		}
		said := w.ownTool(t, a, "?session="+who, "load_workflow", map[string]any{"name": "silent", "context": map[string]any{"ok": "yes"}})
		if said.code != "INVALID_ARGUMENT" {
			t.Errorf("%s over MCP: %+v", who, said)
		}
	}
	for _, f := range faces[:2] {
		run := w.allows(t, "an operator", f, opStart,
			ask{token: w.tokens[auth.Operator], workflow: "none", context: `{"ok": "yes", "review": {"done": true}}`}).run
		if now := operator.move(t, run, "SHIP"); now.GetStatus() != completed {
			t.Errorf("an operator's claim: %v", now)
		}
	}
}

// TestChildrensBranchesAreNoWayOut: a run that enforces always holds its session also by
// way of a plain run that it has invoked: the session gets out neither in a branch of that
// one, nor does another that works there (S6.6).
func TestChildrensBranchesAreNoWayOut(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, short("lax", "Edit", ""))
	operator.register(t, branching("plain", ""))
	operator.register(t, `{"id": "outer", "initial": "a", "meta": {"enforcement": "always"}, "states": {
		"a": {"allowed_tools": ["Read"], "on": {"SUB": {"invoke": "plain", "on_complete": "b"}}},
		"b": {"allowed_tools": ["Read"], "on": {"END": "z"}}, "z": {"type": "final"}}}`)
	forked := u.mint(t, w, "other")
	w.with(t, 0, forked).start(t, "plain")
	other := w.with(t, 0, forked).moveSession(t, "other", "GO").GetRunId()

	driver, worker := u.mint(t, w, "s"), u.mint(t, w, "s/x")
	agent := w.with(t, 0, driver)
	outer := agent.start(t, "outer").GetRunId()
	plain := agent.moveSession(t, "s", "SUB").GetRunId()
	agent.moveSession(t, "s", "GO")
	stays := func(when string) {
		t.Helper()
		for who, token := range map[string]string{"s": driver, "s by a token of no session": w.tokens[auth.Agent]} {
			a := ask{token: token, session: "s", workflow: "lax"}
			w.refuses(t, who+", "+when, opStart, a, fault.EnforcementKept)
			for _, run := range []string{outer, plain} {
				a.run = run
				for _, op := range []string{opPause, opCancel} {
					w.refuses(t, who+", "+when, op, a, fault.EnforcementKept, fault.FailedPrecondition)
				}
			}
		}
		w.refuses(t, "s by a token of no session, "+when, opTake,
			ask{token: w.tokens[auth.Agent], session: "s", run: other, workflow: "plain", branch: "y"}, fault.EnforcementKept, fault.PermissionDenied)
	}
	stays("in the child")
	for _, f := range faces {
		w.allows(t, "s", f, opTake, ask{token: driver, session: "s", run: plain, workflow: "plain", branch: "y"})
		w.allows(t, "s/x", f, opTake, ask{token: worker, session: "s/x", run: plain, workflow: "plain", branch: "x"})
		stays("with a branch of its own")
		w.refuses(t, "s/x", opStart, ask{token: worker, session: "s/x", workflow: "lax"}, fault.EnforcementKept)
		w.refuses(t, "s/x", opCancel, ask{token: worker, run: plain}, fault.PermissionDenied, fault.EnforcementKept)
		w.refuses(t, "s/x", opPause, ask{token: worker, run: plain}, fault.PermissionDenied, fault.EnforcementKept)
	}
	for who, token := range map[string]string{"s": driver, "s/x": worker} {
		w.with(t, 0, token).moveSession(t, who, "OK")
	}
	w.refuses(t, "s/x, past its branch", opStart, ask{token: worker, session: "s/x", workflow: "lax"}, fault.EnforcementKept)
	stays("past its branch")
	agent.moveSession(t, "s", "END")
	stays("past the child")
	if now := operator.get(t, outer); now.GetStatus() != running || now.GetState() != "b" {
		t.Errorf("the outer run is %v", now)
	}
	if d := agent.judged(t, "s", "Edit"); d.GetDecision() != deny {
		t.Errorf("a call: %v", d)
	}
	must[*enginev1.StartRunResponse](t)(operator.runs.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "lax", SessionId: "s"}))
}

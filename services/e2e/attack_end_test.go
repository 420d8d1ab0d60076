package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// asOperator ends or resumes a session by the command line.
func (u *together) asOperator(t testing.TB, w *world, args ...string) {
	t.Helper()
	args = append([]string{"session"}, append(args, "--data-dir", string(u.data), "--namespace", w.namespace)...)
	cmd := exec.CommandContext(within(t), binary(t, "interlock"), args...)
	cmd.Env = u.operatorEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("interlock %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// hook sends an event of a session to the hook command and returns its output, and
// its standard error.
func (u *together) hook(t testing.TB, w *world, session, event string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(within(t), binary(t, "interlock"),
		append([]string{"hook", "--data-dir", string(u.data), "--namespace", w.namespace}, args...)...)
	cmd.Env = cleanEnv()
	cmd.Stdin = bytes.NewReader(must[[]byte](t)(json.Marshal(map[string]any{
		"session_id": session, "hook_event_name": event, "cwd": "/repo", "tool_name": "Read",
		"tool_input": map[string]any{"file_path": "/repo/a"}, "tool_use_id": event + session,
	})))
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &told
	_ = cmd.Run() // its exit code is for the agent's client
	return out.String(), told.String()
}

// judged is the decision on a tool call of a session.
func (c *caller) judged(t testing.TB, session, tool string) *policyv1.CheckToolCallResponse {
	t.Helper()
	return must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t),
		&policyv1.CheckToolCallRequest{SessionId: session, Tool: tool}))
}

// heldBySession waits until a run is held, or is held no more.
func (c *caller) heldBySession(t testing.TB, run string, held bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("run %s is held: %t", run, held), func() error {
		if now := c.get(t, run); (now.GetStatus() == heldNow) != held {
			return fmt.Errorf("it is %s", now.GetStatus())
		}
		return nil
	})
}

// TestAgentsDoNotLiftAnEnd: an operator who ends a session stops its agent, after any acts of the
// session and against any attempt of the agent; an operator lifts it (S11.1).
func TestAgentsDoNotLiftAnEnd(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	ends := map[string]func(testing.TB, *world, string){
		"over REST": func(t testing.TB, w *world, session string) {
			w.allows(t, "the operator", faces[0], opEnd, ask{token: w.tokens[auth.Operator], session: session})
		},
		"over gRPC": func(t testing.TB, w *world, session string) {
			w.allows(t, "the operator", faces[1], opEnd, ask{token: w.tokens[auth.Operator], session: session})
		},
		"by the command line": func(t testing.TB, w *world, session string) {
			u.asOperator(t, w, "stop", session, "--end")
		},
	}
	i := 0
	for _, c := range []struct{ before, ended string }{
		{"at work", "over REST"},
		{"at work", "over gRPC"},
		{"at work", "by the command line"},
		{"ended by itself", "over REST"},
		{"ended by itself", "by the command line"},
		{"paused by its agent", "over gRPC"},
	} {
		i++
		w := &world{shape: &u.shape, namespace: fmt.Sprint("end-", i)}
		t.Run(c.before+", ended "+c.ended, func(t *testing.T) {
			t.Parallel()
			bound := u.mint(t, w, "s")
			operator := w.as(t, auth.Operator)
			operator.register(t, lax(bugfix))
			operator.register(t, pingPong)
			w.allows(t, "its agent", faces[0], opCreate, ask{token: bound, session: "s"})
			run := w.with(t, 0, bound).start(t, "bugfix").GetRunId()
			switch c.before {
			case "ended by itself":
				w.allows(t, "its agent", faces[0], opEnd, ask{token: bound, session: "s"})
				operator.heldBySession(t, run, true)
			case "paused by its agent":
				w.allows(t, "its agent", faces[1], opPause, ask{token: bound, run: run})
			}
			ends[c.ended](t, w, "s")
			operator.heldBySession(t, run, true)

			for who, token := range map[string]string{"its agent": bound, "an agent": w.tokens[auth.Agent]} {
				a := ask{token: token, session: "s", run: run, workflow: "bugfix", event: "READY"}
				w.refuses(t, who, opReopen, a, fault.PermissionDenied)
				for _, f := range faces[:2] {
					f.asks[opEnd](t, w, a) // which has no effect
					f.asks[opCreate](t, w, a)
				}
				w.refuses(t, who+" that has ended it, too", opReopen, a, fault.PermissionDenied)
				w.refuses(t, who, opResume, a, fault.RunHeld)
				w.refuses(t, who, opPause, a, fault.RunHeld)
				w.refuses(t, who, opCancel, a, fault.RunHeld)
				w.refuses(t, who, opStart, a, fault.SessionEnded)
				w.refuses(t, who, opFire, a, fault.SessionEnded)
				a.resume = true
				w.refuses(t, who+" that asks for its run", opStart, a, fault.SessionEnded)
				a.workflow, a.resume = "ping-pong", false
				w.refuses(t, who+" that asks for another run", opStart, a, fault.SessionEnded)
				for _, event := range []string{"SessionStart", "UserPromptSubmit", "SubagentStart"} {
					u.hook(t, w, "s", event, "--token", token)
				}
				if said, _ := u.hook(t, w, "s", "PreToolUse", "--token", token); !strings.Contains(said, `"deny"`) {
					t.Errorf("the hook of %s says %s", who, said)
				}
				if d := w.with(t, 0, token).judged(t, "s", "Read"); d.GetDecision() != deny || codeOf(d) != "RUN_NOT_ACTIVE" {
					t.Errorf("a call of %s: %v", who, d)
				}
			}
			if now := operator.get(t, run); now.GetStatus() != heldNow {
				t.Errorf("the run is held no more: %v", now)
			}

			w.allows(t, "the operator", faces[0], opReopen, ask{token: w.tokens[auth.Operator], session: "s"})
			operator.heldBySession(t, run, false)
			if d := w.with(t, 0, bound).judged(t, "s", "Read"); d.GetDecision() != allow {
				t.Errorf("after the operator has resumed it: %v", d)
			}
		})
	}
}

// TestSessionsAboveLiftAnEnd: a session above may resume one that an operator has ended, and
// one that it has ended itself; the child may do neither, nor a sibling (S11.1).
func TestSessionsAboveLiftAnEnd(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for i, by := range []string{"an operator", "its parent", "itself first, then its parent", "an agent of its name"} {
		w := &world{shape: &u.shape, namespace: fmt.Sprint("above-", i)}
		t.Run("ended by "+by, func(t *testing.T) {
			t.Parallel()
			top, kid, sibling := u.mint(t, w, "top"), u.mint(t, w, "top/kid"), u.mint(t, w, "top/other")
			if by == "an agent of its name" { // the name of the token without a binding
				kid = u.mint(t, w, "top/kid", "--name", "agent")
			}
			operator := w.as(t, auth.Operator)
			operator.register(t, bugfix)
			w.allows(t, "the root", faces[0], opCreate, ask{token: top, session: "top"})
			for _, below := range []string{"top/kid", "top/other"} {
				w.allows(t, "the root", faces[0], opCreate, ask{token: top, session: below, parent: "top"})
			}
			run := w.with(t, 0, kid).start(t, "bugfix").GetRunId()
			enders := map[string][]string{
				"an operator": {w.tokens[auth.Operator]}, "its parent": {top}, "itself first, then its parent": {kid, top},
				"an agent of its name": {w.tokens[auth.Agent]},
			}
			for _, token := range enders[by] {
				w.allows(t, by, faces[1], opEnd, ask{token: token, session: "top/kid"})
			}
			operator.heldBySession(t, run, true)
			w.refuses(t, "the child", opReopen, ask{token: kid, session: "top/kid"}, fault.PermissionDenied)
			w.refuses(t, "a sibling", opReopen, ask{token: sibling, session: "top/kid"}, fault.PermissionDenied)
			for _, f := range faces[:2] {
				w.allows(t, "its parent", f, opReopen, ask{token: top, session: "top/kid"})
				operator.heldBySession(t, run, false)
				w.allows(t, "the operator", f, opEnd, ask{token: w.tokens[auth.Operator], session: "top/kid"})
				operator.heldBySession(t, run, true)
			}
			// A child's own end calls no session back into work that an operator has ended.
			w.allows(t, "the operator", faces[0], opEnd, ask{token: w.tokens[auth.Operator], session: "top"})
			w.allows(t, "the operator", faces[0], opReopen, ask{token: w.tokens[auth.Operator], session: "top/kid"})
			w.allows(t, "the child", faces[0], opEnd, ask{token: kid, session: "top/kid"})
			w.refuses(t, "the root", opReopen, ask{token: top, session: "top"}, fault.PermissionDenied)
		})
	}
}

// TestEndedSessionsBeginNothing: an end also stops later work of the session: a
// session that drove no run, whose run was over, or that worked in a branch of another's
// run (S11.1).
func TestEndedSessionsBeginNothing(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for i, before := range []string{"it drives nothing", "its run is over", "it has a branch"} {
		w := &world{shape: &u.shape, namespace: fmt.Sprint("begin-", i)}
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			bound, lead := u.mint(t, w, "lead/s"), u.mint(t, w, "lead")
			operator := w.as(t, auth.Operator)
			for _, definition := range []string{bugfix, pipelineSuite, pipeline} {
				operator.register(t, lax(definition))
			}
			w.allows(t, "the lead", faces[0], opCreate, ask{token: lead, session: "lead"})
			w.allows(t, "the lead", faces[0], opCreate, ask{token: lead, session: "lead/s", parent: "lead"})
			forked := w.with(t, 0, lead).start(t, "pipeline").GetRunId()
			w.with(t, 0, lead).move(t, forked, "BUILT")
			switch before {
			case "its run is over":
				run := w.with(t, 0, bound).start(t, "bugfix").GetRunId()
				must[*enginev1.CancelRunResponse](t)(operator.runs.CancelRun(within(t), &enginev1.CancelRunRequest{RunId: run}))
			case "it has a branch":
				w.allows(t, "it", faces[1], opTake, ask{token: bound, run: forked, branch: "types", session: "lead/s"})
				if d := w.with(t, 0, bound).judged(t, "lead/s", "Types"); d.GetDecision() != allow {
					t.Fatalf("in its branch: %v", d)
				}
			}
			w.allows(t, "the operator", faces[0], opEnd, ask{token: w.tokens[auth.Operator], session: "lead/s"})
			eventually(t, "the engine knows", func() error {
				said := faces[1].asks[opTake](t, w, ask{token: bound, session: "lead/s", run: forked, branch: "none"})
				if said.code != string(fault.SessionEnded) {
					return fmt.Errorf("%s: %s", said.code, said.text)
				}
				return nil
			})
			for who, token := range map[string]string{"its agent": bound, "an agent": w.tokens[auth.Agent]} {
				a := ask{token: token, session: "lead/s", workflow: "bugfix"}
				w.refuses(t, who, opStart, a, fault.SessionEnded)
				a.resume = true
				w.refuses(t, who, opStart, a, fault.SessionEnded)
				w.refuses(t, who, opTake, ask{token: token, session: "lead/s", workflow: "pipeline", run: forked, branch: "lint"}, fault.SessionEnded)
				if before == "it has a branch" {
					if d := w.with(t, 0, token).judged(t, "lead/s", "Types"); d.GetDecision() != deny {
						t.Errorf("a call of %s: %v", who, d)
					}
				}
			}
			w.allows(t, "the operator", faces[1], opReopen, ask{token: w.tokens[auth.Operator], session: "lead/s"})
			eventually(t, "it may work again", func() error {
				said := faces[2].asks[opTake](t, w, ask{token: bound, session: "lead/s", workflow: "pipeline", branch: "types"})
				if said.code != "" {
					return fmt.Errorf("%s: %s", said.code, said.text)
				}
				return nil
			})
			if d := w.with(t, 0, bound).judged(t, "lead/s", "Types"); d.GetDecision() != allow {
				t.Errorf("when it is resumed: %v", d)
			}
		})
	}
}

// TestEndingBeginsNoLimitAgain: an agent that stops and resumes its own session over REST has the
// calls and files of its state that were left, and no others (S6.2, S11.1). An operator's hold
// begins them again.
func TestEndingBeginsNoLimitAgain(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for _, c := range []struct{ name, limit, tool string }{
		{"calls", `"max_iterations": 3`, "Read"},
		{"files", `"max_files_per_state": 3`, "Write"},
	} {
		w := &world{shape: &u.shape, namespace: "ends-" + c.name}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bound := u.mint(t, w, "s")
			operator := w.as(t, auth.Operator)
			operator.register(t, `{"id": "counted", "initial": "a", "states": {"a": {"allowed_tools": ["Read", "Write"], `+c.limit+`, "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
			w.allows(t, "its agent", faces[0], opCreate, ask{token: bound, session: "s"})
			run := w.with(t, 0, bound).start(t, "counted").GetRunId()
			calls := 0
			allowed := func() (n int) {
				for range 2 {
					calls++
					d := must[*policyv1.CheckToolCallResponse](t)(w.with(t, 0, bound).policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{
						SessionId: "s", Tool: c.tool, CallId: fmt.Sprint("c", calls), Input: fmt.Appendf(nil, `{"file_path": "f%d", "content": "x"}`, calls),
					}))
					if d.GetDecision() == allow {
						n++
					}
				}
				return n
			}
			for i, want := range []int{2, 1, 0} {
				if got := allowed(); got != want {
					t.Errorf("after %d ends %d calls are allowed, want %d", i, got, want)
				}
				w.allows(t, "its agent", faces[0], opEnd, ask{token: bound, session: "s"})
				operator.heldBySession(t, run, true)
				w.allows(t, "its agent", faces[0], opReopen, ask{token: bound, session: "s"})
				operator.heldBySession(t, run, false)
			}
			held := ask{token: w.tokens[auth.Operator], run: run}
			w.allows(t, "an operator", faces[0], opPause, held)
			w.allows(t, "an operator", faces[0], opResume, held)
			if got := allowed(); got != 2 {
				t.Errorf("after an operator's hold %d calls are allowed, want 2", got)
			}
		})
	}
}

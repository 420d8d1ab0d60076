package e2e

import (
	"fmt"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// branching forks into x and y, with the given meta.
func branching(id, meta string) string {
	return fmt.Sprintf(`{"id": %q, "initial": "start", "context": {"secret": "42"}, "meta": {%s}, "states": {
		"start": {"on": {"GO": {"fork": {"branches": {
			"x": {"initial": "x1", "terminal": "x2"}, "y": {"initial": "y1", "terminal": "y2"}}, "on_complete": "end"}}}},
		"x1": {"allowed_tools": ["InX"], "on": {"OK": "x2"}}, "x2": {"type": "final"},
		"y1": {"allowed_tools": ["InY"], "on": {"OK": "y2"}}, "y2": {"type": "final"},
		"end": {"on": {"END": "done"}}, "done": {"type": "final"}}}`, id, meta)
}

// TestBranchesStayInTheirTree: a token of another session takes no branch of a run,
// for any names of both tokens; those of the sessions below the run's do, and so
// does a token of the branch (S5.3).
func TestBranchesStayInTheirTree(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	i := 0
	for names, flags := range map[string][2][]string{
		"the same name":          {{"--name", "agent"}, {"--name", "agent"}},
		"different names":        {{"--name", "ann"}, {"--name", "ben"}},
		"names by default":       {},
		"the other's by default": {{"--name", "B"}},
	} {
		for enforcement, meta := range map[string]string{"plain": `"enforcement": "while_running"`, "always": `"enforcement": "always"`} {
			i++
			w := &world{shape: &u.shape, namespace: fmt.Sprint("branch-", i)}
			t.Run(enforcement+", "+names, func(t *testing.T) {
				t.Parallel()
				tokenA, tokenB := u.mint(t, w, "A", flags[0]...), u.mint(t, w, "B", flags[1]...)
				operator, a, b := w.as(t, auth.Operator), w.with(t, 0, tokenA), w.with(t, 0, tokenB)
				operator.register(t, branching("work", meta))
				w.allows(t, "A", faces[0], opCreate, ask{token: tokenA, session: "A"})
				run := a.start(t, "work").GetRunId()
				a.move(t, run, "GO")

				foreign := []fault.Reason{fault.PermissionDenied, fault.NotFound}
				steal := func(who string) {
					t.Helper()
					asks := ask{token: tokenB, session: "B", run: run, branch: "y", workflow: "work", event: "OK"}
					for _, op := range []string{opTake, opGet, opHistory, opFire, opPause, opResume, opCancel} {
						w.refuses(t, who, op, asks, foreign...)
					}
					asks.run = ""
					w.refuses(t, who+", by the workflow", opTake, asks, foreign...)
					asks.run, asks.session = run, "A"
					w.refuses(t, who+", for A", opTake, asks, foreign...)
					w.refuses(t, who+", for A", opStart, asks, foreign...)
					for _, target := range []*policyv1.CheckToolCallRequest{{RunId: run, Tool: "InY"}, {SessionId: "A", Tool: "InX"}} {
						_, err := b.policy.CheckToolCall(within(t), target)
						if reason := fault.ReasonOf(err); reason != fault.PermissionDenied && reason != fault.NotFound {
							t.Errorf("%s, a check: %v", who, err)
						}
					}
					runs := must[*enginev1.ListRunsResponse](t)(b.runs.ListRuns(within(t), &enginev1.ListRunsRequest{})).GetRuns()
					for _, listed := range runs {
						if listed.GetRunId() == run {
							t.Errorf("%s lists A's run", who)
						}
					}
				}
				steal("B")
				w.refuses(t, "B, as A's child", opCreate, ask{token: tokenB, session: "B", parent: "A"}, foreign...)
				w.allows(t, "B", faces[0], opCreate, ask{token: tokenB, session: "B"})
				w.refuses(t, "B, as A's child", opCreate, ask{token: tokenB, session: "B", parent: "A"}, fault.PermissionDenied, fault.NameTaken)
				w.refuses(t, "B, under a name of A's child", opCreate, ask{token: tokenB, session: "A/evil", parent: "A"}, foreign...)
				steal("B, registered")
				if enforcement == "plain" { // A's paused run is no other's to resume, either
					w.allows(t, "A", faces[0], opPause, ask{token: tokenA, run: run})
					for _, f := range faces {
						if said := w.allows(t, "B", f, opStart, ask{token: tokenB, session: "B", workflow: "work", resume: true}); said.run == run {
							t.Errorf("B resumes A's run over %s", f.name)
						}
					}
					w.allows(t, "A", faces[0], opResume, ask{token: tokenA, run: run})
					steal("B, that has a run")
				}
				if now := operator.get(t, run); strings.Contains(now.GetFork().String(), `"B"`) {
					t.Errorf("the fork is %v", now.GetFork())
				}
				if d := a.judged(t, "A", "InX"); d.GetDecision() != allow {
					t.Errorf("A's call: %v", d)
				}

				w.allows(t, "A", faces[1], opCreate, ask{token: w.tokens[auth.Operator], session: "kid", parent: "A"})
				for who, token := range map[string]string{
					"A/sub": u.mint(t, w, "A/sub"), "kid": u.mint(t, w, "kid"), "of-y": u.mint(t, w, "of-y", "--branch", "y"),
				} {
					for _, f := range faces {
						w.allows(t, who, f, opTake, ask{token: token, session: who, run: run, workflow: "work", branch: "y"})
					}
					if d := w.with(t, 0, token).judged(t, who, "InY"); d.GetDecision() != allow {
						t.Errorf("the call of %s: %v", who, d)
					}
				}
				w.refuses(t, "a token of y", opTake, ask{
					token: u.mint(t, w, "of-y", "--branch", "y"), session: "of-y", run: run, workflow: "work", branch: "x",
				}, fault.PermissionDenied)
				steal("B, with a branch taken")
			})
		}
	}
}

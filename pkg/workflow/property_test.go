package workflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// varied has every pattern that a machine can meet.
const varied = `{"id": "varied", "initial": "a", "context": {"n": 0, "tag": null}, "meta": {"debug": true},
 "interrupts": {
  "js": {"trigger": {"file_pattern": "*.js"}, "target": "h"},
  "md": {"trigger": {"file_pattern": "*.md"}, "target": "m"}},
 "states": {
  "a": {"safe_next": "b", "on": {
    "GO": "b", "SELF": "a",
    "GUARDED": {"target": "b", "guards": ["positive", "tagged"]},
    "PICK": [{"target": "a", "guard": "positive"}, {"target": "b", "guard": "tagged"}]}},
  "b": {"on": {
    "BACK": "a", "END": "z", "FAIL": "failed",
    "ADVISED": {"target": "a", "requires_approval": true},
    "PICK": [{"target": "a", "guards": ["tagged", "positive"]}, {"target": "b"}],
    "FORK": {"fork": {"branches": {"x": {"initial": "xi", "terminal": "xt"}, "y": {"initial": "yi", "terminal": "yt"}},
      "on_complete": "a", "on_fail": "b"}},
    "RACE": {"fork": {"join": "any", "branches": {"x": {"initial": "xi", "terminal": "xt"}, "y": {"initial": "yi", "terminal": "yt"}},
      "on_complete": "b"}},
    "CHILD": {"invoke": "child", "on_complete": "a", "on_fail": "b"}}},
  "xi": {"safe_next": "xj", "on": {"OK": "xj", "GUARDED": {"target": "xt", "guard": "positive"}}},
  "xj": {"on": {"OK": "xt", "SELF": "xj", "BACK": "xi", "FAIL": "failed", "ASKED": {"target": "xi", "requires_approval": true},
    "CHILD": {"invoke": "child", "on_complete": "xi"}}}, "xt": {"type": "final"},
  "yi": {"on": {"OK": "yt", "FAIL": "failed",
    "FORK": {"fork": {"branches": {"u": {"initial": "ui", "terminal": "ut"}, "v": {"initial": "vi", "terminal": "vt"}},
      "on_complete": "yt", "on_fail": "yi"}}}}, "yt": {"type": "final"},
  "ui": {"on": {"OK": "ut", "SELF": "ui", "FAIL": "failed", "ASKED": {"target": "ut", "guard": "positive", "requires_approval": true}}}, "ut": {"type": "final"},
  "vi": {"on": {"OK": "vt", "CHILD": {"invoke": "child", "on_complete": "vt"}}}, "vt": {"type": "final"},
  "h": {"on": {"BACK": "$return", "GO": "h2", "END": "a", "FAIL": "failed",
    "CHILD": {"invoke": "child", "on_complete": "h2"},
    "FORK": {"fork": {"branches": {"s": {"initial": "si", "terminal": "st"}}, "on_complete": "h2"}}}},
  "h2": {"on": {"BACK": "$return", "SELF": "h2"}},
  "m": {"on": {"OK": "m", "BACK": "$return", "END": "b", "FAIL": "failed", "ASKED": {"target": "$return", "requires_approval": true}}},
  "si": {"on": {"OK": "st"}}, "st": {"type": "final"},
  "z": {"type": "final"}, "failed": {"type": "final"}},
 "guards": {
  "positive": {"field": "n", "op": "gt", "value": 0},
  "tagged": {"field": "tag", "op": "exists"}}}`

const child = `{"id": "child", "initial": "w", "states": {"w": {"on": {"DONE": "z"}}, "z": {"type": "final"}}}`

// commands draws commands of a run: mostly those that make sense in one of its lanes.
type commands struct {
	t        *rapid.T
	m, child *workflow.Machine
	now      time.Time
}

func (c *commands) any(run *workflow.Run) workflow.Command {
	actor := c.of("actor", "ann", "bob", "")
	branch := c.of("branch", "", "x", "y", "y/u", "v", "s", "x/s", "nope", "y/")
	event := c.of("event", "GO", "OK", "FORK", "go", "", "BRANCH_DONE:x", "BRANCH_DONE:u", "BRANCH_DONE", "?")
	lanes := run.Lanes()
	if len(lanes) > 0 && rapid.IntRange(0, 4).Draw(c.t, "sensible") > 0 {
		at := lanes[rapid.IntRange(0, len(lanes)-1).Draw(c.t, "lane")]
		branch = at.Branch
		if legal := c.m.LegalEvents(at.State); len(legal) > 0 {
			event = legal[rapid.IntRange(0, len(legal)-1).Draw(c.t, "legal")].Event
		}
	}
	if ids := run.Approvals(); len(ids) > 0 && rapid.IntRange(0, 3).Draw(c.t, "decided") == 0 {
		return c.decided(rapid.SampledFrom(append(ids, "apr_1", "")).Draw(c.t, "approval"))
	}
	switch rapid.IntRange(0, 29).Draw(c.t, "command") {
	case 10:
		return workflow.Pause{Reason: "r", Hold: drawn(c.t).hold(), Actor: actor}
	case 1, 2:
		return workflow.Resume{Lifts: drawn(c.t).lifts(), Actor: actor}
	case 3:
		if rapid.IntRange(0, 9).Draw(c.t, "really") == 9 {
			return workflow.Cancel{Reason: "r", Actor: actor}
		}
		return workflow.Resume{Lifts: drawn(c.t).lifts(), Actor: actor}
	case 4, 5:
		return workflow.Divert{Interrupt: c.of("interrupt", "js", "js", "md", "?"), Files: []string{"a"}, Branch: branch, Actor: actor}
	case 6:
		return workflow.Bind{Branch: branch, SessionID: c.of("session", "", "ses_1", "ses_2", "ses_3"), Actor: actor}
	case 7, 8:
		ids := append(run.Children(), "run_unknown")
		status := c.of("status", string(workflow.Completed), string(workflow.Failed), string(workflow.Cancelled), string(workflow.Running))
		return workflow.ChildEnded{Child: workflow.Run{
			ID: rapid.SampledFrom(ids).Draw(c.t, "child"), Workflow: "child", Status: workflow.Status(status), Lane: workflow.Lane{Context: c.data(`{"r": 1}`)},
		}, Actor: actor}
	case 9, 11:
		state := c.of("state", "a", "b", "xi", "xj", "yi", "ui", "yt", "h2", "z", "?")
		return workflow.Force{State: state, Branch: branch, Context: rapid.Custom(anyData).Draw(c.t, "data"), Actor: actor}
	default:
		fire := workflow.Fire{
			Event: event, Data: rapid.Custom(anyData).Draw(c.t, "data"), Branch: branch, Actor: actor,
			ChildID: fmt.Sprintf("run_%d", run.Version+1), ApprovalID: fmt.Sprintf("apr_%d", run.Version+1),
		}
		if rapid.IntRange(0, 9).Draw(c.t, "known") < 9 {
			fire.Child = c.child
		}
		return fire
	}
}

// decided draws a decision of humans, or none.
func (c *commands) decided(id string) workflow.Command {
	outcome := rapid.SampledFrom([]workflow.ApprovalOutcome{
		"", workflow.ApprovalRejected, workflow.ApprovalExpired, workflow.ApprovalCancelled,
	}).Draw(c.t, "outcome")
	if rapid.Bool().Draw(c.t, "granted") {
		grant := workflow.Grant{ApprovalID: id, Note: "n", Actor: "alice"}
		if rapid.IntRange(0, 3).Draw(c.t, "edited") == 0 {
			grant.Data = rapid.Custom(anyData).Draw(c.t, "data")
		}
		return grant
	}
	return workflow.Reject{ApprovalID: id, Outcome: outcome, Note: "n", Actor: "alice"}
}

func (c *commands) of(name string, among ...string) string {
	return rapid.SampledFrom(among).Draw(c.t, name)
}

func (c *commands) data(text string) document.Value {
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		c.t.Fatal(problem)
	}
	return v
}

func anyData(t *rapid.T) document.Value {
	text := rapid.SampledFrom([]string{
		"", "{}", `{"n": 1}`, `{"n": 0}`, `{"n": -1.5, "tag": "x"}`, `{"tag": null}`, `{"tag": ""}`, `{"results": 1}`,
		`{"rationale": "because", "more": {"deep": [1, 2]}}`, `{"_n": 1}`, `{"n": 1, "$x": 2}`, `[]`, `null`,
	}).Draw(t, "json")
	if text == "" {
		return document.Value{}
	}
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return v
}

// fingerprint is all of a value, as text.
func fingerprint(v any) string {
	if fire, ok := v.(workflow.Fire); ok {
		fire.Child = nil // has no text, and is compared by its target
		v = fire
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestStepProperties: for any commands of a run, in any order and branch, whether
// approvals park or are advisory.
func TestStepProperties(t *testing.T) {
	t.Parallel()
	for mode, src := range map[string]string{
		"none": strings.Replace(varied, `"debug": true`, `"debug": true, "approval_mode": "none"`, 1), "ui": varied,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			checkSteps(t, machine(t, src))
		})
	}
}

func checkSteps(t *testing.T, m *workflow.Machine) {
	t.Helper()
	sub := machine(t, child)
	compiled := fmt.Sprintf("%+v", m.Definition())
	randtest.Check(t, func(t *rapid.T) {
		c := &commands{t: t, m: m, child: sub, now: noon}
		start := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Owner: "ann"}, "ann", c.now)
		run, told := start.Run, newChronicle(m, start.Entry)
		played := newReplay(m, &start)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			c.now = c.now.Add(time.Second)
			cmd := c.any(&run)
			before, asked := fingerprint(run), fingerprint(cmd)
			out := m.Step(&run, cmd, c.now)
			if fingerprint(run) != before || fingerprint(cmd) != asked {
				t.Fatalf("Step has changed its arguments: %s", before)
			}
			if again := m.Step(&run, cmd, c.now); !reflect.DeepEqual(again, out) {
				t.Fatalf("Step is not deterministic: %+v, then %+v", out, again)
			}
			if !out.Changed {
				checkUnchanged(t, before, cmd, &out)
				continue
			}
			checkAccepted(t, &run, cmd, &out)
			checkContexts(t, &run, cmd, &out)
			for _, err := range []error{
				told.add(&out.Entry), told.agrees(&out.Run), checkEntries(&run, &out.Run), checkStatus(&out.Run),
				checkApproved(m, &run, cmd, &out), played.add(&out),
			} {
				if err != nil {
					t.Fatalf("%T %s: %v", cmd, asked, err)
				}
			}
			run = out.Run
		}
	})
	if after := fmt.Sprintf("%+v", m.Definition()); after != compiled {
		t.Error("stepping has changed the definition")
	}
}

// checkUnchanged: the run does not change, and the answer has the reason and the legal
// events (S2.3, S2.7).
func checkUnchanged(t *rapid.T, before string, cmd workflow.Command, out *workflow.Result) {
	if after := fingerprint(out.Run); after != before {
		t.Fatalf("%+v has changed %s to %s", cmd, before, after)
	}
	r := out.Rejection
	if (r == nil) == (out.Note == "") || out.Spawned != nil {
		t.Fatalf("rejection %+v, note %q, spawned %+v", r, out.Note, out.Spawned)
	}
	if r == nil {
		if len(out.Events) != 0 {
			t.Fatalf("events of nothing: %+v", out.Events)
		}
		return
	}
	if r.Code == "" || r.Message == "" || r.Status == "" {
		t.Fatalf("rejection %+v", r)
	}
	if at := out.Run.At(branchOf(cmd)); r.State != at.State && r.State != out.Run.State && r.State != out.Run.At("").State &&
		r.Code != workflow.RejectBranchNotDone {
		t.Fatalf("rejection %+v of what is in %s", r, at.State)
	}
	for _, g := range r.Guards {
		if g.Passed {
			t.Fatalf("a guard that passed is named as failing: %s", g)
		}
	}
	_, fired := cmd.(workflow.Fire)
	if announced := len(out.Events) == 1 && out.Events[0].Type == workflow.EventRejected; announced != fired {
		t.Fatalf("events of a refused %T: %+v", cmd, out.Events)
	}
}

func branchOf(cmd workflow.Command) string {
	switch c := cmd.(type) {
	case workflow.Fire:
		return c.Branch
	case workflow.Divert:
		return c.Branch
	case workflow.Force:
		return c.Branch
	case workflow.Bind:
		return c.Branch
	default:
		return ""
	}
}

// checkAccepted: the version grows by one, constant fields stay, and all that has
// happened is announced (S6.4).
func checkAccepted(t *rapid.T, run *workflow.Run, cmd workflow.Command, out *workflow.Result) {
	next, e := &out.Run, &out.Entry
	if out.Rejection != nil || out.Note != "" {
		t.Fatalf("changed, with rejection %+v and note %q", out.Rejection, out.Note)
	}
	if next.Version != run.Version+1 || e.RunVersion != next.Version || e.Status != next.Status || e.WorkflowVersion != run.WorkflowVersion {
		t.Fatalf("version %d, then %d (entry %+v)", run.Version, next.Version, e)
	}
	if next.ID != run.ID || next.Workflow != run.Workflow || next.WorkflowVersion != run.WorkflowVersion || next.SessionID != run.SessionID ||
		next.Owner != run.Owner || !next.CreatedAt.Equal(run.CreatedAt) || next.UpdatedAt.Equal(run.UpdatedAt) {
		t.Fatalf("run %+v became %+v", run, next)
	}
	counts := int64(0)
	switch cmd.(type) {
	case workflow.Fire, workflow.ChildEnded:
		if e.Type != workflow.EventParked {
			counts = 1
		}
	case workflow.Grant:
		if e.Type != workflow.EventStale {
			counts = 1
		}
	default:
	}
	if next.TransitionCount != run.TransitionCount+counts {
		t.Fatalf("transitions %d, then %d by %T", run.TransitionCount, next.TransitionCount, cmd)
	}
	types := map[string]int{}
	for _, ev := range out.Events {
		types[ev.Type]++
	}
	if len(out.Events) == 0 || out.Events[0].Type != e.Type || types[workflow.EventJoined] != len(e.Joins) {
		t.Fatalf("events %+v of entry %+v", out.Events, e)
	}
	ended := types[workflow.EventCompleted] + types[workflow.EventFailed] + types[workflow.EventCancelled]
	if (ended == 1) != next.Status.Ended() || ended > 1 {
		t.Fatalf("%s, announced by %+v", next.Status, out.Events)
	}
	if spawned := out.Spawned != nil; spawned != (e.Type == workflow.EventInvoked) ||
		spawned && (!slices.Contains(next.Children(), out.Spawned.Run.ID) || out.Spawned.Run.Parent.RunID != run.ID) {
		t.Fatalf("spawned %+v by %+v", out.Spawned, e)
	}
}

// checkContexts: data merges where the change happened, and nowhere else (S2.3,
// S5.1).
func checkContexts(t *rapid.T, run *workflow.Run, cmd workflow.Command, out *workflow.Result) {
	e, next := &out.Entry, &out.Run
	where := e.Branch
	for range e.Joins {
		where = outerOf(where)
	}
	for _, was := range run.Lanes() {
		is := next.At(was.Branch)
		touched := was.Branch == where || within(was.Branch, where) || within(where, was.Branch)
		if !touched && !is.Over && (!document.Equal(was.Context, is.Context) || was.State != is.State || was.Interrupt != is.Interrupt) {
			t.Fatalf("%T in branch %q has changed branch %q: %s in %s became %s in %s",
				cmd, e.Branch, was.Branch, was.Context, was.State, is.Context, is.State)
		}
	}
	if len(e.Joins) > 0 {
		return // see TestInterleavings
	}
	before, after := laneOf(run, e.Branch), laneOf(next, e.Branch)
	want := before
	switch c := cmd.(type) {
	case workflow.Fire:
		if e.Type != workflow.EventParked {
			want = document.MergeTop(before, c.Data)
		}
	case workflow.Grant:
		if e.Type != workflow.EventStale {
			at, _ := run.Asking(c.ApprovalID)
			data := at.Approval.Data
			if !c.Data.IsZero() {
				data = c.Data
			}
			want = document.MergeTop(before, data)
		}
	case workflow.Force:
		want = document.MergeTop(before, c.Context)
	case workflow.ChildEnded:
		results, _ := after.Get("results")
		if got, ok := results.Get(e.Event); !ok || !document.Equal(got, c.Child.Context) {
			t.Fatalf("the results of %s are %s in %s", e.Event, got, after)
		}
		return
	default:
	}
	if !document.Equal(after, want) {
		t.Fatalf("%T: context %s became %s, want %s", cmd, before, after, want)
	}
}

func within(branch, outer string) bool {
	return outer == "" || len(branch) > len(outer) && branch[:len(outer)+1] == outer+"/"
}

// laneOf is the context of the lane itself, also when it has forked.
func laneOf(run *workflow.Run, branch string) document.Value {
	context, fork := run.Context, run.Fork
	for branch != "" && fork != nil {
		i := slices.IndexFunc(fork.Branches, func(b workflow.BranchProgress) bool {
			return b.Name == branch || within(branch, b.Name)
		})
		context = fork.Branches[i].Context
		branch = branch[min(len(branch), len(fork.Branches[i].Name)+1):]
		fork = fork.Branches[i].Fork
	}
	return context
}

// A property of a missing tool would hold of every run: a name that is close to one is
// refused, in a file of properties too, and a name that the author declares is not.
func TestPropertyToolNames(t *testing.T) {
	t.Parallel()
	const text = `{"id": "w", "initial": "a", "states": {"a": {"on": {"X": "done"}}, "done": {"type": "final"}}, "meta": {"tools": ["Edits"]}}`
	def, problems := workflow.Parse([]byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for tool, wrong := range map[string]bool{"Edt": true, "Wrte": true, "Edit": false, "Edits": false, "mcp__ci__go": false, "Edi*": false, "deploy": false} {
		v, _ := document.Parse([]byte(`{"p": {"never": {"tool": "`+tool+`"}}}`), document.Limits{})
		_, problems := workflow.ParseProperties(v, def)
		if problems.HasErrors() != wrong {
			t.Errorf("%s: %v", tool, problems.Err())
		}
	}
}

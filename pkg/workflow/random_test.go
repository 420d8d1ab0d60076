package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// pick draws a number below n.
type pick func(n int) int

func drawn(t *rapid.T) pick {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
}

func (p pick) of(among ...string) string { return among[p(len(among))] }

// causes are all that a run can be held for.
var causes = []workflow.HoldCause{workflow.HoldOperator, workflow.HoldSessionEnd}

// hold draws a cause, or none.
func (p pick) hold() workflow.HoldCause { return append(causes[:2:2], "", "")[p(4)] }

// lifts draws some of the causes: mostly all.
func (p pick) lifts() []workflow.HoldCause {
	return [][]workflow.HoldCause{causes, causes, causes[:1], causes[1:], nil}[p(5)]
}

// workflows writes random definitions with forks in forks, invokes and
// interrupts, whose handlers fork and invoke too. See model on their names.
type workflows struct {
	pick   pick
	states []string
}

func (w *workflows) definition() string {
	w.flow("m", "complete", "failed", 0)
	w.state("h.0", `"BACK": "$return"`, `"ON": "h.1"`, `"OUT": "m.0"`, `"QUIT": "failed"`,
		w.invoke("h.1", "h.0"), `"CALL_OUT": {"invoke": "child", "on_complete": "m.0"}`, w.fork("h", 0, "h.1", 1))
	w.state("h.1", `"BACK": "$return"`, `"OFF": "h.0"`)
	for _, name := range []string{"complete", "failed"} {
		w.states = append(w.states, fmt.Sprintf(`%q: {"type": "final"}`, name))
	}
	return `{"id": "random", "initial": "m.0", "context": {"k0": 0}, "meta": {"debug": true},
	 "interrupts": {
	  "zero": {"trigger": {"file_pattern": "a"}, "target": "h.0"},
	  "one": {"trigger": {"file_pattern": "b"}, "target": "h.1"}},
	 "states": {` + strings.Join(w.states, ",\n") + "}}"
}

func (w *workflows) state(name string, events ...string) {
	events = slices.DeleteFunc(events, func(e string) bool { return e == "" })
	w.states = append(w.states, fmt.Sprintf(`%q: {"on": {%s}}`, name, strings.Join(events, ", ")))
}

// flow writes a few states in a row that lead to done.
func (w *workflows) flow(region, done, lost string, depth int) {
	count := 1 + w.pick(3)
	for i := range count {
		next := done
		if i < count-1 {
			next = fmt.Sprintf("%s.%d", region, i+1)
		}
		events := []string{
			fmt.Sprintf(`"SELF": "%s.%d"`, region, i), fmt.Sprintf(`"FAIL": %q`, w.pick.of(lost, "failed")), "",
		}
		if w.pick(3) > 0 {
			events[2] = w.fork(region, i, next, depth)
		}
		if events[2] == "" || w.pick(2) == 0 {
			events = append(events, fmt.Sprintf(`"NEXT": %q`, next))
		}
		if w.pick(3) == 0 {
			events = append(events, w.invoke(next, w.pick.of("", region+".0")))
		}
		w.state(fmt.Sprintf("%s.%d", region, i), events...)
	}
}

// fork writes a fork and its branches; those of forks inside each other often
// have the same names.
func (w *workflows) fork(region string, i int, next string, depth int) string {
	if depth > 2 {
		return ""
	}
	var branches []string
	for _, name := range []string{"a", "b", "c"}[:1+w.pick(3)] {
		inside := fmt.Sprintf("%s.%d%s", region, i, name)
		branches = append(branches, fmt.Sprintf(`%q: {"initial": "%s.0", "terminal": "%s.done"}`, name, inside, inside))
		w.flow(inside, inside+".done", inside+".lost", depth+1)
		for _, end := range []string{".done", ".lost"} {
			w.states = append(w.states, fmt.Sprintf(`%q: {"type": "final"}`, inside+end))
		}
	}
	fail := w.pick.of("", fmt.Sprintf(`, "on_fail": "%s.0"`, region), fmt.Sprintf(`, "on_fail": "%s.0"`, region))
	return fmt.Sprintf(`"FORK": {"fork": {"join": %q, "branches": {%s}, "on_complete": %q%s}}`,
		w.pick.of("all", "any"), strings.Join(branches, ", "), next, fail)
}

func (w *workflows) invoke(done, fail string) string {
	if fail != "" {
		fail = fmt.Sprintf(`, "on_fail": %q`, fail)
	}
	return fmt.Sprintf(`"CALL": {"invoke": "child", "on_complete": %q%s}`, done, fail)
}

// world is a run with its model next to it, and the sessions that work on it.
type world struct {
	fatalf     func(format string, args ...any)
	m, child   *workflow.Machine
	run        workflow.Run
	model      *model
	told       *chronicle
	played     *replayed
	bound      map[string]string // session to the branch that it bound last
	joins      int
	steps      int
	now        time.Time
	lastJoined []workflow.Join
}

func newWorld(t testing.TB, src string) *world {
	t.Helper()
	w := &world{fatalf: t.Fatalf, m: machine(t, src), child: machine(t, child), bound: map[string]string{}, now: noon}
	start := w.m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Owner: "ann"}, "ann", noon)
	w.run, w.played = start.Run, newReplay(w.m, &start)
	w.model = newModel(w.m.Definition(), w.run.SessionID)
	w.told = newChronicle(w.m, workflow.HistoryEntry{To: w.run.State})
	return w
}

// step gives a command to both, and compares.
func (w *world) step(cmd workflow.Command) workflow.Result {
	w.now = w.now.Add(time.Second)
	was := strings.Join(imageOf(&w.run), "\n")
	want := w.expect(cmd)
	before := w.run
	out := w.m.Step(&w.run, cmd, w.now)
	w.run = out.Run
	w.steps++
	is, should := strings.Join(imageOf(&w.run), "\n"), strings.Join(w.model.lanes(), "\n")
	if out.Changed != want || is != should || w.run.Status != w.model.status() || w.run.TransitionCount != w.model.transitions ||
		len(w.run.Holds) != len(w.model.holds) || !maps.Equal(holdsOf(&w.run), w.model.holds) {
		w.fatalf("%T %s\nchanged %t, want %t: %+v %s\nstatus %s, want %s; transitions %d, want %d\nwas\n%s\nis\n%s\nshould be\n%s",
			cmd, fingerprint(cmd), out.Changed, want, out.Rejection, out.Note,
			w.run.Status, w.model.status(), w.run.TransitionCount, w.model.transitions, was, is, should)
	}
	if !out.Changed {
		return out
	}
	w.joins += len(out.Entry.Joins)
	if w.joins != w.model.joins {
		w.fatalf("%s: %d joins, want %d", fingerprint(cmd), w.joins, w.model.joins)
	}
	if n := len(out.Entry.Joins); n > 0 {
		w.lastJoined = out.Entry.Joins
		got := slices.Sorted(slices.Values(out.Entry.Joins[n-1].Conflicts))
		if !slices.Equal(got, w.model.conflicts) {
			w.fatalf("%s: conflicts %v, want %v", fingerprint(cmd), got, w.model.conflicts)
		}
	}
	for _, err := range []error{
		w.told.add(&out.Entry), w.told.agrees(&w.run), checkEntries(&before, &w.run), checkStatus(&w.run), w.checkStates(),
		w.played.add(&out),
	} {
		if err != nil {
			w.fatalf("%T %s: %v\nwas\n%s\nis\n%s", cmd, fingerprint(cmd), err, was, is)
		}
	}
	return out
}

// expect carries out a command in the model, and reports whether that has an effect.
func (w *world) expect(cmd workflow.Command) bool {
	switch c := cmd.(type) {
	case workflow.Fire:
		return w.model.fire(c.Branch, c.Event, flat(c.Data), c.ChildID)
	case workflow.Divert:
		return w.model.divert(c.Branch, map[string]string{"zero": "h.0", "one": "h.1"}[c.Interrupt])
	case workflow.Force:
		return w.model.force(c.Branch, c.State, flat(c.Context))
	case workflow.Bind:
		return w.model.bind(c.Branch, c.SessionID)
	case workflow.ChildEnded:
		return w.model.childEnded(c.Child.ID, c.Child.Status, c.Child.Context.String())
	case workflow.Pause:
		return w.model.pause(c.Hold, c.Actor)
	case workflow.Resume:
		return w.model.resume(c.Lifts)
	default:
		w.fatalf("the model has no %T", cmd)
		return false
	}
}

// checkStates: a lane is in a state of its own branch, or of a handler (S5.1).
func (w *world) checkStates() error {
	for _, at := range w.run.Lanes() {
		if at.Branch == "" || regionOf(at.State) == "h" && at.Interrupt != nil {
			continue
		}
		if name := at.Branch[strings.LastIndex(at.Branch, "/")+1:]; !strings.HasSuffix(regionOf(at.State), name) {
			return fmt.Errorf("branch %q is in %q", at.Branch, at.State)
		}
	}
	return nil
}

// random draws a command of one of the sessions, or an event around them.
func (w *world) random(p pick) workflow.Command {
	session := p.of("ses_1", "ses_2", "ses_3", "ses_4")
	branch := w.bound[session]
	lanes := w.run.Lanes()
	if len(lanes) > 0 && p(2) == 0 {
		branch = lanes[p(len(lanes))].Branch
	}
	switch p(16) {
	case 0:
		return workflow.Pause{Hold: p.hold(), Actor: session}
	case 1:
		if states := w.m.Definition().States; p(2) == 0 {
			if to := states[p(len(states))].Name; !final(to) {
				return workflow.Force{State: to, Context: w.data(p), Branch: branch}
			}
		}
		fallthrough
	case 2:
		if w.model.paused {
			return workflow.Resume{Lifts: p.lifts()}
		}
		return workflow.Divert{Interrupt: p.of("zero", "one"), Branch: branch}
	case 3:
		if len(lanes) > 0 {
			branch = lanes[p(len(lanes))].Branch
			if p(3) == 0 {
				branch = outerOf(branch)
			}
		}
		switch session {
		case w.run.SessionID:
			session = p.of("", session)
		default:
			w.bound[session] = branch
		}
		return workflow.Bind{Branch: branch, SessionID: session}
	case 4, 5:
		if ids := w.run.Children(); len(ids) > 0 {
			return w.ended(ids[p(len(ids))], p)
		}
		return workflow.Resume{Lifts: p.lifts()}
	default:
		event := p.of("NEXT", "NEXT", "SELF", "FAIL", "FORK", "FORK", "CALL", "BACK", "ON", "OUT", "CALL_OUT", "OFF")
		if legal := w.m.LegalEvents(w.run.At(branch).State); len(legal) > 0 && p(4) > 0 {
			event = legal[p(len(legal))].Event
		}
		if (event == "FAIL" || event == "QUIT") && p(4) > 0 {
			event = "NEXT"
		}
		return workflow.Fire{Event: event, Data: w.data(p), Branch: branch, Child: w.child, ChildID: fmt.Sprintf("run_%d", w.steps+2)}
	}
}

func (w *world) ended(id string, p pick) workflow.ChildEnded {
	status := p.of(string(workflow.Completed), string(workflow.Failed), string(workflow.Cancelled))
	return workflow.ChildEnded{Child: workflow.Run{ID: id, Status: workflow.Status(status), Lane: workflow.Lane{Context: w.data(p)}}}
}

// data draws an object whose keys and values often meet others.
func (w *world) data(p pick) document.Value {
	var members []document.Member
	for i := range 3 {
		if p(3) == 0 {
			members = append(members, document.Member{Name: fmt.Sprintf("k%d", i), Value: document.NumberValue(fmt.Sprint(p(3)))})
		}
	}
	return document.ObjectValue(members)
}

// TestRandomForks: random workflows with nested forks, worked on by several sessions at
// random, act as the model (S4, S5, S6).
func TestRandomForks(t *testing.T) {
	t.Parallel()
	t.Run("drawn", func(t *testing.T) {
		t.Parallel()
		randtest.Check(t, func(r *rapid.T) {
			w := newWorld(t, (&workflows{pick: drawn(r)}).definition())
			w.fatalf = r.Fatalf
			w.play(drawn(r), 40)
		})
	})
	t.Run("seeded", func(t *testing.T) {
		t.Parallel()
		reached := map[string]int{}
		p := pick(randtest.New(t, 5).IntN)
		rounds := randtest.Size(400, 10_000)
		for range rounds {
			w := newWorld(t, (&workflows{pick: p}).definition())
			w.play(p, 120)
			reached["joins"] += w.joins
			reached[string(w.run.Status)]++
			if len(w.lastJoined) > 1 {
				reached["cascades"]++
			}
		}
		for _, what := range []string{"joins", "cascades", "COMPLETED", "FAILED"} {
			if reached[what] < rounds/20 {
				t.Errorf("the plays are too tame: %v", reached)
			}
		}
	})
}

func (w *world) play(p pick, steps int) {
	for range steps {
		if w.run.Status.Ended() {
			break
		}
		w.step(w.random(p))
	}
}

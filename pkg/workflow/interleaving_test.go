package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// race is a workflow with one fork of four branches; see model on the names.
func race(join, onFail string) string {
	branches, states := "", ""
	for i, b := range raced {
		if i > 0 {
			branches += ", "
		}
		branches += fmt.Sprintf(`"%s": {"initial": "m.0%s.0", "terminal": "m.0%s.done"}`, b, b, b)
		states += fmt.Sprintf(`
  "m.0%[1]s.0": {"on": {"SELF": "m.0%[1]s.0", "NEXT": "m.0%[1]s.1", "FAIL": "m.0%[1]s.lost"}},
  "m.0%[1]s.1": {"on": {"SELF": "m.0%[1]s.1", "BACK": "m.0%[1]s.0", "NEXT": "m.0%[1]s.done", "FAIL": "failed"}},
  "m.0%[1]s.done": {"type": "final"}, "m.0%[1]s.lost": {"type": "final"},`, b)
	}
	return `{"id": "race", "initial": "m.0", "context": {"k0": 0, "k1": 0},
 "interrupts": {"zero": {"trigger": {"file_pattern": "a"}, "target": "h.0"}},
 "states": {
  "m.0": {"on": {"FORK": {"fork": {"join": "` + join + `", "branches": {` + branches + `}, "on_complete": "m.1"` + onFail + `}}}},` +
		states + `
  "h.0": {"on": {"BACK": "$return", "QUIT": "failed"}},
  "m.1": {"on": {"NEXT": "complete"}}, "m.2": {"on": {"NEXT": "complete"}},
  "complete": {"type": "final"}, "failed": {"type": "final"}}}`
}

var raced = []string{"a", "b", "c", "d"}

// worker is one session with its plan for its branch.
type worker struct {
	name   string // of the branch
	branch string // as it says it: empty when it is not bound
	todo   []workflow.Command
	// context of the branch as it should be, and how it ended.
	context map[string]string
	ended   workflow.BranchStatus
}

// newWorker draws the acts of a session: bind, work, be interrupted, end well or not, and
// say so. It continues, no matter how its branch ended.
func newWorker(w *world, p pick, name string, bound bool) *worker {
	k := &worker{name: name}
	if bound {
		k.branch = name
		k.todo = append(k.todo, workflow.Bind{Branch: name, SessionID: "ses_" + name})
	}
	fire := func(event string) {
		k.todo = append(k.todo, workflow.Fire{Event: event, Data: w.data(p), Branch: k.branch})
	}
	work := func() {
		for range p(3) {
			switch p(3) {
			case 0:
				fire("SELF")
			case 1:
				k.todo = append(k.todo, workflow.Divert{Interrupt: "zero", Branch: k.branch})
				fire("BACK")
			default:
				fire("BRANCH_DONE:" + name)
			}
		}
	}
	work()
	switch p(5) {
	case 0:
		fire("FAIL")
	case 1:
		k.todo = append(k.todo, workflow.Divert{Interrupt: "zero", Branch: k.branch})
		fire("QUIT")
	default:
		fire("NEXT")
		work()
		fire([]string{"FAIL", "NEXT", "NEXT", "NEXT"}[p(4)])
	}
	fire("BRANCH_DONE:" + name)
	fire("NEXT")
	fire("BRANCH_DONE:" + name)
	return k
}

// TestInterleavings: sessions that each work in a branch of their own, and one that takes
// the rest, under pauses and in any order: there is one join, and it is the one that the
// order of ends decides (S5.4).
func TestInterleavings(t *testing.T) {
	t.Parallel()
	ends := map[string]int{}
	rounds := randtest.Size(400, 10_000)
	p := pick(randtest.New(t, 6).IntN)
	for range rounds {
		join := p.of("all", "any")
		onFail := p.of("", `, "on_fail": "m.2"`)
		w := newWorld(t, race(join, onFail))
		r := &relay{world: w, pick: p, any: join == "any", base: flat(w.run.Context)}
		data := w.data(p)
		maps.Copy(r.base, flat(data))
		w.step(workflow.Fire{Event: "FORK", Data: data})
		for i, name := range raced {
			r.workers = append(r.workers, newWorker(w, p, name, i < 3))
			r.workers[i].context = maps.Clone(r.base)
		}
		r.play()
		r.check(onFail != "")
		ends[w.run.State]++
	}
	for _, state := range []string{"m.0", "m.1", "m.2"} {
		if ends[state] < rounds/10 {
			t.Errorf("the interleavings are too tame: %v", ends)
		}
	}
}

// relay lets workers work in turns.
type relay struct {
	*world
	pick    pick
	any     bool
	workers []*worker
	base    map[string]string
	decided bool
	success bool
}

// play continues until every worker has done all it meant to.
func (r *relay) play() {
	for {
		busy := slices.DeleteFunc(slices.Clone(r.workers), func(k *worker) bool { return len(k.todo) == 0 })
		switch {
		case len(busy) == 0:
			if r.model.paused {
				r.step(workflow.Resume{Lifts: causes})
			}
			return
		case r.pick(12) == 0:
			r.step(workflow.Pause{Hold: r.pick.hold()})
		case r.model.paused && r.pick(2) == 0:
			r.step(workflow.Resume{Lifts: r.pick.lifts()})
		default:
			r.turn(busy[r.pick(len(busy))])
		}
	}
}

// turn takes the next step of a worker; under a pause it fails and comes again.
func (r *relay) turn(k *worker) {
	fire, fired := k.todo[0].(workflow.Fire)
	done := fire.Event == "BRANCH_DONE:"+k.name
	switch {
	case k.branch != "":
	case r.decided && !done:
		k.todo = k.todo[1:] // the run continues as it likes
		return
	case !r.decided && k.ended == "" && r.run.At("").Branch != k.name:
		return // others have not taken their branches yet
	}
	held := r.model.paused
	out := r.step(k.todo[0])
	if held {
		if out.Changed || (out.Rejection == nil) != (out.Note != "") {
			r.fatalf("%s under a pause: %+v", fingerprint(k.todo[0]), out)
		}
		return
	}
	cmd := k.todo[0]
	k.todo = k.todo[1:]
	switch {
	case done:
		if out.Changed || (out.Note != "") != (k.ended == workflow.BranchSucceeded) {
			r.fatalf("%s of a branch that has %q: %+v", fire.Event, k.ended, out)
		}
	case out.Changed && r.decided:
		r.fatalf("after the join branch %s does %s", k.name, fingerprint(cmd))
	case out.Changed && fired:
		k.context = maps.Clone(k.context)
		maps.Copy(k.context, flat(fire.Data))
		r.note(k, out.Entry.To)
	}
}

// note keeps how a branch has ended, and returns whether that decides the fork.
func (r *relay) note(k *worker, state string) {
	if !final(state) {
		return
	}
	k.ended = workflow.BranchFailed
	if state == "m.0"+k.name+".done" {
		k.ended = workflow.BranchSucceeded
	}
	open := slices.ContainsFunc(r.workers, func(k *worker) bool { return k.ended == "" })
	if succeeded := k.ended == workflow.BranchSucceeded; succeeded == r.any || !open {
		r.decided, r.success = true, succeeded
	}
}

func (r *relay) check(onFail bool) {
	run := &r.run
	if !r.decided || r.joins != 1 || run.Fork != nil || len(r.lastJoined) != 1 {
		r.fatalf("decided %t, %d joins, fork %v", r.decided, r.joins, run.Fork)
	}
	state, status := "m.1", workflow.Running
	switch {
	case r.success:
	case onFail:
		state = "m.2"
	default:
		state, status = "m.0", workflow.Failed
	}
	want := maps.Clone(r.base)
	for i, k := range r.workers {
		outcome := workflow.BranchOutcome{Name: k.name, Status: k.ended}
		if k.ended == "" {
			outcome.Status = workflow.BranchCancelled
		} else {
			for key, v := range k.context {
				if r.base[key] != v {
					want[key] = v
				}
			}
		}
		if got := r.lastJoined[0].Branches[i]; got != outcome {
			r.fatalf("branch %+v in the join, want %+v", got, outcome)
		}
	}
	if run.State != state || run.Status != status || r.lastJoined[0].To != state || r.lastJoined[0].Succeeded != r.success {
		r.fatalf("%s in %s by %+v, want %s in %s", run.Status, run.State, r.lastJoined[0], status, state)
	}
	if got := flat(run.Context); !maps.Equal(got, want) {
		r.fatalf("context %v, want %v", got, want)
	}
}

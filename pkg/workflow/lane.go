package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// BranchStatus is how a branch of a fork stands.
type BranchStatus string

// The statuses of a branch.
const (
	BranchActive    BranchStatus = "ACTIVE"
	BranchSucceeded BranchStatus = "SUCCEEDED"
	BranchFailed    BranchStatus = "FAILED"
	BranchCancelled BranchStatus = "CANCELLED"
)

// ForkProgress is a fork that has not joined yet (S5.1). It is not changed: like the run,
// it is a snapshot.
type ForkProgress struct {
	// Event that forked, in the state that the run still stands in.
	Event string
	// Branches in definition order.
	Branches []BranchProgress
	// Current is the branch that callers work in who are not bound to one, or
	// empty when there is none left for them (S5.2).
	Current string
	// Clock shows how long the branches have been at work.
	Clock Clock
}

// BranchProgress is one branch: a lane of its own (S5.1).
type BranchProgress struct {
	Name   string
	Status BranchStatus
	// SessionID is the session that the branch was given to, or empty (S5.3).
	SessionID string
	Lane
}

// Lane is where one thread of a run stands: the run itself, or a branch of a fork.
type Lane struct {
	State string
	// Fork is set while the lane is in branches (S5.1). State, Entry and Context
	// are those it forked from until the branches join.
	Fork *ForkProgress
	// Entry numbers the present entry of the state, from 1: no two entries of a run, in
	// any branch, have the same number. Counters of tool calls belong to one entry
	// (S2.10).
	Entry int64
	// Context has the values that guards see: an object.
	Context document.Value
	// Clock shows how long the lane has been in the state.
	Clock Clock
	// Sources are where the values of Context come from, kept where a guard asks.
	Sources Sources
	// Interrupt is set while a handler is at work (S4).
	Interrupt *Interruption
	// Child is set while the lane waits for a run that it invoked (S5.5).
	Child *Invocation
	// Approval is set while a transition is parked, and afterwards when it did not
	// fire, until the lane moves on (S9.1).
	Approval *Approval
}

// Interruption is a handler at work (S4).
type Interruption struct {
	// Name of the interrupt.
	Name string
	// ReturnTo is the state that $return resolves to.
	ReturnTo string
	// Clock is that of the interrupted state, which stands still.
	Clock Clock
}

// Invocation is a child run that is waited for (S5.5).
type Invocation struct {
	RunID    string
	Workflow string
	// Event that invoked it.
	Event string
}

// Parent is the run that invoked this one.
type Parent struct {
	RunID string
	// Root is the outermost run: the one that no run invoked.
	Root string
	// Depth of this run: 1 when the parent was started by itself.
	Depth int
}

// View is a run as one of its lanes sees it: State, Entry, Context, Fork, Child,
// Interrupt and Approval are the lane's, and Status says whether that lane can
// move. All else is the run's. Read only: it points into the run.
type View struct {
	*Run
	*Lane
	Status Status
	// Branch that the lane is of, as a path of names from outside in ("ci/lint"),
	// or empty.
	Branch string
	// Over is true where no operation is allowed any more: the branch has ended, or the
	// run does not have it.
	Over bool
}

// At returns the run as it stands for a caller who works in a branch, or who is bound to
// none. A branch that has ended is Over, and so is one that the run does not have; see
// Lost.
func (r *Run) At(branch string) View {
	if r.Fork == nil && branch == "" {
		return r.whole()
	}
	at := r.locate(branch, false)
	return at.View
}

// Lost returns the run as it stands for a caller whose branch is not its own any more:
// Over, until the run has ended, which is the same for all callers (S2.9). Not so in a
// run that was invoked, whose end is not the end of the work: there it stays Over.
func (r *Run) Lost(branch string) View {
	if r.Status.Ended() && r.Parent == nil {
		return r.whole()
	}
	return View{
		Run: r, Lane: &Lane{Entry: r.Entry, Context: r.Context}, Status: r.Status, Branch: branch, Over: true,
	}
}

// whole returns the run as its own lane sees it, also while that is in branches.
func (r *Run) whole() View { return View{Run: r, Lane: &r.Lane, Status: r.Status} }

// cursor is the lane that a command works on, and the way to it from the run.
type cursor struct {
	View
	path []int // places in the forks, from outside in
}

// locate finds the lane that callers in a branch work in; lost is true of a caller
// whose branch is not its own any more.
func (r *Run) locate(branch string, lost bool) cursor {
	path, found := r.Fork.find(branch)
	if !found || lost {
		return cursor{View: r.Lost(branch)}
	}
	return r.lane(r.Fork.follow(path))
}

// lane returns the lane at a path.
func (r *Run) lane(path []int) cursor {
	at := cursor{r.whole(), path}
	for _, i := range path {
		b := &at.Fork.Branches[i]
		at.Branch = branchIn(at.Branch, b.Name)
		at.Lane, at.Over = &b.Lane, at.Over || b.Status != BranchActive
	}
	if at.Status.moves() {
		at.Status = at.status()
	}
	return at
}

// outer returns the lane whose fork a branch belongs to.
func (at *cursor) outer() cursor { return at.lane(at.path[:len(at.path)-1]) }

// place returns which of the fork's branches it is.
func (at *cursor) place() int { return at.path[len(at.path)-1] }

// status returns that of a lane without a hold: it waits for humans, for its child, or
// for branches that others work in.
func (l *Lane) status() Status {
	switch {
	case l.Approval.Pending():
		return AwaitingApproval
	case l.Child != nil || l.Fork != nil:
		return Waiting
	default:
		return Running
	}
}

// Bound reports that a branch, as BranchPath writes it, is a session's own.
func (r *Run) Bound(branch, session string) bool {
	path, found := r.Fork.find(branch)
	return found && len(path) > 0 && session != "" && r.branchAt(path).SessionID == session
}

// BranchPath returns the full path of a branch that is named, from outside in.
func (r *Run) BranchPath(name string) (string, bool) {
	path, found := r.Fork.find(name)
	if !found || len(path) == 0 {
		return "", false
	}
	return r.lane(path).Branch, true
}

// Lanes returns the run as each of its active lanes sees it: its own, or those of
// its branches.
func (r *Run) Lanes() []View {
	var lanes []View
	r.eachLane(func(path []int) { lanes = append(lanes, r.lane(path).View) })
	return lanes
}

// Bytes returns about how large the data of the run is as JSON: that of its contexts and of
// the data that waits for approvals.
func (r *Run) Bytes() int {
	total := 0
	if r.Fork != nil {
		total = document.Size(r.Context, MaxRunBytes)
	}
	for _, at := range r.Lanes() {
		total += document.Size(at.Context, MaxRunBytes)
		if at.Approval != nil {
			total += document.Size(at.Approval.Data, MaxRunBytes)
		}
	}
	return total
}

// Children names every run that one of the lanes waits for.
func (r *Run) Children() []string {
	if r.Fork == nil {
		if r.Child == nil {
			return nil
		}
		return []string{r.Child.RunID}
	}
	var ids []string
	r.eachLane(func(path []int) {
		if at := r.lane(path); at.Child != nil {
			ids = append(ids, at.Child.RunID)
		}
	})
	return ids
}

// EntriesLeft returns the numbers of the entries that a change has left: their counts are
// over.
func EntriesLeft(before, after *Run) []int64 {
	kept := after.entries()
	return slices.DeleteFunc(before.entries(), func(n int64) bool { return slices.Contains(kept, n) })
}

func (r *Run) entries() []int64 {
	if r.Fork == nil {
		return []int64{r.Entry}
	}
	numbers := []int64{r.Entry}
	r.eachLane(func(path []int) { numbers = append(numbers, r.lane(path).Entry) })
	return numbers
}

// eachLane visits the active lanes that have no fork of their own, in order.
func (r *Run) eachLane(visit func(path []int)) { r.Fork.eachLane(nil, visit) }

func (f *ForkProgress) eachLane(outer []int, visit func(path []int)) {
	if f == nil {
		visit(outer)
		return
	}
	for i := range f.Branches {
		if b := &f.Branches[i]; b.Status == BranchActive {
			b.Fork.eachLane(append(slices.Clip(outer), i), visit)
		}
	}
}

// laneWhere finds the active lane that something is true of.
func (r *Run) laneWhere(is func(*Lane) bool) (found cursor, ok bool) {
	r.eachLane(func(path []int) {
		if at := r.lane(path); is(at.Lane) {
			found, ok = at, true
		}
	})
	return found, ok
}

// find locates a branch by its name, or by its path where forks are nested and a
// bare name would mean two. No name is the fork's own lane.
func (f *ForkProgress) find(name string) (path []int, found bool) {
	if name == "" {
		return nil, true
	}
	if f == nil {
		return nil, false
	}
	if outer, inner, nested := strings.Cut(name, branchSeparator); nested {
		i := f.place(outer)
		if i < 0 || inner == "" {
			return nil, false
		}
		rest, found := f.Branches[i].Fork.find(inner)
		return append([]int{i}, rest...), found
	}
	if named := f.named(name); len(named) == 1 {
		return named[0], true
	}
	return nil, false
}

// named returns the branches that a bare name may mean: the fork's own, or else all those
// of forks inside it.
func (f *ForkProgress) named(name string) (paths [][]int) {
	if f == nil {
		return nil
	}
	if i := f.place(name); i >= 0 {
		return [][]int{{i}}
	}
	for i := range f.Branches {
		for _, rest := range f.Branches[i].Fork.named(name) {
			paths = append(paths, append([]int{i}, rest...))
		}
	}
	return paths
}

// branchSeparator parts the names of a branch's path; no name has it (S1.4).
const branchSeparator = "/"

// branchIn returns the path of a branch of the fork in a lane.
func branchIn(lane, name string) string {
	if lane == "" {
		return name
	}
	return lane + branchSeparator + name
}

func (f *ForkProgress) place(name string) int {
	return slices.IndexFunc(f.Branches, func(b BranchProgress) bool { return b.Name == name })
}

// follow extends the path of a lane by the current branches of its forks.
func (f *ForkProgress) follow(path []int) []int {
	for depth := 0; f != nil; depth++ {
		if depth == len(path) {
			i := f.place(f.Current)
			if f.Current == "" || i < 0 {
				return path
			}
			path = append(slices.Clip(path), i)
		}
		f = f.Branches[path[depth]].Fork
	}
	return path
}

// branchAt returns the branch at a path that is not empty.
func (r *Run) branchAt(path []int) *BranchProgress {
	fork := r.Fork
	for _, i := range path[:len(path)-1] {
		fork = fork.Branches[i].Fork
	}
	return &fork.Branches[path[len(path)-1]]
}

// change writes to the branch at a path, in a copy of all that leads there.
func (r *Run) change(path []int, write func(*BranchProgress)) {
	r.Fork = r.Fork.changed(path, write)
}

func (f *ForkProgress) changed(path []int, write func(*BranchProgress)) *ForkProgress {
	next := *f
	next.Branches = slices.Clone(f.Branches)
	b := &next.Branches[path[0]]
	if len(path) == 1 {
		write(b)
	} else {
		b.Fork = b.Fork.changed(path[1:], write)
	}
	return &next
}

// setLane puts a lane where lane found it.
func (r *Run) setLane(path []int, l Lane) {
	if len(path) == 0 {
		r.Lane = l
		return
	}
	r.change(path, func(b *BranchProgress) { b.Lane = l })
}

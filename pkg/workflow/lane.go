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

// ForkProgress is a fork that has not joined yet (S5.1). Nobody writes to it:
// like the run, it is a snapshot.
type ForkProgress struct {
	// Event that forked, in the state that the run still stands in.
	Event string
	// Branches in definition order.
	Branches []BranchProgress
	// Current is the branch that callers work in who are not bound to one, or
	// empty when there is none left for them (S5.2).
	Current string
}

// BranchProgress is one branch: a lane of its own (S5.1).
type BranchProgress struct {
	Name   string
	Status BranchStatus
	// SessionID is the session that the branch was given to, or empty (S5.3).
	SessionID string
	lane
}

// lane is where one thread of a run stands.
type lane struct {
	State     string
	Entry     int64
	Context   document.Value
	Interrupt *Interruption
	Fork      *ForkProgress
	Child     *Invocation
	Approval  *Approval
}

// Interruption is a handler at work (S4).
type Interruption struct {
	// Name of the interrupt.
	Name string
	// ReturnTo is the state that $return resolves to.
	ReturnTo string
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
	// Root is the outermost run: the one that nobody invoked.
	Root string
	// Depth of this run: 1 when the parent was started by itself.
	Depth int
}

// At is the run as it stands for a caller who works in a branch, or who is bound
// to none: State, Entry, Context, Interrupt, Fork, Child and Approval are those of the
// branch, and Status says whether that branch can move. A branch that has ended,
// or that the run does not have, is Over, until the run has ended: that is the
// same for everybody then (S2.9). Not so in a run that was invoked, whose end is
// not the end of the work: there such a branch stays Over.
func (r *Run) At(branch string) Run {
	if r.Fork == nil && branch == "" {
		return *r
	}
	path, found := r.Fork.find(branch)
	if !found {
		at := *r
		if !r.Status.Ended() || r.Parent != nil {
			at.Branch, at.Over, at.State = branch, true, ""
		}
		return at
	}
	return r.project(r.Fork.follow(path))
}

// Bound reports that a branch, as BranchPath writes it, is a session's own.
func (r *Run) Bound(branch, session string) bool {
	path, found := r.Fork.find(branch)
	return found && len(path) > 0 && session != "" && r.branchAt(path).SessionID == session
}

// BranchPath is the full path of a branch that is named, from outside in.
func (r *Run) BranchPath(name string) (string, bool) {
	path, found := r.Fork.find(name)
	if !found || len(path) == 0 {
		return "", false
	}
	at := r.project(path)
	return at.Branch, true
}

// Lanes answers the run as it stands in each of its active lanes: itself, or
// its branches.
func (r *Run) Lanes() []Run {
	var lanes []Run
	r.eachLane(func(path []int) {
		lanes = append(lanes, r.project(path))
	})
	return lanes
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
	for _, at := range r.Lanes() {
		if at.Child != nil {
			ids = append(ids, at.Child.RunID)
		}
	}
	return ids
}

// EntriesLeft are the numbers of the entries that a change has left: what was
// counted in them is over.
func EntriesLeft(before, after *Run) []int64 {
	kept := after.entries()
	return slices.DeleteFunc(before.entries(), func(n int64) bool { return slices.Contains(kept, n) })
}

func (r *Run) entries() []int64 {
	if r.Fork == nil {
		return []int64{r.Entry}
	}
	numbers := []int64{r.Entry}
	for _, at := range r.Lanes() {
		numbers = append(numbers, at.Entry)
	}
	return numbers
}

// eachLane visits the active lanes that have no fork of their own, in order.
func (r *Run) eachLane(visit func(path []int)) {
	if r.Fork == nil {
		visit(nil)
		return
	}
	r.Fork.eachLane(nil, visit)
}

func (f *ForkProgress) eachLane(outer []int, visit func(path []int)) {
	for i := range f.Branches {
		b := &f.Branches[i]
		path := append(slices.Clip(outer), i)
		switch {
		case b.Status != BranchActive:
		case b.Fork != nil:
			b.Fork.eachLane(path, visit)
		default:
			visit(path)
		}
	}
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

// named are the branches that a bare name may mean: the fork's own, or else all
// those of forks inside it.
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

// branchIn is the path of a branch of the fork in a lane.
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

// project is the run as it stands in one lane.
func (r *Run) project(path []int) Run {
	at := *r
	fork := r.Fork
	for _, i := range path {
		b := &fork.Branches[i]
		at.Branch = branchIn(at.Branch, b.Name)
		at.setLane(b.lane)
		at.Over = at.Over || b.Status != BranchActive
		fork = b.Fork
	}
	if at.Status.moves() {
		at.Status = at.laneStatus()
	}
	return at
}

// laneStatus is that of a lane which nothing holds: it waits for humans, for its
// child, or for branches that others work in.
func (r *Run) laneStatus() Status {
	switch {
	case r.Approval.Pending():
		return AwaitingApproval
	case r.Child != nil || r.Fork != nil:
		return Waiting
	default:
		return Running
	}
}

func (r *Run) lane() lane {
	return lane{State: r.State, Entry: r.Entry, Context: r.Context, Interrupt: r.Interrupt, Fork: r.Fork, Child: r.Child, Approval: r.Approval}
}

func (r *Run) setLane(l lane) {
	r.State, r.Entry, r.Context, r.Interrupt = l.State, l.Entry, l.Context, l.Interrupt
	r.Fork, r.Child, r.Approval = l.Fork, l.Child, l.Approval
}

// branchAt is the branch at a path that is not empty.
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

// setLaneAt puts a lane back where project took it from.
func (r *Run) setLaneAt(path []int, l lane) {
	if len(path) == 0 {
		r.setLane(l)
		return
	}
	r.change(path, func(b *BranchProgress) { b.lane = l })
}

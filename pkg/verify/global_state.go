package verify

import (
	"slices"
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The names of an exploration: actors, and sessions.
const (
	agent     = "agent"
	workspace = "/workspace"
)

// Unit is one workflow of the model.
type Unit struct {
	Definition
	words *vocabulary
	// policies judge its calls, and those of its invoked runs.
	policies []*rules.Set
	// stub stands for a workflow that was not given.
	stub bool
}

// node is a run, and the runs that it has invoked. It is an immutable snapshot.
type node struct {
	of  *Unit
	run *workflow.Run
	// held are the observations that count.
	held []held
	// late are the names of evidence of which a call may have been allowed in a state that
	// the run has left, and may be reported yet.
	late []string
	kids []*node
}

// held is an evidence that was observed, in an entry of a state.
type held struct {
	name  string
	entry int64
}

// global state is where an exploration stands.
type globalState struct {
	root *node
	// met is true when the condition of the property has been met.
	met bool
	// count of the calls of the property, at most one more than it admits.
	count int
}

// at returns the node at a path of places among kids.
func (w *globalState) at(path []int) *node {
	n := w.root
	for _, i := range path {
		n = n.kids[i]
	}
	return n
}

// replace returns a tree with another node at a path.
func replace(n *node, path []int, with *node) *node {
	if len(path) == 0 {
		return with
	}
	next := *n
	next.kids = slices.Clone(n.kids)
	next.kids[path[0]] = replace(n.kids[path[0]], path[1:], with)
	return &next
}

// each visits every live run, from outside in.
func (n *node) each(path []int, visit func(path []int, n *node)) {
	visit(path, n)
	for i, kid := range n.kids {
		kid.each(append(slices.Clip(path), i), visit)
	}
}

// chain returns the runs down to the one at a path, from outside in.
func (w *globalState) chain(path []int) []*node {
	n := w.root
	chain := []*node{n}
	for _, i := range path {
		n = n.kids[i]
		chain = append(chain, n)
	}
	return chain
}

// tidy drops the parts of a run that no further step depends on.
func tidy(run *workflow.Run, v *vocabulary, ended bool) *workflow.Run {
	next := *run
	next.Joined = nil
	next.Version, next.TransitionCount = 1, 0
	tidyLane(&next.Lane, v, ended)
	return &next
}

// tidyLane does so in a lane. The results of an invoked run that has just ended are any.
func tidyLane(l *workflow.Lane, v *vocabulary, ended bool) {
	if l.Approval != nil && !l.Approval.Pending() {
		l.Approval = nil
	}
	if ended {
		if results, ok := l.Context.Get(resultsKey); ok && results.Kind() == document.Object {
			l.Context = document.MergeTop(l.Context, document.ObjectValue([]document.Member{{
				Name:  resultsKey,
				Value: freeByResult,
			}}))
			l.Context = v.restrict(l.Context)
		}
	}
	if l.Fork == nil {
		return
	}
	fork := *l.Fork
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		tidyLane(&fork.Branches[i].Lane, v, ended)
	}
	l.Fork = &fork
}

// standings returns how the evidence of a run stands in a lane, by the function that
// decides it, on a record of the held evidence.
func (n *node) standings(at *workflow.View) evidence.Statuses {
	specs := n.of.Machine.Evidence()
	if len(specs) == 0 && !n.of.Machine.KeepsAccount() {
		return nil
	}
	facts := map[string]evidence.Fact{}
	written := map[string]evidence.Written{}
	for i := range specs {
		spec := &specs[i]
		at := slices.IndexFunc(n.held, func(h held) bool { return h.name == spec.Name })
		if at < 0 {
			continue
		}
		if spec.State != nil {
			written[spec.Name] = writtenFor(spec)
			continue
		}
		seen := make([]evidence.Observation, spec.Count)
		for j := range seen {
			seen[j] = evidence.Observation{At: epoch, CallID: spec.Name, Entry: n.held[at].entry}
		}
		facts[spec.Name] = evidence.Fact{Seen: seen}
	}
	record := evidence.Record{Runs: map[string]map[string]evidence.Fact{n.run.ID: facts}}
	basis := at.EvidenceOf(record, epoch)
	basis.Written = written
	all := basis.Judge(specs)
	if n.of.Machine.KeepsAccount() { // people can settle all unknown effects
		if all == nil {
			all = evidence.Statuses{}
		}
		all[evidence.NoUnknownEffects] = record.Effects()
	}
	return all
}

// writtenFor returns a value of the shared state that satisfies an evidence.
func writtenFor(spec *evidence.Spec) evidence.Written {
	w := evidence.Written{Writers: []string{spec.Writer}, At: epoch}
	t := &tree{leaves: []leaf{{op: spec.State.Op, value: spec.State.Value}}}
	for _, v := range append([]document.Value{spec.State.Value}, t.values()...) {
		if spec.State.Op.Holds(v, spec.State.Value) {
			w.Value = v
			return w
		}
	}
	w.Unknown = "no value is enough"
	return w
}

// holds reports that an evidence is held for a lane.
func (n *node) holds(at *workflow.View, name string) bool { return n.standings(at)[name].Held }

// open returns the branches whose callers take the next steps. Branches do not depend on
// each other until they join, unless evidence does: so it is enough that one of them moves
// while the others have not begun or have ended, in their order, and that each moves alone
// from the beginning.
func (n *node) open(reduced bool) []workflow.View {
	lanes := n.run.Lanes()
	if n.run.Fork == nil || !reduced {
		return lanes
	}
	allowed := n.ready(n.run.State, n.run.Fork, &n.run.Lane, "")
	return slices.DeleteFunc(lanes, func(v workflow.View) bool { return !slices.Contains(allowed, v.Branch) })
}

func (n *node) ready(state string, fork *workflow.ForkProgress, outer *workflow.Lane, prefix string) []string {
	def := n.of.Machine.State(state).Fork(fork.Event)
	var active []int
	begun, ended := -1, false
	for i := range fork.Branches {
		b := &fork.Branches[i]
		if b.Status != workflow.BranchActive {
			ended = true
			continue
		}
		active = append(active, i)
		if def != nil && begun < 0 && hasBegun(b, def.Branches[i].Initial, outer) {
			begun = i
		}
	}
	switch {
	case begun >= 0:
		active = []int{begun}
	case ended && len(active) > 1:
		active = active[:1]
	}
	var names []string
	for _, i := range active {
		b := &fork.Branches[i]
		name := b.Name
		if prefix != "" {
			name = prefix + "/" + b.Name
		}
		if b.Fork != nil {
			names = append(names, n.ready(b.State, b.Fork, &b.Lane, name)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

func hasBegun(b *workflow.BranchProgress, initial string, outer *workflow.Lane) bool {
	return b.State != initial || b.Interrupt != nil || b.Approval != nil || b.Child != nil || b.Fork != nil ||
		!document.Equal(b.Context, outer.Context) || len(b.Sources) != len(outer.Sources)
}

// appendKey writes all of a global state that its future depends on.
func (w *globalState) appendKey(dst []byte) []byte {
	dst = strconv.AppendBool(dst, w.met)
	dst = append(dst, '|')
	return w.root.appendKey(dst)
}

func (n *node) appendKey(dst []byte) []byte {
	dst = appendText(dst, n.of.Machine.Name())
	if n.run.Status.Ended() { // otherwise it follows from the lanes
		dst = append(dst, string(n.run.Status)...)
	}
	dst = n.appendLane(dst, &n.run.Lane, n.run.Status.Ended())
	for _, h := range n.held {
		if h.entry == 0 {
			dst = appendText(append(dst, 'e'), h.name)
		}
	}
	for _, name := range n.late {
		dst = appendText(append(dst, 'l'), name)
	}
	for _, kid := range n.kids {
		dst = appendText(append(dst, '{'), kid.run.ID)
		dst = append(kid.appendKey(dst), '}')
	}
	return dst
}

func (n *node) appendLane(dst []byte, l *workflow.Lane, ended bool) []byte {
	dst = appendText(append(dst, 's'), l.State)
	if ended {
		return dst
	}
	if l.Interrupt != nil {
		dst = appendText(appendText(append(dst, 'i'), l.Interrupt.Name), l.Interrupt.ReturnTo)
	}
	if l.Approval.Pending() {
		dst = appendText(appendText(append(dst, 'a'), l.Approval.Event), l.Approval.To)
		for _, key := range n.of.words.keys {
			if _, sets := l.Approval.Data.Get(key); sets && n.of.words.traced[key] { // the grant will overwrite it
				dst = appendText(dst, key)
			}
		}
	}
	if l.Child != nil {
		dst = appendText(appendText(append(dst, 'c'), l.Child.RunID), l.Child.Event)
	}
	for _, h := range n.held {
		if h.entry == l.Entry {
			dst = appendText(append(dst, 'h'), h.name)
		}
	}
	for i := range n.run.Approved {
		a := &n.run.Approved[i]
		dst = appendText(appendText(append(dst, 'g'), a.State), a.Event)
		dst = strconv.AppendBool(dst, a.Entry == l.Entry)
	}
	dst = n.appendContext(dst, l)
	if l.Fork == nil {
		return dst
	}
	dst = appendText(append(dst, 'f'), l.Fork.Event)
	for i := range l.Fork.Branches {
		b := &l.Fork.Branches[i]
		dst = append(append(dst, '['), string(b.Status)...)
		if b.Status == workflow.BranchActive {
			dst = n.appendLane(dst, &b.Lane, false)
		} else {
			dst = n.appendContext(dst, &b.Lane)
		}
		dst = append(dst, ']')
	}
	return dst
}

func (n *node) appendContext(dst []byte, l *workflow.Lane) []byte {
	for _, key := range n.of.words.keys {
		v, ok := l.Context.Get(key)
		switch {
		case !ok:
			dst = append(dst, '-')
		case v.Str() == freeByAgent.Str():
			dst = append(dst, '*')
		case isFree(v):
			dst = append(dst, '+')
			dst = append(dst, v.Str()[len(v.Str())-3:]...)
		default:
			dst = appendText(append(dst, '='), string(document.Canonical(v)))
		}
		if n.of.words.traced[key] {
			dst = append(dst, string(l.Sources[key])...)
		}
	}
	if n.of.words.traced[resultsKey] {
		for _, name := range sortedKeys(l.Sources) {
			if name != "" && name[0] == '$' {
				dst = append(appendText(dst, name), string(l.Sources[name])...)
			}
		}
	}
	return dst
}

func sortedKeys(s workflow.Sources) []string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// appendText writes a text so that no other sequence of texts has the same bytes.
func appendText(dst []byte, text string) []byte {
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, ':')
	return append(dst, text...)
}

// Package migrate compares two versions of a workflow: it finds the rights that a run would gain by a move.
package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Migration is a move of running runs from one version of a workflow to another (S17).
type Migration struct {
	From, To *workflow.Machine
	// Processes are those that the two were compiled from; nil for workflows.
	Processes [2]*process.Process
	// States are the names that states of From have in To; one that is not here keeps its
	// name.
	States map[string]string
	// Digests are those of the two definitions: the plan's digest names them.
	Digests [2]string
}

// GainKind is the kind of a new right.
type GainKind string

// The kinds.
const (
	GainTool       GainKind = "tool"
	GainCommand    GainKind = "command"
	GainTransition GainKind = "transition"
	GainLimit      GainKind = "limit"
	GainRule       GainKind = "rule"
)

// Gain is something that a run may do in the new version and may not in the old one.
type Gain struct {
	Kind GainKind
	// Was is the state of the old version, and Is where the run stands in the new one; both
	// empty for a right in all states.
	Was, Is string
	What    string
	// Path are the steps that lead there from the start of a run; none for a right at the
	// start.
	Path []string
}

// String describes a gain in one line.
func (g *Gain) String() string {
	at := "everywhere"
	if g.Is != "" {
		at = "state " + document.Quote(g.Is)
		if g.Was != g.Is {
			at += " (in " + document.Quote(g.Was) + " before)"
		}
	}
	return fmt.Sprintf("%s: %s: %s", at, g.Kind, g.What)
}

// Stay is a state of the old version from which no run can move.
type Stay struct{ State, Why string }

// Plan has the new rights that a move would give.
type Plan struct {
	From, To int64
	// Verdict is Proved when no run gets a new right, Refuted when Gains has them, and
	// Undecided when a bound was reached, by Reason.
	Verdict report.Verdict
	Reason  string
	Gains   []Gain
	Stays   []Stay
	// Dropped are the names of evidence that would not count any more.
	Dropped []string
	// States are the pairs of conditions of a run in the old and in the new version that
	// were compared.
	States int
	// Digest names this very plan: an operator who accepts the new rights names it.
	Digest string
}

// New compares two versions of a workflow: of every condition that a run of the old
// one can be in, it takes the result of Machine.Step in the new one, and asks whether every
// act of a run from there on was possible before. Calls are compared by the verdicts of
// states; policies are the same on both sides, as far as both versions name them.
func New(m *Migration, o explore.Bounds) Plan {
	if o.MaxStates <= 0 {
		o.MaxStates = explore.DefaultStates
	}
	p := newPlanner(m, o)
	for _, g := range gainedByMeta(m.From, m.To) {
		p.gained(nil, "", "", g)
	}
	for _, g := range gainedByProcess(m.Processes[0], m.Processes[1]) {
		p.gained(nil, "", "", g)
	}
	full := p.start()
	for i := 0; i < len(p.pairs) && !full; i++ {
		if i%256 == 255 && o.Progress != nil && !o.Progress("migration", len(p.pairs)) {
			full = true
			break
		}
		p.compare(int32(i))
		full = full || len(p.pairs) >= o.MaxStates
	}
	return p.plan(full)
}

// compare finds the rights that the new version gives in a pair and the old one does not,
// and the next pairs.
func (p *planner) compare(at int32) {
	pr := p.pairs[at]
	p.compareCalls(at)
	if pr.is.Root.Run.Status.Ended() {
		if pr.is.Root.Run.Status == workflow.Completed && pr.was.Root.Run.Status != workflow.Completed {
			p.gained(&at, laneState(pr.was), pr.is.Root.Run.State, gainOf(GainTransition, "the run completes"))
		}
		return
	}
	choose := func(_ *model.Node, lane *workflow.View, event string) ([][]model.Assignment, bool) {
		return p.assignments(&pr, lane, event)
	}
	events := func(_ *model.Node, lane *workflow.View) []string { return p.events(&pr, lane) }
	before := p.old.Choose
	p.old.Choose, p.new.Choose, p.old.Events, p.new.Events = choose, choose, events, events
	was, is := stepsOf(p.old, pr.was), stepsOf(p.new, pr.is)
	p.old.Choose, p.old.Events = before, nil
	p.match(at, was, is)
}

func stepsOf(c *explore.Explorer, w *model.GlobalState) (all []*explore.Step) {
	if w.Root.Run.Status.Ended() {
		return nil
	}
	c.Moves(w, func(s *explore.Step) bool {
		all = append(all, s)
		return true
	})
	return all
}

func laneState(w *model.GlobalState) string { return w.Root.Run.State }

// lanes returns those of a branch in both versions.
func (p *planner) lanes(pr *pair, branch string) (was, is workflow.View) {
	return pr.was.Root.Run.At(branch), pr.is.Root.Run.At(branch)
}

// assignments chooses values once for both sides.
func (p *planner) assignments(pr *pair, lane *workflow.View, event string) ([][]model.Assignment, bool) {
	was, is := p.lanes(pr, lane.Branch)
	guards := append(renamed("1/", explore.GuardsOf(p.m.From, was.State, event)), renamed("2/", explore.GuardsOf(p.m.To, is.State, event))...)
	var free []document.Member
	for _, key := range p.joint.Keys {
		for _, view := range []*workflow.View{&was, &is} {
			if v, ok := view.Context.Get(key); ok && model.IsFree(v) {
				free = append(free, document.Member{Name: key, Value: v})
				break
			}
		}
	}
	return p.joint.Assignments(document.ObjectValue(free), guards)
}

// events returns those that either version may take from a lane.
func (p *planner) events(pr *pair, lane *workflow.View) []string {
	was, is := p.lanes(pr, lane.Branch)
	var names []string
	for _, list := range [][]workflow.LegalEvent{p.m.To.LegalEvents(is.State), p.m.From.LegalEvents(was.State)} {
		for _, legal := range list {
			if !slices.Contains(names, legal.Event) {
				names = append(names, legal.Event)
			}
		}
	}
	undefined := "UNDEFINED"
	for slices.Contains(names, undefined) || explore.Defines(p.m.From, undefined) || explore.Defines(p.m.To, undefined) {
		undefined += "_"
	}
	return append(names, undefined)
}

// compareCalls compares the calls that the lanes of both versions allow.
func (p *planner) compareCalls(at int32) {
	pr := p.pairs[at]
	for _, lane := range pr.is.Root.Run.Lanes() {
		if lane.Status != workflow.Running && lane.Status != workflow.AwaitingApproval {
			continue
		}
		was := pr.was.Root.Run.At(lane.Branch)
		key := [4]string{was.State, string(was.Status), lane.State, string(lane.Status)}
		if was.Over {
			key[1] += " over"
		}
		found, known := p.calls[key]
		if !known {
			found = gainedIn(p.old, p.new, was, lane)
			p.calls[key] = found
		}
		for _, g := range found {
			p.gained(&at, was.State, lane.State, g)
		}
	}
}

// gained reports something once for each place where it is newly allowed.
func (p *planner) gained(at *int32, was, is string, g gain) {
	key := strings.Join([]string{was, is, string(g.kind), g.what}, "\x00")
	if p.reported[key] {
		return
	}
	p.reported[key] = true
	out := Gain{Kind: g.kind, Was: was, Is: is, What: g.what}
	if at != nil {
		out.Path = p.path(*at)
	}
	p.out.Gains = append(p.out.Gains, out)
}

// path returns the steps to a pair, in words.
func (p *planner) path(at int32) []string {
	var after []string
	for at >= 0 {
		if by := p.pairs[at].by; by != "" {
			after = append(after, by)
		}
		at = p.pairs[at].from
	}
	slices.Reverse(after)
	if p.begun == nil {
		return after
	}
	moves, _ := p.begun.Path(-1 - at)
	var before []string
	for i := range moves {
		if text := moves[i].Words(); text != "" {
			before = append(before, text)
		}
	}
	return append(append(before, fmt.Sprintf("moves to version %d", p.m.To.Version())), after...)
}

// plan returns the findings.
func (p *planner) plan(full bool) Plan {
	out := &p.out
	out.States = len(p.pairs)
	slices.SortStableFunc(out.Gains, func(a, b Gain) int { return strings.Compare(a.Is+"\x00"+string(a.Kind), b.Is+"\x00"+string(b.Kind)) })
	var reasons []string
	if full {
		reasons = append(reasons, fmt.Sprintf("%d pairs were compared, and there are more (--max-states)", len(p.pairs)))
	}
	reasons = append(append(reasons, p.old.Causes...), p.new.Causes...)
	for _, key := range p.joint.Coarse {
		reasons = append(reasons, "the values of "+document.Quote(key)+" that guards distinguish are too many, or cannot be listed")
	}
	slices.Sort(reasons)
	out.Reason = strings.Join(slices.Compact(reasons), "; ")
	switch {
	case len(out.Gains) > 0:
		out.Verdict = report.Refuted
	case out.Reason != "":
		out.Verdict = report.Undecided
	default:
		out.Verdict = report.Proved
	}
	out.Digest = p.digest()
	return *out
}

// digest covers both definitions, the renamed states, and all that the plan says.
func (p *planner) digest() string {
	h := sha256.New()
	say := func(texts ...string) {
		fmt.Fprintf(h, "%d ", len(texts))
		for _, text := range texts {
			h.Write(model.AppendText(nil, text))
		}
	}
	say(p.m.From.Name(), p.m.To.Name(), p.m.Digests[0], p.m.Digests[1], workflow.StatesData(p.m.States).String())
	fmt.Fprintf(h, "%d %d %q %q ", p.out.From, p.out.To, p.out.Verdict, p.out.Reason)
	for i := range p.out.Gains {
		g := &p.out.Gains[i]
		say(append([]string{string(g.Kind), g.Was, g.Is, g.What}, g.Path...)...)
	}
	for _, s := range p.out.Stays {
		say(s.State, s.Why)
	}
	say(p.out.Dropped...)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

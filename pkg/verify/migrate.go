package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/process"
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

// MigrationPlan has the new rights that a move would give.
type MigrationPlan struct {
	From, To int64
	// Verdict is Proved when no run gets a new right, Refuted when Gains has them, and
	// Undecided when a bound was reached, by Reason.
	Verdict Verdict
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

// PlanMigration compares two versions of a workflow: of every condition that a run of the old
// one can be in, it takes the result of Machine.Step in the new one, and asks whether every
// act of a run from there on was possible before. Calls are compared by the verdicts of
// states; policies are the same on both sides, as far as both versions name them.
func PlanMigration(m *Migration, o Options) MigrationPlan {
	if o.MaxStates <= 0 {
		o.MaxStates = DefaultStates
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

// pair is a run as it is in the old version and in the new one.
type pair struct {
	was, is *globalState
	from    int32
	by      string
}

type planner struct {
	m        *Migration
	o        Options
	old, new *Checker
	joint    *vocabulary
	kept     []string
	pairs    []pair
	seen     map[digest]bool
	calls    map[[4]string][]gain
	reported map[string]bool
	out      MigrationPlan
	begun    *graph
}

func newPlanner(m *Migration, o Options) *planner {
	p := &planner{
		m: m, o: o,
		old: NewChecker(&Model{Main: Definition{Machine: m.From}}, o), new: NewChecker(&Model{Main: Definition{Machine: m.To}}, o),
		joint: jointVocabulary(m.From, m.To), kept: workflow.KeptEvidence(m.From, m.To, m.States),
		seen: map[digest]bool{}, calls: map[[4]string][]gain{}, reported: map[string]bool{},
	}
	p.out.From, p.out.To = m.From.Version(), m.To.Version()
	for i := range m.From.Evidence() {
		if name := m.From.Evidence()[i].Name; !slices.Contains(p.kept, name) {
			p.out.Dropped = append(p.out.Dropped, name)
		}
	}
	unlisted := unlistedAmong(append(p.old.lists(), p.new.lists()...)) // names that neither version names
	for _, c := range []*Checker{p.old, p.new} {
		c.unlisted, c.tools = unlisted, map[[3]string][]string{}
		c.Main.words, c.reduced, c.everyGrant = p.joint, false, true
		c.observing = c.observing || p.old.observing || p.new.observing
	}
	p.old.choose = func(_ *node, lane *workflow.View, event string) ([][]assigned, bool) {
		return p.joint.assignments(lane.Context, renamed("1/", guardsOf(m.From, lane.State, event)))
	}
	return p
}

// jointVocabulary distinguishes the values that guards of either version distinguish.
func jointVocabulary(from, to *workflow.Machine) *vocabulary {
	var guards []workflow.Guard
	for prefix, m := range map[string]*workflow.Machine{"1/": from, "2/": to} {
		for _, g := range m.Definition().Guards {
			g.Name = prefix + g.Name
			guards = append(guards, g)
		}
	}
	slices.SortFunc(guards, func(a, b workflow.Guard) int { return strings.Compare(a.Name, b.Name) })
	var both []document.Member
	for name, v := range from.Definition().Context.Members() {
		if _, has := to.Definition().Context.Get(name); has {
			both = append(both, document.Member{Name: name, Value: v})
		}
	}
	return vocabularyOf(guards, document.ObjectValue(both))
}

func renamed(prefix string, names []string) []string {
	all := make([]string, 0, len(names))
	for _, name := range names {
		if name != evidence.NoUnknownEffects {
			all = append(all, prefix+name)
		}
	}
	return all
}

// start finds every condition of the old version, with its image in the new one.
func (p *planner) start() (full bool) {
	stays := map[string]string{}
	begun := p.old.explore("migration", look{globalState: func(g *graph, at int32) bool {
		w := g.globals[at].globalState
		if w.root.run.Status.Ended() {
			return true
		}
		is, why := p.image(w)
		if why != "" {
			if state := w.root.run.State; stays[state] == "" {
				stays[state] = why
			}
			return true
		}
		p.add(unasked(w), is, -1-at, "")
		return true
	}}, nil)
	p.begun = begun
	for state, why := range stays {
		p.out.Stays = append(p.out.Stays, Stay{state, why})
	}
	slices.SortFunc(p.out.Stays, func(a, b Stay) int { return strings.Compare(a.State, b.State) })
	return begun.full
}

// unasked returns a condition without a question: as it was just before the event, which
// is where a question that is void leaves a run.
func unasked(w *globalState) *globalState {
	run := *w.root.run
	unaskedLane(&run.Lane)
	if run.Status == workflow.AwaitingApproval {
		run.Status = workflow.Running
	}
	root := *w.root
	root.run = &run
	return &globalState{root: &root}
}

func unaskedLane(l *workflow.Lane) {
	l.Approval = nil
	if l.Fork == nil {
		return
	}
	fork := *l.Fork
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		unaskedLane(&fork.Branches[i].Lane)
	}
	l.Fork = &fork
}

// image returns a condition of the old version as it is in the new one.
func (p *planner) image(w *globalState) (*globalState, string) {
	out := p.m.From.Step(w.root.run, workflow.Migrate{To: p.m.To, States: p.m.States, Actor: agent}, epoch)
	if out.Rejection != nil {
		_, why, _ := strings.Cut(out.Rejection.Message, ": ")
		return nil, strings.TrimSuffix(why, ".")
	}
	run := out.Run
	next := &node{of: p.new.Main, kids: w.root.kids}
	run.Context = p.joint.restrict(run.Context)
	next.run = tidy(&run, p.joint, false)
	for _, h := range w.root.held {
		if slices.Contains(p.kept, h.name) {
			next.held = append(next.held, h)
		}
	}
	for _, spec := range p.m.To.Evidence() { // a call of the old version may be reported in the new one
		known := slices.Contains(p.kept, spec.Name)
		if spec.Tool != "" && !spec.WithinEntry && !known || known && slices.Contains(w.root.late, spec.Name) {
			next.late = append(next.late, spec.Name)
		}
	}
	slices.Sort(next.late)
	return &globalState{root: next}, ""
}

func (p *planner) add(was, is *globalState, from int32, by string) {
	key := append(was.appendKey(nil), "||"...)
	sum := sha256.Sum256(is.appendKey(key))
	if d := digest(sum[:16]); !p.seen[d] {
		p.seen[d] = true
		p.pairs = append(p.pairs, pair{was, is, from, by})
	}
}

// compare finds the rights that the new version gives in a pair and the old one does not,
// and the next pairs.
func (p *planner) compare(at int32) {
	pr := p.pairs[at]
	p.compareCalls(at)
	if pr.is.root.run.Status.Ended() {
		if pr.is.root.run.Status == workflow.Completed && pr.was.root.run.Status != workflow.Completed {
			p.gained(&at, laneState(pr.was), pr.is.root.run.State, gainOf(GainTransition, "the run completes"))
		}
		return
	}
	choose := func(_ *node, lane *workflow.View, event string) ([][]assigned, bool) {
		return p.assignments(&pr, lane, event)
	}
	events := func(_ *node, lane *workflow.View) []string { return p.events(&pr, lane) }
	before := p.old.choose
	p.old.choose, p.new.choose, p.old.events, p.new.events = choose, choose, events, events
	was, is := stepsOf(p.old, pr.was), stepsOf(p.new, pr.is)
	p.old.choose, p.old.events = before, nil
	p.match(at, was, is)
}

func stepsOf(c *Checker, w *globalState) (all []*step) {
	if w.root.run.Status.Ended() {
		return nil
	}
	c.moves(w, func(s *step) bool {
		all = append(all, s)
		return true
	})
	return all
}

func laneState(w *globalState) string { return w.root.run.State }

// lanes returns those of a branch in both versions.
func (p *planner) lanes(pr *pair, branch string) (was, is workflow.View) {
	return pr.was.root.run.At(branch), pr.is.root.run.At(branch)
}

// assignments chooses values once for both sides.
func (p *planner) assignments(pr *pair, lane *workflow.View, event string) ([][]assigned, bool) {
	was, is := p.lanes(pr, lane.Branch)
	guards := append(renamed("1/", guardsOf(p.m.From, was.State, event)), renamed("2/", guardsOf(p.m.To, is.State, event))...)
	var free []document.Member
	for _, key := range p.joint.keys {
		for _, view := range []*workflow.View{&was, &is} {
			if v, ok := view.Context.Get(key); ok && isFree(v) {
				free = append(free, document.Member{Name: key, Value: v})
				break
			}
		}
	}
	return p.joint.assignments(document.ObjectValue(free), guards)
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
	for slices.Contains(names, undefined) || defines(p.m.From, undefined) || defines(p.m.To, undefined) {
		undefined += "_"
	}
	return append(names, undefined)
}

// compareCalls compares the calls that the lanes of both versions allow.
func (p *planner) compareCalls(at int32) {
	pr := p.pairs[at]
	for _, lane := range pr.is.root.run.Lanes() {
		if lane.Status != workflow.Running && lane.Status != workflow.AwaitingApproval {
			continue
		}
		was := pr.was.root.run.At(lane.Branch)
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
	moves, _ := p.begun.path(-1 - at)
	var before []string
	for i := range moves {
		if text := moves[i].words(); text != "" {
			before = append(before, text)
		}
	}
	return append(append(before, fmt.Sprintf("moves to version %d", p.m.To.Version())), after...)
}

// match pairs every step of the new version with those of the old one that it may be.
func (p *planner) match(at int32, was, is []*step) {
	pr := p.pairs[at]
	for _, s := range is {
		matched := together(matching(was, s), matching(is, s), s)
		switch {
		case len(s.path) > 0: // an invoked run is the same in both
			p.pairUp(at, matched, s)
		case s.kind == fires:
			p.fired(at, matched, s)
		case s.kind == grants:
			if len(matched) == 0 {
				matched = firing(was, s)
			}
			if matched = passed(matched); len(matched) == 0 {
				p.newlyLeads(at, s, "is approved, and would be refused")
				continue
			}
			p.pairUp(at, matched, s)
		case s.kind == forces:
			if matched = forcing(was, s, p.m.States); len(matched) == 0 {
				p.newlyLeads(at, s, "can be forced")
				continue
			}
			p.pairUp(at, matched, s)
		case s.kind == diverts && !p.watchAlike(): // a file may match any of the old patterns, or none
			p.pairUp(at, diverting(was, s), s)
			p.add(pr.was, s.to, at, s.words())
		default: // external events are no right of the agent's
			p.pairUp(at, matched, s)
		}
	}
	for _, s := range was { // external events of the old version only
		known := slices.Contains(p.kept, s.event)
		befalls := (s.kind == gains || s.kind == loses) && len(s.path) == 0 && !known ||
			s.kind == diverts && len(s.path) == 0 && (len(matching(is, s)) == 0 || !p.watchAlike())
		if befalls {
			p.add(s.to, pr.is, at, s.words())
		}
	}
}

// together keeps those of the steps of the old version that leave the same keys alone as a step of
// the new one: the data of an event is one for both. ofNew are all steps of the new one that differ in that alone.
func together(matched, ofNew []*step, s *step) []*step {
	known := func(all []*step) (keys []string) {
		for _, one := range all {
			keys = append(keys, one.keep...)
		}
		return keys
	}
	inOld, inNew := known(matched), known(ofNew)
	common := func(keep, of []string) []string {
		return slices.DeleteFunc(slices.Clone(keep), func(key string) bool { return !slices.Contains(of, key) })
	}
	return slices.DeleteFunc(slices.Clone(matched), func(m *step) bool {
		return !slices.Equal(common(m.keep, inNew), common(s.keep, inOld))
	})
}

// pairUp adds the results of a step and each of its matches; without one, the old version
// stays where it is.
func (p *planner) pairUp(at int32, matched []*step, s *step) {
	if len(matched) == 0 {
		p.add(p.pairs[at].was, s.to, at, s.words())
	}
	for _, m := range matched {
		p.add(m.to, s.to, at, s.words())
	}
}

// fired handles an event that the new version takes.
func (p *planner) fired(at int32, matched []*step, s *step) {
	parks := s.entry.Type == workflow.EventParked
	direct := passed(matched)
	switch {
	case parks && len(direct) < len(matched): // both ask
		p.pairUp(at, asked(matched), s)
	case parks: // the old version waits with it until it is decided
		p.add(p.pairs[at].was, s.to, at, s.words())
	case len(direct) > 0:
		p.invoked(at, s)
		p.pairUp(at, direct, s)
	case len(matched) > 0:
		p.newlyLeads(at, s, "needs no approval any more")
	default:
		p.newlyLeads(at, s, "was refused")
	}
}

// invoked reports that an event starts a run that it has not started in the old version. Acts in
// such a run are judged by its own workflow, and a guard there may read its input.
func (p *planner) invoked(at int32, s *step) {
	was, is := p.lanes(&p.pairs[at], s.branch)
	before, now := p.m.From.State(was.State).Invocation(s.event), p.m.To.State(is.State).Invocation(s.event)
	switch {
	case now == nil:
	case before == nil || before.Workflow != now.Workflow:
		p.gained(&at, was.State, is.State, gainOf(GainTransition, "%s starts a run of %s, and did not", document.Quote(s.event), document.Quote(now.Workflow)))
	case !document.Equal(before.Input, now.Input):
		p.gained(&at, was.State, is.State, gainOf(GainTransition, "%s starts a run of %s with other input", document.Quote(s.event), document.Quote(now.Workflow)))
	}
}

// newlyLeads reports a transition that the old version does not take.
func (p *planner) newlyLeads(at int32, s *step, how string) {
	was, is := p.lanes(&p.pairs[at], s.branch)
	what := fmt.Sprintf("%s leads to %s, and %s", document.Quote(s.event), document.Quote(s.entry.To), how)
	if s.kind == forces {
		what = fmt.Sprintf("%s %s", document.Quote(s.event), how)
	}
	if strings.HasSuffix(how, "refused") && len(guardsOf(p.m.From, was.State, s.event)) > 0 {
		what += " by " + quoted(guardsOf(p.m.From, was.State, s.event))
	}
	p.gained(&at, was.State, is.State, gain{GainTransition, what})
}

// passed and asked are the steps that do not wait, and those that do.
func passed(all []*step) []*step {
	return slices.DeleteFunc(slices.Clone(all), func(s *step) bool { return s.entry != nil && s.entry.Type == workflow.EventParked })
}

func asked(all []*step) []*step {
	return slices.DeleteFunc(slices.Clone(all), func(s *step) bool { return s.entry == nil || s.entry.Type != workflow.EventParked })
}

// matching returns the steps that happen to the old version when one happens to the new.
func matching(was []*step, s *step) (all []*step) {
	for _, w := range was {
		if w.kind == s.kind && slices.Equal(w.path, s.path) && w.branch == s.branch && w.event == s.event && sameValues(w.chosen, s.chosen) &&
			(s.kind != grants || w.edited == s.edited) && watches(w) == watches(s) {
			all = append(all, w)
		}
		if (s.kind == gains || s.kind == loses) && w.kind == s.kind && slices.Equal(w.path, s.path) && w.event == s.event && w.branch != s.branch {
			all = append(all, w)
		}
	}
	return all
}

// watchAlike reports that both versions have the same interrupts in the same order: then a file
// fires the same one in both.
func (p *planner) watchAlike() bool {
	a, b := p.m.From.Definition().Interrupts, p.m.To.Definition().Interrupts
	return slices.EqualFunc(a, b, func(x, y workflow.Interrupt) bool { return x.Name == y.Name && x.FilePattern == y.FilePattern })
}

// diverting returns the steps to a handler in the lane in which another one diverts.
func diverting(was []*step, s *step) (all []*step) {
	for _, w := range was {
		if w.kind == diverts && len(w.path) == 0 && w.branch == s.branch {
			all = append(all, w)
		}
	}
	return all
}

// watches returns the pattern of the interrupt that a step is of.
func watches(s *step) string {
	if s.kind != diverts {
		return ""
	}
	n := s.from.at(s.path)
	for _, in := range n.of.Machine.Definition().Interrupts {
		if in.Name == s.event {
			return in.FilePattern
		}
	}
	return ""
}

// firing returns the steps of the old version that do the approved act of the new one at
// once.
func firing(was []*step, s *step) (all []*step) {
	for _, w := range was {
		if w.kind == fires && len(w.path) == 0 && w.branch == s.branch && w.event == s.event && sameValues(w.chosen, s.chosen) {
			all = append(all, w)
		}
	}
	return all
}

// forcing returns the steps that force the state of which another one is the image.
func forcing(was []*step, s *step, states map[string]string) (all []*step) {
	for _, w := range was {
		name := w.event
		if to, is := states[name]; is {
			name = to
		}
		if w.kind == forces && w.branch == s.branch && name == s.event {
			all = append(all, w)
		}
	}
	return all
}

func sameValues(a, b []assigned) bool {
	return slices.EqualFunc(a, b, func(x, y assigned) bool {
		return x.key == y.key && (x.value.IsZero() == y.value.IsZero()) && (x.value.IsZero() || document.Equal(x.value, y.value))
	})
}

// plan returns the findings.
func (p *planner) plan(full bool) MigrationPlan {
	out := &p.out
	out.States = len(p.pairs)
	slices.SortStableFunc(out.Gains, func(a, b Gain) int { return strings.Compare(a.Is+"\x00"+string(a.Kind), b.Is+"\x00"+string(b.Kind)) })
	var reasons []string
	if full {
		reasons = append(reasons, fmt.Sprintf("%d pairs were compared, and there are more (--max-states)", len(p.pairs)))
	}
	reasons = append(append(reasons, p.old.causes...), p.new.causes...)
	for _, key := range p.joint.coarse {
		reasons = append(reasons, "the values of "+document.Quote(key)+" that guards distinguish are too many, or cannot be listed")
	}
	slices.Sort(reasons)
	out.Reason = strings.Join(slices.Compact(reasons), "; ")
	switch {
	case len(out.Gains) > 0:
		out.Verdict = Refuted
	case out.Reason != "":
		out.Verdict = Undecided
	default:
		out.Verdict = Proved
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
			h.Write(appendText(nil, text))
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

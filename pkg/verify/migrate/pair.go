package migrate

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// pair is a run as it is in the old version and in the new one.
type pair struct {
	was, is *model.GlobalState
	from    int32
	by      string
}

type planner struct {
	m        *Migration
	o        explore.Bounds
	old, new *explore.Explorer
	joint    *model.Vocabulary
	kept     []string
	pairs    []pair
	seen     map[explore.Digest]bool
	calls    map[[4]string][]gain
	reported map[string]bool
	out      Plan
	begun    *explore.Graph
}

func newPlanner(m *Migration, o explore.Bounds) *planner {
	p := &planner{
		m: m, o: o,
		old: explore.NewExplorer(&model.Model{Main: model.Definition{Machine: m.From}}, o), new: explore.NewExplorer(&model.Model{Main: model.Definition{Machine: m.To}}, o),
		joint: jointVocabulary(m.From, m.To), kept: workflow.KeptEvidence(m.From, m.To, m.States),
		seen: map[explore.Digest]bool{}, calls: map[[4]string][]gain{}, reported: map[string]bool{},
	}
	p.out.From, p.out.To = m.From.Version(), m.To.Version()
	for i := range m.From.Evidence() {
		if name := m.From.Evidence()[i].Name; !slices.Contains(p.kept, name) {
			p.out.Dropped = append(p.out.Dropped, name)
		}
	}
	unlisted := calls.UnlistedAmong(append(p.old.Lists(), p.new.Lists()...)) // names that neither version names
	for _, c := range []*explore.Explorer{p.old, p.new} {
		c.SetUnlisted(unlisted)
		c.Main.Words, c.Reduced, c.EveryGrant = p.joint, false, true
		c.Observing = c.Observing || p.old.Observing || p.new.Observing
	}
	p.old.Choose = func(_ *model.Node, lane *workflow.View, event string) ([][]model.Assignment, bool) {
		return p.joint.Assignments(lane.Context, renamed("1/", explore.GuardsOf(m.From, lane.State, event)))
	}
	return p
}

// jointVocabulary distinguishes the values that guards of either version distinguish.
func jointVocabulary(from, to *workflow.Machine) *model.Vocabulary {
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
	return model.VocabularyOf(guards, document.ObjectValue(both))
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
	begun := p.old.Explore("migration", explore.Visitor{GlobalState: func(g *explore.Graph, at int32) bool {
		w := g.Globals[at].GlobalState
		if w.Root.Run.Status.Ended() {
			return true
		}
		is, why := p.image(w)
		if why != "" {
			if state := w.Root.Run.State; stays[state] == "" {
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
	return begun.Full
}

// unasked returns a condition without a question: as it was just before the event, which
// is where a question that is void leaves a run.
func unasked(w *model.GlobalState) *model.GlobalState {
	run := *w.Root.Run
	unaskedLane(&run.Lane)
	if run.Status == workflow.AwaitingApproval {
		run.Status = workflow.Running
	}
	root := *w.Root
	root.Run = &run
	return &model.GlobalState{Root: &root}
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
func (p *planner) image(w *model.GlobalState) (*model.GlobalState, string) {
	out := p.m.From.Step(w.Root.Run, workflow.Migrate{To: p.m.To, States: p.m.States, Actor: model.Agent}, model.Epoch)
	if out.Rejection != nil {
		_, why, _ := strings.Cut(out.Rejection.Message, ": ")
		return nil, strings.TrimSuffix(why, ".")
	}
	run := out.Run
	next := &model.Node{Unit: p.new.Main, Children: w.Root.Children}
	run.Context = p.joint.Restrict(run.Context)
	next.Run = model.Tidy(&run, p.joint, false)
	for _, h := range w.Root.Held {
		if slices.Contains(p.kept, h.Name) {
			next.Held = append(next.Held, h)
		}
	}
	for _, spec := range p.m.To.Evidence() { // a call of the old version may be reported in the new one
		known := slices.Contains(p.kept, spec.Name)
		if spec.Tool != "" && !spec.WithinEntry && !known || known && slices.Contains(w.Root.Late, spec.Name) {
			next.Late = append(next.Late, spec.Name)
		}
	}
	slices.Sort(next.Late)
	return &model.GlobalState{Root: next}, ""
}

func (p *planner) add(was, is *model.GlobalState, from int32, by string) {
	key := append(was.AppendKey(nil), "||"...)
	sum := sha256.Sum256(is.AppendKey(key))
	if d := explore.Digest(sum[:16]); !p.seen[d] {
		p.seen[d] = true
		p.pairs = append(p.pairs, pair{was, is, from, by})
	}
}

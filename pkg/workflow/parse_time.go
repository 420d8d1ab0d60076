package workflow

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// The bounds of delays, and how many a state may have.
const (
	leastDelay = time.Second
	mostDelay  = 366 * 24 * time.Hour
	mostDelays = 64
)

// timeSection reads what clocks do (S25).
type timeSection struct{ *reader }

func (r *reader) timePart() timeSection { return timeSection{r} }

// delay reads a duration such as "2h30m".
func (r timeSection) delay(text string, at *document.Path) (time.Duration, bool) {
	d, err := document.ParseDuration(text)
	switch {
	case err != nil:
		r.report.Errorf(at, document.CodeType, "%s is not a duration: %v", document.Quote(text), err)
	case d < leastDelay || d > mostDelay || d%time.Second != 0:
		r.report.Errorf(at, document.CodeRange, "it must be whole seconds, at least \"1s\" and at most \"366d\"")
	default:
		return d, true
	}
	return 0, false
}

// delayField reads a field that has a duration.
func (r timeSection) delayField(f document.Fields, name string) time.Duration {
	text, ok := f.Str(name)
	if !ok {
		return 0
	}
	d, _ := r.delay(text, f.At.Key(name))
	return d
}

// state reads after, remind, stale and while_asked of a state.
func (r timeSection) state(i int, f document.Fields, s *State) {
	r.after(i, f, s)
	r.remind(f, s)
	r.stale(i, f, s)
	word, _ := f.Enum("while_asked", "stands", "runs")
	s.RunsAsked = word == "runs"
	if s.RunsAsked && !s.Final && len(s.After)+len(s.Remind) == 0 {
		r.report.Errorf(f.At.Key("while_asked"), document.CodeRequired, "the state has no \"after\" and no \"remind\", so no clock runs while people are asked; write one, or remove it")
	}
	if s.Final {
		for _, name := range []string{"after", "remind", "stale", "while_asked"} {
			if f.Has(name) {
				r.report.Errorf(f.At.Key(name), CodeFinalHasOn, "a final state is never left, so %q has no effect; remove it", name)
			}
		}
	}
}

func (r timeSection) after(from int, f document.Fields, s *State) {
	all, ok := f.Object("after")
	if !ok {
		return
	}
	r.facts[from].exits = true
	if n := all.Value.Len(); n == 0 || n > mostDelays {
		r.report.Errorf(all.At, document.CodeTooMany, "write at least one delay and its transition, and at most %d", mostDelays)
		return
	}
	for text, v := range all.Value.Members() {
		at := all.At.Key(text)
		delay, ok := r.delay(text, at)
		if !ok {
			continue
		}
		if slices.ContainsFunc(s.After, func(t Delayed) bool { return t.Delay == delay }) {
			r.report.Errorf(at, document.CodeConflict, "the same delay is written twice; write one list of branches")
			continue
		}
		t := Delayed{Delay: delay, Written: text, Transition: Transition{Event: afterEvent(delay)}}
		r.transitionPart().transition(from, v, at, &t.Transition)
		r.plain(&t.Transition, at)
		s.After = append(s.After, t)
	}
	slices.SortFunc(s.After, func(a, b Delayed) int { return int(a.Delay - b.Delay) })
}

// plain refuses parts of a transition that no clock can bring about.
func (r timeSection) plain(t *Transition, at *document.Path) {
	refuse := func(field string) {
		r.report.Errorf(at.Key(field), document.CodeConflict, "a transition of \"after\" leads to a \"target\" only, by guards; lead to a state whose \"on\" has the rest")
	}
	switch {
	case t.Invoke != nil:
		refuse("invoke")
	case t.Fork != nil:
		refuse("fork")
	}
	for i := range t.Branches {
		b := &t.Branches[i]
		switch {
		case b.RequiresApproval:
			refuse("requires_approval")
		case b.NotBefore > 0:
			refuse("not_before")
		case b.Window != "":
			refuse("window")
		}
	}
}

func (r timeSection) remind(f document.Fields, s *State) {
	list, ok := f.Strings("remind", mostDelays)
	if !ok {
		return
	}
	for _, item := range list {
		if d, ok := r.delay(item.Text, item.At); ok {
			s.Remind = append(s.Remind, d)
		}
	}
	slices.Sort(s.Remind)
	s.Remind = slices.Compact(s.Remind)
}

func (r timeSection) stale(from int, f document.Fields, s *State) {
	v, ok := f.Object("stale")
	if !ok {
		return
	}
	v.Known("\"stale\"", "after", "call_limit", "do")
	v.Require("after")
	s.Stale = &Stale{After: r.delayField(v, "after"), CallLimit: r.delayField(v, "call_limit")}
	if s.Stale.CallLimit > 0 && s.Stale.CallLimit < s.Stale.After {
		r.report.Errorf(v.At.Key("call_limit"), document.CodeRange, "an open call may take at least as long as \"after\"; write a longer time, or leave it out")
	}
	do, _ := v.Value.Get("do")
	if do.Kind() == document.Object {
		way, _ := v.Object("do")
		way.Known("\"do\" of \"stale\"", "target")
		way.Require("target")
		if target, ok := way.Str("target"); ok {
			at := way.At.Key("target")
			s.Stale.Target = target
			r.facts[from].exits = true
			r.edge(from, r.lookup(target, at), byTarget, at)
		}
		return
	}
	if word, ok := v.Enum("do", "notify", "hold"); ok {
		s.Stale.Hold = word == "hold"
	}
}

// edge notes that time leads from a state to another.
func (r timeSection) edge(from, to int, kind edgeKind, at *document.Path) {
	r.transitionPart().edge(from, to, kind, at)
}

// deadline reads meta.deadline.
func (r timeSection) deadline(meta document.Fields) {
	f, ok := meta.Object("deadline")
	if !ok {
		return
	}
	f.Known("\"deadline\"", "after", "target")
	f.Require("after", "target")
	d := &Deadline{After: r.delayField(f, "after")}
	if target, ok := f.Str("target"); ok {
		at := f.At.Key("target")
		d.Target = target
		r.expires = endFacts{target: r.lookup(target, at), at: at}
	}
	r.def.Meta.Deadline = d
}

// bounds reads not_before, window and outside of a branch.
func (r timeSection) bounds(f document.Fields, b *Branch) {
	b.NotBefore = r.delayField(f, "not_before")
	if name, ok := f.Str("window"); ok {
		b.Window = name
		if names := r.def.Windows.Names(); !slices.Contains(names, name) {
			known := "it has none"
			if len(names) > 0 {
				known = "it has " + strings.Join(names, ", ")
			}
			r.report.Errorf(f.At.Key("window"), document.CodeEnum, "the workflow has no window %s: %s; name it in \"windows\"", document.Quote(name), known)
		}
	}
	if word, ok := f.Enum("outside", "deny", "ask"); ok {
		b.OutsideAsks = word == "ask"
		if !f.Has("window") {
			r.report.Errorf(f.At.Key("outside"), document.CodeRequired, "name a \"window\"; without one no time is outside")
		}
	}
}

// freeze reads the events that a freeze stops.
func (r timeSection) freeze(f document.Fields) {
	list, ok := f.Strings("freeze", maxEvents)
	if !ok {
		return
	}
	if len(list) == 0 {
		r.report.Errorf(f.At.Key("freeze"), document.CodeEmpty,
			"it names no event; name the events that a freeze stops, or remove it and set \"danger_level\" of the states")
	}
	r.report.Duplicates(list)
	known := map[string]bool{}
	for i := range r.def.States {
		for _, t := range r.def.States[i].On {
			known[t.Event] = true
		}
	}
	for _, item := range list {
		if !known[item.Text] {
			hint := r.report.DidYouMean(item.Text, slices.Values(slices.Sorted(maps.Keys(known))))
			if hint == "" {
				hint = "; name an event that \"on\" of a state has"
			}
			r.report.Errorf(item.At, document.CodeEnum, "no state has an event %s%s", document.Quote(item.Text), hint)
		}
	}
	r.def.Freeze = document.Texts(list)
}

// dangerLevel reads danger_level of a state, or of meta.
func (r *reader) dangerLevel(f document.Fields) DangerLevel {
	word, _ := f.Enum("danger_level", string(Safe), string(Moderate), string(Dangerous))
	return DangerLevel(word)
}

// endFacts is the state that a deadline leads to.
type endFacts struct {
	target int
	at     *document.Path
}

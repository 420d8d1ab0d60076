package workflow

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// The bounds of meta.effect_deadline.
const (
	leastDeadline = time.Second
	mostDeadline  = 7 * 24 * time.Hour
)

// effects reads when a call that has not been reported is unknown, and which tools show
// how it ended (S16).
func (r evidenceSection) effects(meta document.Fields) {
	at := meta.At.Key("effect_deadline")
	if text, ok := meta.Str("effect_deadline"); ok {
		deadline, err := document.ParseDuration(text)
		switch {
		case err != nil:
			r.report.Errorf(at, document.CodeType, "%s is not a duration: %v", document.Quote(text), err)
		case deadline < leastDeadline || deadline > mostDeadline:
			r.report.Errorf(at, document.CodeRange, "it must be at least \"1s\" and at most \"7d\"")
		default:
			r.def.Meta.EffectDeadline = deadline
		}
	}
	list, ok := meta.List("reconcile", maxItems)
	if !ok {
		return
	}
	if !meta.Has("effect_deadline") {
		r.report.Warnf(meta.At.Key("reconcile"), document.CodeNoEffect, "without \"effect_deadline\" no call is ever unknown; add one or remove it")
	}
	for i, v := range list.Elements() {
		at := meta.At.Key("reconcile").At(i)
		if f, ok := r.report.Object(v, at, "a reconcile entry"); ok {
			r.reconcile(f)
		}
	}
}

func (r evidenceSection) reconcile(f document.Fields) {
	f.Known("a reconcile entry", "tool", "of", "ok", "failed")
	f.Require("tool", "of")
	var entry Reconcile
	for name, to := range map[string]*string{"tool": &entry.Tool, "of": &entry.Of} {
		if text, ok := f.Str(name); ok {
			*to = text
			r.statePart().toolName(text, f.At.Key(name), toolname.Grants)
		}
	}
	if entry.Tool == entry.Of && entry.Tool != "" {
		r.report.Errorf(f.At.Key("of"), CodeEffects, "a tool cannot report the end of its own call; name another in \"tool\"")
	}
	if !f.Has("ok") && !f.Has("failed") {
		r.report.Errorf(f.At.Key("ok"), document.CodeRequired, "describe by \"ok\" or \"failed\" the results that settle the call")
	}
	for name, to := range map[string]**evidence.Test{"ok": &entry.OK, "failed": &entry.Failed} {
		test, ok := f.Object(name)
		if !ok {
			continue
		}
		*to = &evidence.Test{}
		test.Known("a test", "pointer", "op", "value")
		test.Require("pointer", "op")
		if pointer, ok := test.Text("pointer"); ok {
			(*to).Pointer = pointer
			r.pointer(pointer, test.At.Key("pointer"))
		}
		r.test(test, *to)
	}
	r.def.Meta.Reconcile = append(r.def.Meta.Reconcile, entry)
}

// demandsEffects reads no_unknown_effects of a state.
func (r evidenceSection) demandsEffects(f document.Fields, s *State) {
	s.NoUnknownEffects = f.Bool("no_unknown_effects")
	if !s.NoUnknownEffects {
		return
	}
	r.demanding = append(r.demanding, s.Name)
	if r.def.Meta.EffectDeadline == 0 {
		r.report.Errorf(f.At.Key("no_unknown_effects"), CodeEffects,
			"no account of effects is kept without \"effect_deadline\" in \"meta\"; add one, such as \"10m\"")
	}
}

// checkDemands reports states with no_unknown_effects with an unguarded way in.
func (r evidenceSection) checkDemands() {
	refuse := func(state, how string) {
		i, known := r.states[state]
		if known && r.def.States[i].NoUnknownEffects {
			r.report.Errorf(r.facts[i].at.Key("no_unknown_effects"), CodeEffects,
				"state %s is also entered %s, which no guard protects; demand it of a later state", document.Quote(state), how)
		}
	}
	if len(r.demanding) == 0 {
		return
	}
	refuse(r.def.Initial, "at the start of a run")
	for i := range r.def.Interrupts {
		refuse(r.def.Interrupts[i].Target, "by interrupt "+document.Quote(r.def.Interrupts[i].Name))
	}
	for i := range r.def.States {
		for j := range r.def.States[i].On {
			t := &r.def.States[i].On[j]
			event := "by the end of " + document.Quote(t.Event)
			if t.Invoke != nil {
				refuse(t.Invoke.OnComplete, event)
				refuse(t.Invoke.OnFail, event)
			}
			if t.Fork != nil {
				refuse(t.Fork.OnComplete, event)
				refuse(t.Fork.OnFail, event)
				for _, b := range t.Fork.Branches {
					refuse(b.Initial, "by the fork of "+document.Quote(t.Event))
					refuse(b.Terminal, "by "+branchDone+" of branch "+document.Quote(b.Name))
				}
			}
			for k := range t.Branches {
				refuse(t.Branches[k].OnReject, "by a rejection of "+document.Quote(t.Event))
			}
		}
	}
}

// checkName reports the problems of the name of a guard or an evidence.
func (r evidenceSection) checkName(name string, at *document.Path, rule document.NameRule) {
	if name == evidence.NoUnknownEffects {
		r.report.Errorf(at, document.CodeReserved, "the %s name %s is reserved; to ask that no effect is unknown, set it to true in a state", rule.What, document.Quote(name))
		return
	}
	r.report.CheckName(name, at, rule)
}

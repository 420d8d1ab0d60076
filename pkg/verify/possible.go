package verify

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// alwaysPossible decides that a final state, or a certain one, can be reached from
// everywhere.
func (c checker) alwaysPossible(p *workflow.Property) report.Result {
	s := c.Survey()
	wanted, done := explore.Final, explore.Final
	if p.Target != "" {
		wanted = func(w *model.GlobalState) bool { return w.Root.Run.State == p.Target && w.Root.Run.Fork == nil }
		done = func(w *model.GlobalState) bool { return explore.Final(w) && wanted(w) }
	}
	arrived := func(w *model.GlobalState) bool { return done(w) || p.Target != "" && wanted(w) }
	at, values, stuck := c.Stuck(s, s.CanReach(wanted), arrived)
	r := c.proved(s.Graph, false)
	if s.Full {
		return r // unexplored parts may lead on
	}
	if !stuck {
		sure := s.Certain()
		if at, _, stuck := c.Stuck(sure, sure.CanReach(wanted), arrived); stuck && r.Verdict == report.Proved {
			r.Verdict = report.Undecided
			r.Reason = "it takes evidence of a call, or an edit that fires an interrupt, and no such call was found, or max_iterations may have no room for it"
			report.TellUndecided(c.Explorer, s.Graph, at, &r)
		}
		return r
	}
	return report.RefuteStuck(c.Explorer, p, s, at, values, r)
}

// endsWithoutAgent decides that time alone leads to a final state from everywhere, and within which time.
func (c checker) endsWithoutAgent(p *workflow.Property) report.Result {
	s := c.Survey()
	timed := s.Timed()
	at, values, stuck := c.Stuck(timed, timed.CanReach(explore.Final), explore.Final)
	r := c.proved(s.Graph, false)
	switch {
	case s.Full:
		return r
	case stuck:
		return report.RefuteStuck(c.Explorer, p, s, at, values, r)
	case c.Main.Machine.Definition().Meta.Deadline == nil && s.Globals[0].MayPause():
		r.Verdict, r.Reason = report.Refuted, "an agent can pause the run, and the clocks of states stand still then; add a \"deadline\" to \"meta\""
		return r
	}
	if bound, known := timed.Bound(); known {
		r.Notes = append(r.Notes, "every run ends by itself within "+bound.String()+", and later where an operator holds or freezes it")
	} else {
		r.Notes = append(r.Notes, "no bound is known: time can lead round in a circle before it ends a run")
	}
	return r
}

// canBeDecided decides that humans can grant everything that they can be asked for.
func (c checker) canBeDecided(p *workflow.Property) report.Result {
	type question struct {
		of    *model.Unit
		kind  consent.Kind
		state string
		event string
	}
	var wrong, open *question
	var at int32
	note := func(q question, i int32) {
		switch {
		case !q.of.Decidable(q.kind, p.People):
			wrong, at = &q, i
		case open == nil && !q.of.DecidableByAll(q.kind, p.People):
			open = &q
		}
	}
	g := c.Explore(p.Name, explore.Visitor{
		GlobalState: func(g *explore.Graph, i int32) bool {
			w := g.Globals[i].GlobalState
			w.Root.Each(nil, func(path []int, n *model.Node) {
				for _, lane := range n.Run.Lanes() {
					if wrong != nil || n.Run.Status.Ended() {
						return
					}
					if lane.Approval.Pending() {
						note(question{n.Unit, consent.Transition, lane.State, lane.Approval.Event}, i)
					}
					if tool := c.Asked(w, path, n, &lane); tool != "" && wrong == nil {
						note(question{n.Unit, consent.ToolCall, lane.State, tool}, i)
					}
				}
			})
			return wrong == nil
		},
	}, nil)
	r := c.proved(g, false)
	if wrong == nil && open != nil {
		r.Verdict = report.Undecided
		r.Reason = fmt.Sprintf("%s has terms of approvals under which no approver could grant what is asked in state %s, if all of them applied at once",
			document.Quote(open.of.Machine.Name()), document.Quote(open.state))
	}
	if wrong == nil {
		return r
	}
	what := "event " + document.Quote(wrong.event)
	if wrong.kind == consent.ToolCall {
		what = "a call of " + document.Quote(wrong.event)
	}
	r.Verdict = report.Refuted
	r.Reason = fmt.Sprintf("in state %s of %s, %s is asked of humans, and no approver can grant it: %s",
		document.Quote(wrong.state), document.Quote(wrong.of.Machine.Name()), what, wrong.of.WhyNot(wrong.kind, p.People))
	report.TellUndecided(c.Explorer, g, at, &r)
	return r
}

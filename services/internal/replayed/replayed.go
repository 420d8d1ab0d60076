// Package replayed groups the results of driving recorded runs through a candidate, for
// programs and for people. It must never decide: verify.Replay does.
package replayed

import (
	"cmp"
	"slices"

	"github.com/interlock-run/interlock/pkg/verify/conform"
)

// Summary has the results of all runs.
type Summary struct {
	Runs      int `json:"runs" doc:"Runs that were replayed."`
	Same      int `json:"same" doc:"Entries of histories and decisions that the candidate answers as they were recorded."`
	Loosened  int `json:"loosened" doc:"Runs whose first difference is that something would be allowed, or decided by its input, and was not."`
	Tightened int `json:"tightened" doc:"Runs whose first difference is that something would be denied or asked, and was not."`
	Other     int `json:"other" doc:"Runs that would first be in another state."`
	// Undecided does not count limits of policies: the spends are decided, and are not
	// counted.
	Undecided   int            `json:"undecided" doc:"Entries that cannot be decided: each may be a difference."`
	Beyond      int            `json:"beyond" doc:"Entries after the first difference of a run, which are not known."`
	Open        map[string]int `json:"open" doc:"Entries that were not decided, by why."`
	Differences []Group        `json:"differences" doc:"By their effect and cause: loosened ones first, then those of most runs."`
}

// Group is the differences of one cause.
type Group struct {
	Effect conform.Effect `json:"effect" enum:"loosened,tightened,other"`
	Cause  string         `json:"cause" doc:"The state, guard or policy that makes them."`
	Runs   []Difference   `json:"runs"`
}

// Difference is the first of a run.
type Difference struct {
	RunID  string `json:"run_id"`
	Entry  string `json:"entry" enum:"history,decision"`
	Number int64  `json:"number" doc:"The run's version, or the decision's sequence."`
	State  string `json:"state" doc:"Where the run stood."`
	Event  string `json:"event,omitzero" doc:"Of a change: its event."`
	To     string `json:"to,omitzero" doc:"Of a change: the state that it led to, as it was recorded."`
	What   string `json:"what" doc:"The difference, for a person."`
	Beyond int    `json:"beyond" doc:"Entries of the run after it, which are not known."`
}

// Summarize groups the results of runs.
func Summarize(all []conform.Replayed) *Summary {
	s := &Summary{Runs: len(all), Open: map[string]int{}, Differences: []Group{}}
	for i := range all {
		s.add(&all[i])
	}
	slices.SortStableFunc(s.Differences, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Effect, b.Effect), cmp.Compare(len(b.Runs), len(a.Runs)), cmp.Compare(a.Cause, b.Cause))
	})
	return s
}

func (s *Summary) add(r *conform.Replayed) {
	s.Same += r.Same
	s.Undecided += Undecided(r)
	for why, n := range r.Open {
		s.Open[why] += n
	}
	d := r.First
	if d == nil {
		return
	}
	s.Beyond += d.Beyond
	switch d.Effect {
	case conform.Loosened:
		s.Loosened++
	case conform.Tightened:
		s.Tightened++
	default:
		s.Other++
	}
	at := slices.IndexFunc(s.Differences, func(g Group) bool { return g.Effect == d.Effect && g.Cause == d.Cause })
	if at < 0 {
		at = len(s.Differences)
		s.Differences = append(s.Differences, Group{Effect: d.Effect, Cause: d.Cause})
	}
	g := &s.Differences[at]
	g.Runs = append(g.Runs, Difference{
		RunID: r.RunID, Entry: d.Entry, Number: d.Number, State: d.State, Event: d.Event, To: d.To, What: d.What, Beyond: d.Beyond,
	})
}

// Undecided counts the entries of a run that may differ, and of which that is not known.
func Undecided(r *conform.Replayed) int {
	n := 0
	for why, count := range r.Open {
		if why != conform.OpenLimits {
			n += count
		}
	}
	return n
}

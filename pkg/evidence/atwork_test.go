package evidence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
)

// S14.6: evidence after the last edit is not held while a call that may change files is at work,
// and each end of such a call voids earlier sightings.
func TestAtWork(t *testing.T) {
	t.Parallel()
	spec := &evidence.Spec{Name: "tests", Tool: "Bash", Command: "make test", AfterEdit: true, Count: 1, Outcome: evidence.OK}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	tested := func(r evidence.Record, minute int) evidence.Record {
		r, _ = r.Elapse(at(minute))
		return r.Seen("run", spec, evidence.Sighting{At: at(minute), CallID: "t", Edits: r.Edits}, true)
	}
	opened := func(id, background string) evidence.Record {
		r, ok := evidence.Record{}.Changes(evidence.OpenCall{ID: id, RunID: "run", Tool: "Write", What: "a.go", At: noon, Background: background})
		if !ok {
			t.Fatal("it does not open")
		}
		return r
	}
	settled := func(r evidence.Record, _ evidence.OpenCall, _ bool) evidence.Record { return r }
	opens := func(r evidence.Record) evidence.Record {
		r, _ = r.Changes(evidence.OpenCall{ID: "e", RunID: "run", Tool: "Write", What: "a.go", At: at(1)})
		return r
	}
	reported := func(r evidence.Record, id, background string, observed bool) evidence.Record {
		return r.Reported(evidence.Edit{At: at(2), CallID: id}, background, observed)
	}
	for name, c := range map[string]struct {
		record  evidence.Record
		minute  int
		held    bool
		missing string
	}{
		"open":                              {tested(opened("e", ""), 1), 2, false, `after call "e" (Write, a.go), which was allowed at 12:00:00 and may still change files: report its end, wait until 12:15:00`},
		"reported, not tested since":        {reported(tested(opened("e", ""), 1), "e", "", true), 2, false, "voided by the edit at 12:02:00, a.go"},
		"reported, tested since":            {tested(reported(opened("e", ""), "e", "", true), 3), 4, true, ""},
		"another was reported":              {tested(reported(opened("e", ""), "x", "", true), 3), 4, false, "may still change"},
		"its time is over":                  {tested(opened("e", ""), 1), 15, false, "the last one was voided by the edit at 12:15:00, a.go"},
		"just before":                       {tested(opened("e", ""), 1), 14, false, "may still change"},
		"tested after its time":             {tested(opened("e", ""), 16), 17, true, ""},
		"background has no such time":       {tested(opened("e", evidence.Unnamed), 600), 601, false, "background"},
		"a report does not end background":  {tested(reported(opened("e", evidence.Unnamed), "e", "", true), 3), 601, false, "background"},
		"moved to the background":           {tested(reported(opened("e", ""), "e", "b1", true), 3), 601, false, "background"},
		"another program has ended":         {tested(reported(opened("e", ""), "e", "b1", true).EndsBackground("run", "b2", at(2)), 3), 4, false, "background"},
		"that of another run has ended":     {tested(reported(opened("e", ""), "e", "b1", true).EndsBackground("other", "b1", at(2)), 3), 4, false, "background"},
		"no program can be named so":        {tested(opened("e", evidence.Unnamed).EndsBackground("run", evidence.Unnamed, at(2)), 3), 4, false, "background"},
		"the program has ended":             {tested(reported(opened("e", ""), "e", "b1", true).EndsBackground("run", "b1", at(2)), 3), 4, true, ""},
		"the program has ended, not tested": {tested(reported(opened("e", ""), "e", "b1", true), 1).EndsBackground("run", "b1", at(2)), 4, false, "voided by"},
		"tested before, open":               {opens(tested(evidence.Record{}, 0)), 2, false, "may still change"},
		"tested before, settled":            {settled(opens(tested(evidence.Record{}, 0)).Settle("e")), 2, true, ""},
		"tested before, reported":           {reported(opens(tested(evidence.Record{}, 0)), "e", "", true), 3, false, "voided by"},
		"tested before, claimed":            {reported(opens(tested(evidence.Record{}, 0)), "e", "", false), 3, false, "may still change"},
		"tested before, its time is over":   {opens(tested(evidence.Record{}, 0)), 16, false, "voided by"},
		"settled, and reported afterwards":  {reported(settled(opens(tested(evidence.Record{}, 0)).Settle("e")), "e", "", true), 3, false, "voided by"},
		"settled, and claimed afterwards":   {reported(settled(opens(tested(evidence.Record{}, 0)).Settle("e")), "e", "", false), 3, false, "voided by"},
		"settled":                           {settled(tested(opened("e", ""), 1).Settle("e")), 2, true, ""},
	} {
		b := evidence.Basis{Record: c.record, RunID: "run", Now: at(c.minute)}
		s := b.Judge([]evidence.Spec{*spec})["tests"]
		if s.Held != c.held || !strings.Contains(s.Missing, c.missing) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// S14.6, S16.1: a call that waits for both reasons stops waiting for one of them.
func TestTwoReasonsToWait(t *testing.T) {
	t.Parallel()
	r, _ := evidence.Record{}.Changes(evidence.OpenCall{ID: "e", RunID: "run", Tool: "Write", At: noon, Due: noon.Add(time.Minute)})
	closed, _, ok := r.Close("e")
	if effects := closed.Effects(); !ok || !effects.Held || len(closed.Calls) != 1 || !closed.NextDue().IsZero() {
		t.Errorf("its outcome is known: %+v", closed)
	}
	if _, _, ok := closed.Close("e"); ok {
		t.Error("it is closed twice")
	}
	ended := r.Reported(evidence.Edit{CallID: "e"}, "", true)
	if effects := ended.Effects(); effects.Held || len(ended.Calls) != 1 || ended.Calls[0].Edits {
		t.Errorf("its end is known: %+v", ended)
	}
	if both := closed.Reported(evidence.Edit{CallID: "e"}, "", true); len(both.Calls) != 0 {
		t.Errorf("both are known: %+v", both)
	}
	if settled, _, ok := r.Settle("e"); !ok || len(settled.Calls) != 0 {
		t.Errorf("it is settled: %+v", settled)
	}
	if doubted, lost := closed.Doubt(noon.Add(time.Hour), "e"); len(lost) != 0 || doubted.Calls[0].Unknown {
		t.Error("what is not accounted becomes unknown")
	}
}

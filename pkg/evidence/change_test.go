package evidence_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// conditionOf reads a condition.
func conditionOf(t testing.TB, text string, stance condition.Stance) *condition.Condition {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	var report document.Report
	c := condition.Read(&report, v, nil, condition.Use{Stance: stance})
	if c == nil {
		t.Fatal(report.Problems())
	}
	return c
}

// writes is a call that writes files; of nil it is not known which.
type writes []string

func (writes) Input() (document.Value, bool) { return document.Value{}, false }

func (w writes) Facet(condition.Facet) condition.Set {
	if w == nil {
		return condition.Unknown("it is opaque")
	}
	return condition.KnownSet(w...)
}

// TestChanges: S21.17. Evidence with a change is voided by the changes for which its condition may hold.
func TestChanges(t *testing.T) {
	t.Parallel()
	spec := evidence.Spec{Name: "tests", Tool: "Bash", Command: "go test", Outcome: evidence.OK, Count: 1, AfterEdit: true}
	spec.Change = conditionOf(t, `{"writes": ["src/**"]}`, condition.Restricts)
	all := spec
	all.Name, all.Change = "all", nil
	other := spec
	other.Name, other.Change = "other", conditionOf(t, `{"writes": ["docs/**"]}`, condition.Restricts)
	specs := []evidence.Spec{spec, all, other}

	spared := func(w writes) (names []string) {
		for i := range specs {
			if specs[i].Spares(w) {
				names = append(names, specs[i].SparedBy())
			}
		}
		return names
	}
	edit := func(r evidence.Record, w writes) evidence.Record {
		return r.Edited(evidence.Edit{At: noon, CallID: "e", Spares: spared(w)})
	}
	begun := func(r evidence.Record) evidence.Record {
		for i := range specs {
			r = r.Seen("run", &specs[i], seen(1, r.Edits, 1), true)
		}
		return r
	}
	var none evidence.Record
	for name, c := range map[string]struct {
		record evidence.Record
		want   [3]bool // tests, all and other
	}{
		"no change":                        {begun(none), [3]bool{true, true, true}},
		"a change of src":                  {edit(begun(none), writes{"src/a.go"}), [3]bool{false, false, true}},
		"a change of docs":                 {edit(begun(none), writes{"docs/a.md"}), [3]bool{true, false, false}},
		"a change of both":                 {edit(begun(none), writes{"docs/a.md", "src/a.go"}), [3]bool{false, false, false}},
		"a change of neither":              {edit(begun(none), writes{"x"}), [3]bool{true, false, true}},
		"an unknown change":                {edit(begun(none), nil), [3]bool{false, false, false}},
		"of docs, then of src":             {edit(edit(begun(none), writes{"docs/a"}), writes{"src/a"}), [3]bool{false, false, false}},
		"of docs before, and of src after": {edit(begun(edit(none, writes{"docs/a"})), writes{"src/a"}), [3]bool{false, false, true}},
		"of docs, and again":               {edit(edit(begun(none), writes{"docs/a"}), writes{"docs/b"}), [3]bool{true, false, false}},
		"of src before":                    {begun(edit(none, writes{"src/a"})), [3]bool{true, true, true}},
		"seen after both":                  {begun(edit(edit(begun(none), writes{"docs/a"}), writes{"src/a"})), [3]bool{true, true, true}},
		"allowed before the change":        {edit(none, writes{"src/a"}).Seen("run", &spec, seen(2, 0, 1), true), [3]bool{false, false, false}},
		// The order of a change that leaves it as it is and of the call is not known: it is voided.
		"allowed before a change that is spared": {edit(none, writes{"docs/a"}).Seen("run", &spec, seen(2, 0, 1), true), [3]bool{false, false, false}},
	} {
		data, err := json.Marshal(c.record)
		var back evidence.Record
		if err != nil || json.Unmarshal(data, &back) != nil {
			t.Fatal(err)
		}
		for i, record := range []evidence.Record{c.record, back} {
			b := evidence.Basis{Record: record, RunID: "run", Entry: 1, Now: noon.Add(time.Minute)}
			held := b.Judge(specs)
			if got := [3]bool{held["tests"].Held, held["all"].Held, held["other"].Held}; got != c.want {
				t.Errorf("%s (%d): %v, want %v: %s", name, i, got, c.want, held["tests"].Missing)
			}
		}
	}
}

// TestOpenChanges: S21.17. A call that is open keeps evidence from being satisfied unless it leaves it as it is, by
// every end that it can have.
func TestOpenChanges(t *testing.T) {
	t.Parallel()
	spec := evidence.Spec{Name: "tests", Tool: "Bash", Command: "go test", Outcome: evidence.OK, Count: 1, AfterEdit: true}
	spec.Change = conditionOf(t, `{"writes": ["src/**"]}`, condition.Restricts)
	for _, spares := range []bool{true, false} {
		open := evidence.OpenCall{ID: "c", RunID: "run", Tool: "Edit", At: noon, Background: ""}
		if spares {
			open.Spares = []string{spec.SparedBy()}
		}
		record := evidence.Record{}.Seen("run", &spec, seen(0, 0, 1), true)
		record, _ = record.Changes(open)
		left := record
		left.Calls[0].Background = "job"
		for name, r := range map[string]evidence.Record{
			"open":      record,
			"reported":  record.Reported(evidence.Edit{At: noon, CallID: "c"}, "", true),
			"claimed":   record.Reported(evidence.Edit{At: noon, CallID: "c"}, "", false),
			"witnessed": record.Witnessed(evidence.Edit{At: noon, CallID: "c"}, false),
			"ended":     left.EndsBackground("run", "job", noon),
		} {
			b := evidence.Basis{Record: r, RunID: "run", Entry: 1, Now: noon.Add(time.Minute)}
			if got := b.Judge([]evidence.Spec{spec})["tests"]; got.Held != spares {
				t.Errorf("%s, spared %v: %+v", name, spares, got)
			}
		}
		b := evidence.Basis{Record: record, RunID: "run", Entry: 1, Now: noon.Add(time.Hour)}
		if got := b.Judge([]evidence.Spec{spec})["tests"]; got.Held != spares {
			t.Errorf("elapsed, spared %v: %+v", spares, got)
		}
	}
}

// TestTreesOfChanges: S21.17. Evidence with a tree is satisfied on the same files; on others it goes by the changes
// that were seen, and is voided by files that differ where none was.
func TestTreesOfChanges(t *testing.T) {
	t.Parallel()
	spec := evidence.Spec{Name: "tests", Tool: "Bash", Command: "go test", Outcome: evidence.OK, Count: 1, AfterEdit: true}
	spec.Change = conditionOf(t, `{"writes": ["src/**"]}`, condition.Restricts)
	o := seen(1, 0, 1)
	o.Tree = "t1"
	record := evidence.Record{}.Seen("run", &spec, o, true)
	spared := record.Edited(evidence.Edit{At: noon, Spares: []string{spec.SparedBy()}})
	for _, c := range []struct {
		record evidence.Record
		tree   string
		want   bool
	}{
		{record, "t1", true},
		{record, "t2", false},
		{record, "", true},
		{spared, "t2", true},
		{spared, "t1", true},
		{spared.Edited(evidence.Edit{At: noon}), "t2", false},
		{spared.Edited(evidence.Edit{At: noon}), "t1", true},
	} {
		b := evidence.Basis{Record: c.record, RunID: "run", Entry: 1, Now: noon.Add(time.Minute), Tree: c.tree}
		if got := b.Judge([]evidence.Spec{spec})["tests"]; got.Held != c.want {
			t.Errorf("%d edits, tree %q: %+v", c.record.Edits, c.tree, got)
		}
	}
}

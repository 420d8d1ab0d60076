package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/randtest"
)

func onTree(o evidence.Sighting, tree string) evidence.Sighting {
	o.Tree = tree
	return o
}

// S14.9: evidence of files is held while they are those that it was witnessed on.
func TestJudgeTrees(t *testing.T) {
	t.Parallel()
	tests := evidence.Spec{Name: "tests", Tool: "Bash", Command: "go test ./...", Outcome: evidence.OK, Count: 1, AfterEdit: true}
	plain, twice, fresh := tests, tests, tests
	plain.AfterEdit, twice.Count, fresh.MaxAge = false, 2, 30*time.Minute
	var none evidence.Record
	passed := none.Seen("run", &tests, onTree(seen(1, 0, 1), "A"), true)
	edited := passed.Edited(evidence.Edit{At: noon.Add(3 * time.Minute), CallID: "e", What: "main.go"})
	open, _ := passed.Changes(evidence.OpenCall{ID: "e", Tool: "Edit", At: noon.Add(3 * time.Minute)})
	changed := seen(4, 0, 1)
	changed.Changed = "gen/x.go"
	for name, c := range map[string]struct {
		spec          evidence.Spec
		record        evidence.Record
		now           string
		held          bool
		missing, tree string
	}{
		"the same files":                 {tests, passed, "A", true, "", "A"},
		"other files":                    {tests, passed, "B", false, "the last one was voided by a change of files since 12:01:00", ""},
		"other files, by an edit":        {tests, edited, "B", false, "a change of files since 12:01:00 (the last edit that was seen: 12:03:00, main.go)", ""},
		"an edit was taken back":         {tests, edited, "A", true, "", "A"},
		"an edit, and nothing is known":  {tests, edited, "", false, "the edit at 12:03:00, main.go", ""},
		"nothing is known":               {tests, passed, "", true, "", "A"},
		"an open edit, the same files":   {tests, open, "A", true, "", "A"},
		"an open edit, other files":      {tests, open, "B", false, "a change of files", ""},
		"an open edit, nothing is known": {tests, open, "", false, "may still change files", ""},
		"files do not matter":            {plain, passed, "B", true, "", ""},
		"without a tree":                 {tests, none.Seen("run", &tests, seen(1, 0, 1), true), "A", true, "", ""},
		"without a tree, after an edit": {
			tests, none.Seen("run", &tests, seen(1, 0, 1), true).Edited(evidence.Edit{At: noon.Add(time.Minute), What: "x"}), "A", false, "the edit at", "",
		},
		"files changed during it":     {tests, none.Seen("run", &tests, changed, false), "A", false, `during which "gen/x.go" changed`, ""},
		"too old":                     {fresh, passed, "A", false, "", ""},
		"twice on the same":           {twice, passed.Seen("run", &twice, onTree(seen(2, 0, 1), "A"), true), "A", true, "", "A"},
		"twice, once on other files":  {twice, none.Seen("run", &twice, onTree(seen(1, 0, 1), "B"), true).Seen("run", &twice, onTree(seen(2, 0, 1), "A"), true), "A", false, "a change of files", ""},
		"twice, one without its tree": {twice, none.Seen("run", &twice, seen(1, 0, 1), true).Seen("run", &twice, onTree(seen(2, 0, 1), "A"), true), "A", true, "", "A"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := noon.Add(10 * time.Minute)
			if c.spec.MaxAge > 0 {
				now = noon.Add(time.Hour)
			}
			b := evidence.Basis{Record: c.record, RunID: "run", Entry: 1, Now: now, Tree: c.now}
			s := b.Judge([]evidence.Spec{c.spec})["tests"]
			if s.Held != c.held || s.Held == (s.Missing != "") || !strings.Contains(s.Missing, c.missing) || s.Tree != c.tree {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// S14.9: for any changes of files, by ways that are seen and by others: where they are known, evidence is held
// exactly while they are those that the last tests have passed on. Where they are not, it is held exactly as if
// there were no trees.
func TestTreesAreFiles(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		spec := evidence.Spec{Name: "tests", Tool: "Bash", Command: "make", Outcome: evidence.OK, Count: 1, AfterEdit: true}
		var with, without evidence.Record
		files, passedOn := 0, -1
		now := noon
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Minute)
			id := fmt.Sprint("c", i)
			edit := evidence.Edit{At: now, CallID: id, What: "x"}
			o := evidence.Sighting{At: now, CallID: id, Edits: with.Edits, Entry: 1}
			switch rapid.SampledFrom([]string{"edit", "unseen", "passes", "fails", "races", "opens", "ends"}).Draw(t, "what") {
			case "edit":
				files = rapid.IntRange(0, 3).Draw(t, "files")
				with, without = with.Edited(edit), without.Edited(edit)
			case "unseen":
				files = rapid.IntRange(0, 3).Draw(t, "files")
			case "passes":
				without = without.Seen("run", &spec, o, true)
				with, passedOn = with.Seen("run", &spec, onTree(o, fmt.Sprint(files)), true), files
			case "fails":
				without = without.Seen("run", &spec, o, false)
				with, passedOn = with.Seen("run", &spec, onTree(o, fmt.Sprint(files)), false), -1
			case "races":
				o.Changed = "x"
				without = without.Seen("run", &spec, o, false)
				with, passedOn = with.Seen("run", &spec, o, false), -1
			case "opens":
				with, _ = with.Changes(evidence.OpenCall{ID: id, RunID: "run", At: now})
				without, _ = without.Changes(evidence.OpenCall{ID: id, RunID: "run", At: now})
			case "ends":
				if len(with.Calls) > 0 {
					edit.CallID = with.Calls[0].ID
					with, without = with.Reported(edit, "", true), without.Reported(edit, "", true)
				}
			}
			judge := func(r evidence.Record, tree string) evidence.Status {
				b := evidence.Basis{Record: r, RunID: "run", Entry: 1, Now: now, Tree: tree}
				return b.Judge([]evidence.Spec{spec})["tests"]
			}
			if s := judge(with, fmt.Sprint(files)); s.Held != (passedOn == files) {
				t.Fatalf("on files %d, passed on %d: %+v", files, passedOn, s)
			}
			if unknown, today := judge(with, ""), judge(without, ""); unknown.Held != today.Held {
				t.Fatalf("unknown: %+v, without trees: %+v", unknown, today)
			}
			if known, today := judge(without, fmt.Sprint(files)), judge(without, ""); known.Held != today.Held {
				t.Fatalf("a fact without a tree: %+v, %+v", known, today)
			}
		}
	})
}

// S14.6, S14.10: the witness of a call ends it, unless it may leave something running.
func TestWitnessedEnds(t *testing.T) {
	t.Parallel()
	call := evidence.OpenCall{ID: "c", RunID: "run", At: noon, Background: evidence.Unnamed}
	open, _ := evidence.Record{}.Changes(call)
	if r := open.Witnessed(evidence.Edit{At: noon, CallID: "c"}, false); len(r.Calls) != 0 || r.Edits != 1 {
		t.Errorf("nothing is left running: %+v", r)
	}
	if r := open.Witnessed(evidence.Edit{At: noon, CallID: "c"}, true); len(r.Calls) != 1 || r.Edits != 1 {
		t.Errorf("something may be left running: %+v", r)
	}
	if r := open.Leaves("c", "shell_1"); r.Calls[0].Background != "shell_1" || open.Calls[0].Background != evidence.Unnamed {
		t.Errorf("it has a name: %+v", r)
	}
}

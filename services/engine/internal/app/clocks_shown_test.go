package app

import (
	"fmt"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

const forked = `{
	"id": "forked", "initial": "a",
	"states": {
		"a": {"after": {"3h": "z"}, "on": {"SPLIT": {"fork": {"branches": {"ci": {"initial": "b", "terminal": "c"}}, "on_complete": "z", "on_fail": "z", "after": "1h"}}}},
		"b": {"after": {"2h": "c"}, "on": {"GO": "c"}},
		"c": {"type": "final"}, "z": {"type": "final"}
	}
}`

// S25.1, S25.2: a run shows its last progress, how long it may be silent, and what is left on clocks that stand still and why.
func TestTimesAreShown(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(forked), ""); err != nil {
		t.Fatal(err)
	}
	other := g.start("forked", "other")
	begun := g.clock.Now()
	shows := func(id, want string) {
		t.Helper()
		view, err := g.Reads.Get(t.Context(), operator, ports.Target{RunID: id}, false)
		if err == nil {
			err = g.Views.AddTimes(t.Context(), "default", view)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if !view.LastActivity.IsZero() {
			got = view.LastActivity.Sub(begun.Truncate(time.Second)).String()
		}
		for _, d := range view.Silences {
			got += fmt.Sprintf("; %s %s in %s holds %t", d.Kind, d.After, d.At.Sub(g.clock.Now()), d.Holds)
		}
		for _, d := range view.Machine.StoppedDues(view.Run) {
			got += fmt.Sprintf("; %s %s%s left %s by %s", d.Kind, d.After, d.Branch, d.Left, d.By)
		}
		if got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
	shows(run, "0s")
	g.pass(30 * time.Minute)
	g.fires(run, "AGAIN", "")
	shows(run, "30m0s")
	g.pass(10 * time.Minute)
	id := g.park(run, "ASK", "")
	g.pass(time.Hour)
	shows(run, "none; remind 1h0m0s left 20m0s by approval; after 2h0m0s left 1h20m0s by approval")
	if _, err := g.Moves.Pause(t.Context(), operator, run, "a look", ""); err != nil {
		t.Fatal(err)
	}
	shows(run, "none; remind 1h0m0s left 20m0s by hold; after 2h0m0s left 1h20m0s by hold")
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	g.humans.decide(t, id, false, "no", "")
	g.settle(run, id, true)
	g.fires(run, "QUIET", "")
	shows(run, "1h40m0s; stale 10m0s in 10m0s holds true")

	g.fires(other, "SPLIT", "")
	g.pass(30 * time.Minute)
	shows(other, "1h40m0s; after 3h0m0s left 1h20m0s by branches")
	if _, err := g.Moves.Pause(t.Context(), operator, other, "a look", ""); err != nil {
		t.Fatal(err)
	}
	shows(other, "none; fork 1h0m0s left 30m0s by hold; after 3h0m0s left 1h20m0s by branches; after 2h0m0sci left 1h30m0s by hold")
}

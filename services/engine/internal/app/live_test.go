package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

// doorAt returns the text of a workflow that differs by a number.
func doorAt(n int) []byte {
	return fmt.Appendf(nil, `{"id": "door", "initial": "open", "context": {"n": %d}, "states": {"open": {"on": {"SHUT": "shut"}}, "shut": {"type": "final"}}}`, n)
}

// New runs get the live version: the newest that was registered, unless it was staged or another was promoted (S26.1).
func TestLiveVersion(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	for i, step := range []struct {
		do   string
		n    int
		want string // the live version, and the one that the answer is about
	}{
		{"register", 1, "1 1"},
		{"stage", 2, "1 2"},
		{"stage", 2, "1 2"}, // again
		{"stage", 1, "1 1"}, // the text of the live one
		{"promote", 2, "2 2"},
		{"promote", 1, "1 1"}, // an older one again
		{"register", 1, "1 1"},
		{"register", 2, "2 2"}, // the latest, which is not live
		{"promote", 1, "1 1"},
		{"register", 3, "3 3"}, // newer than the promotion
		{"stage", 4, "3 4"},
		{"register", 5, "5 5"},
		{"dry", 6, "5 6"},
		{"dry", 5, "5 5"},
		{"promote", 9, "version 9"},
	} {
		var v *registry.Version
		var err error
		switch step.do {
		case "promote":
			v, err = a.Registry.Promote(t.Context(), operator, "door", int64(step.n), registry.Expected{})
		default:
			v, _, _, err = a.Registry.RegisterOn(t.Context(), operator, doorAt(step.n), registry.Terms{Staged: step.do == "stage", DryRun: step.do == "dry"})
		}
		var got string
		if err != nil {
			got = err.Error()
		} else {
			live, err := a.Registry.Workflow(t.Context(), "default", "door", 0)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(live.Number, v.Number)
		}
		if !strings.Contains(got, step.want) {
			t.Errorf("step %d, %s %d: %s, want %s", i, step.do, step.n, got, step.want)
		}
	}
	view, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "door"})
	if err != nil || view.Run.WorkflowVersion != 5 {
		t.Errorf("a run is started at version %d: %v", view.Run.WorkflowVersion, err)
	}
	page, _, err := a.Registry.Workflows(t.Context(), "default", "", 10)
	if err != nil || len(page) != 1 || page[0].Number != 5 || page[0].Live != 5 {
		t.Errorf("the list has %+v, %v", page, err)
	}
}

// A workflow without a live version starts no runs, and only operators stage (S26.1).
func TestStagedOnly(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	if _, _, _, err := a.Registry.RegisterOn(t.Context(), agent, doorAt(1), registry.Terms{Staged: true}); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("an agent stages: %v", err)
	}
	if _, _, _, err := a.Registry.RegisterOn(t.Context(), operator, doorAt(1), registry.Terms{Staged: true}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "door"}); fault.ReasonOf(err) != fault.NotFound || !strings.Contains(err.Error(), "is staged") {
		t.Errorf("a run of a staged version: %v", err)
	}
	if _, _, _, err := a.Registry.Register(t.Context(), agent, doorAt(2), ""); fault.ReasonOf(err) != fault.NameTaken {
		t.Errorf("an agent replaces what an operator has staged: %v", err)
	}
}

// A retired workflow starts no runs, also none that another invokes or that are of an older version. Those that run go
// on, and paused ones are resumed (S26.2).
func TestRetired(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "one"})
	const parent = `{"id": "parent", "initial": "a", "states": {"a": {"on": {"GO": {"invoke": "review", "on_complete": "b", "on_fail": "b"}}}, "b": {"type": "final"}}}`
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(parent), ""); err != nil {
		t.Fatal(err)
	}
	above, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "parent"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeat changes nothing
		v, err := a.Registry.Retire(t.Context(), operator, "review", "it leaks")
		if err != nil || v.Retired == nil || v.Retired.By != "olga" || v.Retired.Reason != "it leaks" {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if fault.ReasonOf(err) != fault.FailedPrecondition || !strings.Contains(fmt.Sprint(err), `was retired by olga: "it leaks"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err = a.Starts.Start(t.Context(), agent, Start{Workflow: "review"})
	refused("a start", err)
	_, _, err = a.Starts.Start(t.Context(), operator, Start{Workflow: "review", Version: 1})
	refused("a start of a version", err)
	_, err = fire(a, agent, above.Run.ID, "GO", "", "")
	refused("an invoke", err)
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, resumed, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "one", Resume: true}); err != nil || !resumed {
		t.Errorf("a paused run: %t, %v", resumed, err)
	}
	if outcome, err := fire(a, agent, run.ID, "COUNT", `{"n": 1}`, ""); err != nil || outcome.Rejection != nil {
		t.Errorf("a run goes on: %+v, %v", outcome, err)
	}
	// A newer version starts nothing either, and says so.
	_, _, warnings, err := a.Registry.Register(t.Context(), operator, []byte(strings.Replace(review, `"n": 0`, `"n": 7`, 1)), "")
	if err != nil || !strings.Contains(fmt.Sprint(warnings), "RETIRED") {
		t.Errorf("%v, %v", warnings, err)
	}
	_, _, err = a.Starts.Start(t.Context(), agent, Start{Workflow: "review"})
	refused("a start of the newer version", err)
	if v, err := a.Registry.Restore(t.Context(), operator, "review"); err != nil || v.Retired != nil || v.Live != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review"}); err != nil {
		t.Errorf("a start after the restoration: %v", err)
	}
	if _, err := a.Registry.Retire(t.Context(), operator, "none", ""); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("a workflow that is not there: %v", err)
	}
}

// A version is registered and promoted only on the live one that the caller names, by number or digest (S26.3).
func TestRegisterPreconditions(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	if _, _, _, err := a.Registry.RegisterOn(t.Context(), operator, doorAt(1), registry.Terms{Expected: registry.Expected{Version: 1}}); fault.ReasonOf(err) != fault.VersionConflict {
		t.Errorf("a workflow that is not there: %v", err)
	}
	first, _, _, err := a.Registry.Register(t.Context(), operator, doorAt(1), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		registry.Expected
		ok bool
	}{
		"version": {registry.Expected{Version: 1}, true}, "another version": {registry.Expected{Version: 2}, false},
		"digest": {registry.Expected{Digest: first.Digest}, true}, "another digest": {registry.Expected{Digest: "00"}, false},
	} {
		_, _, _, err := a.Registry.RegisterOn(t.Context(), operator, doorAt(2), registry.Terms{Expected: tt.Expected, DryRun: true})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "registered by olga") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := a.Registry.Promote(t.Context(), operator, "door", 1, tt.Expected); (err == nil) != tt.ok {
			t.Errorf("promote, %s: %v", name, err)
		}
	}
}

// An agent changes no workflow that an operator has promoted or applied, even one that agents alone have registered (S6.7).
func TestKeptFromAgents(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(*App) error{
		"promoted": func(a *App) error {
			_, err := a.Registry.Promote(t.Context(), operator, "door", 1, registry.Expected{})
			return err
		},
		"applied": func(a *App) error {
			const text = `{"sets": {"doors": {"version": 1, "objects": {"workflow/door": {"version": 2, "digest": "d"}}}}}`
			_, err := a.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: catalog.Key("default"), Expect: store.Absent, Data: []byte(text)}}})
			return err
		},
	} {
		a := newApp(newStore(t))
		for n := range 2 {
			if _, _, _, err := a.Registry.Register(t.Context(), agent, doorAt(n+1), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := keep(a); err != nil {
			t.Fatal(err)
		}
		before, err := a.Registry.Workflow(t.Context(), "default", "door", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{3 - int(before.Number), 3} { // the other version again, and a new one
			if _, _, _, err := a.Registry.Register(t.Context(), agent, doorAt(n), ""); fault.ReasonOf(err) != fault.NameTaken {
				t.Errorf("%s: an agent registers text %d: %v", name, n, err)
			}
		}
		if now, err := a.Registry.Workflow(t.Context(), "default", "door", 0); err != nil || now.Number != before.Number {
			t.Errorf("%s: version %d is live, not %d: %v", name, now.Number, before.Number, err)
		}
	}
}

// Where only signed sets make versions live, no run comes to another version than the live one (S26.8).
func TestUnsignedVersion(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	for n := range 2 {
		if _, _, _, err := a.Registry.RegisterOn(t.Context(), operator, doorAt(n+1), registry.Terms{Staged: n > 0}); err != nil {
			t.Fatal(err)
		}
	}
	a.Definitions.BundleKey = []string{"release.key.pub"}
	if _, _, err := a.Starts.Start(t.Context(), operator, Start{Workflow: "door", Version: 2}); fault.ReasonOf(err) != fault.FailedPrecondition || !strings.Contains(err.Error(), "signed") {
		t.Errorf("a run of a staged version: %v", err)
	}
	view, _, err := a.Starts.Start(t.Context(), operator, Start{Workflow: "door", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Migrate(t.Context(), operator, Migration{RunID: view.Run.ID, To: 2}); fault.ReasonOf(err) != fault.FailedPrecondition || !strings.Contains(err.Error(), "signed") {
		t.Errorf("a run moves to a staged version: %v", err)
	}
}

package app

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
)

// replayAll checks, when a test is over, that every run which it has left is what its
// history gives: whatever the tests do to runs, histories have all of it.
func replayAll(t *testing.T, st store.Store) {
	a := newApp(st)
	ctx := context.WithoutCancel(t.Context())
	for _, namespace := range []string{"default"} {
		err := a.runs.each(ctx, store.Query{Namespace: namespace}, func(run *workflow.Run) error {
			view, _, err := a.Reads.Version(ctx, ports.Caller{Namespace: namespace, Principal: operator.Principal}, run.ID, 0)
			if fault.ReasonOf(err) == fault.NotFound && strings.Contains(err.Error(), "no longer kept") {
				return nil // tests of that forget
			}
			if err != nil {
				return fmt.Errorf("run %s: %w", run.ID, err)
			}
			if got, want := asText(view.Run), asText(run); got != want {
				t.Errorf("the history of run %s gives\n%s, not\n%s", run.ID, got, want)
			}
			return nil
		})
		if err != nil {
			t.Errorf("histories: %v", err)
		}
	}
}

// asText is a run as text: as its record has it.
func asText(run *workflow.Run) string {
	return fmt.Sprintf("%d %s", run.Version, runcodec.EncodeRun(run))
}

// TestVersionsOfARun: each version is as it was when it was the newest.
func TestVersionsOfARun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "checks", SessionID: "s", Context: []byte(`{"n": 1.50}`)})
	was := map[int64]string{run.Version: asText(run)}
	keep := func(*View) {
		now := load(t, a, run.ID)
		was[now.Version] = asText(now)
	}
	keep(accepted(t, a, ports.Target{RunID: run.ID}, "CHECK", `{"k": "v"}`, ""))
	keep(accepted(t, a, ports.Target{RunID: run.ID, Branch: "lint"}, "OK", ``, ""))
	keep(accepted(t, a, ports.Target{RunID: run.ID, Branch: "types"}, "SELF", `{"t": [1]}`, ""))
	// Reads of old versions begin at the start, and do not depend on what was read before.
	for _, version := range []int64{2, 1, 4, 3} {
		view, branches, err := a.Reads.Version(t.Context(), operator, run.ID, version)
		if err != nil || asText(view.Run) != was[version] {
			t.Errorf("version %d: %s, %v; it was %s", version, asText(view.Run), err, was[version])
		}
		if want := map[int64]int{1: 0, 2: 3, 3: 2, 4: 2}[version]; len(branches) != want {
			t.Errorf("version %d has %d branches, not %d", version, len(branches), want)
		}
	}
	for version, want := range map[int64]fault.Reason{5: fault.NotFound, 0: ""} {
		if _, _, err := a.Reads.Version(t.Context(), operator, run.ID, version); fault.ReasonOf(err) != want {
			t.Errorf("version %d: %v", version, err)
		}
	}
	if _, _, err := a.Reads.Version(t.Context(), operator, "run_none", 1); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("of no run: %v", err)
	}
}

// TestVersionsOfALongRun: what is remembered on the way is the same as what is not.
func TestVersionsOfALongRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review"})
	const changes = checkpointEvery + 20
	for i := range changes {
		if _, err := fire(a, agent, run.ID, "COUNT", fmt.Sprintf(`{"i": %d}`, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		view, _, err := a.Reads.Version(t.Context(), operator, run.ID, checkpointEvery+5)
		if err != nil {
			t.Fatal(err)
		}
		if i, _ := view.At.Context.Get("i"); i.String() != fmt.Sprint(checkpointEvery+3) || view.Run.Version != checkpointEvery+5 {
			t.Errorf("version %d has %s", view.Run.Version, i)
		}
		if a.Reads.past.Len() != 1 {
			t.Errorf("%d versions are remembered", a.Reads.past.Len())
		}
	}
}

// TestListFilters compares what filters select with what a look at every run says.
func TestListFilters(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	newRun(t, a, agent, Start{Workflow: "review", SessionID: "Alpha"})
	mustStart(t, a, agent, Start{Workflow: "checks", SessionID: "beta"})
	forked := mustStart(t, a, agent, Start{Workflow: "checks"})
	accepted(t, a, ports.Target{RunID: forked.ID}, "CHECK", "", "")
	paused := mustStart(t, a, agent, Start{Workflow: "release"})
	if _, err := a.Moves.Pause(t.Context(), operator, paused.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	ended := mustStart(t, a, agent, Start{Workflow: "review"})
	if _, err := fire(a, agent, ended.ID, "FAIL", "", ""); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		q    ListQuery
		want string
	}{
		"all":               {ListQuery{}, "review release checks checks review"},
		"a session":         {ListQuery{Session: "beta"}, "checks"},
		"no session":        {ListQuery{Session: "alpha"}, ""},
		"text of workflow":  {ListQuery{Text: "CHECK"}, "checks checks"},
		"text of session":   {ListQuery{Text: "alp"}, "review"},
		"text of a state":   {ListQuery{Text: "failed"}, "review"},
		"text of a branch":  {ListQuery{Text: "types_run"}, "checks"},
		"text of an id":     {ListQuery{Text: strings.ToUpper(paused.ID)}, "release"},
		"not a status":      {ListQuery{NotStatuses: []workflow.Status{workflow.Running, workflow.Failed}}, "release"},
		"not a workflow":    {ListQuery{NotWorkflows: []string{"checks", "release"}}, "review review"},
		"several":           {ListQuery{Workflow: "review", NotStatuses: []workflow.Status{workflow.Failed}}, "review"},
		"updated before":    {ListQuery{UpdatedBefore: load(t, a, forked.ID).CreatedAt}, "checks review"},
		"updated after":     {ListQuery{UpdatedAfter: load(t, a, ended.ID).CreatedAt}, "review"},
		"ids":               {ListQuery{IDs: []string{forked.ID, "run_none", ended.ID, forked.ID}}, "review checks"},
		"ids with a filter": {ListQuery{IDs: []string{forked.ID, ended.ID}, Status: workflow.Failed}, "review"},
	} {
		for _, limit := range []int{1, 2, 10} {
			q, got := tc.q, []string{}
			for q.Limit = limit; ; {
				views, next, err := a.Reads.List(t.Context(), operator, q)
				if err != nil || len(views) > limit {
					t.Fatalf("%s: %d runs, %v", name, len(views), err)
				}
				for _, v := range views {
					got = append(got, v.Run.Workflow)
				}
				if q.After = next; next == "" {
					break
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s by %d: %q, want %q", name, limit, got, tc.want)
			}
		}
	}
}

// TestListLooksAtSoMany: a page that finds nothing ends, and the next one continues.
func TestListLooksAtSoMany(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	a.Reads.looked = 70
	first := newRun(t, a, agent, Start{Workflow: "review", SessionID: "needle"})
	for i := range a.Reads.looked + 10 {
		run := *first
		run.ID, run.SessionID = fmt.Sprintf("run_z%05d", i), ""
		out := workflow.Result{Run: run, Entry: workflow.HistoryEntry{Time: run.CreatedAt, Actor: "amir", Type: workflow.EventStarted, To: "reading", RunVersion: 1, Status: workflow.Running}}
		if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{runPut(runKey("default", run.ID), store.Absent, &out)}}); err != nil {
			t.Fatal(err)
		}
	}
	views, next, err := a.Reads.List(t.Context(), operator, ListQuery{Text: "needle", Limit: 5})
	if err != nil || len(views) != 0 || next == "" {
		t.Fatalf("the first page has %d runs and ends at %q, %v", len(views), next, err)
	}
	views, next, err = a.Reads.List(t.Context(), operator, ListQuery{Text: "needle", Limit: 5, After: next})
	if err != nil || len(views) != 1 || next != "" || !reflect.DeepEqual(views[0].Run.ID, first.ID) {
		t.Errorf("the second page has %d runs and ends at %q, %v", len(views), next, err)
	}
}

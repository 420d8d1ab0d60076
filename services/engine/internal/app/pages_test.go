package app

import (
	"slices"
	"strings"
	"testing"
)

// Pages of large runs and changes are short, and nothing is left out.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	a.Reads.pageBytes = 40_000
	large := `{"big": "` + strings.Repeat("x", 10_000) + `"}`
	run := newRun(t, a, agent, Start{Workflow: "review", Context: []byte(large)})
	const changes = 12
	for range changes - 1 {
		if outcome, err := fire(a, agent, run.ID, "COUNT", large, ""); err != nil || outcome.Rejection != nil {
			t.Fatalf("%+v, %v", outcome, err)
		}
	}
	var versions []int64
	for after, pages := (Position{}), 0; pages == 0 || after != (Position{}); pages++ {
		entries, next, err := a.Reads.History(t.Context(), operator, run.ID, after, 1000)
		if err != nil || len(entries) == 0 || len(entries) > a.Reads.pageBytes/10_000 {
			t.Fatalf("a page of history has %d large changes, %v", len(entries), err)
		}
		for _, e := range entries {
			versions = append(versions, e.RunVersion)
		}
		after = next
	}
	for i, v := range versions {
		if v != int64(i+1) {
			t.Fatalf("history has the versions %v", versions)
		}
	}
	if len(versions) != changes {
		t.Fatalf("history has %d of %d changes", len(versions), changes)
	}

	started := []string{run.ID}
	for range 11 {
		started = append(started, mustStart(t, a, agent, Start{Workflow: "review", Context: []byte(large)}).ID)
	}
	var listed []string
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		views, next, err := a.Reads.List(t.Context(), operator, ListQuery{Limit: 1000, After: after})
		if err != nil || len(views) == 0 || len(views) > a.Reads.pageBytes/10_000 {
			t.Fatalf("a page has %d large runs, %v", len(views), err)
		}
		for _, v := range views {
			listed = append(listed, v.Run.ID)
		}
		after = next
	}
	slices.Reverse(listed) // newest first
	if !slices.Equal(listed, started) {
		t.Errorf("started are %q, and listed from the oldest %q", started, listed)
	}
}

// Pages of small runs and changes have as many as were asked for.
func TestPagesOfSmallRuns(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review"})
	const n = readAhead + 6
	for range n - 1 {
		mustStart(t, a, agent, Start{Workflow: "review"})
		if _, err := fire(a, agent, run.ID, "COUNT", "", ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limit, first int
		more         bool
	}{{1, 1, true}, {readAhead, readAhead, true}, {n - 1, n - 1, true}, {n + 1, n, false}, {1000, n, false}} {
		views, next, err := a.Reads.List(t.Context(), operator, ListQuery{Limit: c.limit})
		if err != nil || len(views) != c.first || (next != "") != c.more {
			t.Errorf("a page of %d has %d runs, next %q, %v", c.limit, len(views), next, err)
		}
		entries, after, err := a.Reads.History(t.Context(), operator, run.ID, Position{}, c.limit)
		if err != nil || len(entries) != c.first || (after != Position{}) != c.more {
			t.Errorf("a page of %d has %d changes, next %v, %v", c.limit, len(entries), after, err)
		}
	}
}

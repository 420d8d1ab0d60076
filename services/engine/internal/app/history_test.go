package app

import (
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// S6.4: tool results stand in the history where they came, whatever the page size.
func TestHistoryWithResults(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	run := newRun(t, a, agent, Start{Workflow: "review"})
	key := ledger.ResultsOf(runKey("default", run.ID))
	var want []string
	want = append(want, "started 1")
	for version := int64(1); version <= 3; version++ {
		for n := range version {
			result := ledger.Result{RunVersion: version, CallID: fmt.Sprint(version, n), Tool: "Read", Output: []byte("x")}
			data, err := result.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, History: data}}}); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("tool_result ", version))
		}
		accepted(t, a, ports.Target{RunID: run.ID}, "COUNT", "", "")
		want = append(want, fmt.Sprint("transitioned ", version+1))
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after, pages := (Position{}), 0; pages == 0 || after != (Position{}); pages++ {
			entries, next, err := a.Reads.History(t.Context(), operator, run.ID, after, limit)
			if err != nil || len(entries) > limit {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			for _, e := range entries {
				got = append(got, fmt.Sprint(e.Type, " ", e.RunVersion))
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v, want %v", limit, got, want)
		}
	}
	if _, _, err := a.Reads.History(t.Context(), operator, "run_none", Position{}, 10); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("no run: %v", err)
	}
}

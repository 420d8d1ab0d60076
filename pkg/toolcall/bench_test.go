package toolcall_test

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const working = `{"allowed_tools": ["Read", "Grep", "Glob", "Edit", "Write", "Task", "mcp__fs__read_file", "mcp__github__*", "mcp__jira__*"],
 "disallowed_tools": ["WebFetch"], "max_iterations": 50}`

// TestAllowedPathAllocatesNothing: the hot path leaves no work to the collector.
func TestAllowedPathAllocatesNothing(t *testing.T) {
	m, run := inState(t, working, `{}`)
	for _, tool := range []string{"Read", "mcp__fs__read_file", "mcp__github__create_issue", "transition", "mcp__interlock__get_state"} {
		call := toolcall.Call{Tool: tool, Input: []byte(`{"file_path": "a.go"}`)}
		allocs := testing.AllocsPerRun(200, func() {
			if v := toolcall.Decide(m, run, call); v.Decision != toolcall.Allow {
				t.Errorf("%s is denied: %s", tool, v.Code)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", tool, allocs)
		}
	}
	call := toolcall.Call{Tool: "Bash"}
	if allocs := testing.AllocsPerRun(200, func() { toolcall.Decide(m, run, call) }); allocs != 0 {
		t.Errorf("a denial: %v allocations before its sentence", allocs)
	}
}

// liveRuns holds runs as a service does: a map of locked shards.
type liveRuns struct {
	seed   maphash.Seed
	shards [64]struct {
		sync.RWMutex
		runs map[string]*workflow.Run
	}
}

const live = 100_000

func newLiveRuns(b *testing.B, first *workflow.Run) (runs *liveRuns, ids []string) {
	runs = &liveRuns{seed: maphash.MakeSeed()}
	for i := range runs.shards {
		runs.shards[i].runs = make(map[string]*workflow.Run)
	}
	for i := range live {
		run := *first
		run.ID = fmt.Sprintf("run_01jh0000000000000000%06d", i)
		ids = append(ids, run.ID)
		runs.shards[maphash.String(runs.seed, run.ID)%64].runs[run.ID] = &run
	}
	random := randtest.New(b, 1)
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for i := range ids {
		ids[i] = strings.Clone(ids[i]) // as a request brings it
	}
	return runs, ids
}

func (l *liveRuns) get(id string) *workflow.Run {
	s := &l.shards[maphash.String(l.seed, id)%64]
	s.RLock()
	run := s.runs[id]
	s.RUnlock()
	return run
}

// benchmarkDecide measures the decision alone, then with finding the run first
// among 100,000 live ones: where 1,000 of them are busy, and where each call is
// for another run, which is in no cache. Finding alone is the part of that which
// is not the decision's.
func benchmarkDecide(b *testing.B, tool string, want toolcall.Decision) {
	m, first := inState(b, working, `{}`)
	call := toolcall.Call{Tool: tool, Input: []byte(`{"file_path": "a.go"}`)}
	runs, ids := newLiveRuns(b, first.Run)
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if v := toolcall.Decide(m, first, call); v.Decision != want {
				b.Fatal(v)
			}
		}
	})
	for _, name := range []string{"busy", "cold"} {
		asked := ids
		if name == "busy" {
			asked = ids[:live/100]
		}
		b.Run("find/"+name, func(b *testing.B) {
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				if runs.get(asked[next]).Status != workflow.Running {
					b.Fatal("lost")
				}
				if next++; next == len(asked) {
					next = 0
				}
			}
		})
		b.Run("find and decide/"+name, func(b *testing.B) {
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				at := runs.get(asked[next]).At("")
				if v := toolcall.Decide(m, &at, call); v.Decision != want {
					b.Fatal(v)
				}
				if next++; next == len(asked) {
					next = 0
				}
			}
		})
	}
}

// BenchmarkDecideExact is a tool that the state lists. Goal: at most 100 ns and no
// allocation.
func BenchmarkDecideExact(b *testing.B) { benchmarkDecide(b, "Read", toolcall.Allow) }

// BenchmarkDecideGlob is a tool that a wildcard allows. Goal: at most 250 ns.
func BenchmarkDecideGlob(b *testing.B) {
	benchmarkDecide(b, "mcp__github__create_issue", toolcall.Allow)
}

// BenchmarkDecideDenied is a tool that is not listed. Goal: at most 250 ns,
// without its sentence.
func BenchmarkDecideDenied(b *testing.B) { benchmarkDecide(b, "Bash", toolcall.Deny) }

// BenchmarkMessage is the sentence of a denial.
func BenchmarkMessage(b *testing.B) {
	m, run := inState(b, working, `{}`)
	v := toolcall.Decide(m, run, toolcall.Call{Tool: "Bash"})
	b.ReportAllocs()
	for b.Loop() {
		if v.Message(m, run) == "" {
			b.Fatal("no sentence")
		}
	}
}

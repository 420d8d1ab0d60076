package verify_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/verify"
)

// ladder is a workflow of that many states, of which as many as lanes says are in the
// branches of a fork, each a third of what is left. Every state has guards, tools and a
// way back, and an approval stands in the middle.
func ladder(states, lanes int) string {
	inLane := 0
	if lanes > 0 {
		inLane = states / (lanes + 1)
	}
	var all []string
	rung := func(name, next, back string) {
		all = append(all, fmt.Sprintf(`%q: {"allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["go test", "git status"], "on": {"NEXT": {"target": %q, "guard": "ready"}, "BACK": %q, "SAVE": %q}}`, name, next, back, name))
	}
	trunk := states - lanes*(inLane+1) - 1
	for i := range trunk {
		next, back := fmt.Sprintf("t%d", i+1), fmt.Sprintf("t%d", max(i-1, 0))
		switch {
		case i == trunk-1:
			next = "done"
		case i == trunk/2:
			all = append(all, fmt.Sprintf(`"t%d": {"allowed_tools": ["Read"], "on": {"NEXT": {"target": %q, "requires_approval": true}, "BACK": %q}}`, i, next, back))
			continue
		case i == trunk/2-1 && lanes > 0:
			var branches []string
			for l := range lanes {
				branches = append(branches, fmt.Sprintf(`"b%d": {"initial": "b%d.0", "terminal": "b%d.end"}`, l, l, l))
			}
			all = append(all, fmt.Sprintf(`"t%d": {"allowed_tools": ["Read"], "on": {"FORK": {"fork": {"branches": {%s}, "join": "all", "on_complete": %q, "on_fail": %q}}}}`,
				i, strings.Join(branches, ", "), next, next))
			continue
		}
		rung(fmt.Sprintf("t%d", i), next, back)
	}
	for l := range lanes {
		for i := range inLane {
			next := fmt.Sprintf("b%d.%d", l, i+1)
			if i == inLane-1 {
				next = fmt.Sprintf("b%d.end", l)
			}
			rung(fmt.Sprintf("b%d.%d", l, i), next, fmt.Sprintf("b%d.%d", l, max(i-1, 0)))
		}
		all = append(all, fmt.Sprintf(`"b%d.end": {"type": "final"}`, l))
	}
	return fmt.Sprintf(`{"id": "ladder", "initial": "t0", "context": {"score": 0}, "states": {%s, "done": {"type": "final"}}, "guards": {"ready": {"field": "score", "op": "gte", "value": 80}}, "meta": {"approval_mode": "ui", "enforcement": "always"}}`,
		strings.Join(all, ", "))
}

const ladderProperties = `{"approved": {"before": {"state": "done"}, "always": {"approval": {"by": "approver"}}}, "never": {"never": {"command": "git push"}}, "ends": {"always_possible": true}}`

// TestLadders: large workflows are decided, whatever their size. With VERIFY_TABLE set it
// prints what that takes.
func TestLadders(t *testing.T) {
	sizes := []int{50, 200}
	if os.Getenv("VERIFY_TABLE") != "" {
		sizes = []int{50, 200, 1000, 5000}
		t.Log("states  lanes  explored      time  states/s   memory")
	}
	for _, size := range sizes {
		for lanes := range 4 {
			m := model(t, ladder(size, lanes))
			if n := len(m.Main.Machine.Definition().States); n != size {
				t.Fatalf("%d states, want %d", n, size)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			explored := 0
			for _, r := range verify.Check(m, properties(t, m, ladderProperties), verify.Options{}).Results {
				if r.Verdict != verify.Proved {
					t.Errorf("%d states, %d lanes: %s: %s %s", size, lanes, r.Property.Name, r.Verdict, r.Reason)
				}
				explored += r.States
			}
			if os.Getenv("VERIFY_TABLE") == "" {
				continue
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			t.Logf("%6d  %5d  %8d  %7.2fs  %8.0f  %4d MB", size, lanes, explored, took.Seconds(), float64(explored)/took.Seconds(), after.Sys>>20)
		}
	}
}

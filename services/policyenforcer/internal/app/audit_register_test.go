package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// verifiedAll are the problems of all partitions, by all pages.
func (r *rig) verifiedAll() map[string]string {
	r.Helper()
	problems := map[string]string{}
	for token, pages := "", 0; ; pages++ {
		reports, next, err := r.Verify(r.Context(), ns, "", token)
		if err != nil || pages > 1000 {
			r.Fatalf("%d pages, %v", pages, err)
		}
		for _, report := range reports {
			if !report.OK() {
				problems[report.Partition] += report.Problem
			}
		}
		if token = next; token == "" {
			return problems
		}
	}
}

// wipe removes a record with its history.
func wipe(x tampering, keys ...store.Key) {
	for _, key := range keys {
		x.setHistory(key, nil)
		x.drop(key)
	}
}

// A partition that is removed as a whole is missed, and so are seals, also when they
// are made anew.
func TestWhatIsRemovedIsMissed(t *testing.T) {
	t.Parallel()
	decisions, seals := app.DecisionsKey(ns, "run_1"), app.SealKey(ns, "run_1")
	for name, c := range map[string]struct {
		do      func(tampering)
		more    bool // decisions follow, and are sealed
		problem string
	}{
		"whole partition": {func(x tampering) { wipe(x, decisions, seals) }, false, "its seals are missing"},
		"seals":           {func(x tampering) { wipe(x, seals) }, false, "its seals are missing"},
		"seals, record changed, sealed anew": {func(x tampering) {
			wipe(x, seals)
			all := x.history(decisions)
			all[1].data = strings.Replace(all[1].data, `"ALLOW"`, `"DENY"`, 1)
			x.setHistory(decisions, all)
		}, true, "created again"},
		"begun anew": {func(x tampering) { wipe(x, decisions, seals) }, true, "created again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				for _, partition := range []string{"run_1", "run_2", "run_3"} {
					r.log(partition, 3)
				}
				r.sealed()
				if got := r.verifiedAll(); len(got) != 0 {
					r.Fatalf("before: %v", got)
				}
				r.tampered(c.do)
				if c.more {
					r.log("run_1", 1)
					r.sealed()
				}
				if got := r.verifiedAll(); len(got) != 1 || !strings.Contains(got["run_1"], c.problem) {
					r.Errorf("all: %v", got)
				}
				if got := r.verified("run_1"); !strings.Contains(got.Problem, c.problem) {
					r.Errorf("one: %+v", got)
				}
			})
		})
	}
}

// What is taken out of a register is missed, too.
func TestRegisterIsVerified(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.log("run_1", 1)
		r.sealed()
		register := r.RegisterKey(app.DecisionsKey(ns, "run_1"))
		r.tampered(func(x tampering) { x.setHistory(register, nil) })
		if got := r.verifiedAll(); len(got) != 1 || !strings.Contains(got["register "+register.ID], "entry 1") {
			r.Errorf("%v", got)
		}
	})
}

// A record that has no seal though it is old, or says that it is to come, is found: so
// are seals that never were.
func TestUnsealedIsFound(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.log("run_1", 2)
		r.sealed()
		r.log("run_1", 2)
		r.clock.Advance(time.Minute)
		if got := r.verified("run_1"); !got.OK() || got.Unsealed != 2 {
			r.Errorf("within a minute: %+v", got)
		}
		r.clock.Advance(time.Second)
		if got := r.verified("run_1"); got.Sequence != 3 || !strings.Contains(got.Problem, "not sealed") {
			r.Errorf("later: %+v", got)
		}
		r.sealed()
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 4 {
			r.Errorf("sealed late: %+v", got)
		}
		r.log("run_1", 1)
		decisions := app.DecisionsKey(ns, "run_1")
		r.tampered(func(x tampering) {
			all := x.history(decisions)
			last := &all[len(all)-1]
			last.at = "9" + strings.Repeat("0", len(last.at)-1)
			x.setHistory(decisions, all)
		})
		if got := r.verified("run_1"); got.Sequence != 5 || !strings.Contains(got.Problem, "in the future") {
			r.Errorf("in the future: %+v", got)
		}
	})
}

package decisionlog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// verifiedAll are the problems of all partitions, by all pages.
func (r *rig) verifiedAll() map[string]string {
	r.Helper()
	problems := map[string]string{}
	for token, pages := "", 0; ; pages++ {
		reports, next, err := r.Verify(r.Context(), enforcertest.Namespace, "", token)
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
func wipe(x enforcertest.Tampering, keys ...store.Key) {
	for _, key := range keys {
		x.SetHistory(key, nil)
		x.Drop(key)
	}
}

// A partition that is removed as a whole is missed, and so are seals, also when they
// are made anew.
func TestWhatIsRemovedIsMissed(t *testing.T) {
	t.Parallel()
	decisions, seals := decisionlog.PartitionKey(enforcertest.Namespace, "run_1"), decisionlog.SealKey(enforcertest.Namespace, "run_1")
	for name, c := range map[string]struct {
		do      func(enforcertest.Tampering)
		more    bool // decisions follow, and are sealed
		problem string
	}{
		"whole partition": {func(x enforcertest.Tampering) { wipe(x, decisions, seals) }, false, "its seals are missing"},
		"seals":           {func(x enforcertest.Tampering) { wipe(x, seals) }, false, "its seals are missing"},
		"seals, record changed, sealed anew": {func(x enforcertest.Tampering) {
			wipe(x, seals)
			all := x.History(decisions)
			all[1].Data = strings.Replace(all[1].Data, `"ALLOW"`, `"DENY"`, 1)
			x.SetHistory(decisions, all)
		}, true, "created again"},
		"begun anew": {func(x enforcertest.Tampering) { wipe(x, decisions, seals) }, true, "created again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				for _, partition := range []string{"run_1", "run_2", "run_3"} {
					r.AppendMany(partition, 3)
				}
				r.sealed()
				if got := r.verifiedAll(); len(got) != 0 {
					r.Fatalf("before: %v", got)
				}
				r.tamper(c.do)
				if c.more {
					r.AppendMany("run_1", 1)
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
		r.AppendMany("run_1", 1)
		r.sealed()
		register := r.RegisterKey(decisionlog.PartitionKey(enforcertest.Namespace, "run_1"))
		r.tamper(func(x enforcertest.Tampering) { x.SetHistory(register, nil) })
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
		r.AppendMany("run_1", 2)
		r.sealed()
		r.AppendMany("run_1", 2)
		r.Clock.Advance(time.Minute)
		if got := r.verified("run_1"); !got.OK() || got.Unsealed != 2 {
			r.Errorf("within a minute: %+v", got)
		}
		r.Clock.Advance(time.Second)
		if got := r.verified("run_1"); got.Sequence != 3 || !strings.Contains(got.Problem, "not sealed") {
			r.Errorf("later: %+v", got)
		}
		r.sealed()
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 4 {
			r.Errorf("sealed late: %+v", got)
		}
		r.AppendMany("run_1", 1)
		decisions := decisionlog.PartitionKey(enforcertest.Namespace, "run_1")
		r.tamper(func(x enforcertest.Tampering) {
			all := x.History(decisions)
			last := &all[len(all)-1]
			last.At = "9" + strings.Repeat("0", len(last.At)-1)
			x.SetHistory(decisions, all)
		})
		if got := r.verified("run_1"); got.Sequence != 5 || !strings.Contains(got.Problem, "in the future") {
			r.Errorf("in the future: %+v", got)
		}
	})
}

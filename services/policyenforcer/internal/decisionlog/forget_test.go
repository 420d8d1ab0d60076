package decisionlog_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

const day = 24 * time.Hour

// What is old goes, and the rest can be verified as before.
func TestRetention(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Retain(10 * day)
		var heads []string
		for range 3 {
			r.AppendMany("run_1", 3)
			r.sealed()
			heads = append(heads, r.verified("run_1").Head)
			r.Clock.Advance(4 * day)
			r.SweepOnce(r.Context())
		}
		for _, step := range []struct {
			sealed, first int64
			hash          string
		}{{6, 4, heads[1]}, {3, 7, heads[2]}, {0, 0, ""}, {0, 0, ""}} {
			report := r.verified("run_1")
			if !report.OK() || report.Sealed != step.sealed || report.Head != heads[2] {
				r.Errorf("%+v, want %d sealed", report, step.sealed)
			}
			found, _, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{Limit: 100})
			if err != nil || int64(len(found)) != step.sealed {
				r.Fatalf("%d records, want %d; %v", len(found), step.sealed, err)
			}
			slices.Reverse(found)
			if step.first > 0 && (found[0].Sequence != step.first || found[2].Hash != step.hash) {
				r.Errorf("begins with %d, whose seal is %s; want %d and %s", found[0].Sequence, found[2].Hash, step.first, step.hash)
			}
			r.Clock.Advance(4 * day)
			r.SweepOnce(r.Context())
		}
		if due, err := r.Storage.Due(r.Context(), r.Clock.Now().Add(100*day), 10, "decisions"); err != nil || len(due) != 0 {
			r.Errorf("timers are left: %v, %v", due, err)
		}
		r.AppendMany("run_1", 2)
		r.sealed()
		found, _, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{Limit: 100})
		if report := r.verified("run_1"); !report.OK() || report.Sealed != 2 || err != nil || found[1].Sequence != 10 || found[0].Hash != report.Head {
			r.Errorf("later: %+v, %v", report, err)
		}
	})
}

// Repeats of a call are answered from the log for a day, however short the retention.
func TestRetentionKeepsWhatRepeatsAskFor(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Retain(time.Minute)
		r.AppendMany("run_1", 3)
		r.sealed()
		for _, step := range []struct {
			later  time.Duration
			sealed int64
		}{{time.Hour, 3}, {22 * time.Hour, 3}, {2 * time.Hour, 0}} {
			r.Clock.Advance(step.later)
			r.SweepOnce(r.Context())
			if report := r.verified("run_1"); !report.OK() || report.Sealed != step.sealed {
				r.Errorf("%s later: %+v, want %d sealed", step.later, report, step.sealed)
			}
		}
	})
}

// A partition that is never idle loses what is old too, and no more.
func TestRetentionWhileBusy(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Retain(10 * day)
		for range 40 {
			r.AppendMany("run_1", 1)
			r.sealed()
			r.Clock.Advance(day)
			r.SweepOnce(r.Context())
		}
		if got := r.verified("run_1"); !got.OK() || got.Sealed < 9 || got.Sealed > 11 {
			r.Errorf("%+v", got)
		}
	})
}

func TestNothingIsForgottenUnasked(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 3)
		r.sealed()
		r.Clock.Advance(1000 * day)
		r.SweepOnce(r.Context())
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 3 {
			r.Errorf("%+v", got)
		}
		// Nor what is asked to be kept forever before it is old.
		r.Retain(10 * day)
		r.AppendMany("run_1", 1)
		r.sealed()
		r.Retain(0)
		r.Clock.Advance(1000 * day)
		r.SweepOnce(r.Context())
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 4 {
			r.Errorf("%+v", got)
		}
	})
}

// With retention, tampering is found as without, and nothing of it is dropped.
func TestTamperingWithWhatIsForgotten(t *testing.T) {
	t.Parallel()
	decisions, seals := decisionlog.PartitionKey(enforcertest.Namespace, "run_1"), decisionlog.SealKey(enforcertest.Namespace, "run_1")
	gone := store.Key{Namespace: enforcertest.Namespace, Kind: "decision_forgotten", ID: "run_1"}
	for name, c := range map[string]struct {
		do       func(enforcertest.Tampering)
		sequence int64
		problem  string
	}{
		"hash":       {func(x enforcertest.Tampering) { replaceData(x, gone, `"hash":"`, strings.Repeat("0", 64)) }, 4, "not the one that was sealed"},
		"no hash":    {func(x enforcertest.Tampering) { replaceData(x, gone, `"hash":"`, "zz") }, 0, "no hash"},
		"through":    {func(x enforcertest.Tampering) { replaceData(x, gone, `"through":`, "4") }, 5, "seal"},
		"all of it":  {func(x enforcertest.Tampering) { replaceData(x, gone, `"through":`, "9") }, 9, "seal 1"},
		"seals":      {func(x enforcertest.Tampering) { replaceData(x, gone, `"seals":`, "2") }, 4, "seal"},
		"unreadable": {func(x enforcertest.Tampering) { x.SetData(gone, "?") }, 0, "cannot be read"},
		"dropped":    {func(x enforcertest.Tampering) { x.Drop(gone) }, 1, "missing"},
		"next record": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			all[0].Data = strings.Replace(all[0].Data, "call 0", "call 9", 1)
			x.SetHistory(decisions, all)
		}, 4, "not the one that was sealed"},
		"a forgotten one is back": {func(x enforcertest.Tampering) {
			all := x.History(decisions)
			back := all[0]
			back.Version = 3
			x.SetHistory(decisions, append([]enforcertest.Entry{back}, all...))
		}, 0, ""}, // it is not looked at
		"next seal": {func(x enforcertest.Tampering) { x.SetHistory(seals, x.History(seals)[1:]) }, 4, "seal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				r.Retain(10 * day)
				for range 3 {
					r.AppendMany("run_1", 3)
					r.sealed()
					r.Clock.Advance(4 * day)
				}
				r.SweepOnce(r.Context())
				if got := r.verified("run_1"); !got.OK() || got.Sealed != 6 {
					r.Fatalf("before: %+v", got)
				}
				r.tamper(c.do)
				r.Retain(10 * day)
				if got := r.verified("run_1"); got.Sequence != c.sequence || !strings.Contains(got.Problem, c.problem) {
					r.Errorf("%+v, want %d, %s", got, c.sequence, c.problem)
				}
				if c.problem == "" {
					return
				}
				r.Clock.Advance(100 * day)
				r.SweepOnce(r.Context())
				if got := r.verified("run_1"); got.OK() {
					r.Errorf("the evidence is gone: %+v", got)
				}
			})
		})
	}
}

// Anyone who verifies while old records go sees nothing wrong.
func TestVerifyWhileForgetting(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Retain(10 * day)
		done := make(chan struct{})
		var group sync.WaitGroup
		for _, a := range r.replicas(2) {
			group.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					reports, _, err := a.Verify(r.Context(), enforcertest.Namespace, "", "")
					if err != nil {
						r.Error(err)
						return
					}
					for _, report := range reports {
						if !report.OK() {
							r.Errorf("%+v", report)
						}
					}
				}
			})
		}
		for range 60 {
			r.AppendMany("run_1", 2)
			r.sealed()
			r.Clock.Advance(3 * day)
			r.SweepOnce(r.Context())
		}
		close(done)
		group.Wait()
	})
}

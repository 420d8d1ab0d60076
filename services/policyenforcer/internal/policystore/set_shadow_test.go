package policystore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// shadowed applies a set with a shadow, or without one for 0, and returns the refusal.
func (r *rig) shadowed(lasts time.Duration, now bool, expected int64, changes ...policystore.SetChange) (changed bool, refusal string) {
	r.Helper()
	_, changed, err := r.Apply(r.Context(), enforcertest.Operator, &policystore.Application{Name: "gov", Expected: expected, Changes: changes, Shadow: lasts, Now: now})
	if err != nil {
		return false, fault.From(err).Message
	}
	return changed, ""
}

// shadows returns the shadow of a policy, and that of a workflow as its digest.
func (r *rig) shadows(policy, flow string) (version int64, digest string) {
	r.Helper()
	x, err := r.Refresh(r.Context(), enforcertest.Namespace)
	if err != nil {
		r.Fatal(err)
	}
	all, _, err := r.List(r.Context(), enforcertest.Namespace, "", 100)
	if err != nil {
		r.Fatal(err)
	}
	for _, p := range all {
		if p.Name == policy {
			version = p.Shadow
		}
	}
	digest, _ = x.WorkflowShadow(flow)
	return version, digest
}

// The changes of a set wait as shadows: the live rules stay, and the set is applied only when their time is over, with the
// same content (S26.9, S26.10).
func TestSetShadow(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		first := []policystore.SetChange{flow("release", 0, r.machine("release", true)), policyChange("nights", 0, r.staged("nights", "bash"))}
		if _, refusal := r.apply("gov", 0, first...); refusal != "" {
			t.Fatal(refusal)
		}
		second := []policystore.SetChange{
			flow("release", 1, r.machine("release", true)), policyChange("nights", 1, r.staged("nights", "tool:a")), policyChange("fresh", 0, r.staged("fresh", "tool:b"), everyone),
		}
		fewer := []policystore.SetChange{flow("release", 1, 1), policyChange("nights", 1, 2)}
		const live = "gov@%{policy/nights:1 workflow/release:1} nights=1[] release=1"
		for i, step := range []struct {
			lasts    time.Duration
			now      bool
			expected int64
			changes  []policystore.SetChange
			ahead    time.Duration
			refused  string
			unchange bool
			want     string
			policy   int64
			flow     string
		}{
			0: {lasts: time.Hour, expected: 1, changes: second, want: "fresh=0[everyone] " + live, policy: 2, flow: "release-2"},
			1: {lasts: time.Hour, expected: 2, changes: second, unchange: true, ahead: time.Minute, want: "fresh=0[everyone] " + live, policy: 2, flow: "release-2"},
			2: {expected: 2, changes: second, ahead: time.Minute, refused: "its shadow lasts until", want: "fresh=0[everyone] " + live, policy: 2, flow: "release-2"},
			3: {expected: 2, changes: fewer, ahead: time.Hour, refused: "its shadow has another content", want: "fresh=0[everyone] " + live, policy: 2, flow: "release-2"},
			4: {lasts: time.Hour, expected: 2, changes: fewer, want: live, policy: 2},
			5: {expected: 3, changes: fewer, ahead: time.Hour - time.Second, refused: "its shadow lasts until", want: live, policy: 2},
			6: {expected: 3, changes: fewer, ahead: time.Second, want: "gov@%{policy/nights:2 workflow/release:1} nights=2[] release=1"},
			// With a new policy and its attachment, and with a shadow that is cut short.
			7: {lasts: time.Hour, expected: 4, changes: []policystore.SetChange{policyChange("fresh", 0, 1, everyone)}, want: "fresh=0[everyone] gov@%{policy/nights:2 workflow/release:1} nights=2[] release=1"},
			8: {now: true, expected: 5, changes: []policystore.SetChange{policyChange("fresh", 0, 1, everyone)}, want: "fresh=1[everyone] gov@%{policy/fresh:1 policy/nights:2 workflow/release:1} nights=2[] release=1"},
			// The live version again ends the shadow.
			9:  {lasts: time.Hour, expected: 6, changes: []policystore.SetChange{policyChange("nights", 2, 0)}, want: "fresh=1[everyone] gov@%{policy/fresh:1 policy/nights:2 workflow/release:1} nights=2[] release=1"},
			10: {expected: 7, changes: []policystore.SetChange{policyChange("nights", 2, 2)}, want: "fresh=1[everyone] gov@%{policy/fresh:1 policy/nights:2 workflow/release:1} nights=2[] release=1"},
			11: {expected: 8, changes: []policystore.SetChange{policyChange("nights", 2, 2)}, unchange: true, want: "fresh=1[everyone] gov@%{policy/fresh:1 policy/nights:2 workflow/release:1} nights=2[] release=1"},
		} {
			r.Clock.Advance(step.ahead)
			changed, refusal := r.shadowed(step.lasts, step.now, step.expected, step.changes...)
			if step.refused == "" != (refusal == "") || !strings.Contains(refusal, step.refused) {
				t.Fatalf("step %d: %q, want %q", i, refusal, step.refused)
			}
			if want := step.refused == "" && !step.unchange; changed != want {
				t.Errorf("step %d: changed %t, want %t", i, changed, want)
			}
			version := step.expected
			if changed {
				version++
			}
			want := strings.ReplaceAll(step.want, "%", string(rune('0'+version)))
			if got := r.whole("release"); got != want {
				t.Errorf("step %d: %s\nwant %s", i, got, want)
			}
			if policy, digest := r.shadows("nights", "release"); policy != step.policy || digest != step.flow {
				t.Errorf("step %d: shadows %d, %q; want %d, %q", i, policy, digest, step.policy, step.flow)
			}
		}
	})
}

// A replaced shadow has not judged all calls, so its set is not applied; the other shadow stays (S26.10).
func TestSetShadowByHand(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("nights", denies("bash"))
		change := policyChange("nights", 1, r.staged("nights", "tool:a"))
		change.Take = true
		if _, refusal := r.shadowed(time.Hour, false, 0, change); refusal != "" {
			t.Fatal(refusal)
		}
		if _, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: "nights", Definition: []byte(denies("tool:other")), Shadow: true}); err != nil {
			t.Fatal(err)
		}
		r.Clock.Advance(2 * time.Hour)
		if _, refusal := r.shadowed(0, false, 1, change); !strings.Contains(refusal, "replaced or ended by hand") {
			t.Errorf("%q", refusal)
		}
		if _, refusal := r.shadowed(0, true, 1, change); refusal != "" {
			t.Errorf("now: %q", refusal)
		}
		if policy, _ := r.shadows("nights", ""); policy != 3 {
			t.Errorf("the shadow of somebody else is %d, want 3", policy)
		}
	})
}

// A dry run of a shadow makes no change (S26.9).
func TestSetShadowDryRun(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		app := &policystore.Application{Name: "gov", Changes: []policystore.SetChange{policyChange("p", 0, r.staged("p", "bash"))}, Shadow: time.Hour, DryRun: true}
		if set, changed, err := r.Apply(r.Context(), enforcertest.Operator, app); err != nil || !changed || set.Shadow == nil {
			t.Errorf("%t, %+v, %v", changed, set, err)
		}
		if got := r.whole(); got != "" {
			t.Errorf("changed: %s", got)
		}
	})
}

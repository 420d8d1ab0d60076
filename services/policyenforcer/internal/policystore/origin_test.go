package policystore_test

import (
	"testing"

	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// The origin of a version is its last application, also after later versions (S26.11).
func TestOrigin(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.staged("nights", "bash")
		r.staged("nights", "tool:a")
		r.staged("nights", "tool:b")
		apply := func(expected, live, version int64, commit string) {
			r.Helper()
			_, _, err := r.Apply(r.Context(), enforcertest.Operator, &policystore.Application{
				Name: "gov", Expected: expected, Commit: commit, Changes: []policystore.SetChange{policyChange("nights", live, version)},
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		apply(0, 0, 1, "one")
		apply(1, 1, 2, "two")
		apply(2, 2, 1, "three")
		for version, want := range map[int64]string{1: "three", 2: "two", 3: ""} {
			name, set, ok, err := r.Origin(r.Context(), enforcertest.Namespace, catalog.Object{Kind: catalog.Policy, Name: "nights"}, version)
			if err != nil || set.Commit != want || ok != (want != "") || ok && (name != "gov" || set.By != "olga") {
				t.Errorf("version %d: %s %+v, %t, %v", version, name, set, ok, err)
			}
		}
		if _, _, ok, err := r.Origin(r.Context(), enforcertest.Namespace, catalog.Object{Kind: catalog.Workflow, Name: "nights"}, 1); ok || err != nil {
			t.Errorf("another kind: %t, %v", ok, err)
		}
	})
}

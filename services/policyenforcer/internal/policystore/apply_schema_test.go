package policystore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

func schemaChange(expected, version int64) policystore.SetChange {
	return policystore.SetChange{Object: catalog.Object{Kind: catalog.Schema, Name: "report"}, Expected: expected, Version: version}
}

// schemaAt returns the live version of the schema, negative for one that is retired.
func (r *rig) schemaAt() int64 {
	r.Helper()
	latest, err := ledger.LatestDefinition(r.Context(), r.Storage, ledger.SchemaOf(enforcertest.Namespace, "report"))
	if err != nil {
		r.Fatal(err)
	}
	c, err := catalog.Read(r.Context(), r.Storage, enforcertest.Namespace)
	if err != nil {
		r.Fatal(err)
	}
	place := c.PlaceOf(schemaChange(0, 0).Object, latest.Own())
	if place.Retired != nil {
		return -place.LiveOf(latest.Own())
	}
	return place.LiveOf(latest.Own())
}

// schemaEvents returns the types of the events about the schema.
func (r *rig) schemaEvents() string {
	r.Helper()
	var types []string
	for _, e := range r.Events() {
		if _, after, ok := strings.Cut(e, ".schema.report."); ok {
			types = append(types, after)
		}
	}
	return strings.Join(types, " ")
}

// A schema has a place of its own: a set makes its versions live, retires it and restores it, with the workflow of the same name beside
// it (S26.1, S26.2, S26.5, S26.7). A version that is registered later is live, also after the retirement.
func TestApplySchema(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		key := ledger.SchemaOf(enforcertest.Namespace, "report")
		r.machine("report", true)
		r.version(key, true)
		for i, step := range []struct {
			changes []policystore.SetChange
			refused string
			// after makes a change by hand then.
			after func()
			live  int64
		}{
			0: {[]policystore.SetChange{schemaChange(0, 1), flow("report", 0, 1)}, "", nil, 1},
			1: {[]policystore.SetChange{schemaChange(1, r.version(key, true))}, "", nil, 2},
			2: {[]policystore.SetChange{schemaChange(1, 1)}, `version 2 of schema "report" is live, by eve, and the plan expects 1`, nil, 2},
			3: {[]policystore.SetChange{schemaChange(2, 7)}, `schema "report" has no version 7`, nil, 2},
			4: {[]policystore.SetChange{schemaChange(2, 1)}, "", nil, 1},
			5: {[]policystore.SetChange{schemaChange(1, 0)}, "", nil, -1},
			6: {[]policystore.SetChange{schemaChange(1, 2)}, "", nil, 2},
			7: {[]policystore.SetChange{schemaChange(2, 0)}, "", func() { r.version(key, true) }, -2},
			8: {[]policystore.SetChange{schemaChange(2, 2)}, "", func() { r.version(key, false) }, 4},
			9: {[]policystore.SetChange{schemaChange(4, 2)}, `schema "report" was changed by eve after set gov was applied`, nil, 4},
		} {
			version := int64(0)
			if sets, err := r.Sets(r.Context(), enforcertest.Namespace); err == nil {
				version = sets["gov"].Version
			}
			if _, refusal := r.apply("gov", version, step.changes...); step.refused == "" != (refusal == "") || !strings.Contains(refusal, step.refused) {
				t.Fatalf("step %d: %q, want %q", i, refusal, step.refused)
			}
			if step.after != nil {
				step.after()
			}
			if live := r.schemaAt(); live != step.live {
				t.Errorf("step %d: version %d is live, want %d", i, live, step.live)
			}
			if live := r.live("report"); live != 1 {
				t.Errorf("step %d: version %d of the workflow is live", i, live)
			}
		}
		if announced := r.schemaEvents(); announced != "promoted promoted promoted retired promoted restored retired restored" {
			t.Errorf("announced are %s", announced)
		}
	})
}

// A component is made live, deleted and made live again; one that was deleted by hand is not there (S26.7).
func TestApplyComponent(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		key := ledger.ComponentOf(enforcertest.Namespace, "memory")
		change := func(expected, version int64) policystore.SetChange {
			return policystore.SetChange{Object: catalog.Object{Kind: catalog.Component, Name: "memory"}, Expected: expected, Version: version}
		}
		// place returns the live version as the catalog has it, and whether it is retired.
		place := func() string {
			c, err := catalog.Read(r.Context(), r.Storage, enforcertest.Namespace)
			if err != nil {
				t.Fatal(err)
			}
			p := c.Components["memory"]
			return fmt.Sprintf("%d of %d, retired %t", p.Live, p.AsOf, p.Retired != nil)
		}
		r.version(key, true)
		for i, step := range []struct {
			change  policystore.SetChange
			refused string
			// after makes a change by hand then.
			after func()
			want  string
		}{
			0: {change(0, 1), "", nil, "1 of 1, retired false"},
			1: {change(1, 0), "", func() { r.version(key, true) }, "1 of 1, retired true"},
			2: {change(1, 2), "no version of component \"memory\" is live", nil, "1 of 1, retired true"},
			3: {change(0, 2), "", func() { r.deletion(key) }, "2 of 2, retired false"},
			4: {change(2, 2), "no version of component \"memory\" is live", func() { r.version(key, true) }, "2 of 2, retired false"},
			5: {change(0, 4), "", nil, "4 of 4, retired false"},
			6: {change(4, 4), "", func() { r.deletion(key) }, "4 of 4, retired false"},
			7: {change(0, 0), "", nil, "4 of 4, retired false"},
		} {
			sets, err := r.Sets(r.Context(), enforcertest.Namespace)
			if err != nil {
				t.Fatal(err)
			}
			if _, refusal := r.apply("gov", sets["gov"].Version, step.change); step.refused == "" != (refusal == "") || !strings.Contains(refusal, step.refused) {
				t.Fatalf("step %d: %q, want %q", i, refusal, step.refused)
			}
			if step.after != nil {
				step.after()
			}
			if got := place(); got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
		if sets, err := r.Sets(r.Context(), enforcertest.Namespace); err != nil || len(sets["gov"].Objects) != 0 {
			t.Errorf("the set has %+v, %v", sets, err)
		}
	})
}

// A schema is no part of a shadow that judges calls, and waits with it (S26.9).
func TestShadowOfSchema(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		key := ledger.SchemaOf(enforcertest.Namespace, "report")
		r.version(key, true)
		if _, refusal := r.apply("gov", 0, schemaChange(0, 1)); refusal != "" {
			t.Fatal(refusal)
		}
		if _, refusal := r.shadowed(time.Hour, false, 1, schemaChange(1, r.version(key, true))); refusal != "" {
			t.Fatal(refusal)
		}
		set, err := r.AppliedSet(r.Context(), enforcertest.Namespace, "gov")
		if err != nil || set.Shadow == nil {
			t.Fatalf("%+v, %v", set, err)
		}
		if live := r.schemaAt(); live != 1 || set.Shadow.Objects[schemaChange(0, 0).Object].Judged {
			t.Errorf("version %d is live: %+v", live, set.Shadow)
		}
	})
}

// What is more than a version of a policy waits in the index, and is withdrawn with the shadow (S26.9, S26.10).
func TestShadowOfRemovals(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		agents := policystore.Attachment{Kind: policystore.AttachedToRole, ID: "agent"}
		if _, refusal := r.apply("gov", 0, policyChange("nights", 0, r.staged("nights", "bash"), everyone)); refusal != "" {
			t.Fatal(refusal)
		}
		elsewhere := policyChange("nights", 1, 1, agents)
		elsewhere.Was = []policystore.Attachment{everyone}
		newer := elsewhere
		newer.Version = r.staged("nights", "tool:a")
		removed := policyChange("nights", 1, 0)
		for i, step := range []struct {
			change  policystore.SetChange
			lasts   int
			refused string
			waits   string
			shadow  int64
			whole   string
		}{
			{removed, 1, "", "0 []", 0, "gov@2{policy/nights:1} nights=1[everyone]"},
			{elsewhere, 1, "", `1 [role "agent"]`, 0, "gov@3{policy/nights:1} nights=1[everyone]"},
			{newer, 1, "", `2 [role "agent"]`, 2, "gov@4{policy/nights:1} nights=1[everyone]"},
			{newer, 0, "its shadow lasts until", `2 [role "agent"]`, 2, "gov@4{policy/nights:1} nights=1[everyone]"},
			{elsewhere, 0, "its shadow has another content", `2 [role "agent"]`, 2, "gov@4{policy/nights:1} nights=1[everyone]"},
			{policyChange("nights", 1, 1), 0, "", "", 0, "gov@5{policy/nights:1} nights=1[everyone]"},
			{elsewhere, 1, "", `1 [role "agent"]`, 0, "gov@6{policy/nights:1} nights=1[everyone]"},
		} {
			version := int64(1)
			if sets, err := r.Sets(r.Context(), enforcertest.Namespace); err == nil {
				version = sets["gov"].Version
			}
			if _, refusal := r.shadowed(time.Duration(step.lasts)*time.Hour, false, version, step.change); step.refused == "" != (refusal == "") || !strings.Contains(refusal, step.refused) {
				t.Fatalf("step %d: %q, want %q", i, refusal, step.refused)
			}
			x, err := r.Refresh(r.Context(), enforcertest.Namespace)
			if err != nil {
				t.Fatal(err)
			}
			if got := x.WaitsOf("nights"); got != step.waits || x.ShadowOf("nights") != step.shadow {
				t.Errorf("step %d: %q waits, and shadow %d", i, got, x.ShadowOf("nights"))
			}
			if got := r.whole(); got != step.whole {
				t.Errorf("step %d: %s\nwant %s", i, got, step.whole)
			}
		}
		r.Clock.Advance(time.Hour)
		if _, refusal := r.shadowed(0, false, 6, elsewhere); refusal != "" {
			t.Fatal(refusal)
		}
		x, err := r.Refresh(r.Context(), enforcertest.Namespace)
		if err != nil || x.WaitsOf("nights") != "" || !slices.Equal(x.AttachedTo(policystore.AttachedToRole, "agent"), []string{"nights"}) {
			t.Errorf("%q waits: %v", x.WaitsOf("nights"), err)
		}
	})
}

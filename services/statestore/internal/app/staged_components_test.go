package app_test

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// S26.1, S26.7, S26.8: a staged version of a component is nobody's until its set is applied, one that a set has removed is not there,
// and a component that is there again has none of the values of the one before.
func TestStagedComponents(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		text := func(name string) []byte {
			return fmt.Appendf(nil, `{"name": %q, "slug": "memory", "persistence": "long_term", "schema_definition": {"n": {"type": "integer"}}}`, name)
		}
		stage := func(name string, want int64) *components.Component {
			r.Helper()
			c, err := r.Components.Stage(r.Context(), operator, text(name))
			if err != nil || c.Version != want || c.Name != name {
				r.Fatalf("staged %+v, %v, want version %d", c, err, want)
			}
			return c
		}
		// at compares what all reads say; 0 is no component.
		at := func(version int64, name string) {
			r.Helper()
			c, err := r.replicas(1)[0].Components.Get(r.Context(), "default", "memory")
			all, _, listErr := r.Components.List(r.Context(), "default", "", "", 10)
			if listErr != nil {
				r.Fatal(listErr)
			}
			if version == 0 {
				r.refused(err, fault.NotFound)
				if len(all) != 0 {
					r.Fatalf("listed %+v", all)
				}
				return
			}
			if err != nil || c.Version != version || c.Name != name || len(all) != 1 || all[0].Version != version || all[0].Name != name {
				r.Fatalf("live is %+v, listed %+v, %v", c, all, err)
			}
		}
		place := func(live, asOf int64, retired bool) {
			r.put(func(c *catalog.Text) {
				p := catalog.Place{Live: live, AsOf: asOf}
				if retired {
					p.Retired = &catalog.Retirement{At: r.clock.Now(), By: "olga"}
				}
				c.Components["memory"] = p
			})
		}
		// keep leaves a value, and returns the one that was there.
		keep := func(n string) string {
			r.Helper()
			ex, err := r.Executions.Begin(r.Context(), operator, components.Scope{Slug: "memory", Subject: "ann"})
			if err != nil {
				r.Fatal(err)
			}
			before := string(ex.Values.AppendJSON(nil))
			if _, err := r.Executions.End(r.Context(), operator, ex.ID, components.Outcome{Merge: []byte(`{"n":` + n + `}`)}); err != nil {
				r.Fatal(err)
			}
			return before
		}
		first := stage("one", 1)
		at(0, "")
		if again := stage("one", 1); again.ID != first.ID {
			t.Errorf("staged again is %+v", again)
		}
		place(1, 1, false)
		at(1, "one")
		keep("1")
		if second := stage("two", 2); second.ID != first.ID {
			t.Errorf("a newer version is %+v", second)
		}
		at(1, "one")
		place(2, 2, false)
		at(2, "two")
		if got := keep("2"); got != `{"n":1}` {
			t.Errorf("the newer version has %s", got)
		}
		stage("one", 3)

		// By hand: it continues after the staged version, on the live one.
		_, err := r.Components.Update(r.Context(), operator, "memory", text("three"), 3)
		r.refused(err, fault.VersionConflict)
		if c, err := r.Components.Update(r.Context(), operator, "memory", text("three"), 2); err != nil || c.Version != 4 {
			t.Fatalf("%+v, %v", c, err)
		}
		at(4, "three")
		if got := keep("3"); got != `{"n":2}` {
			t.Errorf("the version by hand has %s", got)
		}

		// Removed by its set, and there again: as another component.
		place(4, 4, true)
		at(0, "")
		stage("three", 5)
		at(0, "")
		place(5, 5, false)
		at(5, "three")
		if got := keep("5"); got != `{"n":null}` {
			t.Errorf("the component that is there again has %s", got)
		}
		place(5, 5, true)
		if c, err := r.Components.Create(r.Context(), operator, text("six"), ""); err != nil || c.Version != 6 {
			t.Fatalf("%+v, %v", c, err)
		}
		at(6, "six")
		if err := r.Components.Delete(r.Context(), operator, "memory", 6); err != nil {
			t.Fatal(err)
		}
		at(0, "")
		stage("six", 8)
		place(8, 8, false)
		at(8, "six")

		r.put(func(c *catalog.Text) {
			c.Sets["gov"] = catalog.Set{Version: 1, Bundle: "abc", Objects: map[catalog.Object]catalog.Status{{Kind: catalog.Component, Name: "memory"}: {Version: 8}}}
		})
		_, err = r.Components.Update(r.Context(), operator, "memory", text("nine"), 0)
		r.refused(err, fault.FailedPrecondition)
		r.refused(r.Components.Delete(r.Context(), operator, "memory", 0), fault.FailedPrecondition)
		stage("nine", 9)
		at(8, "six")
	})
}

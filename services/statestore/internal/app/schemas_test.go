package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S10.1, S1.6: versions are by content; what was registered is kept to the byte.
func TestSchemaVersionsAreByContent(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		const first = "{ \"type\" : \"object\",\n\"title\":\"<a> & b\", \"maximum\": 9007199254740993.0 }"
		for i, step := range []struct {
			text    string
			version int64
			created bool
		}{
			{first, 1, true},
			{`{"title":"<a> & b","maximum":9007199254740993.0,"type":"object"}`, 1, false}, // the same canonical JSON
			{`{"type":"array"}`, 2, true},
			{first, 3, true}, // what was once, is not the latest
		} {
			v, created, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Description: "about", Text: []byte(step.text)})
			if err != nil || v.Number != step.version || created != step.created {
				r.Fatalf("step %d: version %d, created %t, %v", i, v.Number, created, err)
			}
		}
		for number, want := range map[int64]string{1: first, 2: `{"type":"array"}`, 3: first, 0: first} {
			v, err := r.replicas(1)[0].Schemas.Get(r.Context(), "default", "s", number)
			if err != nil || string(v.Text) != want || v.Name != "s" || v.Description != "about" || v.CreatedBy != "olga" ||
				!v.CreatedAt.Equal(r.clock.Now()) || !strings.HasPrefix(v.ID, "schema_") {
				r.Errorf("version %d is %+v, %v", number, v, err)
			}
		}
		for name, number := range map[string]int64{"s": 4, "other": 1, "none": 0} {
			_, err := r.Schemas.Get(r.Context(), "default", name, number)
			r.refused(err, fault.NotFound)
		}
		if _, err := r.Schemas.Get(r.Context(), "another namespace", "s", 1); fault.ReasonOf(err) != fault.NotFound {
			r.Errorf("another namespace sees it: %v", err)
		}
	})
}

func TestSchemaLists(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for i := range 5 {
			r.schema(fmt.Sprintf("s%d", i), fmt.Sprintf(`{"minimum":%d}`, i))
			r.schema("many", fmt.Sprintf(`{"maximum":%d}`, i))
		}
		var names []string
		for after := ""; ; {
			page, next, err := r.Schemas.List(r.Context(), "default", after, 4)
			if err != nil {
				r.Fatal(err)
			}
			for _, v := range page {
				names = append(names, fmt.Sprintf("%s@%d", v.Name, v.Number))
			}
			if after = next; next == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "many@5 s0@1 s1@1 s2@1 s3@1 s4@1" {
			r.Errorf("schemas: %s", got)
		}
		var numbers []int64
		for before := int64(0); ; {
			page, next, err := r.Schemas.Versions(r.Context(), "default", "many", before, 2)
			if err != nil {
				r.Fatal(err)
			}
			for _, v := range page {
				numbers = append(numbers, v.Number)
			}
			if before = next; next == 0 {
				break
			}
		}
		for before, want := range map[int64]string{1: "[]", 2: "[1]", 3: "[2 1]", 99: "[5 4]"} {
			page, next, err := r.Schemas.Versions(r.Context(), "default", "many", before, 2)
			got := []int64{}
			for _, v := range page {
				got = append(got, v.Number)
			}
			if err != nil || fmt.Sprint(got) != want || (next != 0) != (before == 99) {
				r.Errorf("before %d: %v, next %d, %v", before, got, next, err)
			}
		}
		if fmt.Sprint(numbers) != "[5 4 3 2 1]" {
			r.Errorf("versions: %v", numbers)
		}
		_, _, err := r.Schemas.Versions(r.Context(), "default", "none", 0, 2)
		r.refused(err, fault.NotFound)
	})
}

func TestInvalidSchemasAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70)
	everywhere(t, ports.Config{}, func(r *rig) {
		for name, c := range map[string]struct {
			schema string
			reason fault.Reason
		}{
			"no JSON":            {`{"type":`, fault.InvalidJSON},
			"nothing":            {``, fault.InvalidJSON},
			"a key twice":        {`{"type":"object","type":"array"}`, fault.InvalidJSON},
			"not UTF-8":          {"{\"title\":\"\xff\"}", fault.InvalidJSON},
			"too deep":           {deep, fault.InvalidJSON},
			"too long":           {`{"title":"` + strings.Repeat("x", 1<<20) + `"}`, fault.TooLarge},
			"a number":           {`1`, fault.InvalidSchema},
			"an unknown type":    {`{"type":"strin"}`, fault.InvalidSchema},
			"a bad keyword":      {`{"minLength":"1"}`, fault.InvalidSchema},
			"a bad pattern":      {`{"pattern":"("}`, fault.InvalidSchema},
			"a remote ref":       {`{"$ref":"https://example.com/schema.json"}`, fault.InvalidSchema},
			"a file":             {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, fault.InvalidSchema},
			"another document":   {`{"$id":"https://example.com/a","$ref":"b.json#/x"}`, fault.InvalidSchema},
			"a dangling ref":     {`{"$ref":"#/$defs/none"}`, fault.InvalidSchema},
			"an unknown draft":   {`{"$schema":"https://example.com/draft-99"}`, fault.InvalidSchema},
			"a ref to itself":    {`{"$ref":"#"}`, fault.InvalidSchema},
			"a circle of refs":   {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, fault.InvalidSchema},
			"a remote recursive": {`{"$dynamicRef":"http://127.0.0.1:1/x#m"}`, fault.InvalidSchema},
		} {
			_, _, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Text: []byte(c.schema)})
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%s: answered %q (%v), want %q", name, got, err, c.reason)
			}
		}
		for _, name := range []string{"", " x", "x ", "a\nb", "\x00", strings.Repeat("x", 257), "\xff"} {
			_, _, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: name, Text: []byte(anything)})
			if got := fault.ReasonOf(err); got != fault.InvalidRequest {
				r.Errorf("the name %q: answered %v", name, err)
			}
		}
		_, err := r.Schemas.Get(r.Context(), "default", "s", 0)
		r.refused(err, fault.NotFound)
	})
}

// A schema whose judgement grows with every level must not stop the service: it is
// refused, when it is registered or for the data that it cannot judge.
func TestSchemaBombsDoNotExplode(t *testing.T) {
	t.Parallel()
	doubling := func(keyword string) string {
		var defs strings.Builder
		for i := range 60 {
			fmt.Fprintf(&defs, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + defs.String() + `"d60":{"type":"integer"}}}`
	}
	everywhere(t, ports.Config{}, func(r *rig) {
		for name, schema := range map[string]string{
			"allOf": doubling("allOf"), "anyOf": doubling("anyOf"), "oneOf": doubling("oneOf"),
			"pattern": `{"pattern":"^(a+)+$"}`,
		} {
			if _, _, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: name, Text: []byte(schema)}); err != nil {
				r.refused(err, fault.InvalidSchema)
				continue
			}
			_, err := r.Creator.Create(r.Context(), operator, writes.NewState{Schema: name, Data: []byte(`"` + strings.Repeat("a", 1000) + `!"`)})
			r.refused(err, fault.SchemaViolation)
		}
	})
}

// S6.5: a repeat answers the version that the first request made, whatever was
// registered since.
func TestRegisteringAgainWithAKey(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		register := func(a *app.App, text, key string) (*schemas.Schema, bool, error) {
			return a.Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Text: []byte(text), IdempotencyKey: key})
		}
		first, _, err := register(r.App, `{"minimum":1}`, "k")
		if err != nil {
			r.Fatal(err)
		}
		r.schema("s", `{"minimum":2}`)
		again, created, err := register(r.replicas(1)[0], `{"minimum":1}`, "k")
		if err != nil || !created || again.Number != 1 || again.ID != first.ID {
			r.Errorf("the repeat is version %d, %v", again.Number, err)
		}
		_, _, err = register(r.App, `{"minimum":3}`, "k")
		r.refused(err, fault.IdempotencyMismatch)

		// The answer got lost.
		lost := r.faulty(storetest.Nth(1, storetest.FailedButApplied))
		_, _, err = register(lost, `{"minimum":4}`, "k4")
		r.refused(err, fault.CommitUncertain)
		if again, _, err = register(lost, `{"minimum":4}`, "k4"); err != nil || again.Number != 3 {
			r.Errorf("the repeat is %+v, %v", again, err)
		}

		// The repeat overtakes the first request, and others come in between.
		overtaken := r.before(puts("schema"), func() {
			if _, _, err := register(r.App, `{"minimum":5}`, "k5"); err != nil {
				r.Error(err)
			}
		})
		late, _, err := register(overtaken, `{"minimum":5}`, "k5")
		stored, failed := r.Schemas.Get(r.Context(), "default", "s", 0)
		if err != nil || failed != nil || late.Number != 4 || late.ID != stored.ID {
			r.Errorf("the overtaken request is told %+v, %v; stored is %+v", late, err, stored)
		}
	})
}

func TestReplicasRegisterOneName(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		const writers = 12
		replicas := r.replicas(3)
		numbers := make([]int64, writers)
		var group sync.WaitGroup
		for i := range writers {
			group.Go(func() {
				for {
					v, created, err := replicas[i%3].Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Text: fmt.Appendf(nil, `{"minimum":%d}`, i), IdempotencyKey: fmt.Sprint(i)})
					if fault.ReasonOf(err) == fault.VersionConflict {
						continue
					}
					if err != nil || !created {
						r.Errorf("writer %d: created %t, %v", i, created, err)
						return
					}
					numbers[i] = v.Number
					return
				}
			})
		}
		group.Wait()
		seen := map[int64]bool{}
		for i, number := range numbers {
			v, err := r.Schemas.Get(r.Context(), "default", "s", number)
			if err != nil || seen[number] || number > writers || string(v.Text) != fmt.Sprintf(`{"minimum":%d}`, i) {
				r.Errorf("writer %d was told version %d, which is %+v, %v", i, number, v, err)
			}
			seen[number] = true
		}

		// The same content at once is one version.
		var versions sync.Map
		for i := range writers {
			group.Go(func() {
				v, _, err := replicas[i%3].Schemas.Register(r.Context(), operator, schemas.Registration{Name: "same", Text: []byte(anything)})
				if err != nil {
					r.Error(err)
					return
				}
				versions.Store(v.ID, v.Number)
			})
		}
		group.Wait()
		versions.Range(func(id, number any) bool {
			if v, err := r.Schemas.Get(r.Context(), "default", "same", 0); err != nil || v.ID != id || number != int64(1) {
				r.Errorf("a writer was told %v, version %v", id, number)
			}
			return true
		})
	})
}

// put changes the catalog as an application of a set does.
func (r *rig) put(edit func(*catalog.Text)) {
	r.Helper()
	c, err := catalog.Read(r.Context(), r.store, "default")
	if err != nil {
		r.Fatal(err)
	}
	text := c.Edit()
	edit(&text)
	put, err := c.Put("default", &text)
	if err == nil {
		_, err = r.store.Commit(r.Context(), store.Batch{Puts: []store.Put{put}})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// S26.1, S26.2, S26.8: a staged version is nobody's until its set is applied; a retired schema has no new states; and a version that
// is registered by hand is live, unless a signed set has the schema.
func TestStagedSchemas(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		register := func(text string, staged bool) *schemas.Schema {
			r.Helper()
			v, _, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Text: []byte(text), Staged: staged})
			if err != nil {
				r.Fatal(err)
			}
			return v
		}
		stateOf := func(version int64) (int64, error) {
			st, err := r.Creator.Create(r.Context(), operator, writes.NewState{Schema: "s", SchemaVersion: version, Data: []byte(`3`)})
			if err != nil {
				return 0, err
			}
			return st.SchemaVersion, nil
		}
		// at compares what all reads say of the live version.
		at := func(want int64, retired bool) {
			r.Helper()
			v, err := r.Schemas.Get(r.Context(), "default", "s", 0)
			if err != nil || v.Number != want || v.Live != want || (v.Retired != nil) != retired {
				r.Fatalf("live is %+v, %v, want %d", v, err, want)
			}
			all, _, err := r.replicas(1)[0].Schemas.List(r.Context(), "default", "", 10)
			if err != nil || len(all) != 1 || all[0].Number != want || (all[0].Retired != nil) != retired {
				r.Fatalf("listed is %+v, %v, want %d", all, err, want)
			}
			versions, _, err := r.Schemas.Versions(r.Context(), "default", "s", 0, 1)
			if err != nil || versions[0].Live != want {
				r.Fatalf("versions are %+v, %v, want %d", versions, err, want)
			}
			number, err := stateOf(0)
			if retired {
				r.refused(err, fault.FailedPrecondition)
				_, err = stateOf(want)
				r.refused(err, fault.FailedPrecondition)
				return
			}
			if err != nil || number != want {
				r.Fatalf("a new state has version %d, %v, want %d", number, err, want)
			}
		}
		if v := register(`{"maximum":10}`, true); v.Number != 1 || v.Live != 0 {
			t.Fatalf("%+v", v)
		}
		_, err := r.Schemas.Get(r.Context(), "default", "s", 0)
		r.refused(err, fault.NotFound)
		_, err = stateOf(0)
		r.refused(err, fault.NotFound)
		if v := register(`{"maximum":10}`, true); v.Number != 1 {
			t.Fatalf("the same staged again is version %d", v.Number)
		}
		r.put(func(c *catalog.Text) { c.Schemas["s"] = catalog.Place{Live: 1, AsOf: 1} })
		at(1, false)
		if v := register(`{"maximum":20}`, true); v.Number != 2 || v.Live != 1 {
			t.Fatalf("%+v", v)
		}
		at(1, false)
		if v := register(`{"maximum":20}`, false); v.Number != 3 || v.Live != 3 {
			t.Fatalf("registered is %+v", v)
		}
		at(3, false)
		kept, err := r.Creator.Create(r.Context(), operator, writes.NewState{Schema: "s", Data: []byte(`4`)})
		if err != nil {
			t.Fatal(err)
		}
		r.put(func(c *catalog.Text) {
			c.Schemas["s"] = catalog.Place{Live: 3, AsOf: 3, Retired: &catalog.Retirement{At: r.clock.Now(), By: "olga", Reason: "it is no longer in set gov"}}
		})
		at(3, true)
		register(`{"maximum":30}`, true)
		at(3, true)
		r.update(operator, writes.Update{StateID: kept.Key.ID, Data: []byte(`5`)})
		if v := register(`{"maximum":20}`, false); v.Number != 5 || v.Retired != nil {
			t.Fatalf("registered after the retirement is %+v", v)
		}
		at(5, false)
		r.put(func(c *catalog.Text) {
			c.Sets["gov"] = catalog.Set{Version: 1, Bundle: "abc", Objects: map[catalog.Object]catalog.Status{{Kind: catalog.Schema, Name: "s"}: {Version: 5}}}
		})
		_, _, err = r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: "s", Text: []byte(`{"maximum":40}`)})
		r.refused(err, fault.FailedPrecondition)
		if v := register(`{"maximum":40}`, true); v.Number != 6 || v.Live != 5 {
			t.Fatalf("staged of a signed set is %+v", v)
		}
	})
}

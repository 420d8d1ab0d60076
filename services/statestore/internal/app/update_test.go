package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

func replace(id, data string) writes.Update { return writes.Update{StateID: id, Data: []byte(data)} }

func patch(id, ops string) writes.Update { return writes.Update{StateID: id, Patch: []byte(ops)} }

func merge(id, data string) writes.Update { return writes.Update{StateID: id, Merge: []byte(data)} }

// S10.3, S10.4: what a change leaves is exact, in its numbers and the order of its
// keys, and every change is a version, also one that changes nothing.
func TestUpdatesAreExact(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{"z":1.0,"a":9007199254740993,"e":1E+30}`).Key.ID
		if got := r.read(id).Data.String(); got != `{"z":1.0,"a":9007199254740993,"e":1E+30}` {
			r.Errorf("created %s", got)
		}
		version := int64(1)
		for _, step := range []struct {
			name   string
			update writes.Update
			want   string
		}{
			{"replace", replace(id, ` {"b" : 1.10, "a": -0, "big": 12345678901234567890123, "tiny":1e-7} `), `{"b":1.10,"a":-0,"big":12345678901234567890123,"tiny":1e-7}`},
			{"the same in another order", replace(id, `{"a":0,"b":1.1}`), `{"a":0,"b":1.1}`},
			{"the same number otherwise", replace(id, `{"a":0e0,"b":1.10}`), `{"a":0e0,"b":1.10}`},
			{"nothing new", replace(id, `{"a":0e0,"b":1.10}`), `{"a":0e0,"b":1.10}`},
			{"an empty patch", patch(id, `[]`), `{"a":0e0,"b":1.10}`},
			{"a test only", patch(id, `[{"op":"test","path":"/b","value":1.1}]`), `{"a":0e0,"b":1.10}`},
			{"all operations", patch(id, `[{"op":"test","path":"/a","value":0},{"op":"add","path":"/l","value":[3,1]},{"op":"copy","from":"/l/0","path":"/l/-"},`+
				`{"op":"move","from":"/b","path":"/l/0"},{"op":"replace","path":"/a","value":{"x/y~":true}},{"op":"remove","path":"/a/x~1y~0"}]`), `{"a":{},"l":[1.10,3,1,3]}`},
			{"an empty merge", merge(id, `{}`), `{"a":{},"l":[1.10,3,1,3]}`},
			{"a merge", merge(id, `{"l":null,"k":{"m":null,"n":2.50},"a":{"b":"é\u0001<"}}`), `{"a":{"b":"é\u0001<"},"k":{"n":2.50}}`},
			{"a merge of no object", merge(id, `[1]`), `[1]`},
			{"a patch of the whole", patch(id, `[{"op":"replace","path":"","value":"text"}]`), `"text"`},
			{"null", replace(id, `null`), `null`},
		} {
			st := r.update(operator, step.update)
			version++
			if got := st.Data.String(); got != step.want || st.Version != version {
				r.Errorf("%s: answered version %d with %s, want version %d with %s", step.name, st.Version, got, version, step.want)
			}
			if got := r.read(id); got.Data.String() != step.want || got.Version != version {
				r.Errorf("%s: stored version %d with %s", step.name, got.Version, got.Data)
			}
		}
	})
}

// S10.2, S10.3: what is refused changes nothing.
func TestRefusedUpdatesChangeNothing(t *testing.T) {
	t.Parallel()
	bomb := `[{"op":"add","path":"/log","value":["` + strings.Repeat("x", 1000) + `"]}` +
		strings.Repeat(`,{"op":"copy","from":"/log","path":"/log/-"}`, 40) + `]`
	costly := `[{"op":"add","path":"/log","value":[` + strings.Repeat(`0,`, 100_000) + `0]}` +
		strings.Repeat(`,{"op":"move","from":"/log/0","path":"/log/-"}`, 5000) + `]`
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", counter, `{"n":1,"log":[]}`)
		id := st.Key.ID
		st = r.update(operator, merge(id, `{"n":2}`))
		r.state("stranger", anything, `{}`)
		r.session(opening.Request{Name: "ended", Parent: "root", Skip: true})
		r.stop("ended", session.Stop{})
		at := func(u writes.Update, expected int64) writes.Update { u.Expected = expected; return u }
		for name, c := range map[string]struct {
			caller ports.Caller
			update writes.Update
			reason fault.Reason
		}{
			"no change":              {operator, writes.Update{StateID: id}, fault.InvalidRequest},
			"empty data":             {operator, writes.Update{StateID: id, Data: []byte{}}, fault.InvalidJSON},
			"cut off":                {operator, replace(id, `{"n":`), fault.InvalidJSON},
			"more after it":          {operator, replace(id, `{"n":1} {"n":1}`), fault.InvalidJSON},
			"NaN":                    {operator, replace(id, `{"n":NaN}`), fault.InvalidJSON},
			"Infinity":               {operator, merge(id, `{"n":Infinity}`), fault.InvalidJSON},
			"beyond a float":         {operator, replace(id, `{"n":1e999}`), fault.InvalidJSON},
			"a lone surrogate":       {operator, replace(id, `{"n":1,"log":["\ud800"]}`), fault.InvalidJSON},
			"a lone low surrogate":   {operator, patch(id, `[{"op":"add","path":"/log/-","value":"\udc00x"}]`), fault.InvalidJSON},
			"not UTF-8":              {operator, replace(id, "{\"n\":1,\"log\":[\"\xff\"]}"), fault.InvalidJSON},
			"a key twice":            {operator, replace(id, `{"n":1,"\u006e":2}`), fault.InvalidJSON},
			"65 levels":              {operator, replace(id, strings.Repeat(`[`, 65)+strings.Repeat(`]`, 65)), fault.InvalidJSON},
			"violates":               {operator, replace(id, `{"n":101}`), fault.SchemaViolation},
			"another type":           {operator, replace(id, `[]`), fault.SchemaViolation},
			"takes what is required": {operator, patch(id, `[{"op":"remove","path":"/n"}]`), fault.SchemaViolation},
			"merges it away":         {operator, merge(id, `{"n":null}`), fault.SchemaViolation},
			"one key more":           {operator, merge(id, `{"m":1}`), fault.SchemaViolation},
			"no patch":               {operator, patch(id, `{"op":"test"}`), fault.InvalidJSON},
			"an unknown operation":   {operator, patch(id, `[{"op":"insert","path":"/n","value":1}]`), fault.InvalidJSON},
			"a bad pointer":          {operator, patch(id, `[{"op":"add","path":"n","value":1}]`), fault.InvalidJSON},
			"no value":               {operator, patch(id, `[{"op":"add","path":"/n"}]`), fault.InvalidJSON},
			"a test that fails last": {operator, patch(id, `[{"op":"replace","path":"/n","value":9},{"op":"test","path":"/n","value":8}]`), fault.PatchFailed},
			"nothing there":          {operator, patch(id, `[{"op":"replace","path":"/x/y","value":9}]`), fault.PatchFailed},
			"beyond the end":         {operator, patch(id, `[{"op":"add","path":"/log/1","value":9}]`), fault.PatchFailed},
			"into itself":            {operator, patch(id, `[{"op":"move","from":"/log","path":"/log/0"}]`), fault.PatchFailed},
			"doubling":               {operator, patch(id, bomb), fault.TooLarge},
			"too much work":          {operator, patch(id, costly), fault.PatchFailed},
			"too many operations":    {operator, patch(id, `[`+strings.Repeat(`{"op":"test","path":"","value":1},`, 10_000)+`{"op":"test","path":"","value":1}]`), fault.InvalidJSON},
			"an old version":         {operator, at(merge(id, `{"n":3}`), 1), fault.VersionConflict},
			"a version to come":      {operator, at(patch(id, `[]`), 3), fault.VersionConflict},
			"no such state":          {operator, merge("wfstate_none", `{}`), fault.NotFound},
			"no state named":         {operator, merge("", `{}`), fault.InvalidRequest},
			"no session named":       {agent(""), merge(id, `{"n":3}`), fault.SessionRequired},
			"an unknown session":     {agent("nobody"), merge(id, `{"n":3}`), fault.PermissionDenied},
			"another tree":           {agent("stranger"), merge(id, `{"n":3}`), fault.PermissionDenied},
			"a session that ended":   {agent("ended"), merge(id, `{"n":3}`), fault.SessionEnded},
			"never locked":           {operator, writes.Update{StateID: id, Merge: []byte(`{"n":3}`), Token: 7}, fault.Fenced},
		} {
			_, err := r.Editor.Update(r.Context(), c.caller, c.update)
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%s: answered %q (%.300v), want %q", name, got, err, c.reason)
			}
			if c.reason == fault.VersionConflict && fault.From(err).Metadata["current_version"] != "2" {
				r.Errorf("%s: the current version is not told: %+v", name, fault.From(err).Metadata)
			}
		}
		r.unchanged(st)
	})
}

// S10.2: the limit is exact, however the document gets there.
func TestSizeLimitIsExact(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1 << 20, 4096} {
		text := func(size int) string { return `{"n":"` + strings.Repeat("x", size-len(`{"n":""}`)) + `"}` }
		value := func(size int) string { return strings.TrimSuffix(strings.TrimPrefix(text(size), `{"n":`), `}`) }
		cfg := ports.Config{MaxStateBytes: limit}
		if limit == 1<<20 {
			cfg.MaxStateBytes = 0 // the default
		}
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			everywhere(t, cfg, func(r *rig) {
				r.schema("s", anything)
				_, err := r.Creator.Create(r.Context(), operator, writes.NewState{Schema: "s", Data: []byte(text(limit + 1))})
				r.refused(err, fault.TooLarge)
				st := r.state("root", anything, text(limit))
				id := st.Key.ID
				grown := strings.Repeat("x", limit/2)
				for _, change := range []func(size int) writes.Update{
					func(size int) writes.Update { return replace(id, text(size)) },
					func(size int) writes.Update {
						return patch(id, `[{"op":"replace","path":"/n","value":`+value(size)+`}]`)
					},
					func(size int) writes.Update { return patch(id, `[{"op":"add","path":"","value":`+text(size)+`}]`) },
					func(size int) writes.Update { return merge(id, text(size)) },
					func(size int) writes.Update { // in two steps, of which each is small
						rest := strings.Repeat("y", size-len(`{"n":"","m":""}`)-len(grown))
						return patch(id, `[{"op":"add","path":"","value":{"n":"`+grown+`"}},{"op":"add","path":"/m","value":"`+rest+`"}]`)
					},
				} {
					_, err := r.Editor.Update(r.Context(), operator, change(limit+1))
					r.refused(err, fault.TooLarge)
					r.unchanged(st)
					if st, err = r.Editor.Update(r.Context(), operator, change(limit)); err != nil {
						r.Fatalf("to the limit: %v", err)
					}
					if got := len(st.Data.String()); got != limit {
						r.Errorf("the document has %d bytes", got)
					}
					r.unchanged(st)
				}
				// Blanks count in the text of a request, not in the document.
				st = r.update(operator, merge(id, `{"n":null,"m":null, "k" : [ 1 , 2 ] }`))
				if got := st.Data.String(); got != `{"k":[1,2]}` {
					r.Errorf("the document is %s", got)
				}
			})
		})
	}
}

// A document as deep as may be is kept, changed and read from history.
func TestDeepestDocument(t *testing.T) {
	t.Parallel()
	deep := func(inner string, levels int) string {
		return strings.Repeat(`[`, levels) + inner + strings.Repeat(`]`, levels)
	}
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, deep(``, 64)).Key.ID
		r.update(operator, replace(id, deep(`1`, 64)))
		r.update(operator, replace(id, `0`))
		r.update(operator, patch(id, `[{"op":"replace","path":"","value":`+deep(`2`, 64)+`}]`))
		r.update(operator, patch(id, `[{"op":"replace","path":"`+strings.Repeat("/0", 64)+`","value":3}]`))
		_, err := r.Editor.Update(r.Context(), operator, patch(id, `[{"op":"replace","path":"`+strings.Repeat("/0", 64)+`","value":[]}]`))
		r.refused(err, fault.PatchFailed)
		for version, want := range []string{deep(``, 64), deep(`1`, 64), `0`, deep(`2`, 64), deep(`3`, 64)} {
			if got := r.readAt(id, int64(version+1)).Data.String(); got != want {
				r.Errorf("version %d is %s", version+1, got)
			}
		}
	})
}

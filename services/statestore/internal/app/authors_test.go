package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// TestAuthors: each value has the session that wrote it last, over whole documents of the
// history, by a replica that knows an earlier version and by one that knows none.
func TestAuthors(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.schema("any", `{}`)
		st, err := r.Creator.Create(r.Context(), as("root"), writes.NewState{Schema: "any", Data: []byte(`{"list": [], "n": 0, "first": true}`)})
		if err != nil {
			r.Fatal(err)
		}
		id := st.Key.ID
		r.session(opening.Request{Name: "one", Parent: "root"})
		patch := func(who, text string) {
			r.update(as(who), writes.Update{StateID: id, Patch: []byte(text)})
		}
		told := func(a *app.App, version int64, pointers ...string) string {
			r.Helper()
			of, found, partial, err := a.States.Authors(r.Context(), operator, id, version, pointers)
			if err != nil || partial {
				r.Fatalf("version %d: partial %t, %v", version, partial, err)
			}
			text := []string{fmt.Sprint(of)}
			for _, f := range found {
				text = append(text, fmt.Sprintf("%s=%d/%s", f.Pointer, f.Version, f.SessionName))
			}
			return strings.Join(text, " ")
		}
		if got := told(r.App, 0); got != "1 /list=1/root /n=1/root /first=1/root" {
			r.Errorf("the first version: %s", got)
		}
		patch("one", `[{"op":"add","path":"/list/-","value":"a"}]`)
		for i := range 150 {
			patch("root", fmt.Sprintf(`[{"op":"replace","path":"/n","value":%d}]`, i+1))
		}
		patch("root", `[{"op":"add","path":"/list/0","value":"b"}]`)
		r.update(as("one"), writes.Update{StateID: id, Data: []byte(`{"list": ["b", "a", "c"], "n": 150, "first": true}`)})
		const want = "154 /list/0=153/root /list/1=2/one /list/2=154/one /n=152/root /first=1/root"
		for name, a := range map[string]*app.App{"one that has been asked": r.App, "another": r.replica(r.store)} {
			for range 2 {
				if got := told(a, 0); got != want {
					r.Errorf("%s says %s, want %s", name, got, want)
				}
			}
			if got := told(a, 140, "/list", "/n"); got != "140 /list/0=2/one /n=140/root" {
				r.Errorf("%s says of version 140: %s", name, got)
			}
		}
		if _, _, _, err := r.States.Authors(r.Context(), operator, id, 999, nil); fault.ReasonOf(err) != fault.NotFound {
			r.Errorf("of a version that there is not: %v", err)
		}
	})
}

// Who wrote what is found out by reading each change once, and each whole document.
func TestAuthorsReadOnce(t *testing.T) {
	t.Parallel()
	const size, patches = 100 << 10, 130
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{"n":0,"text":"`+strings.Repeat("x", size)+`"}`)
		for n := range patches {
			r.update(operator, patch(st.Key.ID, fmt.Sprintf(`[{"op":"replace","path":"/n","value":%d}]`, n)))
		}
		reader := &weighed{Store: r.store}
		if _, found, partial, err := r.replica(reader).States.Authors(r.Context(), operator, st.Key.ID, 0, nil); len(found) != 2 || partial || err != nil {
			r.Fatalf("%d found, partial %t, %v", len(found), partial, err)
		}
		// The document, three whole ones in its history, and small patches.
		if read := reader.read.Load(); read > 5*size {
			r.Errorf("it reads %d bytes of a document of %d", read, size)
		}
	})
}

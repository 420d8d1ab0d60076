package app_test

import (
	"fmt"
	rand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// author changes one state in every way there is, and remembers what was
// acknowledged as each version.
type author struct {
	*rig
	id       string
	random   *rand.Rand
	replicas []*app.App

	mu    sync.Mutex
	acked map[int64]*states.State
}

func newAuthor(r *rig) *author {
	w := &author{rig: r, random: randtest.New(r, 1), replicas: r.replicas(3), acked: map[int64]*states.State{}}
	first := r.state("root", anything, `{"list":[],"n":0}`)
	r.session(opening.Request{Name: "child", Parent: "root", Skip: true})
	w.id, w.acked[1] = first.Key.ID, first
	return w
}

// change is the nth one.
func (w *author) change(n int) writes.Update {
	switch n % 7 {
	case 0:
		return replace(w.id, fmt.Sprintf(`{"n":%d.0,"list":[{"by":%d}]}`, n, n))
	case 1:
		return replace(w.id, fmt.Sprintf(`{"list":[{"by":%d}],"n":%d}`, n-1, n)) // in another order
	case 2:
		return merge(w.id, fmt.Sprintf(`{"k%d":{"deep":[1,2,{"x":%d}]},"n":%de0}`, n%5, n, n))
	case 3:
		return patch(w.id, fmt.Sprintf(`[{"op":"add","path":"/list/-","value":%d}]`, n))
	case 4:
		return patch(w.id, `[{"op":"copy","from":"/list","path":"/again"},{"op":"remove","path":"/list/0"}]`)
	case 5:
		return writes.Update{StateID: w.id, Migrate: true}
	default:
		return patch(w.id, `[]`)
	}
}

// write makes a change by some session through some replica.
func (w *author) write(u writes.Update) {
	w.mu.Lock()
	caller := []ports.Caller{operator, as("root"), agent("child")}[w.random.IntN(3)]
	replica := w.replicas[w.random.IntN(3)]
	w.mu.Unlock()
	st, err := replica.Editor.Update(w.Context(), caller, u)
	if fault.ReasonOf(err) == fault.PatchFailed {
		return // concurrent changes have taken what it is about
	}
	if err != nil {
		w.Errorf("update: %v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acked[st.Version] != nil {
		w.Errorf("version %d was acknowledged twice", st.Version)
	}
	w.acked[st.Version] = st
}

// check demands that each version from oldest on is read as it was acknowledged,
// through a replica that knows nothing.
func (w *author) check(oldest int64) {
	w.Helper()
	fresh := w.replica(w.open())
	for version := int64(1); version <= int64(len(w.acked)); version++ {
		want := w.acked[version]
		got, _, err := fresh.States.Get(w.Context(), operator, w.id, version, nil)
		if version < oldest {
			w.refused(err, fault.NotFound)
			continue
		}
		if err != nil || got.Version != version || got.Data.String() != want.Data.String() || !got.UpdatedAt.Equal(want.UpdatedAt) ||
			got.UpdatedBy != want.UpdatedBy || got.SchemaVersion != want.SchemaVersion || got.SchemaID != want.SchemaID {
			w.Fatalf("version %d reads %+v, %v; acknowledged was %+v", version, got, err, want)
		}
	}
	for _, version := range []int64{-1, int64(len(w.acked)) + 1} {
		_, _, err := fresh.States.Get(w.Context(), operator, w.id, version, nil)
		w.refused(err, fault.NotFound)
	}
	w.checkHistory(oldest)
}

// checkHistory demands that the patches of the history lead from each version to
// the next (S10.6).
func (w *author) checkHistory(oldest int64) {
	w.Helper()
	data := document.NullValue()
	next := oldest
	for after := int64(0); ; {
		page, more, err := w.States.History(w.Context(), operator, w.id, after, 50)
		if err != nil {
			w.Fatal(err)
		}
		for _, c := range page {
			want := w.acked[next]
			if c.Version != next || !c.At.Equal(want.UpdatedAt) || c.Actor != "olga" && c.Actor != "amir" || c.SchemaVersion != want.SchemaVersion {
				w.Fatalf("the entry of version %d is %+v", next, c)
			}
			if by := c.SessionName; by != want.UpdatedBy && (by != "" || c.Actor != want.UpdatedBy) || by != "" && c.SessionID != w.member(by).ID {
				w.Errorf("version %d was made by %q (%q, %q)", next, want.UpdatedBy, by, c.SessionID)
			}
			if next == oldest && oldest > 1 {
				data = want.Data
			} else {
				changes, problems := document.ParsePatch(c.Patch, document.PatchLimits{})
				if problems.HasErrors() {
					w.Fatalf("version %d: %v", next, problems.Err())
				}
				var failed *document.PatchError
				if data, failed = changes.Apply(data, document.PatchLimits{}); failed != nil {
					w.Fatalf("version %d: %v", next, failed)
				}
			}
			if data.String() != want.Data.String() {
				w.Fatalf("the patches lead to %s at version %d, acknowledged was %s", data, next, want.Data)
			}
			next++
		}
		if after = more; more == 0 {
			break
		}
	}
	if next != int64(len(w.acked))+1 {
		w.Errorf("the history ends before version %d", next)
	}
}

// S10.6: every version can be read, through several whole documents, as it was
// acknowledged.
func TestEveryVersionIsKept(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		w := newAuthor(r)
		for i := range 150 {
			r.clock.Advance(1001 * time.Microsecond)
			if i%7 == 5 {
				r.schema("of root", fmt.Sprintf(`{"title":"%d"}`, i))
			}
			w.write(w.change(i))
		}
		// Many at once share commits.
		r.clock.Advance(time.Second)
		var group sync.WaitGroup
		for i := range 120 {
			group.Go(func() { w.write(w.change(i%2 + 2)) })
		}
		group.Wait()
		if len(w.acked) < 200 {
			r.Fatalf("only %d versions", len(w.acked))
		}
		w.check(1)
	})
}

// S10.6: retention drops the oldest versions, in stretches, and keeps at least as
// many as it says.
func TestHistoryRetention(t *testing.T) {
	t.Parallel()
	const keep = 10
	everywhere(t, ports.Config{HistoryVersions: keep}, func(r *rig) {
		w := newAuthor(r)
		oldest := int64(1)
		for i := range 330 {
			w.write(w.change(i%2 + 2))
			version := int64(len(w.acked))
			if (version-keep)%64 == 0 && version > keep {
				oldest = version - keep + 1
			}
			if version%55 == 0 || version-keep == oldest || version == oldest+keep-1 {
				w.check(oldest)
			}
			if version-oldest+1 < min(version, keep) {
				r.Fatalf("at version %d the oldest is %d", version, oldest)
			}
		}
		// One commit passes several boundaries.
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() { w.write(patch(w.id, `[{"op":"add","path":"/list/-","value":0}]`)) })
		}
		group.Wait()
		w.check((int64(len(w.acked))-keep)/64*64 + 1)
	})
}

func TestReadParts(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{"a":{"b":[1,2.50,{"c~/d":null}]},"":"empty"}`)
		r.update(operator, replace(st.Key.ID, `{"a":1}`))
		got, parts, err := r.States.Get(r.Context(), agent("root"), "", 1, []string{"", "/a/b/1", "/a/b/2/c~0~1d", "/", "/a/b/-", "/a/b/01", "/x", "/a~2"})
		if err != nil || got.Version != 1 {
			r.Fatalf("%+v, %v", got, err)
		}
		var all []string
		for _, p := range parts {
			text := "-"
			if p.Found {
				text = p.Value.String()
			}
			all = append(all, p.Pointer+"="+text)
		}
		want := `=` + st.Data.String() + ` /a/b/1=2.50 /a/b/2/c~0~1d=null /="empty" /a/b/-=- /a/b/01=- /x=- /a~2=-`
		if diff := strings.Join(all, " "); diff != want {
			r.Errorf("parts %s\nwant  %s", diff, want)
		}
		_, _, err = r.States.Get(r.Context(), operator, st.Key.ID, 0, []string{"/a", "a"})
		if f := r.refused(err, fault.InvalidRequest); len(f.Violations) != 1 || f.Violations[0].Pointer != "/pointers/1" {
			r.Errorf("violations: %+v", f.Violations)
		}
		for caller, reason := range map[ports.Caller]fault.Reason{
			operator: fault.InvalidRequest, agent(""): fault.SessionRequired, agent("nobody"): fault.PermissionDenied,
		} {
			_, _, err := r.States.Get(r.Context(), caller, "", 0, nil)
			r.refused(err, reason)
		}
		r.session(opening.Request{Name: "alone"})
		_, _, err = r.States.Get(r.Context(), agent("alone"), "", 0, nil)
		r.refused(err, fault.NotFound)
	})
}

// Pages of a history end before an answer grows too large.
func TestHistoryPagesAreBounded(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `0`).Key.ID
		for i := range 5 {
			r.update(operator, replace(id, fmt.Sprintf(`["%d%s"]`, i, strings.Repeat("x", 1<<20-100))))
		}
		var versions []int64
		pages := 0
		for after := int64(0); ; pages++ {
			page, next, err := r.States.History(r.Context(), operator, id, after, 100)
			if err != nil || len(page) == 0 || len(page) > 3 {
				r.Fatalf("a page of %d, %v", len(page), err)
			}
			for _, c := range page {
				versions = append(versions, c.Version)
			}
			if after = next; next == 0 {
				break
			}
		}
		if fmt.Sprint(versions) != "[1 2 3 4 5 6]" || pages < 2 {
			r.Errorf("%d pages with %v", pages, versions)
		}
		if page, next, err := r.States.History(r.Context(), operator, id, 6, 10); err != nil || len(page) != 0 || next != 0 {
			r.Errorf("after the last: %d, %d, %v", len(page), next, err)
		}
	})
}

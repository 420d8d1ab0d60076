package app_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// writing is one change of a state by one of many writers.
type writing struct {
	writer, n, replica int
	version            int64
}

// S10.3: writers without expected_version lose nothing, whatever the replica.
func TestManyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	const writers, each = 64, 30
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", `{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}}`, `{"list":[]}`).Key.ID
		replicas := r.replicas(3)
		all := make([][]writing, writers)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for n := range each {
					st, err := replicas[w%3].Editor.Update(r.Context(), operator, patch(id, fmt.Sprintf(`[{"op":"add","path":"/list/-","value":"%d.%d"}]`, w, n)))
					if err != nil {
						r.Errorf("writer %d: %v", w, err)
						return
					}
					all[w] = append(all[w], writing{w, n, w % 3, st.Version})
				}
			})
		}
		group.Wait()
		order := slices.SortedFunc(slices.Values(slices.Concat(all...)), func(a, b writing) int { return int(a.version - b.version) })
		final := r.read(id)
		list, _ := final.Data.Get("list")
		if final.Version != writers*each+1 || list.Len() != writers*each || len(order) != writers*each {
			r.Fatalf("%d elements at version %d after %d acknowledgements", list.Len(), final.Version, len(order))
		}
		// Each version is one element, and each element is once.
		for i, w := range order {
			if want := fmt.Sprintf("%d.%d", w.writer, w.n); w.version != int64(i+2) || list.Index(i).Str() != want {
				r.Fatalf("acknowledgement %d is version %d with %s; the element is %s", i, w.version, want, list.Index(i).Str())
			}
		}
		next := int64(1)
		for after := int64(0); next <= final.Version; {
			entries, more, err := r.States.History(r.Context(), operator, id, after, 1000)
			if err != nil || len(entries) == 0 {
				r.Fatalf("history after %d: %d entries, %v", after, len(entries), err)
			}
			for _, entry := range entries {
				if entry.Version != next {
					r.Fatalf("the history goes from version %d to %d", next-1, entry.Version)
				}
				next++
			}
			after = more
		}
		r.fair(order, writers)
	})
}

// fair demands that the writers of one replica get on alike: as each has one change
// under way, and who came first is served first, none gets far behind another.
func (r *rig) fair(order []writing, writers int) {
	const lag = 15 // turns that a writer may miss while it is not scheduled
	progress := make([]int, writers)
	for _, w := range order {
		progress[w.writer]++
		for other := w.replica; other < writers; other += 3 {
			if behind := progress[w.writer] - progress[other]; behind > lag {
				r.Errorf("at version %d writer %d is %d changes behind writer %d", w.version, other, behind, w.writer)
				return
			}
		}
	}
}

// line is a replica where a commit is held up, so that edits queue behind it in a
// known order.
type line struct {
	*rig
	replica *app.App
	id      string
	commits int
	first   chan struct{} // closed when the commit that is held up is under way
	release func()
	waiting int
	group   sync.WaitGroup
	held    fault.Reason // what the update that is held up must answer
}

func (r *rig) line(id string) *line {
	l := &line{rig: r, id: id, first: make(chan struct{})}
	open := make(chan struct{})
	l.release = sync.OnceFunc(func() { close(open) })
	r.Cleanup(l.release)
	l.replica = r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
		if puts("state")(batch) {
			if l.commits++; l.commits == 1 { // of one state there is one commit at a time
				close(l.first)
				<-open
			}
		}
		return storetest.Healthy
	})
	l.group.Go(func() {
		if _, err := l.replica.Editor.Update(r.Context(), operator, merge(id, `{"held":1}`)); fault.ReasonOf(err) != l.held {
			r.Errorf("the update that is held up: %v", err)
		}
	})
	receive(r, l.first)
	return l
}

// queue lets an update wait behind the others, and answers where its outcome comes.
func (l *line) queue(ctx context.Context, caller ports.Caller, u writes.Update) <-chan result {
	l.Helper()
	done := make(chan result, 1)
	l.group.Go(func() {
		st, err := l.replica.Editor.Update(ctx, caller, u)
		done <- result{st, err}
	})
	l.waiting++
	for end := time.Now().Add(patience); l.replica.Waiting(l.id) < l.waiting; runtime.Gosched() {
		if time.Now().After(end) {
			l.Fatal("the update does not wait")
		}
	}
	return done
}

// finish lets the queue continue, and waits for its end.
func (l *line) finish() {
	l.release()
	l.group.Wait()
}

type result struct {
	state *states.State
	err   error
}

// Edits that wait are made first come first served, in as few commits as they can
// share: one idempotency key and one fencing token each.
func TestWaitingEditsShareCommits(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{"list":[]}`).Key.ID
		l := r.line(id)
		add := func(name, key string) writes.Update {
			u := patch(id, fmt.Sprintf(`[{"op":"add","path":"/list/-","value":%q}]`, name))
			u.Key = key
			return u
		}
		var outcomes []<-chan result
		names := []string{"a", "b", "k1", "c", "k2", "d", "k3", "k1"}
		for _, name := range names {
			key := ""
			if strings.HasPrefix(name, "k") {
				key = name
			}
			outcomes = append(outcomes, l.queue(r.Context(), operator, add(name, key)))
		}
		l.finish()
		// Of the keyed ones each commit takes one; the repeat gets the answer of the first.
		wants := []int64{3, 4, 5, 6, 8, 7, 9, 5}
		for i, outcome := range outcomes {
			got := <-outcome
			if got.err != nil || got.state.Version != wants[i] {
				r.Errorf("%s is version %+v, %v; want %d", names[i], got.state, got.err, wants[i])
			}
		}
		if got := r.read(id).Data.String(); got != `{"list":["a","b","k1","c","d","k2","k3"],"held":1}` {
			r.Errorf("the document is %s", got)
		}
		// The one that was held up, those of k1, k2 and k3, and the repeat of k1.
		if l.commits != 5 {
			r.Errorf("%d commits", l.commits)
		}
	})
}

// What is refused does not take what waits with it down.
func TestRefusedEditsBetweenOthers(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", `{"properties":{"n":{"maximum":10}}}`, `{"n":0}`).Key.ID
		r.state("stranger", anything, `{}`)
		l := r.line(id)
		at := func(u writes.Update, expected, token int64) writes.Update {
			u.Expected, u.Token = expected, token
			return u
		}
		var got []<-chan result
		steps := []struct {
			caller  ports.Caller
			update  writes.Update
			version int64
			reason  fault.Reason
		}{
			{operator, merge(id, `{"n":1}`), 3, ""},
			{operator, merge(id, `{"n":11}`), 0, fault.SchemaViolation},
			{operator, at(merge(id, `{"n":2}`), 3, 0), 4, ""},
			{operator, at(merge(id, `{"n":3}`), 3, 0), 0, fault.VersionConflict},
			{agent("stranger"), merge(id, `{"n":4}`), 0, fault.PermissionDenied},
			{agent("root"), patch(id, `[{"op":"test","path":"/n","value":2},{"op":"add","path":"/x","value":1}]`), 5, ""},
			{operator, patch(id, `[{"op":"test","path":"/n","value":3}]`), 0, fault.PatchFailed},
			{operator, at(merge(id, `{"n":5}`), 0, 99), 0, fault.Fenced},
			{operator, writes.Update{StateID: id, Migrate: true}, 0, fault.FailedPrecondition},
			{operator, merge(id, `{"n":6}`), 6, ""},
		}
		for _, step := range steps {
			got = append(got, l.queue(r.Context(), step.caller, step.update))
		}
		l.finish()
		for i, step := range steps {
			out := <-got[i]
			if fault.ReasonOf(out.err) != step.reason || out.err == nil && out.state.Version != step.version {
				r.Errorf("edit %d: %+v, %v; want version %d, %q", i, out.state, out.err, step.version, step.reason)
			}
		}
		if st := r.read(id); st.Version != 6 || st.Data.String() != `{"n":6,"held":1,"x":1}` {
			r.Errorf("version %d is %s", st.Version, st.Data)
		}
	})
}

// A caller that goes away while its change waits is told that it may be made; with
// its key it learns what came of it.
func TestCallerGoesAwayWhileItsEditWaits(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		l := r.line(id)
		ctx, cancel := context.WithCancel(r.Context())
		u := merge(id, `{"mine":1}`)
		u.Key = "k"
		gone := l.queue(ctx, operator, u)
		next := l.queue(r.Context(), operator, merge(id, `{"next":1}`))
		cancel()
		out := receive(r, gone)
		r.refused(out.err, fault.CommitUncertain)
		l.finish()
		if out := <-next; out.err != nil {
			r.Errorf("the next one: %v", out.err)
		}
		again, err := l.replica.Editor.Update(r.Context(), operator, u)
		if err != nil || again.Version != 3 {
			r.Errorf("the repeat: %+v, %v", again, err)
		}
		if st := r.read(id); st.Version != 4 || st.Data.String() != `{"held":1,"mine":1,"next":1}` {
			r.Errorf("version %d is %s", st.Version, st.Data)
		}
		_, err = l.replica.Editor.Update(ctx, operator, u)
		r.refused(err, fault.Cancelled)
	})
}

// What waits is bounded: the rest is told to try again, and nothing of it is made.
func TestWaitingEditsAreBounded(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		l := r.line(id)
		big := merge(id, `{"big":"`+strings.Repeat("x", 1<<20-20)+`"}`)
		var waiting []<-chan result
		for range 32 {
			waiting = append(waiting, l.queue(r.Context(), operator, big))
		}
		_, err := l.replica.Editor.Update(r.Context(), operator, big)
		if f := r.refused(err, fault.Unavailable); f.RetryAfter <= 0 {
			r.Errorf("try again when? %+v", f)
		}
		l.finish()
		for _, outcome := range waiting {
			if out := <-outcome; out.err != nil {
				r.Errorf("one that waited: %v", out.err)
			}
		}
		if _, err := l.replica.Editor.Update(r.Context(), operator, big); err != nil {
			r.Errorf("after the rush: %v", err)
		}
		if st := r.read(id); st.Version != 35 {
			r.Errorf("version %d", st.Version)
		}
	})
}

// S6.5: the same request through several replicas at once is made once.
func TestRepeatsRaceOnReplicas(t *testing.T) {
	t.Parallel()
	const keys = 40
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{"list":[]}`).Key.ID
		replicas := r.replicas(3)
		versions := make([][3]int64, keys)
		var group sync.WaitGroup
		for k := range keys {
			for i, a := range replicas {
				group.Go(func() {
					u := patch(id, fmt.Sprintf(`[{"op":"add","path":"/list/-","value":%d}]`, k))
					u.Key = fmt.Sprint(k)
					st, err := a.Editor.Update(r.Context(), operator, u)
					if err != nil {
						r.Errorf("key %d: %v", k, err)
						return
					}
					versions[k][i] = st.Version
					list, _ := st.Data.Get("list")
					if last := list.Index(list.Len() - 1).Number(); string(last) != u.Key {
						r.Errorf("key %d was answered with the document after %s", k, last)
					}
				})
			}
		}
		group.Wait()
		if st := r.read(id); st.Version != keys+1 {
			r.Errorf("version %d after %d requests", st.Version, keys)
		}
		seen := map[int64]bool{}
		for k, v := range versions {
			if v[0] != v[1] || v[1] != v[2] || seen[v[0]] {
				r.Errorf("key %d made versions %v", k, v)
			}
			seen[v[0]] = true
		}
	})
}

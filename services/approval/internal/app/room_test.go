package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// most is how many questions about calls of a run may wait.
const most = 100

// variation is one of many calls that an agent asks for.
func variation(n int) app.Question {
	q := question()
	q.Kind, q.Reuse, q.Data = consent.ToolCall, true, fmt.Appendf(nil, `{"n":%d}`, n)
	return q
}

// An agent does not drown approvers: the questions of a run that wait are bounded, and
// those that were decided make room.
func TestRoom(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		var ids []string
		for n := range most {
			got, _, err := r.Create(t.Context(), engine, variation(n))
			if err != nil {
				t.Fatalf("question %d: %v", n, err)
			}
			ids = append(ids, got.ID)
		}
		full := func(want bool, q app.Question) {
			t.Helper()
			got, _, err := r.Create(t.Context(), engine, q)
			if full := fault.ReasonOf(err) == fault.LimitReached; full != want || err != nil && !full {
				t.Fatalf("full %t, want %t: %v, %v", full, want, got, err)
			}
		}
		full(true, variation(most))
		// Those that wait are answered still, other runs have room of their own, and a run
		// waits for one transition whatever its calls do.
		full(false, variation(0))
		other := variation(most)
		other.RunID = "run_2"
		full(false, other)
		parked := variation(most)
		parked.Kind, parked.Reuse = consent.Transition, false
		got, created, err := r.Create(t.Context(), engine, parked)
		if err != nil || !created {
			t.Fatalf("a transition: created %t, %v", created, err)
		}
		full(true, variation(most))
		if _, err := r.Cancel(t.Context(), engine, got.ID, ""); err != nil {
			t.Fatal(err)
		}
		// Each that is decided makes room for one.
		r.vote(alice, ids[0], app.Vote{Approve: true})
		full(false, variation(most))
		full(true, variation(most+1))
		r.vote(alice, ids[1], app.Vote{})
		full(false, variation(most+1))
		full(true, variation(most+2))
	})
}

// What waits without a run is counted by the tree of sessions, or by who asks.
func TestRoomWithoutARun(t *testing.T) {
	t.Parallel()
	for name, asker := range map[string]consent.Asker{
		"tree":      {Principal: "agent-7", SessionID: "ses_2", RootSession: "ses_1"},
		"session":   {Principal: "agent-7", SessionID: "ses_2"},
		"principal": {Principal: "agent-7"},
	} {
		r := here(t)
		ask := func(n int, asker consent.Asker) error {
			q := variation(n)
			q.RunID, q.Asker = "", asker
			_, _, err := r.Create(t.Context(), engine, q)
			return err
		}
		for n := range most {
			if err := ask(n, asker); err != nil {
				t.Fatalf("%s: question %d: %v", name, n, err)
			}
		}
		r.refused(ask(most, asker), fault.LimitReached)
		for _, other := range []consent.Asker{{Principal: "agent-8"}, {Principal: "agent-7", SessionID: "ses_9"}} {
			if err := ask(most, other); err != nil {
				t.Errorf("%s: %+v: %v", name, other, err)
			}
		}
	}
}

// Large data take more room.
func TestRoomForLargeData(t *testing.T) {
	t.Parallel()
	r := here(t)
	long := strings.Repeat("x", app.MaxData-100)
	var err error
	asked := 0
	for ; err == nil && asked < most; asked++ {
		q := variation(0)
		q.Data = fmt.Appendf(nil, `{"n":%d,"a":%q}`, asked, long)
		_, _, err = r.Create(t.Context(), engine, q)
	}
	r.refused(err, fault.LimitReached)
	if asked < 8 || asked > 10 {
		t.Errorf("%d of a MiB each are too many", asked)
	}
}

// Callers that ask at the same moment exceed the limit by at most as many as they are,
// and nobody after them does.
func TestRoomRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const racers = 8
		for n := range most - 2 {
			if _, _, err := r.Create(t.Context(), engine, variation(n)); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error)
		apps := []*app.App{r.App, r.replica(r.open())}
		for i := range racers {
			go func() {
				_, _, err := apps[i%2].Create(t.Context(), engine, variation(most+i))
				done <- err
			}()
		}
		for range racers {
			if err := receive(t, done); err != nil {
				r.refused(err, fault.LimitReached)
			}
		}
		page, err := r.store.List(t.Context(), store.Query{
			Namespace: "default", Kind: app.KindApproval, Limit: 1000, Labels: map[string]string{"run_id": "run_1", "status": "PENDING"},
		})
		if waiting := len(page.Records); err != nil || waiting < most || waiting >= most+racers {
			t.Errorf("%d wait, %v", waiting, err)
		}
		_, _, err = r.Create(t.Context(), engine, variation(2*most))
		r.refused(err, fault.LimitReached)
	})
}

// One principal does not drown approvers by many runs; a decision makes room, and transitions
// do not count.
func TestRoomOfAPrincipal(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.quota = 3
		r.App = r.replica(r.store)
		ask := func(n int, change func(*app.Question)) (*app.Record, error) {
			q := variation(n)
			q.RunID = fmt.Sprint("run_", n)
			change(&q)
			got, _, err := r.Create(r.Context(), engine, q)
			return got, err
		}
		same := func(*app.Question) {}
		var first *app.Record
		for n := range 3 {
			got, err := ask(n, same)
			if err != nil {
				t.Fatal(err)
			}
			first = got
		}
		if _, err := ask(0, same); err != nil {
			t.Errorf("one that waits already: %v", err)
		}
		_, err := ask(3, same)
		if f := r.refused(err, fault.QuotaExceeded); !strings.Contains(f.Message, "--approvals-per-principal") {
			t.Error(f.Message)
		}
		if _, err := ask(3, func(q *app.Question) { q.Asker.Principal = "another" }); err != nil {
			t.Errorf("another's: %v", err)
		}
		if _, err := ask(4, func(q *app.Question) { q.Kind, q.Reuse = consent.Transition, false }); err != nil {
			t.Errorf("a transition: %v", err)
		}
		r.vote(alice, first.ID, app.Vote{Approve: true})
		if _, err := ask(5, same); err != nil {
			t.Errorf("after a decision: %v", err)
		}
		_, err = ask(6, same)
		r.refused(err, fault.QuotaExceeded)
	})
}

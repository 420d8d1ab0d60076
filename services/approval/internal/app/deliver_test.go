package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	signing "github.com/interlock-run/interlock/pkg/webhook"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
)

var secret = []byte("a secret of more than sixteen bytes")

// inbox is a receiver that answers what it is told to, and keeps what it gets.
type inbox struct {
	*httptest.Server
	clock *storetest.Clock

	mu     sync.Mutex
	status int
	got    []string // "type status" of each message
	ids    []string
	last   map[string]any
	bad    error
	came   chan struct{}
}

func newInbox(t *testing.T, clock *storetest.Clock) *inbox {
	t.Helper()
	in := &inbox{clock: clock, status: http.StatusNoContent, came: make(chan struct{}, 10_000)}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	in.mu.Lock()
	defer in.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	in.bad = errors.Join(in.bad, err, signing.Verify(secret, req.Header, body, in.clock.Now(), time.Nanosecond))
	var m struct {
		ID, Type string
		Approval struct{ Status string }
	}
	in.bad = errors.Join(in.bad, json.Unmarshal(body, &m), json.Unmarshal(body, &in.last))
	if m.ID != req.Header.Get(signing.HeaderID) || req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
		in.bad = errors.Join(in.bad, fmt.Errorf("%s %s of %s", req.Method, req.Header, m.ID))
	}
	in.got, in.ids = append(in.got, m.Type+" "+m.Approval.Status), append(in.ids, m.ID)
	w.Header().Set("Location", in.URL+"/elsewhere")
	w.WriteHeader(in.status)
	in.came <- struct{}{}
}

// has demands what the receiver has got, in any order, since it was asked last.
func (in *inbox) has(t *testing.T, want ...string) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	slices.Sort(in.got)
	slices.Sort(want)
	if !slices.Equal(in.got, want) || in.bad != nil {
		t.Errorf("it has got %q, %v, want %q", in.got, in.bad, want)
	}
	in.got = nil
}

func (in *inbox) answers(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

func receivers(t *testing.T, urls ...string) *webhook.Receivers {
	t.Helper()
	hooks, err := webhook.New(webhook.Config{URLs: urls, Secret: secret, PublicURL: "https://interlock.example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hooks.Close)
	return hooks
}

// deliver turns the clock and sends what is due then.
//
// One look takes few messages of a shard, and approvals may share theirs: three look
// at all that a test has. The clock stands still, so what has failed has no other turn.
func (r *rig) deliver(d time.Duration) {
	r.clock.Advance(d)
	for range 3 {
		r.DeliverOnce(context.Background())
	}
}

// Receivers are told what happens, each message once when they take it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		one, two := newInbox(t, r.clock), newInbox(t, r.clock)
		r.with(nil, receivers(t, one.URL+"/a", two.URL+"/b", one.URL+"/a"))
		granted := r.ask(func(q *app.Question) { q.Terms.Required = 2 })
		r.deliver(0)
		for _, in := range []*inbox{one, two} {
			in.has(t, "approval.requested PENDING")
			in.mu.Lock()
			text, err := json.MarshalIndent(in.last, "", " ")
			want := fmt.Sprintf(`{
 "approval": {
  "approval_id": %[1]q,
  "asker": {
   "principal": "agent-7",
   "session_id": "ses_2"
  },
  "created_at": "2026-01-01T00:00:00Z",
  "digest": %[2]q,
  "eligible": {
   "names": [],
   "roles": [
    "approver"
   ]
  },
  "escalated": false,
  "expires_at": "2026-01-02T00:00:00Z",
  "kind": "transition",
  "links": {
   "self": "https://interlock.example.com/ui/approvals/%[1]s"
  },
  "message": "Ship it?",
  "required": 2,
  "run_id": "run_1",
  "status": "PENDING",
  "subject": {
   "event": "SHIP",
   "run_id": "run_1"
  },
  "version": 1,
  "votes": []
 },
 "id": "default.approval.%[1]s.1.requested",
 "namespace": "default",
 "text": "Approval wanted: event SHIP\n“Ship it?”\nasked by agent-7, session ses_2\nwho decides: role approver, until 2026-01-02T00:00:00Z\napproval %[1]s is pending: 0 of 2 approvals, until 2026-01-02T00:00:00Z\nhttps://interlock.example.com/ui/approvals/%[1]s",
 "time": "2026-01-01T00:00:00Z",
 "type": "approval.requested"
}`, granted.ID, granted.Digest)
			if err != nil || string(text) != want {
				t.Errorf("the message is %s, want %s", text, want)
			}
			in.mu.Unlock()
		}
		r.vote(alice, granted.ID, app.Vote{Approve: true, Note: "fine"})
		r.deliver(time.Hour)
		one.has(t, "approval.voted PENDING")
		r.vote(bob, granted.ID, app.Vote{Approve: true})
		r.ask(func(q *app.Question) {
			q.Terms = consent.Terms{TTL: time.Hour, Escalation: consent.Escalation{After: time.Minute, To: consent.Approvers{Names: []string{"olga"}}}}
		})
		r.deliver(0)
		one.has(t, "approval.voted GRANTED", "approval.granted GRANTED", "approval.requested PENDING")
		r.advance(time.Minute)
		r.deliver(0)
		one.has(t, "approval.escalated PENDING")
		if eligible := fmt.Sprint(one.last["approval"].(map[string]any)["eligible"]); eligible != "map[names:[olga] roles:[approver]]" {
			t.Errorf("people who may decide are %s", eligible)
		}
		r.advance(time.Hour)
		r.deliver(0)
		one.has(t, "approval.expired EXPIRED")
		r.vote(alice, r.ask(nil).ID, app.Vote{})
		if _, err := r.Cancel(t.Context(), olga, r.ask(nil).ID, ""); err != nil {
			t.Fatal(err)
		}
		// The messages say how it stands when they are sent.
		r.deliver(0)
		one.has(t, "approval.requested REJECTED", "approval.voted REJECTED", "approval.rejected REJECTED", "approval.requested CANCELLED", "approval.cancelled CANCELLED")
		if _, err := r.Consume(t.Context(), engine, granted.ID, granted.Digest, "x", ""); err != nil {
			t.Fatal(err)
		}
		r.deliver(48 * time.Hour)
		one.has(t, "approval.used USED")
		if n := len(slices.Compact(slices.Sorted(slices.Values(one.ids)))); n != len(one.ids) {
			t.Errorf("there were %d messages of %d ids", len(one.ids), n)
		}
		if names := r.timers(kindsOf(r.hooks)...); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
	})
}

// kindsOf are the kinds of the timers of all receivers.
func kindsOf(hooks app.Webhooks) (kinds []string) {
	for _, name := range hooks.Receivers() {
		kinds = append(kinds, "approval_webhook_"+name)
	}
	return kinds
}

// What a receiver does not take comes again, later each time, with its id; after a
// day it is given up.
func TestWebhookRetries(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in := newInbox(t, r.clock)
		r.with(nil, receivers(t, in.URL))
		r.ask(func(q *app.Question) { q.Terms.TTL = 90 * 24 * time.Hour })
		// A redirect is no success, and is not followed.
		for i, status := range []int{500, 404, 302, 307, 503, 200} {
			in.answers(status)
			pause := time.Duration(0)
			if i > 0 {
				pause = time.Second << (i - 1)
				r.deliver(pause - 1)
				in.has(t)
				pause = 1
			}
			r.deliver(pause)
			in.has(t, "approval.requested PENDING")
		}
		r.deliver(48 * time.Hour)
		in.has(t)
		if ids := slices.Compact(in.ids); len(ids) != 1 {
			t.Errorf("the same message had the ids %q", ids)
		}

		in.answers(500)
		var log bytes.Buffer
		dead := app.New(app.Config{
			Store: r.store, Announce: announcer, Webhooks: r.hooks, Clock: r.clock.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		r.ask(func(q *app.Question) { q.Terms.TTL = 90 * 24 * time.Hour })
		begun, tries := r.clock.Now(), 0
		for range 48 * 6 {
			dead.DeliverOnce(t.Context())
			in.mu.Lock()
			if len(in.got) > 1 {
				t.Fatalf("it came %d times at once", len(in.got))
			}
			if len(in.got) == 1 {
				tries++
				if age := r.clock.Now().Sub(begun); age > 24*time.Hour {
					t.Errorf("it came when it was %s old", age)
				}
			}
			in.got = nil
			in.mu.Unlock()
			r.clock.Advance(10 * time.Minute)
		}
		// 7 tries in the first hour: then they are 10 minutes and more apart here.
		if tries < 24 || tries > 34 {
			t.Errorf("it came %d times", tries)
		}
		if text := log.String(); strings.Count(text, "level=ERROR") != 1 || strings.Contains(text, in.URL) {
			t.Errorf("the log is %s", text)
		}
		if names := r.timers(kindsOf(r.hooks)...); len(names) != 2 { // when the two approvals expire
			t.Errorf("there are timers: %q", names)
		}
	})
}

// Many replicas deliver: each message is sent by one of them.
func TestManyDeliver(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in := newInbox(t, r.clock)
		r.with(nil, receivers(t, in.URL))
		var want []string
		for range 30 {
			r.ask(nil)
			want = append(want, "approval.requested PENDING")
		}
		var all sync.WaitGroup
		for _, a := range []*app.App{r.App, r.replica(r.open()), r.replica(r.open())} {
			all.Go(func() {
				for range 20 { // pages
					a.DeliverOnce(t.Context())
				}
			})
		}
		all.Wait()
		in.has(t, want...)
	})
}

// A process that dies while it sends has not lost the message: another sends it when
// the claim is over.
func TestWebhookOfADeadProcess(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		in := newInbox(t, r.clock)
		r.with(nil, receivers(t, in.URL))
		r.ask(nil)
		// It has sent the message, and cannot note that.
		r.faulty(storetest.Nth(2, storetest.Failed)).DeliverOnce(t.Context())
		in.has(t, "approval.requested PENDING")
		r.deliver(30*time.Second - 1)
		in.has(t)
		r.deliver(1)
		in.has(t, "approval.requested PENDING")
		r.deliver(48 * time.Hour)
		in.has(t)
		if in.ids[0] != in.ids[1] {
			t.Errorf("the ids were %q", in.ids)
		}

		// It does not know whether it has the message.
		for _, fault := range []storetest.Fault{storetest.FailedButApplied, storetest.Uncertain, storetest.Failed} {
			r.ask(nil)
			r.faulty(storetest.Nth(1, fault)).DeliverOnce(t.Context())
			in.has(t)
			r.deliver(30 * time.Second)
			in.has(t, "approval.requested PENDING")
		}
	})
}

// hanging is a receiver that never answers.
type hanging struct {
	app.Webhooks
	dead        string
	called      chan struct{}
	begun, most atomic.Int64
}

func (h *hanging) Send(ctx context.Context, receiver string, n app.Notice) error {
	if receiver != h.dead {
		return h.Webhooks.Send(ctx, receiver, n)
	}
	if n := h.begun.Add(1); n > h.most.Load() {
		h.most.Store(n)
	}
	defer h.begun.Add(-1)
	h.called <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// A receiver that does not answer delays neither others nor approvals.
func TestDeadReceiverDelaysNobody(t *testing.T) {
	t.Parallel()
	r := here(t)
	in := newInbox(t, r.clock)
	hooks := &hanging{Webhooks: receivers(t, "https://dead.example.com/", in.URL), called: make(chan struct{}, 1000)}
	hooks.dead = hooks.Receivers()[0]
	r.with(nil, hooks)
	var ids []string
	for range 100 {
		ids = append(ids, r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour }).ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Deliver(ctx) }()
	receive(t, hooks.called)
	r.advance(time.Hour)
	for _, id := range ids {
		r.said(id, "requested by agent-7", "expired by interlock")
	}
	for range 2 * len(ids) {
		receive(t, in.came)
	}
	cancel()
	receive(t, done)
	if n := hooks.most.Load(); n > 4 {
		t.Errorf("%d were sent to the dead one at once", n)
	}
}

// Timers of approvals that there are not are cleared, and those that nobody can read
// do not keep others from their turn.
func TestOddDeliveries(t *testing.T) {
	t.Parallel()
	r := here(t)
	in := newInbox(t, r.clock)
	r.with(nil, receivers(t, in.URL))
	kind := kindsOf(r.hooks)[0]
	for i, data := range []string{`{"id":"x","type":"requested"}`, `no JSON`} {
		_, err := r.store.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{{
			TimerID: store.TimerID{Key: store.Key{Namespace: "default", Kind: kind, ID: "apr_gone"}, Name: fmt.Sprint(i)}, Due: r.clock.Now(), Data: []byte(data),
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.deliver(0)
	in.has(t)
	if names := r.timers(kind); !slices.Equal(names, []string{kind + " 1"}) {
		t.Errorf("there are timers: %q", names)
	}
	due, err := r.store.Due(t.Context(), r.clock.Now(), 10, kind)
	if err != nil || len(due) > 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

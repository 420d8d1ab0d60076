package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

// reader is an ordered receiver that keeps what it gets.
type reader struct {
	plan    func(r *app.Record, event string, now time.Time) app.Plan
	planRun func(n *runnotice.Notice, now time.Time) app.Plan
	// during runs while a message is being sent.
	during func(n app.Notice)

	mu   sync.Mutex
	busy map[string]bool
	got  []string
	fail error
	t    *testing.T
}

func (f *reader) Receivers() []string { return []string{"reader"} }
func (f *reader) Ordered(string) bool { return true }
func (f *reader) HearRuns() bool      { return true }
func (f *reader) Plan(_ string, r *app.Record, event string, now time.Time) app.Plan {
	if f.plan == nil {
		return app.Plan{Takes: true}
	}
	return f.plan(r, event, now)
}

func (f *reader) PlanRun(_, _ string, n *runnotice.Notice, now time.Time) app.Plan {
	if f.planRun == nil {
		return app.Plan{Takes: true}
	}
	return f.planRun(n, now)
}

func (f *reader) Send(_ context.Context, _ string, n app.Notice) error {
	f.mu.Lock()
	var id, status string
	if n.Run != nil {
		id, status = n.Run.RunID, string(n.Run.Status)
	} else {
		id, status = n.Record.ID, string(n.Record.Standing())
	}
	if f.busy[id] {
		f.t.Errorf("two messages about %s are being sent", id)
	}
	f.busy[id] = true
	f.mu.Unlock()
	if f.during != nil {
		f.during(n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[id] = false
	f.got = append(f.got, n.Type+" "+status)
	return f.fail
}

func (f *reader) has(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.got, want) {
		t.Errorf("it has got %q, want %q", f.got, want)
	}
	f.got = nil
}

func newReader(t *testing.T) *reader { return &reader{t: t, busy: map[string]bool{}} }

// An ordered receiver gets the messages about an approval one after the other, and the newest of those
// that wait (S23.31).
func TestOrdered(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		f := newReader(t)
		r.with(nil, f)
		asked := r.ask(func(q *app.Question) { q.Terms.Required = 2 })
		r.vote(alice, asked.ID, app.Vote{Approve: true})
		r.deliver(0)
		f.has(t, "voted PENDING") // and not that it was asked for: that is part of it
		r.vote(bob, asked.ID, app.Vote{Approve: true})
		r.deliver(0)
		f.has(t, "granted GRANTED")
		r.deliver(48 * time.Hour)
		f.has(t)

		// It changes while a message is being sent: the next one waits for the end of that.
		other := r.ask(nil)
		var once sync.Once
		f.during = func(app.Notice) {
			once.Do(func() {
				r.vote(alice, other.ID, app.Vote{Approve: true})
				r.replica(r.open()).DeliverOnce(context.Background()) // and another replica delivers
			})
		}
		r.deliver(0)
		f.has(t, "requested PENDING")
		r.deliver(time.Second)
		f.has(t, "granted GRANTED")

		// What is refused comes again, until a newer one takes its place.
		third := r.ask(nil)
		f.fail = fmt.Errorf("busy")
		r.deliver(0)
		r.deliver(time.Second)
		f.has(t, "requested PENDING", "requested PENDING")
		r.vote(alice, third.ID, app.Vote{})
		f.fail = nil
		r.deliver(0)
		f.has(t, "rejected REJECTED")
		r.deliver(48 * time.Hour)
		f.has(t)
		if names := r.timers("approval_webhook_reader"); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
	})
}

// A process that dies while it sends has the turn until its claim is over; the message comes again.
func TestOrderedOfADeadProcess(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		f := newReader(t)
		r.with(nil, f)
		r.ask(nil)
		r.faulty(storetest.Nth(2, storetest.Failed)).DeliverOnce(t.Context())
		f.has(t, "requested PENDING")
		r.deliver(29 * time.Second)
		f.has(t)
		r.deliver(2 * time.Second)
		r.deliver(time.Second)
		f.has(t, "requested PENDING")
		r.deliver(48 * time.Hour)
		f.has(t)

		// It has noted that the message is sent, and not cleared its timer: it is not sent again.
		r.ask(nil)
		r.faulty(storetest.Nth(3, storetest.Failed)).DeliverOnce(t.Context())
		f.has(t, "requested PENDING")
		r.deliver(time.Hour)
		f.has(t)
	})
}

// Many replicas deliver to an ordered receiver: each message is sent by one of them.
func TestManyDeliverInOrder(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		f := newReader(t)
		r.with(nil, f)
		var want []string
		for range 20 {
			r.ask(nil)
			want = append(want, "requested PENDING")
		}
		var all sync.WaitGroup
		for _, a := range []*app.App{r.App, r.replica(r.open()), r.replica(r.open())} {
			all.Go(func() {
				for range 20 {
					a.DeliverOnce(t.Context())
				}
			})
		}
		all.Wait()
		f.has(t, want...)
	})
}

// Quiet hours put off what has not escalated, and what asks for a decision that is made by then is not
// sent at all. Reminders come as long as it waits (S23.32).
func TestQuietAndReminded(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		t := r.TB.(*testing.T)
		f := newReader(t)
		morning := r.clock.Now().Add(7 * time.Hour)
		f.plan = func(a *app.Record, event string, now time.Time) app.Plan {
			p := app.Plan{Takes: event != consent.EventVoted, Remind: 2 * time.Hour}
			if now.Before(morning) && !a.Escalated {
				p.NotBefore = morning
			}
			return p
		}
		r.with(nil, f)
		late := r.ask(func(q *app.Question) {
			q.Terms = consent.Terms{TTL: 20 * time.Hour, Escalation: consent.Escalation{After: 3 * time.Hour}}
		})
		decided := r.ask(nil)
		waits := r.ask(func(q *app.Question) { q.Terms.TTL = 72 * time.Hour })
		r.deliver(time.Hour)
		f.has(t)
		r.vote(alice, decided.ID, app.Vote{Approve: true})
		r.deliver(time.Hour)
		f.has(t)
		r.advance(time.Hour)
		r.deliver(0)
		f.has(t, "escalated PENDING")
		r.vote(alice, late.ID, app.Vote{Approve: true})
		r.deliver(0)
		f.has(t, "granted GRANTED") // it has escalated: the night is over for it
		r.deliver(4 * time.Hour)
		f.mu.Lock()
		slices.Sort(f.got)
		f.mu.Unlock()
		f.has(t, "granted GRANTED", "requested PENDING")
		r.deliver(2*time.Hour - 1)
		f.has(t)
		r.deliver(1)
		f.has(t, "reminded PENDING")
		r.deliver(2 * time.Hour)
		f.has(t, "reminded PENDING")
		r.vote(alice, waits.ID, app.Vote{})
		r.deliver(2 * time.Hour)
		f.has(t, "rejected REJECTED")
		r.deliver(100 * time.Hour)
		f.has(t)
		if names := r.timers("approval_webhook_reader"); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
	})
}

// What was sent of an approval is forgotten with it.
func TestTurnsAreForgotten(t *testing.T) {
	t.Parallel()
	r := here(t)
	f := newReader(t)
	r.retention = 24 * time.Hour
	r.with(nil, f)
	a := r.ask(nil)
	r.vote(alice, a.ID, app.Vote{})
	r.deliver(0)
	f.has(t, "rejected REJECTED")
	r.advance(25 * time.Hour)
	for kind, want := range map[string]int{"approval_webhook_reader": 0, "approval": 0} {
		if got := r.records(kind); got != want {
			t.Errorf("there are %d records of %s, want %d", got, kind, want)
		}
	}
}

// The log names receivers and causes, and nothing that they got.
func TestNothingOfAMessageIsLogged(t *testing.T) {
	t.Parallel()
	r := here(t)
	f := newReader(t)
	f.fail = fmt.Errorf("no")
	r.with(nil, f)
	var log strings.Builder
	dead := app.New(app.Config{Store: r.store, Announce: announcer, Webhooks: f, Clock: r.clock.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.ask(func(q *app.Question) { q.Message = "a word of the agent" })
	dead.DeliverOnce(t.Context())
	f.has(t, "requested PENDING")
	if text := log.String(); !strings.Contains(text, "cause=no") || strings.Contains(text, "a word") {
		t.Errorf("the log is %s", text)
	}
}

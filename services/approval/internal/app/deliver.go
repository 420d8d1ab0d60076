package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/runnotice"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Receivers are notified by timers: the commit that makes an event sets one for each of
// them, which stays until the receiver has taken the message. Each receiver has timers of
// a kind of its own, and delivery looks at one kind at a time: so one that is slow or
// dead holds up no other receiver, and no approval.

const (
	// SendTimeout is how long a receiver may take.
	SendTimeout = 10 * time.Second
	// sendAtOnce is how many messages one receiver gets at the same time.
	sendAtOnce = 4
	// sendPage is how many timers of a shard are read at once: few, for with a receiver
	// that does not answer it takes minutes until the last of them has its turn.
	sendPage = 2
	// sendClaim is when a message is sent again that was being sent when its process
	// died.
	sendClaim = 30 * time.Second
	// claimKept is how long it is known who sends a message: longer than any process
	// may look at timers that it has read.
	claimKept = 10 * time.Minute
	// firstRetry doubles with each, up to lastRetry. givesUp is the age at which a
	// message is dropped.
	firstRetry = time.Second
	lastRetry  = time.Hour
	givesUp    = 24 * time.Hour
)

// Notice is the message to a receiver: an event of an approval, and its present status, or an event of a run.
type Notice struct {
	// ID is the event's: the receiver drops duplicates.
	ID   string
	Type string
	At   time.Time
	// SentAt is the time of this try.
	SentAt time.Time
	// Namespace is that of the approval or the run.
	Namespace string
	// Record is the approval; nil for a run.
	Record *Record
	// Run is the run after the event; nil for an approval.
	Run *runnotice.Notice
}

// EventReminded is for receivers only: it is no event of the approval.
const EventReminded = "reminded"

// delivery is the data in the timer of a message.
type delivery struct {
	ID   string    `json:"id"`
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	// From is when it may be sent, if that is later.
	From time.Time `json:"from,omitzero"`
	// Tries that have begun.
	Tries int `json:"tries,omitempty"`
	// Reminder counts the reminders.
	Reminder int `json:"reminder,omitempty"`
	// Run is set in a message about a run.
	Run *runnotice.Notice `json:"run,omitempty"`
}

// over reports that a message is dropped rather than sent at a time.
func (d *delivery) over(next time.Time) bool {
	from := d.At
	if d.From.After(from) {
		from = d.From
	}
	return next.After(from.Add(givesUp))
}

// receiverKind returns the kind of the timers of one receiver.
func receiverKind(receiver string) string { return kindWebhook + "_" + receiver }

// The names of timers that an approval has one of, for each receiver: of the newest message to
// an ordered one, and of its next reminder.
const (
	timerNewest = "newest"
	timerRemind = "remind"
)

// deliveries returns the timers by which receivers are notified of an event.
func (a *App) deliveries(r *Record, kind, eventID string, at time.Time) ([]store.Timer, error) {
	if a.webhooks == nil {
		return nil, nil
	}
	if of := r.RestoredOf; !of.IsZero() {
		// The versions since then have had other messages: receivers would drop these as seen.
		eventID += "@" + of.Format(time.RFC3339Nano)
	}
	var timers []store.Timer
	for _, receiver := range a.webhooks.Receivers() {
		plan := a.webhooks.Plan(receiver, r, kind, at)
		if !plan.Takes {
			continue
		}
		d := delivery{ID: eventID, Type: kind, At: at, From: plan.NotBefore}
		name := strconv.FormatInt(r.Version, 10) + "." + kind
		if a.webhooks.Ordered(receiver) {
			name = timerNewest
		}
		timer, err := d.timer(store.TimerID{Key: store.Key{Namespace: r.Namespace, Kind: receiverKind(receiver), ID: r.ID}, Name: name})
		if err != nil {
			return nil, err
		}
		timers = append(timers, timer)
	}
	return timers, nil
}

// timer returns the timer of a message that has not been tried.
func (d *delivery) timer(id store.TimerID) (store.Timer, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return store.Timer{}, fault.From(fmt.Errorf("encode timer: %w", err))
	}
	due := d.At
	if d.From.After(due) {
		due = d.From
	}
	return store.Timer{TimerID: id, Due: due, Data: data}, nil
}

// reminder returns the timer of the next reminder after a message; ok is false where there is none.
func (a *App) reminder(receiver string, r *Record, d *delivery, id store.TimerID) (timer store.Timer, ok bool, err error) {
	now := a.now()
	plan := a.webhooks.Plan(receiver, r, EventReminded, now)
	if plan.Remind <= 0 || r.Status.Final() {
		return timer, false, nil
	}
	next := delivery{Type: EventReminded, At: now.Add(plan.Remind), Reminder: d.Reminder + 1}
	next.From = a.webhooks.Plan(receiver, r, EventReminded, next.At).NotBefore
	next.ID = fmt.Sprintf("%s.%s.%s.%d.%s.%d", r.Namespace, KindApproval, r.ID, r.Version, EventReminded, next.Reminder)
	id.Name = timerRemind
	timer, err = next.timer(id)
	return timer, err == nil, err
}

// asks reports that a message of a type asks people for a decision: it is of no use once that is made.
func asks(kind string) bool {
	switch kind {
	case consent.EventRequested, consent.EventEscalated, consent.EventRestored, EventReminded:
		return true
	default:
		return false
	}
}

// Deliver sends to receivers until ctx ends. Any number of processes may deliver for one
// store.
func (a *App) Deliver(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { a.spreader().Run(ctx) }) // also without receivers: notices must not pile up
	all.Go(func() { a.listen(ctx) })
	if a.webhooks != nil {
		for _, receiver := range a.webhooks.Receivers() {
			all.Go(func() { a.deliverer(receiver).Run(ctx) })
		}
	}
	all.Wait()
}

// deliverer sends due messages to one receiver, some at a time.
func (a *App) deliverer(receiver string) *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: a.store, Clock: a.now, Log: a.log, Kinds: []string{receiverKind(receiver)},
		Fire:     func(ctx context.Context, timer store.Timer) error { return a.sendOnce(ctx, receiver, timer) },
		Interval: sweepInterval, Page: sendPage, Slots: sendAtOnce, Watch: a.timers,
	}
}

// sendOnce sends one message, unless another process does.
func (a *App) sendOnce(ctx context.Context, receiver string, timer store.Timer) error {
	var d delivery
	if err := json.Unmarshal(timer.Data, &d); err != nil {
		return fault.From(fmt.Errorf("decode timer: %w", err))
	}
	if d.Run != nil {
		return a.sendRun(ctx, receiver, timer, &d)
	}
	key := approvalKey(timer.Key.Namespace, timer.Key.ID)
	r, err := a.load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	asRead := timer
	d.Tries++
	if timer.Data, err = json.Marshal(d); err != nil {
		return fault.From(err)
	}
	m := &sending{app: a, receiver: receiver, asRead: asRead, timer: timer, delivery: &d, record: r}
	if m.stale() {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: r.Version})
	}
	if a.webhooks.Ordered(receiver) {
		return m.inOrder(ctx)
	}
	mine, err := a.claim(ctx, timer, d.Tries)
	if err != nil || !mine {
		return err
	}
	out, err := m.send(ctx)
	if err != nil || out.ended {
		return err
	}
	_, err = a.store.Commit(ctx, out.batch)
	return err
}

// sending is one try to send one message.
type sending struct {
	app      *App
	receiver string
	// asRead is the timer, and timer the one with this try.
	asRead, timer store.Timer
	delivery      *delivery
	// record is the approval; nil for a run.
	record *Record
}

// stale reports that the message asks for a decision that was made by now, where the receiver is one
// that people read, or that it is a reminder.
func (m *sending) stale() bool {
	return m.record.at(m.app.now()).Status.Final() && asks(m.delivery.Type) &&
		(m.delivery.Type == EventReminded || m.app.webhooks.Ordered(m.receiver))
}

// sent is how a try ended.
type sent struct {
	// ended says that this process ends, and another sends the message.
	ended bool
	// done says that the message is not sent again.
	done bool
	// batch is to be committed.
	batch store.Batch
}

// send sends the message.
func (m *sending) send(ctx context.Context) (sent, error) {
	a, d := m.app, m.delivery
	now := a.now()
	n := Notice{ID: d.ID, Type: d.Type, At: d.At, SentAt: now, Namespace: m.timer.Key.Namespace, Run: d.Run}
	if m.record != nil {
		n.Record = m.record.at(now)
	}
	failed := a.post(ctx, m.receiver, n)
	if failed != nil && ctx.Err() != nil {
		return sent{ended: true}, nil
	}
	timer := m.timer
	timer.Due = a.now().Add(retryAfter(d.Tries))
	if failed != nil {
		over := d.over(timer.Due)
		a.notSent(ctx, m.receiver, d, over, failed)
		if !over {
			return sent{batch: store.Batch{SetTimers: []store.Timer{timer}}}, nil
		}
	}
	out := sent{done: true}
	if m.record == nil {
		out.batch.ClearTimers = []store.TimerID{timer.TimerID}
		return out, nil
	}
	next, ok, err := a.reminder(m.receiver, n.Record, d, timer.TimerID)
	if err != nil {
		return sent{}, err
	}
	if ok {
		out.batch.SetTimers = []store.Timer{next}
	}
	if !ok || next.TimerID != timer.TimerID {
		out.batch.ClearTimers = []store.TimerID{timer.TimerID}
	}
	return out, nil
}

// claim puts off a message's timer for as long as it is being sent. Of the
// replicas that try it at once one gets it, which the store's idempotency keys decide.
func (a *App) claim(ctx context.Context, timer store.Timer, try int) (bool, error) {
	timer.Due = a.now().Add(sendClaim)
	name := "send " + timer.Name + " " + strconv.Itoa(try)
	result, err := a.store.Commit(ctx, store.Batch{
		Idempotency: &store.Idempotency{Owner: timer.Key, Name: name, Digest: name, Answer: []byte("1"), TTL: claimKept},
		SetTimers:   []store.Timer{timer},
	})
	if errors.Is(err, store.ErrUncertain) {
		return false, nil // it comes again, now or when the claim is over
	}
	if err != nil {
		return false, fault.From(err)
	}
	return !result.Replayed, nil
}

func (a *App) post(ctx context.Context, receiver string, n Notice) error {
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	return a.webhooks.Send(ctx, receiver, n)
}

// retryAfter returns the pause after a try that has failed, counted from 1.
func retryAfter(tries int) time.Duration {
	pause := firstRetry
	for range tries - 1 {
		if pause >= lastRetry {
			break
		}
		pause *= 2
	}
	return min(pause, lastRetry)
}

func (a *App) notSent(ctx context.Context, receiver string, d *delivery, over bool, err error) {
	level, message := slog.LevelInfo, "a webhook did not accept a message, which will be sent again"
	if over {
		level, message = slog.LevelError, "a webhook did not accept a message for a day, and the message is dropped"
	}
	a.log.LogAttrs(ctx, level, message, slog.String("receiver", receiver), slog.String("event", d.ID),
		slog.Int("tries", d.Tries), slog.String("cause", strings.ToValidUTF8(err.Error(), "")))
}

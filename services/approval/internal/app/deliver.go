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
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Receivers are notified by timers: the commit that makes an event sets one for each of
// them, which stays until the receiver has taken the message. Each receiver has timers of
// a kind of its own, and delivery looks at one kind at a time: so one that is slow or
// dead holds up no other receiver, and no approval.

// told lists the events that receivers are notified of.
var told = map[string]bool{
	consent.EventRequested: true, consent.EventEscalated: true, consent.EventGranted: true,
	consent.EventRejected: true, consent.EventExpired: true, consent.EventCancelled: true, consent.EventRestored: true,
}

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

// Notice is the message to a receiver: an event of an approval, and its present status.
type Notice struct {
	// ID is the event's: the receiver drops duplicates.
	ID   string
	Type string
	At   time.Time
	// SentAt is the time of this try.
	SentAt time.Time
	Record *Record
}

// delivery is the data in the timer of a message.
type delivery struct {
	ID   string    `json:"id"`
	Type string    `json:"type"`
	At   time.Time `json:"at"`
	// Tries that have begun.
	Tries int `json:"tries,omitempty"`
}

// receiverKind returns the kind of the timers of one receiver.
func receiverKind(receiver string) string { return kindWebhook + "_" + receiver }

// deliveries returns the timers by which receivers are notified of an event.
func (a *App) deliveries(r *Record, kind, eventID string, at time.Time) ([]store.Timer, error) {
	if a.webhooks == nil || !told[kind] {
		return nil, nil
	}
	if of := r.RestoredOf; !of.IsZero() {
		// The versions since then have had other messages: receivers would drop these as seen.
		eventID += "@" + of.Format(time.RFC3339Nano)
	}
	data, err := json.Marshal(delivery{ID: eventID, Type: kind, At: at})
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode timer: %w", err))
	}
	var timers []store.Timer
	for _, receiver := range a.webhooks.Receivers() {
		timers = append(timers, store.Timer{
			TimerID: store.TimerID{
				Key:  store.Key{Namespace: r.Namespace, Kind: receiverKind(receiver), ID: r.ID},
				Name: strconv.FormatInt(r.Version, 10) + "." + kind,
			},
			Due: at, Data: data,
		})
	}
	return timers, nil
}

// Deliver sends to receivers until ctx ends. Any number of processes may deliver for one
// store.
func (a *App) Deliver(ctx context.Context) {
	if a.webhooks == nil {
		return
	}
	var all sync.WaitGroup
	for _, receiver := range a.webhooks.Receivers() {
		all.Go(func() { a.deliverer(receiver).Run(ctx) })
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
	key := approvalKey(timer.Key.Namespace, timer.Key.ID)
	r, err := a.load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	d.Tries++
	if timer.Data, err = json.Marshal(d); err != nil {
		return fault.From(err)
	}
	mine, err := a.claim(ctx, timer, d.Tries)
	if err != nil || !mine {
		return err
	}
	now := a.now()
	failed := a.post(ctx, receiver, Notice{ID: d.ID, Type: d.Type, At: d.At, SentAt: now, Record: r.at(now)})
	if failed != nil && ctx.Err() != nil {
		return nil // this process ends; another sends it
	}
	timer.Due = a.now().Add(retryAfter(d.Tries))
	batch := store.Batch{SetTimers: []store.Timer{timer}}
	over := timer.Due.After(d.At.Add(givesUp))
	if failed == nil || over {
		batch = store.Batch{ClearTimers: []store.TimerID{timer.TimerID}}
	}
	if failed != nil {
		a.notSent(ctx, receiver, &d, over, failed)
	}
	_, err = a.store.Commit(ctx, batch)
	return err
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

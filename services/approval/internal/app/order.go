package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// An ordered receiver gets the messages about one approval one after the other. Who sends one has the
// turn, a record; the timer of a message is changed only as long as the approval has not: a later
// change has set it for its own message.

// turn is that record.
type turn struct {
	// Until is when the sender must have ended.
	Until time.Time `json:"until"`
	// Sent is the id of the newest message that the receiver has taken.
	Sent string `json:"sent,omitempty"`
}

// turnBusy is how long the next message waits for the one before.
const turnBusy = time.Second

// turnKey returns the key of the turn. It is in the shard of the timers.
func turnKey(timer store.Timer) store.Key { return timer.Key }

func (a *App) turn(ctx context.Context, key store.Key) (t turn, version int64, err error) {
	record, err := a.store.Get(ctx, key)
	switch {
	case notFound(err):
		return t, store.Absent, nil
	case err != nil:
		return t, 0, fault.From(err)
	}
	if err := json.Unmarshal(record.Data, &t); err != nil {
		return t, 0, fault.From(fmt.Errorf("decode %s: %w", key, err))
	}
	return t, record.Version, nil
}

// put returns the change of a turn.
func (t turn) put(key store.Key, expect int64) (store.Put, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return store.Put{}, fault.From(err)
	}
	return store.Put{Key: key, Expect: expect, Data: data}, nil
}

// inOrder sends the message when it is its turn.
func (m *sending) inOrder(ctx context.Context) error {
	a, key := m.app, turnKey(m.timer)
	t, version, err := a.turn(ctx, key)
	if err != nil {
		return err
	}
	now := a.now()
	if t.Sent == m.delivery.ID { // it was sent, and the approval changed at that moment
		return m.commit(ctx, store.Batch{ClearTimers: []store.TimerID{m.timer.TimerID}})
	}
	if t.Until.After(now) {
		_, err := a.store.Commit(ctx, store.Batch{Postpone: []store.Postpone{{Timer: m.asRead, Until: now.Add(turnBusy)}}})
		return retry.Fault(err)
	}
	t.Until = now.Add(sendClaim)
	claim, err := t.put(key, version)
	if err != nil {
		return err
	}
	claimed, err := a.store.Commit(ctx, store.Batch{Puts: []store.Put{claim}})
	if err != nil {
		if retry.Lost(err) || errors.Is(err, store.ErrUncertain) {
			return nil // another has the turn, or it comes again when the claim is over
		}
		return fault.From(err)
	}
	out, err := m.send(ctx)
	if err != nil || out.ended {
		return err
	}
	t.Until = time.Time{}
	if out.done {
		t.Sent = m.delivery.ID
	}
	free, err := t.put(key, claimed.Versions[0])
	if err != nil {
		return err
	}
	if _, err := a.store.Commit(ctx, store.Batch{Puts: []store.Put{free}}); err != nil {
		if retry.Lost(err) {
			return nil // it took so long that another has the turn
		}
		return retry.Fault(err)
	}
	return m.commit(ctx, out.batch)
}

// commit changes timers, unless the approval has changed: then they are its own.
func (m *sending) commit(ctx context.Context, batch store.Batch) error {
	batch.Checks = append(batch.Checks, store.Check{Key: m.record.key(), Version: m.record.Version})
	_, err := m.app.store.Commit(ctx, batch)
	if retry.Lost(err) {
		return nil
	}
	return retry.Fault(err)
}

// forgetTurns returns the checks by which the turns of an approval are deleted.
func (a *App) forgetTurns(ctx context.Context, r *Record) (gone []store.Check, err error) {
	if a.webhooks == nil {
		return nil, nil
	}
	for _, receiver := range a.webhooks.Receivers() {
		if !a.webhooks.Ordered(receiver) {
			continue
		}
		key := store.Key{Namespace: r.Namespace, Kind: receiverKind(receiver), ID: r.ID}
		_, version, err := a.turn(ctx, key)
		if err != nil {
			return nil, err
		}
		if version != store.Absent {
			gone = append(gone, store.Check{Key: key, Version: version})
		}
	}
	return gone, nil
}

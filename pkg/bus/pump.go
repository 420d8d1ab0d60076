package bus

import (
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/nats-io/nats.go"
)

// take puts entries that were read into their lanes; r.mu is held. Entries that
// the stream is known to have count as acknowledged.
func (r *Relay) take(entries []store.OutboxEntry, owners map[int]*shard, known map[string]uint64) {
	now := time.Now()
	for i := range entries {
		sh := r.shards[entries[i].Shard]
		// A shard that went and came back in between has a cursor of its own: these
		// entries may not be its next.
		if sh == nil || sh != owners[entries[i].Shard] || entries[i].Seq <= sh.read {
			continue
		}
		e := &entry{OutboxEntry: entries[i], shard: sh}
		sh.note(e)
		if seq, ok := known[e.ID]; ok {
			r.raise(seq, e.ID)
			sh.done(e, now, r.slice())
			r.m.duplicates.Inc()
			continue
		}
		r.buffered++
		r.bufferedBytes += len(e.Payload)
		if q := sh.add(e); q != nil {
			r.ready = append(r.ready, q)
		}
	}
	r.m.backlog.Set(float64(r.buffered))
}

// raise notes that the stream has a message; r.mu is held.
func (r *Relay) raise(seq uint64, id string) {
	if seq > r.high.seq {
		r.high = position{seq: seq, id: id}
	}
}

// slice returns how long acknowledgements share a mark.
func (r *Relay) slice() time.Duration { return r.cfg.Grace / 16 }

// pump publishes the entries that are ready; r.mu is held and r.session is set.
func (r *Relay) pump() {
	s := r.session
	now := time.Now()
	for len(r.ready) > 0 && len(s.flights) < r.cfg.Window {
		q := r.ready[0]
		r.ready[0] = nil
		r.ready = r.ready[1:]
		if q.shard.gone {
			continue
		}
		if now.After(q.shard.until) {
			r.drop(q.shard)
			r.log.Warn("lease lapsed", "shard", q.shard.number)
			continue
		}
		e := q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		q.flying = true
		e.sentAt, e.highest = now, r.high.seq
		if e.Seq <= q.shard.again {
			r.m.republished.Inc()
		}
		q.shard.sent = max(q.shard.sent, e.Seq)
		r.begin(e)
		err := s.publish(e)
		switch {
		case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrBadSubject):
			r.refused(e, err)
		case err != nil:
			e.end("it was not sent")
			s.fail(fmt.Errorf("publish: %w", err))
			return
		}
	}
	if len(r.ready) == 0 {
		r.ready = nil
	}
}

// acknowledged takes NATS's answer to a publish.
func (r *Relay) acknowledged(s *session, token string, ack pubAck) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := s.flights[token]
	if e == nil || r.session != s {
		return
	}
	delete(s.flights, token)
	switch {
	case ack.tooLarge:
		r.refused(e, ack.err)
		r.pump()
		return
	case ack.err != nil:
		e.end("NATS refused it")
		s.fail(fmt.Errorf("nats refused event %s: %w", e.ID, ack.err))
		return
	case !ack.duplicate && ack.seq <= e.highest:
		r.lost = true
		e.end("the stream has lost events")
		s.fail(fmt.Errorf("%w: event %s got sequence %d after %d", errLost, e.ID, ack.seq, e.highest))
		return
	case ack.duplicate:
		r.m.duplicates.Inc()
	default:
		r.m.relayed.Inc()
		s.useful = true
	}
	e.end("")
	r.failure = nil
	r.raise(ack.seq, e.ID)
	if !e.shard.gone {
		r.settle(e)
	}
	r.pump()
}

// refused leaves an event in the outbox that NATS cannot take. The later events of its entity
// wait until there is a new connection. The shard is not trimmed past it.
func (r *Relay) refused(e *entry, err error) {
	e.end("NATS cannot take it")
	r.m.refused.Inc()
	r.log.Error("nats cannot take an event: raise max_payload, or the stream's max_msg_size; later events of its entity wait",
		"error", err, "event", e.ID, "bytes", len(e.Payload))
}

// settle counts an entry as acknowledged and lets its lane continue; r.mu is held.
func (r *Relay) settle(e *entry) {
	wasFull := r.full()
	r.buffered--
	r.bufferedBytes -= len(e.Payload)
	e.shard.done(e, time.Now(), r.slice())
	q := e.queue
	q.flying = false
	if len(q.waiting) > 0 {
		r.ready = append(r.ready, q)
	} else {
		delete(e.shard.lanes, q.lane)
	}
	if wasFull && !r.full() {
		r.wake()
	}
}

// drop gives up a shard; r.mu is held. NATS still acknowledges its entries under way.
func (r *Relay) drop(sh *shard) {
	sh.gone = true
	delete(r.shards, sh.number)
	r.left[sh.number] = sh.acked
	for _, e := range sh.order {
		if e != nil && !e.acked {
			r.buffered--
			r.bufferedBytes -= len(e.Payload)
		}
	}
	sh.order, sh.lanes, sh.marks = nil, nil, nil
	r.m.leases.Set(float64(len(r.shards)))
	r.refresh()
}

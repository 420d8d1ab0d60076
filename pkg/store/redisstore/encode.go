package redisstore

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// maxGroup is how many counters share one read and one write.
const maxGroup = 64

// encoder turns a batch into the keys and arguments of commit.lua. All of them
// are copied into one buffer, for a caller may go on, and change its slices,
// while its batch is still on its way.
type encoder struct {
	prefix     string
	buf        []byte
	keys, args []int // where each ends in buf, together in the order written
	order      []bool
}

// maxKept is the largest buffer that an encoder keeps for the next batch.
const maxKept = 64 << 10

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encode answers the strings of a batch: keys first, then arguments.
func (s *Store) encode(batch *store.Batch, shard int) (keys, args []string, err error) {
	if err := valid(batch); err != nil {
		return nil, nil, err
	}
	e := encoders.Get().(*encoder) // the pool holds nothing else
	defer encoders.Put(e)
	e.prefix, e.buf, e.keys, e.args, e.order = s.prefixes[shard], e.buf[:0], e.keys[:0], e.args[:0], e.order[:0]
	e.batch(batch)
	all := string(e.buf)
	if cap(e.buf) > maxKept {
		e.buf = nil
	}
	parts := make([]string, len(e.keys)+len(e.args))
	keys, args = parts[:len(e.keys):len(e.keys)], parts[len(e.keys):]
	start, k, a := 0, 0, 0
	for _, isKey := range e.order {
		var end int
		if isKey {
			end = e.keys[k]
			keys[k] = all[start:end]
			k++
		} else {
			end = e.args[a]
			args[a] = all[start:end]
			a++
		}
		start = end
	}
	return keys, args, nil
}

func (e *encoder) batch(b *store.Batch) {
	if i := b.Idempotency; i != nil {
		e.text("I")
		e.named(idempotencyKeys, i.Owner, i.Name)
		e.text(i.Digest)
		e.bytes(i.Answer)
		e.number(micros(i.TTL))
	}
	if b.Fence != nil {
		e.text("F")
		e.key(leaseKeys, b.Fence.Key)
		e.number(b.Fence.Token)
	}
	for i := range b.Checks {
		e.text("C")
		e.key(recordKeys, b.Checks[i].Key)
		e.number(b.Checks[i].Version)
	}
	for i := range b.Puts {
		e.put(&b.Puts[i])
	}
	for i := range b.Deletes {
		d := &b.Deletes[i]
		e.text("D")
		e.key(recordKeys, d.Key)
		e.index(d.Key)
		e.endKey()
		e.number(d.Version)
		e.text(d.Key.ID)
	}
	for _, f := range b.Forget {
		e.forget(f)
	}
	for _, owner := range b.Reset {
		e.text("R")
		e.key(counterKeys, owner)
	}
	e.counters(b.Counters)
	for i := range b.Events {
		e.text("E")
		e.bare(outboxKey)
		e.text(b.Events[i].ID)
		e.text(b.Events[i].Subject)
		e.bytes(b.Events[i].Payload)
	}
	e.timers(b)
}

func (e *encoder) put(p *store.Put) {
	e.text("P")
	e.key(recordKeys, p.Key)
	e.index(p.Key)
	e.endKey()
	names := slices.Sorted(maps.Keys(p.Labels))
	for _, name := range names {
		e.index(p.Key)
		e.buf = append(e.buf, '/')
		e.label(name, p.Labels[name])
		e.endKey()
	}
	e.number(p.Expect)
	e.text(p.Key.ID)
	e.bytes(p.Data)
	for i, name := range names {
		if i > 0 {
			e.buf = append(e.buf, '\n')
		}
		e.label(name, p.Labels[name])
	}
	e.endArg()
	e.number(int64(len(names)))
	if p.History == nil {
		e.text("0")
		return
	}
	e.number(int64(1 + len(p.Earlier)))
	e.key(historyKeys, p.Key)
	for _, entry := range p.Earlier {
		e.bytes(entry)
	}
	e.bytes(p.History)
}

func (e *encoder) forget(f store.Forget) {
	if f.Through < 1 {
		return // there are no such versions
	}
	e.text("H")
	e.key(historyKeys, f.Key)
	e.buf = strconv.AppendUint(e.buf, uint64(f.Through)+1, 10)
	e.endArg()
}

// counters writes neighbours of one owner as one operation.
func (e *encoder) counters(counters []store.Counter) {
	for i := 0; i < len(counters); {
		c := &counters[i]
		if c.Window > 0 {
			e.text("W")
			e.key(counterKeys, c.Owner)
			e.named(windowKeys, c.Owner, c.Name)
			e.field('w', c.Name)
			e.number(c.Delta)
			e.number(c.Limit)
			e.number(micros(c.Window))
			i++
			continue
		}
		n := 1
		for i+n < len(counters) && n < maxGroup && counters[i+n].Window == 0 && counters[i+n].Owner == c.Owner {
			n++
		}
		e.text("N")
		e.key(counterKeys, c.Owner)
		e.number(int64(n))
		for ; n > 0; n-- {
			e.field('p', counters[i].Name)
			e.number(counters[i].Delta)
			e.number(counters[i].Limit)
			i++
		}
	}
}

func (e *encoder) timers(b *store.Batch) {
	for i := range b.SetTimers {
		t := &b.SetTimers[i]
		e.text("T")
		e.bare(timerKey)
		e.bare(timerValuesKey)
		e.member(t.TimerID)
		e.number(score(t.Due))
		e.buf = appendTimer(e.buf, t)
		e.endArg()
	}
	for i := range b.ClearTimers {
		e.text("X")
		e.bare(timerKey)
		e.bare(timerValuesKey)
		e.member(b.ClearTimers[i])
	}
}

func (e *encoder) endKey() { e.keys, e.order = append(e.keys, len(e.buf)), append(e.order, true) }
func (e *encoder) endArg() { e.args, e.order = append(e.args, len(e.buf)), append(e.order, false) }

func (e *encoder) text(s string) {
	e.buf = append(e.buf, s...)
	e.endArg()
}

func (e *encoder) bytes(b []byte) {
	e.buf = append(e.buf, b...)
	e.endArg()
}

func (e *encoder) number(n int64) {
	e.buf = strconv.AppendInt(e.buf, n, 10)
	e.endArg()
}

func (e *encoder) field(kind byte, name string) {
	e.buf = append(append(e.buf, kind), name...)
	e.endArg()
}

func (e *encoder) member(id store.TimerID) {
	e.buf = appendMember(e.buf, id)
	e.endArg()
}

func (e *encoder) bare(kind string) {
	e.buf = append(append(e.buf, e.prefix...), kind...)
	e.endKey()
}

func (e *encoder) key(kind string, key store.Key) {
	e.buf = append(append(e.buf, e.prefix...), kind...)
	e.buf = appendKey(e.buf, key)
	e.endKey()
}

func (e *encoder) named(kind string, key store.Key, name string) {
	e.buf = append(append(e.buf, e.prefix...), kind...)
	e.buf = appendKey(e.buf, key)
	e.buf = append(e.buf, '/')
	e.buf = appendEscaped(e.buf, name)
	e.endKey()
}

// index writes the key of the index of all records of a kind, without its end.
func (e *encoder) index(key store.Key) {
	e.buf = append(append(e.buf, e.prefix...), indexKeys...)
	e.buf = appendEscaped(e.buf, key.Namespace)
	e.buf = append(e.buf, '/')
	e.buf = appendEscaped(e.buf, key.Kind)
}

func (e *encoder) label(name, value string) { e.buf = appendLabel(e.buf, name, value) }

func appendLabel(to []byte, name, value string) []byte {
	to = appendEscaped(to, name)
	to = append(to, '=')
	return appendEscaped(to, value)
}

func appendMember(to []byte, id store.TimerID) []byte {
	to = appendKey(to, id.Key)
	to = append(to, '/')
	return appendEscaped(to, id.Name)
}

// micros is a duration in whole microseconds, rounded up so that nothing lapses
// early.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// score is where a due time is in the order of timers: in microseconds, and
// within what a double holds exactly.
func score(due time.Time) int64 {
	const most, seconds = 1 << 53, 1 << 33
	switch {
	case due.Unix() > seconds:
		return most
	case due.Unix() < -seconds:
		return -most
	}
	return due.UnixMicro()
}

// valid refuses batches that mean nothing.
func valid(b *store.Batch) error {
	if i := b.Idempotency; i != nil && i.TTL <= 0 {
		return fmt.Errorf("redisstore: the idempotency key %s has a time to live of %v; it must be positive", i.Name, i.TTL)
	}
	for i := range b.Counters {
		c := &b.Counters[i]
		if c.Window < 0 {
			return fmt.Errorf("redisstore: the counter %s has a window of %v; it must not be negative", c.Name, c.Window)
		}
		if c.Limit < store.NoLimit {
			return fmt.Errorf("redisstore: the counter %s has a limit of %d; the least is %d, for none", c.Name, c.Limit, store.NoLimit)
		}
		if c.Delta == math.MinInt64 {
			return errors.New("redisstore: a delta is out of range")
		}
		for j := range i {
			other := &b.Counters[j]
			if other.Name == c.Name && other.Owner == c.Owner && other.Window != c.Window {
				return fmt.Errorf("redisstore: the counter %s comes with two windows in one batch", c.Name)
			}
		}
	}
	for i := range b.Puts {
		if err := b.Puts[i].Validate(); err != nil {
			return err
		}
		for j := range i {
			if b.Puts[i].Key == b.Puts[j].Key {
				return fmt.Errorf("redisstore: a batch puts %s twice", b.Puts[i].Key)
			}
		}
		for j := range b.Deletes {
			if b.Puts[i].Key == b.Deletes[j].Key {
				return fmt.Errorf("redisstore: a batch both puts and deletes %s", b.Puts[i].Key)
			}
		}
	}
	return validKeys(b)
}

func validKeys(b *store.Batch) error {
	var errs error
	keys(b, func(key store.Key) { errs = errors.Join(errs, check(key)) })
	return errs
}

// keys calls yield with every key that a batch names.
func keys(b *store.Batch, yield func(store.Key)) {
	if b.Idempotency != nil {
		yield(b.Idempotency.Owner)
	}
	if b.Fence != nil {
		yield(b.Fence.Key)
	}
	for _, checks := range [][]store.Check{b.Checks, b.Deletes} {
		for i := range checks {
			yield(checks[i].Key)
		}
	}
	for i := range b.Puts {
		yield(b.Puts[i].Key)
	}
	for i := range b.Forget {
		yield(b.Forget[i].Key)
	}
	for i := range b.Counters {
		yield(b.Counters[i].Owner)
	}
	for _, owner := range b.Reset {
		yield(owner)
	}
	for i := range b.Events {
		yield(b.Events[i].Key)
	}
	for i := range b.SetTimers {
		yield(b.SetTimers[i].Key)
	}
	for i := range b.ClearTimers {
		yield(b.ClearTimers[i].Key)
	}
}

package redisstore

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// maxGroup is how many counters share one read and one write.
const maxGroup = 64

// encoder turns a batch into the keys and arguments of commit.lua. All of them
// are copied into one buffer, for a caller may continue, and change its slices,
// while its batch is still on its way.
type encoder struct {
	prefix string
	// prefixes are those of all shards, for a batch that spans them; else nil.
	prefixes   []string
	buf        []byte
	keys, args []int // where each ends in buf, together in the order written
	order      []bool
}

// maxKept is the largest buffer that an encoder keeps for the next batch.
const maxKept = 64 << 10

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// encode returns the strings of a batch: keys first, then arguments.
func (s *Store) encode(batch *store.Batch, shard int, spanning bool) (keys, args []string, err error) {
	if err := valid(batch); err != nil {
		return nil, nil, err
	}
	e := encoders.Get().(*encoder) // the pool holds only these
	defer encoders.Put(e)
	e.prefix, e.buf, e.keys, e.args, e.order = s.prefixes[shard], e.buf[:0], e.keys[:0], e.args[:0], e.order[:0]
	e.prefixes = nil
	if spanning {
		e.prefixes = s.prefixes
	}
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
		if i.Entry == (store.Key{}) {
			e.text("I")
		} else {
			e.text("K")
		}
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
	home := e.prefix
	for i := range b.Checks {
		e.visit(b.Checks[i].Key)
		e.text("C")
		e.key(recordKeys, b.Checks[i].Key)
		e.number(b.Checks[i].Version)
	}
	e.prefix = home
	for i := range b.Puts {
		e.visitIf(b.Across, b.Puts[i].Key)
		e.put(&b.Puts[i])
	}
	e.prefix = home
	for i := range b.Appends {
		a := &b.Appends[i]
		e.text("A")
		e.key(recordKeys, a.Key)
		e.index(a.Key)
		e.endKey()
		e.key(historyKeys, a.Key)
		e.text(a.Key.ID)
		e.bytes(a.Entry)
	}
	if i := b.Idempotency; i != nil && i.Entry != (store.Key{}) {
		e.text("J")
		e.named(idempotencyKeys, i.Owner, i.Name)
		e.text(i.Digest)
		e.number(micros(i.TTL))
		e.place(b, i.Entry)
		if i.Entry.Namespace == i.Owner.Namespace && i.Entry.ID == i.Owner.ID {
			e.buf = appendEscaped(e.buf, i.Entry.Kind)
		} else {
			e.buf = appendKey(e.buf, i.Entry)
		}
		e.endArg()
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
	for i := range b.Unchanged {
		e.text("U")
		e.timer(b.Unchanged[i].TimerID)
		e.timerValue(&b.Unchanged[i])
	}
	for _, f := range b.Forget {
		e.forget(f)
	}
	for _, owner := range b.Reset {
		e.text("R")
		e.key(counterKeys, owner)
	}
	e.counters(b.Counters, len(b.Reset) > 0)
	e.prefix = home
	for i := range b.Events {
		e.visitIf(b.Across, b.Events[i].Key)
		e.event(b, &b.Events[i])
	}
	e.prefix = home
	e.timers(b)
}

func (e *encoder) event(b *store.Batch, event *store.Event) {
	if event.Entry == (store.Key{}) {
		e.text("E")
		e.bare(outboxKey)
		e.text(event.ID)
		e.text(event.Subject)
		e.bytes(event.Payload)
		e.text(event.Trace)
		return
	}
	e.text("G")
	e.bare(outboxKey)
	e.text(event.ID)
	e.text(event.Subject)
	e.entry(b, event.Entry)
	e.text(event.Trace)
}

// entry writes which history entry is meant: the place of its version in the result, and
// its record.
func (e *encoder) entry(b *store.Batch, key store.Key) {
	e.place(b, key)
	e.buf = appendKey(e.buf, key)
	e.endArg()
}

// place writes the place of an entry's version in the result.
func (e *encoder) place(b *store.Batch, key store.Key) {
	i, err := b.EntryOf(key)
	if err != nil {
		panic(err) // the batch is valid
	}
	e.number(int64(2 + len(b.Puts) + i))
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
	e.buf = appendLabels(e.buf, p.Labels, names)
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

// counters writes neighbours of one owner as one operation. grouped is true when something
// before has read counters that it has not written yet.
func (e *encoder) counters(counters []store.Counter, grouped bool) {
	for i := 0; i < len(counters); {
		c := &counters[i]
		e.visit(c.Owner)
		if c.Window > 0 {
			e.windowed(c)
			i++
			continue
		}
		n := 1
		for i+n < len(counters) && n < maxGroup && counters[i+n].Window == 0 && counters[i+n].Owner == c.Owner {
			n++
		}
		if !grouped && n == 1 && c.Delta >= 0 {
			e.text("M")
			e.key(counterKeys, c.Owner)
			e.field('p', c.Name)
			e.number(c.Delta)
			e.number(c.Limit)
			i++
			continue
		}
		grouped = true
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

func (e *encoder) windowed(c *store.Counter) {
	if c.Delta < 0 {
		e.text("B")
	} else {
		e.text("W")
	}
	e.key(counterKeys, c.Owner)
	e.named(windowKeys, c.Owner, c.Name)
	e.field('w', c.Name)
	if c.Delta < 0 {
		e.number(-c.Delta)
		e.number(c.Admitted.UnixMicro())
	} else {
		e.number(c.Delta)
		e.number(c.Limit)
	}
	e.number(micros(c.Window))
}

func (e *encoder) timers(b *store.Batch) {
	home := e.prefix
	for i := range b.SetTimers {
		t := &b.SetTimers[i]
		e.visitIf(b.Across, t.Key)
		e.text("T")
		e.timer(t.TimerID)
		e.number(score(t.Due))
		e.timerValue(t)
	}
	for i := range b.ClearTimers {
		e.visitIf(b.Across, b.ClearTimers[i].Key)
		e.text("X")
		e.timer(b.ClearTimers[i])
	}
	e.prefix = home
	for i := range b.Postpone {
		t := b.Postpone[i].Timer
		e.text("L")
		e.timer(t.TimerID)
		e.timerValue(&t)
		t.Due = b.Postpone[i].Until
		e.number(score(t.Due))
		e.timerValue(&t)
	}
}

func (e *encoder) timer(id store.TimerID) {
	e.buf = append(append(e.buf, e.prefix...), timerKeys...)
	e.buf = appendEscaped(e.buf, id.Key.Kind)
	e.endKey()
	e.bare(timerValuesKey)
	e.member(id)
}

func (e *encoder) timerValue(t *store.Timer) {
	e.buf = appendTimer(e.buf, t)
	e.endArg()
}

// visit makes the next writes go to a key's own shard.
func (e *encoder) visit(key store.Key) {
	if e.prefixes != nil {
		e.prefix = e.prefixes[key.Shard(len(e.prefixes))]
	}
}

// visitIf visits a key of a batch that is across shards.
func (e *encoder) visitIf(across bool, key store.Key) {
	if across {
		e.visit(key)
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

// appendLabels writes labels as a record has them, by ascending name.
func appendLabels(to []byte, labels map[string]string, names []string) []byte {
	for i, name := range names {
		if i > 0 {
			to = append(to, '\n')
		}
		to = appendLabel(to, name, labels[name])
	}
	return to
}

func appendMember(to []byte, id store.TimerID) []byte {
	to = appendKey(to, id.Key)
	to = append(to, '/')
	return appendEscaped(to, id.Name)
}

// micros returns a duration in whole microseconds, rounded up so that no duration lapses
// early.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// score returns where a due time is in the order of timers: in microseconds, and within
// what a double holds exactly.
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

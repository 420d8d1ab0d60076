package backup

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// An item is its kind, and then its fields in their order: numbers as varints, times as seconds
// since 1970 and microseconds, texts and lists behind their length.

// appendItem writes an item.
func appendItem(b []byte, item Item) []byte {
	e := encoder{append(b, byte(item.kind()))}
	switch i := item.(type) {
	case *Record:
		e.key(i.Key)
		e.number(i.Version)
		e.truth(i.Deleted)
		e.time(i.Updated)
		e.bytes(i.Data)
		e.number(int64(len(i.Labels)))
		for _, name := range slices.Sorted(maps.Keys(i.Labels)) {
			e.text(name)
			e.text(i.Labels[name])
		}
	case *History:
		e.key(i.Key)
		e.number(i.First)
		e.number(int64(len(i.Entries)))
		for _, entry := range i.Entries {
			e.number(entry.Version)
			e.time(entry.At)
			e.bytes(entry.Data)
		}
	case *Counters:
		e.counters(i)
	case *Answer:
		e.key(i.Owner)
		e.text(i.Name)
		e.bytes(i.Hash)
		e.text(i.Digest)
		e.bytes(i.Answer)
		e.key(i.Entry)
		e.number(i.Version)
		e.time(i.Expires)
	case *Timer:
		e.key(i.Key)
		e.text(i.Name)
		e.truth(i.Cleared)
		e.time(i.Due)
		e.number(int64(i.Due.Nanosecond() % 1000)) // Due may be finer
		e.bytes(i.Data)
	case *Event:
		e.number(int64(i.Shard))
		e.number(i.Seq)
		e.text(i.Era)
		e.text(i.ID)
		e.text(i.Subject)
		e.bytes(i.Payload)
		e.key(i.Entry)
		e.number(i.Version)
	case *Shard:
		e.number(int64(i.Shard))
		e.number(i.Seq)
	}
	return e.b
}

type encoder struct{ b []byte }

func (e *encoder) number(n int64) { e.b = binary.AppendVarint(e.b, n) }

func (e *encoder) text(s string) { e.b = append(binary.AppendUvarint(e.b, uint64(len(s))), s...) }

func (e *encoder) bytes(p []byte) { e.b = append(binary.AppendUvarint(e.b, uint64(len(p))), p...) }

func (e *encoder) truth(is bool) {
	if is {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

// time writes a time; one that is none as the least number.
func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.number(noTime)
		return
	}
	e.number(t.Unix())
	e.number(int64(t.Nanosecond() / 1000))
}

const (
	noTime = -1 << 63
	// mostSeconds is further from 1970 than any time of a store.
	mostSeconds = 1 << 40
)

func (e *encoder) key(k store.Key) {
	e.text(k.Namespace)
	e.text(k.Kind)
	e.text(k.ID)
}

func (e *encoder) counters(c *Counters) {
	e.key(c.Owner)
	e.number(int64(len(c.Plain)))
	for _, name := range slices.Sorted(maps.Keys(c.Plain)) {
		e.text(name)
		e.number(c.Plain[name])
	}
	e.number(int64(len(c.Windows)))
	for _, w := range c.Windows {
		e.text(w.Name)
		e.number(int64(w.Span))
		e.number(int64(len(w.Units)))
		for _, u := range w.Units {
			e.time(u.At)
			e.number(u.N)
		}
	}
}

// errItem: a block has passed its checksum, and yet no item is in its place.
var errItem = fmt.Errorf("%w: an item cannot be read: a later release has written it", ErrDamaged)

// readItem reads an item, and returns the rest.
func readItem(b []byte) (item Item, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errItem
	}
	d := decoder{b: b[1:]}
	switch Kind(b[0]) {
	case KindRecord:
		i := &Record{Key: d.key(), Version: d.number(), Deleted: d.truth(), Updated: d.time(), Data: d.bytes()}
		for range d.length() {
			if i.Labels == nil {
				i.Labels = map[string]string{}
			}
			name := d.text()
			i.Labels[name] = d.text()
		}
		item = i
	case KindHistory:
		i := &History{Key: d.key(), First: d.number()}
		for range d.length() {
			i.Entries = append(i.Entries, store.HistoryEntry{Version: d.number(), At: d.time(), Data: d.bytes()})
		}
		item = i
	case KindCounters:
		item = d.counters()
	case KindAnswer:
		item = &Answer{
			Owner: d.key(), Name: d.text(), Hash: d.bytes(), Digest: d.text(), Answer: d.bytes(), Entry: d.key(),
			Version: d.number(), Expires: d.time(),
		}
	case KindTimer:
		i := &Timer{Timer: store.Timer{TimerID: store.TimerID{Key: d.key(), Name: d.text()}}, Cleared: d.truth()}
		i.Due = d.time()
		if finer := d.number(); finer < 0 || finer >= 1000 {
			d.fail()
		} else if !i.Due.IsZero() {
			i.Due = i.Due.Add(time.Duration(finer))
		}
		i.Data = d.bytes()
		item = i
	case KindEvent:
		item = &Event{store.OutboxEntry{
			Shard: int(d.number()), Seq: d.number(), Era: d.text(), ID: d.text(), Subject: d.text(), Payload: d.bytes(),
			Entry: d.key(), Version: d.number(),
		}}
	case KindShard:
		item = &Shard{Shard: int(d.number()), Seq: d.number()}
	default:
		return nil, nil, fmt.Errorf("%w: it has the kind %q", errItem, b[0])
	}
	if d.failed {
		return nil, nil, errItem
	}
	return item, d.b, nil
}

// decoder reads fields. After the first that is not there, failed is true and all are zero.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) fail() {
	d.b, d.failed = nil, true
}

func (d *decoder) number() int64 {
	n, used := binary.Varint(d.b)
	if used <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[used:]
	return n
}

// length returns the number of things that follow, each of one byte at least.
func (d *decoder) length() int64 {
	n := d.number()
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return 0
	}
	return n
}

// bytes returns a copy: the block is used again. No bytes are nil.
func (d *decoder) bytes() []byte {
	n, used := binary.Uvarint(d.b)
	if used <= 0 || n > uint64(len(d.b)-used) {
		d.fail()
		return nil
	}
	p := d.b[used : used+int(n)]
	d.b = d.b[used+int(n):]
	if n == 0 {
		return nil
	}
	return slices.Clone(p)
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) truth() bool {
	if len(d.b) == 0 || d.b[0] > 1 {
		d.fail()
		return false
	}
	is := d.b[0] == 1
	d.b = d.b[1:]
	return is
}

func (d *decoder) time() time.Time {
	seconds := d.number()
	if d.failed || seconds == noTime {
		return time.Time{}
	}
	micros := d.number()
	if seconds < -mostSeconds || seconds > mostSeconds || micros < 0 || micros >= 1e6 {
		d.fail()
		return time.Time{}
	}
	return time.Unix(seconds, micros*1000).UTC()
}

func (d *decoder) key() store.Key {
	return store.Key{Namespace: d.text(), Kind: d.text(), ID: d.text()}
}

func (d *decoder) counters() *Counters {
	c := &Counters{Owner: d.key()}
	for range d.length() {
		if c.Plain == nil {
			c.Plain = map[string]int64{}
		}
		name := d.text()
		c.Plain[name] = d.number()
	}
	for range d.length() {
		w := Window{Name: d.text(), Span: time.Duration(d.number())}
		for range d.length() {
			w.Units = append(w.Units, Units{At: d.time(), N: d.number()})
		}
		c.Windows = append(c.Windows, w)
	}
	return c
}

package bus

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/store"
)

// shard is one shard's way from the outbox to the stream. Three cursors only
// grow while all is well: trimmed <= acked <= read.
type shard struct {
	number int
	lease  store.Lease
	// until is when the lease may have lapsed, by the local clock, safely early.
	until time.Time
	// trimmed is the last Seq that the relay is done with, acked the last that NATS has
	// without a gap, read the last that was read from the outbox.
	trimmed, acked, read int64
	// progress is the version of the record that remembers trimmed, and forgotten the
	// last Seq that the store was asked to forget.
	progress, forgotten int64
	// sent is the highest Seq ever published, and again its value when the shard was
	// rewound, to count entries that are published again.
	sent, again int64
	// order holds the entries after acked, by Seq; the first is not acknowledged.
	order []*entry
	lanes map[string]*queue
	marks []mark
	// gone is set when the shard is no longer ours; its entries are dropped.
	gone bool
}

// entry is an outbox entry under way.
type entry struct {
	store.OutboxEntry
	shard *shard
	queue *queue
	acked bool
	// sentAt and highest say when it was published, and the highest stream
	// sequence that had been acknowledged until then.
	sentAt  time.Time
	highest uint64
	// span is that of the publication; nil without a trace.
	span trace.Span
}

// queue holds the entries of one lane that wait. At most one of a lane is under way: the
// next is published only when NATS has acknowledged it. So if an entry fails in the
// middle of a window, no event gets into the stream before an earlier one of its entity.
type queue struct {
	lane    string
	shard   *shard
	waiting []*entry
	flying  bool
}

// mark says that everything through was acknowledged by at. Acknowledgements
// within a slice of the grace share a mark.
type mark struct {
	through   int64
	first, at time.Time
}

// rewind puts the shard back so that it is read again: from the first entry without
// acknowledgement, or from the first retained entry of the outbox.
func (s *shard) rewind(toStart bool, now time.Time) {
	s.order, s.lanes = nil, make(map[string]*queue)
	if toStart {
		s.acked, s.marks = s.trimmed, nil
	}
	s.read, s.again = s.acked, s.sent
	// A server that was away may have stopped before it synced entries that it had
	// acknowledged: the grace starts again.
	for i := range s.marks {
		s.marks[i].first, s.marks[i].at = now, now
	}
}

// note takes an entry that was read, in the order of Seq.
func (s *shard) note(e *entry) {
	s.read = e.Seq
	s.order = append(s.order, e)
}

// add puts a noted entry into its lane. It returns the lane's queue when that is
// ready to be published from and was not before.
func (s *shard) add(e *entry) *queue {
	key := lane(e.Subject)
	q := s.lanes[key]
	if q == nil {
		q = &queue{lane: key, shard: s}
		s.lanes[key] = q
	}
	e.queue = q
	q.waiting = append(q.waiting, e)
	if len(q.waiting) == 1 && !q.flying {
		return q
	}
	return nil
}

// done takes an acknowledgement, or the knowledge that the stream has the entry.
func (s *shard) done(e *entry, now time.Time, slice time.Duration) {
	e.acked = true
	e.Payload = nil
	n := 0
	for n < len(s.order) && s.order[n].acked {
		s.acked = s.order[n].Seq
		s.order[n] = nil
		n++
	}
	if n == 0 {
		return
	}
	if s.order = s.order[n:]; len(s.order) == 0 {
		s.order = nil
	}
	if last := len(s.marks) - 1; last >= 0 && now.Sub(s.marks[last].first) < slice {
		s.marks[last].through, s.marks[last].at = s.acked, now
		return
	}
	s.marks = append(s.marks, mark{through: s.acked, first: now, at: now})
}

// trimmable returns through which Seq everything was acknowledged by before; 0 when there
// is no entry to trim.
func (s *shard) trimmable(before time.Time) int64 {
	var through int64
	for _, m := range s.marks {
		if m.at.After(before) {
			break
		}
		through = m.through
	}
	return through
}

// finish drops the marks that were trimmed.
func (s *shard) finish(through int64) {
	s.trimmed = max(s.trimmed, through)
	n := 0
	for n < len(s.marks) && s.marks[n].through <= through {
		n++
	}
	if s.marks = s.marks[n:]; len(s.marks) == 0 {
		s.marks = nil
	}
}

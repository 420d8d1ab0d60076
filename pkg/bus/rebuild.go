package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/store"
)

// RebuildConfig of Rebuild. The zero value publishes all that is missing.
type RebuildConfig struct {
	Stream Stream
	// From leaves out events that were decided before; zero leaves out none.
	From time.Time
	// DryRun counts and does not publish.
	DryRun bool
}

// Rebuilt is the result of Rebuild. Kinds are such as "run.transitioned".
type Rebuilt struct {
	// Missing counts by kind the events that the stream lacked and that were published, or
	// would be.
	Missing map[string]int
	// Expired counts those that the stream lacks because they are older than it keeps
	// them, Crowded those for which it has no room next to newer ones, Refused those that
	// are too large for it, with later events of their entities, and Held those that were
	// deleted from it so lately that JetStream takes them for duplicates.
	Expired, Crowded, Refused, Held map[string]int
	// Present is how many of the events the stream has, and Pending how many it lacks that
	// relays publish anyway.
	Present, Pending int
	// Oldest is when the first event was decided that the store still has; zero for none.
	Oldest time.Time
	// Forgotten is how many events the store has had before and keeps no more, at least:
	// where the stream lacks them too, they are lost.
	Forgotten int64
}

// Rebuild publishes the events that the store has and the stream lacks, under the ids that
// they had when they were first published, and in the order of their entities. Relays may
// run at the same time: their pending events are left to them.
func Rebuild(ctx context.Context, st store.Store, nc *nats.Conn, cfg RebuildConfig) (*Rebuilt, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	r := rebuild{store: st, js: js, from: cfg.From, now: time.Now(), stranded: map[string]bool{}, out: &Rebuilt{
		Missing: map[string]int{}, Expired: map[string]int{}, Crowded: map[string]int{}, Refused: map[string]int{}, Held: map[string]int{},
	}}
	if err := r.readRelayed(ctx); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	if r.limits, err = r.readStream(ctx, cfg); err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	missing, err := r.find(ctx)
	if err != nil {
		return nil, fmt.Errorf("rebuild: %w", err)
	}
	missing = r.fitting(missing)
	if cfg.DryRun {
		for _, l := range missing {
			r.out.Missing[l.kind]++
		}
		return r.out, nil
	}
	if err := r.publish(ctx, missing); err != nil {
		return r.out, fmt.Errorf("rebuild: %w", err)
	}
	return r.out, nil
}

type rebuild struct {
	store  store.Store
	js     jetstream.JetStream
	stream jetstream.Stream
	from   time.Time
	now    time.Time
	limits limits
	// relayed has the number of the last event of each shard that was published when the rebuild
	// began. It is read before the stream: events that are relayed meanwhile are not missing.
	relayed []int64
	// known are the ids that the stream has.
	known map[string]struct{}
	// stranded are the lanes of which an event is refused.
	stranded map[string]bool
	out      *Rebuilt
}

// limits are the bounds of a stream, and its free room; a negative number is no limit.
type limits struct {
	age         time.Duration
	bytes, msgs int64
}

// lack is an event that the stream lacks.
type lack struct {
	shard int
	seq   int64
	bytes int64
	at    time.Time
	kind  string
}

// readRelayed reads the progress of relays.
func (r *rebuild) readRelayed(ctx context.Context) error {
	for shard := range r.store.Shards() {
		progress, err := readProgress(ctx, r.store, shard)
		if err != nil {
			return err
		}
		r.relayed = append(r.relayed, progress.through)
	}
	return nil
}

// readStream reads which events the stream has, and makes a stream that is not there.
func (r *rebuild) readStream(ctx context.Context, cfg RebuildConfig) (limits, error) {
	r.known = map[string]struct{}{}
	want := cfg.Stream.withDefaults()
	none := limits{age: want.MaxAge, bytes: want.MaxBytes, msgs: -1}
	if none.bytes <= 0 {
		none.bytes = -1
	}
	stream, err := r.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && cfg.DryRun {
		return none, nil
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = want.createOrUpdate(ctx, r.js)
	}
	if err != nil {
		return none, err
	}
	r.stream = stream
	from := r.from
	if !from.IsZero() {
		from = from.Add(-scanSlack)
	}
	err = eachID(ctx, stream, from, func(id string, _ uint64) bool {
		r.known[id] = struct{}{}
		return true
	})
	info := stream.CachedInfo()
	have := limits{age: info.Config.MaxAge, bytes: -1, msgs: -1}
	if most := info.Config.MaxBytes; most > 0 {
		have.bytes = max(most-int64(info.State.Bytes), 0)
	}
	if most := info.Config.MaxMsgs; most > 0 {
		have.msgs = max(most-int64(info.State.Msgs), 0)
	}
	return have, err
}

// each yields the events of a shard that the store has, oldest first, until yield returns
// false or an error.
func (r *rebuild) each(ctx context.Context, shard int, yield func(e *store.OutboxEntry) (bool, error)) error {
	for after := int64(0); ; {
		entries, err := r.store.Tail(ctx, map[int]int64{shard: after}, tailLimit, 0)
		if err != nil || len(entries) == 0 {
			return err
		}
		for i := range entries {
			after = entries[i].Seq
			entries[i].ID = wireID(&entries[i])
			if more, err := yield(&entries[i]); err != nil || !more {
				return err
			}
		}
	}
}

// find finds the events that the stream lacks and should have.
func (r *rebuild) find(ctx context.Context) (missing []lack, err error) {
	for shard := range r.store.Shards() {
		relayed, first := r.relayed[shard], int64(0)
		err = r.each(ctx, shard, func(e *store.OutboxEntry) (bool, error) {
			if first == 0 {
				first = e.Seq
			}
			at := eventTime(e.Payload)
			if e.Seq > relayed && at.After(r.now) {
				return false, nil // and so on, without an end
			}
			if l, lacks := r.judge(e, at, relayed); lacks {
				missing = append(missing, l)
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
		if first == 0 {
			first = relayed + 1
		}
		r.out.Forgotten += first - 1
	}
	return missing, nil
}

// judge decides whether the stream lacks an event and should have it.
func (r *rebuild) judge(e *store.OutboxEntry, at time.Time, relayed int64) (l lack, lacks bool) {
	if r.out.Oldest.IsZero() || at.Before(r.out.Oldest) {
		r.out.Oldest = at
	}
	_, known := r.known[e.ID]
	switch {
	case at.Before(r.from):
	case known:
		r.out.Present++
	case e.Seq > relayed:
		r.out.Pending++
	case r.limits.age > 0 && r.now.Sub(at) >= r.limits.age:
		r.out.Expired[kindOf(e)]++
	default:
		return lack{shard: e.Shard, seq: e.Seq, bytes: sizeOf(e), at: at, kind: kindOf(e)}, true
	}
	return lack{}, false
}

// fitting returns the newest events that the stream has room for, by shard and their order
// there: more of them would push out newer ones.
func (r *rebuild) fitting(missing []lack) []lack {
	if r.limits.bytes < 0 && r.limits.msgs < 0 {
		return missing
	}
	slices.SortStableFunc(missing, func(a, b lack) int { return b.at.Compare(a.at) })
	n := 0
	for bytes := int64(0); n < len(missing); n++ {
		bytes += missing[n].bytes
		if r.limits.bytes >= 0 && bytes > r.limits.bytes || r.limits.msgs >= 0 && int64(n) >= r.limits.msgs {
			break
		}
	}
	for _, l := range missing[n:] {
		r.out.Crowded[l.kind]++
	}
	return missing[:n]
}

// publish publishes the missing events, each event when the stream has the one before.
func (r *rebuild) publish(ctx context.Context, missing []lack) error {
	wanted := make(map[int]map[int64]bool)
	for _, l := range missing {
		if wanted[l.shard] == nil {
			wanted[l.shard] = make(map[int64]bool)
		}
		wanted[l.shard][l.seq] = true
	}
	for shard, seqs := range wanted {
		left := len(seqs)
		err := r.each(ctx, shard, func(e *store.OutboxEntry) (bool, error) {
			if !seqs[e.Seq] {
				return true, nil
			}
			left--
			return left > 0, r.publishOne(ctx, e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuild) publishOne(ctx context.Context, e *store.OutboxEntry) error {
	of := lane(e.Subject)
	if r.stranded[of] {
		r.out.Refused[kindOf(e)]++
		return nil
	}
	ack, err := r.js.PublishMsg(ctx, message(e, ""))
	var refusal *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload), errors.As(err, &refusal) && refusal.ErrorCode == codeTooLarge:
		r.stranded[of] = true
		r.out.Refused[kindOf(e)]++
	case err != nil:
		return fmt.Errorf("publish event %s: %w", e.ID, err)
	case ack.Duplicate:
		return r.count(ctx, e, ack.Sequence)
	default:
		r.out.Missing[kindOf(e)]++
	}
	return nil
}

// count counts an event that JetStream says to have: it may be one that is deleted.
func (r *rebuild) count(ctx context.Context, e *store.OutboxEntry, seq uint64) error {
	msg, err := r.stream.GetMsg(ctx, seq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), err == nil && msg.Header.Get(headerMsgID) != e.ID:
		r.out.Held[kindOf(e)]++
	case err != nil:
		return fmt.Errorf("look for event %s: %w", e.ID, err)
	default:
		r.out.Present++
	}
	return nil
}

// kindOf returns the entity and the type of an event.
func kindOf(e *store.OutboxEntry) string {
	s, err := ParseSubject(e.Subject)
	if err != nil {
		return e.Subject
	}
	return s.Entity + "." + s.Type
}

// sizeOf returns how much of a stream's bytes an event takes.
func sizeOf(e *store.OutboxEntry) int64 {
	const record = 34 // the overhead of a message in JetStream's files
	return int64(message(e, "").Size()) + record
}

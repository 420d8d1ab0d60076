package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/store"
)

// Limits of one scan. Its findings until then are still true.
const (
	scanLimit   = 500_000
	scanTimeout = 30 * time.Second
	scanBatch   = 1000
	// scanSlack is how far the clocks of NATS and of who decided may differ.
	scanSlack = time.Minute
)

// scan is the result of reading the stream from a time on: event id to sequence.
type scan struct {
	from time.Time
	ids  map[string]uint64
}

// known returns which events the stream already has, when there are entries too old for
// JetStream to recognise by itself: after a stop of NATS, or of all relays, that was
// longer than the duplicate window. Such a scan reads the stream from the time of the
// oldest entry; no event was published in between, so it is short. When it fails,
// consumers see duplicates, which they must expect.
func (s *session) known(ctx context.Context, entries []store.OutboxEntry) map[string]uint64 {
	now := time.Now()
	oldest := now
	for i := range entries {
		if at := eventTime(entries[i].Payload); !at.IsZero() && at.Before(oldest) {
			oldest = at
		}
	}
	if oldest.After(now.Add(-s.cfg.Stream.Duplicates * 3 / 4)) {
		return nil
	}
	if s.rescan.Swap(false) || s.scan.ids == nil || oldest.Before(s.scan.from) {
		ids, err := s.readIDs(ctx, oldest.Add(-scanSlack))
		if err != nil && ctx.Err() == nil {
			s.log.Warn("old events may be published twice: the stream could not be read", "error", err)
		}
		s.scan = scan{from: oldest, ids: ids}
	}
	return s.scan.ids
}

// readIDs reads the ids of the stream's messages since from. The result is true even when
// it also returns an error.
func (s *session) readIDs(ctx context.Context, from time.Time) (map[string]uint64, error) {
	ids := make(map[string]uint64)
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	err := eachID(ctx, s.stream, from, func(id string, seq uint64) bool {
		ids[id] = seq
		return len(ids) < scanLimit
	})
	return ids, err
}

// eachID yields the ids of a stream's messages, from a time on or of all, until yield
// returns false.
func eachID(ctx context.Context, stream jetstream.Stream, from time.Time, yield func(id string, seq uint64) bool) error {
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverAllPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		HeadersOnly:       true,
		MemoryStorage:     true,
		InactiveThreshold: scanTimeout,
	}
	if !from.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &from
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("scan the stream: %w", err)
	}
	info := consumer.CachedInfo()
	defer stream.DeleteConsumer(context.WithoutCancel(ctx), info.Name) //nolint:errcheck // it goes by itself
	for left := info.NumPending; left > 0; {
		batch, err := consumer.Fetch(int(min(left, scanBatch)), jetstream.FetchContext(ctx))
		if err != nil {
			return fmt.Errorf("scan the stream: %w", err)
		}
		got, more := uint64(0), true
		for msg := range batch.Messages() {
			got++
			if meta, err := msg.Metadata(); err == nil && more {
				more = yield(msg.Headers().Get(headerMsgID), meta.Sequence.Stream)
			}
		}
		switch {
		case !more:
			return nil
		case batch.Error() != nil:
			return fmt.Errorf("scan the stream: %w", batch.Error())
		case got == 0:
			return errors.New("scan the stream: it ended early")
		}
		left -= min(got, left)
	}
	return nil
}

package bus

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// WatchConfig of Watch. The zero value watches all new events.
type WatchConfig struct {
	// Stream, default DefaultStream.
	Stream string
	// Subjects to watch, see Subject.Filter; NATS wildcards may be used.
	Subjects []string
	// From is the first stream sequence wanted; 0 begins with new events.
	From uint64
	// Last is how many of the newest events that the stream already has come first,
	// at most. It is used when From is 0.
	Last int
	// Log, default slog.Default.
	Log *slog.Logger
}

// Watcher shows events live, in the stream's order. It is not durable, and around a loss
// of NATS's data it may show an event twice or leave one out: use Subscribe for events
// that must not be missed. It is for one goroutine.
type Watcher struct {
	js  jetstream.JetStream
	cfg WatchConfig
	// next is the stream sequence to continue from.
	next     uint64
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	// delivered counts the consumer's messages, to notice one that was lost on
	// the way; skip are to be left out.
	delivered, skip uint64
}

// Watch begins to watch. The events are those after the call.
func Watch(ctx context.Context, js jetstream.JetStream, cfg WatchConfig) (*Watcher, error) {
	if cfg.Stream == "" {
		cfg.Stream = DefaultStream
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	w := &Watcher{js: js, cfg: cfg, next: cfg.From}
	if err := w.begin(ctx); err != nil {
		w.Stop()
		return nil, fmt.Errorf("watch: %w", err)
	}
	return w, nil
}

// Next waits for the next event. Its error is ctx's: it continues through the loss
// of connection, consumer and stream.
func (w *Watcher) Next(ctx context.Context) (Message, error) {
	for {
		m, ok, err := w.receive(ctx)
		switch {
		case ctx.Err() != nil:
			return Message{}, ctx.Err() // documented as ctx's
		case err != nil:
			w.cfg.Log.Warn("watch interrupted", "error", err)
			w.resume(ctx)
		case ok:
			return m, nil
		}
	}
}

// Stop ends the watch and frees its state in NATS.
func (w *Watcher) Stop() {
	if w.messages != nil {
		w.messages.Stop()
		w.messages = nil
	}
	if w.consumer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		name := w.consumer.CachedInfo().Name
		w.js.DeleteConsumer(ctx, w.cfg.Stream, name) //nolint:errcheck // it goes by itself when unused
		w.consumer = nil
	}
}

func (w *Watcher) receive(ctx context.Context) (Message, bool, error) {
	if w.messages == nil {
		return Message{}, false, jetstream.ErrMsgIteratorClosed
	}
	msg, err := nextMessage(ctx, w.messages)
	if err != nil {
		return Message{}, false, err // logged by the caller
	}
	m, meta, err := received(msg)
	if err != nil {
		return Message{}, false, err
	}
	if meta.Sequence.Consumer != w.delivered+1 {
		return Message{}, false, fmt.Errorf("message %d of the consumer came after %d", meta.Sequence.Consumer, w.delivered)
	}
	w.delivered++
	w.next = m.Seq + 1
	if w.skip > 0 {
		w.skip--
		return Message{}, false, nil
	}
	return m, m.ID != "", nil // a message without an id is not an event of ours
}

// begin finds the start and opens the consumer there.
func (w *Watcher) begin(ctx context.Context) error {
	if w.next > 0 {
		return w.open(ctx)
	}
	state, err := w.state(ctx)
	if err != nil {
		return err
	}
	w.next = state.LastSeq + 1
	if w.cfg.Last <= 0 {
		return w.open(ctx)
	}
	// How far back the newest events are depends on the other events in the stream: look
	// further until there are enough.
	for span := uint64(w.cfg.Last); ; span *= 8 {
		w.next = max(state.FirstSeq, 1)
		if span < state.LastSeq && state.LastSeq-span >= w.next {
			w.next = state.LastSeq - span + 1
		}
		if err := w.open(ctx); err != nil {
			return err
		}
		found := w.consumer.CachedInfo().NumPending
		if last := uint64(w.cfg.Last); found >= last {
			w.skip = found - last
			return nil
		}
		if w.next <= max(state.FirstSeq, 1) {
			return nil
		}
		w.Stop()
	}
}

// resume opens the consumer again, for as long as that takes.
func (w *Watcher) resume(ctx context.Context) {
	for pause := 20 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 2*time.Second) {
		w.Stop()
		state, err := w.state(ctx)
		if err == nil {
			// A stream that lost its end is shorter than the part that was seen.
			w.next = min(w.next, state.LastSeq+1)
			err = w.open(ctx)
		}
		if err == nil {
			return
		}
		wait(ctx, pause)
	}
}

func (w *Watcher) state(ctx context.Context) (jetstream.StreamState, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := w.js.Stream(ctx, w.cfg.Stream)
	if err != nil {
		return jetstream.StreamState{}, err // wrapped by the caller
	}
	return stream.CachedInfo().State, nil
}

func (w *Watcher) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	consumer, err := w.js.CreateConsumer(ctx, w.cfg.Stream, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       w.next,
		FilterSubjects:    w.cfg.Subjects,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err // wrapped by the caller
	}
	w.consumer, w.delivered, w.skip = consumer, 0, 0
	w.messages, err = consumer.Messages(
		jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	return err // wrapped by the caller
}

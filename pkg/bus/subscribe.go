package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// How a consumer asks for messages. Without a heartbeat for twice its interval
// the consumer counts as gone and is looked up, or made, again.
const (
	pullExpiry    = 10 * time.Second
	pullHeartbeat = time.Second
)

// Handler handles one event. An error, or more time than
// SubscriberConfig.Timeout, has the event delivered again later.
//
// It must be idempotent. Subscribe skips events that it has handled a short while
// ago, but that memory ends with the process.
type Handler func(ctx context.Context, d *Delivery) error

// Delivery is an event given to a Handler.
type Delivery struct {
	Message
	// Try is 1 for the first delivery.
	Try int
}

// SubscriberConfig of Subscribe. Durable and Handler are required.
type SubscriberConfig struct {
	// Durable names the consumer; its position outlives the process. Processes
	// that use the same name share the events.
	Durable string
	// Stream, default DefaultStream.
	Stream string
	// FilterSubjects, see Subject.Filter; default all events.
	FilterSubjects []string
	// Handler is called for one event at a time, in the stream's order.
	Handler Handler
	// FromNew begins with the next event when the consumer does not exist yet;
	// otherwise it begins with the oldest that the stream has.
	FromNew bool
	// MaxInFlight is how many events may be delivered and not acknowledged,
	// default 256. With 1, an event that fails holds up those behind it until it
	// succeeds or is given up: order holds through failures.
	MaxInFlight int
	// Timeout of one call of Handler, default 30 s.
	Timeout time.Duration
	// Tries is how often an event is delivered before it is given up (poison),
	// default 8.
	Tries int
	// Backoff are the pauses after the first, second, ... failed try; the last
	// is used again. Default 100 ms to 10 s.
	Backoff []time.Duration
	// Remember is how many handled ids are kept to skip duplicates, default 8192.
	Remember int
	// Poison, when set, is told of an event that is given up.
	Poison func(d *Delivery, err error)
	// Log, default slog.Default. Payloads are never logged.
	Log *slog.Logger
}

func (c SubscriberConfig) withDefaults() (SubscriberConfig, error) {
	switch {
	case c.Durable == "":
		return c, errors.New("subscribe: Durable is empty")
	case c.Handler == nil:
		return c, errors.New("subscribe: Handler is nil")
	case c.MaxInFlight < 0 || c.Timeout < 0 || c.Tries < 0 || c.Remember < 0:
		return c, errors.New("subscribe: a setting is negative")
	}
	if c.Stream == "" {
		c.Stream = DefaultStream
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 256
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Tries == 0 {
		c.Tries = 8
	}
	if c.Remember == 0 {
		c.Remember = 8192
	}
	if len(c.Backoff) == 0 {
		c.Backoff = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 10 * time.Second}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = c.Log.With("component", "subscriber", "durable", c.Durable)
	return c, nil
}

// Subscribe handles events until ctx ends, then returns nil; it survives the
// loss of connection, consumer and stream. The error is a mistake in the
// configuration. Events are delivered at least once, in order per entity as long
// as none fails (see MaxInFlight).
func Subscribe(ctx context.Context, js jetstream.JetStream, cfg SubscriberConfig) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return err
	}
	s := &subscriber{cfg: cfg, js: js, handled: newMemory(cfg.Remember)}
	const shortest, longest = 50 * time.Millisecond, 5 * time.Second
	pause := shortest
	for ctx.Err() == nil {
		began := time.Now()
		err := s.consume(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > longest {
			pause = shortest
		}
		cfg.Log.Warn("subscription interrupted", "error", err, "retry_in", pause)
		wait(ctx, pause)
		pause = min(2*pause, longest)
	}
	return nil
}

type subscriber struct {
	cfg     SubscriberConfig
	js      jetstream.JetStream
	handled *memory
	// last is when NATS stored the newest event that was handled.
	last time.Time
}

func (s *subscriber) consume(ctx context.Context) error {
	consumer, err := s.consumer(ctx)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(
		jetstream.PullMaxMessages(s.cfg.MaxInFlight),
		jetstream.PullExpiry(pullExpiry),
		jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.WithMessagesErrOnMissingHeartbeat(true),
	)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := nextMessage(ctx, messages)
		if err != nil {
			return fmt.Errorf("consume: %w", err)
		}
		if err := s.deliver(ctx, msg); err != nil {
			return err
		}
	}
}

// consumer finds the durable consumer, or makes it. One that NATS lost begins
// again a while before the newest event that was handled.
func (s *subscriber) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	want := jetstream.ConsumerConfig{
		Durable:        s.cfg.Durable,
		FilterSubjects: s.cfg.FilterSubjects,
		AckPolicy:      jetstream.AckExplicitPolicy,
		// Twice, because an event may wait here behind another that is handled.
		AckWait:       2 * s.cfg.Timeout,
		MaxAckPending: s.cfg.MaxInFlight,
		MaxDeliver:    -1, // tries are counted here, so that none ends unlogged
	}
	have, err := s.js.Consumer(ctx, s.cfg.Stream, s.cfg.Durable)
	switch {
	case err == nil:
		old := have.CachedInfo().Config
		want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = old.DeliverPolicy, old.OptStartSeq, old.OptStartTime
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, fmt.Errorf("consumer %s: %w", s.cfg.Durable, err)
	case !s.last.IsZero():
		from := s.last.Add(-5 * time.Minute)
		want.DeliverPolicy, want.OptStartTime = jetstream.DeliverByStartTimePolicy, &from
	case s.cfg.FromNew:
		want.DeliverPolicy = jetstream.DeliverNewPolicy
	}
	consumer, err := s.js.CreateOrUpdateConsumer(ctx, s.cfg.Stream, want)
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", s.cfg.Durable, err)
	}
	return consumer, nil
}

// deliver has one message handled and answers NATS. Its error is the
// connection's, not the handler's.
func (s *subscriber) deliver(ctx context.Context, msg jetstream.Msg) error {
	m, meta, err := received(msg)
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	if m.ID == "" || s.handled.has(m.ID) { // what has no id is not an event of ours
		return answered(msg.Ack())
	}
	d := &Delivery{Message: m, Try: int(min(meta.NumDelivered, 1<<30))} // bounded
	failed := s.handle(ctx, d)
	switch {
	case failed == nil:
		s.handled.add(m.ID)
		s.last = m.Time
		return answered(msg.Ack())
	case ctx.Err() != nil:
		// Not the event's fault: another process may take it at once.
		return answered(msg.Nak())
	case d.Try >= s.cfg.Tries:
		s.cfg.Log.Error("event given up", "event", m.ID, "subject", m.Subject, "tries", d.Try, "error", failed)
		if s.cfg.Poison != nil {
			s.cfg.Poison(d, failed)
		}
		return answered(msg.TermWithReason(fmt.Sprintf("failed %d times", d.Try)))
	}
	pause := s.cfg.Backoff[min(d.Try, len(s.cfg.Backoff))-1]
	s.cfg.Log.Warn("event not handled", "event", m.ID, "subject", m.Subject, "try", d.Try, "retry_in", pause, "error", failed)
	return answered(msg.NakWithDelay(pause))
}

// handle calls the handler; a panic in it is an error.
func (s *subscriber) handle(ctx context.Context, d *Delivery) (err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return s.cfg.Handler(ctx, d)
}

func answered(err error) error {
	if err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// memory remembers the newest ids it was given.
type memory struct {
	ring []string
	next int
	ids  map[string]struct{}
}

func newMemory(size int) *memory {
	return &memory{ring: make([]string, size), ids: make(map[string]struct{}, size)}
}

func (m *memory) has(id string) bool {
	_, ok := m.ids[id]
	return ok && id != ""
}

func (m *memory) add(id string) {
	delete(m.ids, m.ring[m.next])
	m.ring[m.next] = id
	m.next = (m.next + 1) % len(m.ring)
	m.ids[id] = struct{}{}
}

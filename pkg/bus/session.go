package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/tidwall/gjson"
)

// session is one connection of the relay. It never reconnects: the buffers of a broken
// connection must not reach a stream that was not verified.
type session struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	log    *slog.Logger
	cfg    *Config
	// attested is when the mark of the store was renewed.
	attested time.Time
	// failed holds the first failure.
	failed chan error

	// inbox is where acknowledgements arrive, the flight's token appended. It and the
	// fields below are guarded by Relay.mu.
	inbox   string
	last    uint64
	flights map[string]*entry
	// useful is set when the stream took something new.
	useful bool

	// scan is used by the reader only; rescan informs it that other processes may have
	// published since.
	scan   scan
	rescan atomic.Bool
}

// pubAck is JetStream's answer to a publish.
type pubAck struct {
	seq       uint64
	duplicate bool
	err       error
	// tooLarge is set when the stream will never take this message as it is configured,
	// regardless of the others.
	tooLarge bool
}

// codeTooLarge is JetStream's error code for a message over max_msg_size.
const codeTooLarge = 10054

// open connects and makes sure of the stream.
func (r *Relay) open(ctx context.Context) (*session, error) {
	s := &session{
		failed:  make(chan error, 1),
		flights: make(map[string]*entry, r.cfg.Window),
		log:     r.log,
		cfg:     &r.cfg,
	}
	nc, err := r.cfg.NATS.dial(
		nats.Name("interlock-relay "+r.cfg.Holder),
		nats.NoReconnect(),
		nats.ReconnectBufSize(-1),
		nats.FlusherTimeout(r.cfg.AckTimeout),
		nats.PingInterval(r.cfg.AckTimeout),
		nats.ClosedHandler(func(nc *nats.Conn) {
			err := nc.LastError()
			if err == nil {
				err = nats.ErrConnectionClosed
			}
			s.fail(fmt.Errorf("nats connection: %w", err))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.fail(fmt.Errorf("nats connection: %w", err))
		}),
	)
	if err != nil {
		return nil, err
	}
	s.nc = nc
	if err := r.prepare(ctx, s); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (r *Relay) prepare(ctx context.Context, s *session) error {
	var err error
	if s.js, err = jetstream.New(s.nc); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.AckTimeout)
	defer cancel()
	if why := unfit(ctx, s.nc); why != "" { // another server has taken the place of the one at start
		return &UnfitError{URL: s.nc.ConnectedUrlRedacted(), Why: why}
	}
	if s.stream, err = r.cfg.Stream.attest(ctx, s.js, r.cfg.Witnessed); err != nil {
		return err
	}
	s.attested = time.Now()
	s.inbox = s.nc.NewInbox() + "."
	_, err = s.nc.Subscribe(s.inbox+"*", func(m *nats.Msg) {
		r.acknowledged(s, strings.TrimPrefix(m.Subject, s.inbox), readAck(m))
	})
	if err != nil {
		return fmt.Errorf("subscribe to acknowledgements: %w", err)
	}
	return nil
}

// adopt verifies the stream, puts the cursors where they belong and makes the
// session the one in use.
func (r *Relay) adopt(ctx context.Context, s *session) error {
	created := s.stream.CachedInfo().Created
	r.mu.Lock()
	lost := r.lost || !r.created.IsZero() && !created.Equal(r.created)
	high := r.high
	if !r.retains() {
		// No entry to lose; the message may rightly have expired since.
		high, r.high = position{}, position{}
	}
	r.mu.Unlock()
	if !lost {
		err := s.verify(ctx, high)
		if lost = errors.Is(err, errLost); err != nil && !lost {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost {
		r.high = position{}
		r.m.rewinds.Inc()
		r.log.Warn("the stream lost acknowledged events: publishing events again that it may not have synced; for earlier ones run: interlock events rebuild")
	}
	now := time.Now()
	for _, sh := range r.shards {
		sh.rewind(lost, now)
	}
	r.ready, r.buffered, r.bufferedBytes = nil, 0, 0
	r.created, r.lost = created, false
	r.session = s
	r.m.connected.Set(1)
	r.askRegroup()
	return nil
}

// retains reports whether the outbox holds acknowledged entries; r.mu is held.
func (r *Relay) retains() bool {
	for _, sh := range r.shards {
		if len(sh.marks) > 0 || len(sh.order) > 0 {
			return true
		}
	}
	return false
}

// verify fetches the newest message that is known to have been in the stream. errLost
// when it is not there: a stream loses its end, so if it has lost any message, that one
// is gone too. The leader answers, never a replica that lags.
func (s *session) verify(ctx context.Context, high position) error {
	if high.seq == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AckTimeout)
	defer cancel()
	msg, err := s.stream.GetMsg(ctx, high.seq)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("%w: sequence %d is gone", errLost, high.seq)
	case err != nil:
		return fmt.Errorf("verify the stream: %w", err)
	case msg.Header.Get(headerMsgID) != high.id:
		return fmt.Errorf("%w: sequence %d is another event", errLost, high.seq)
	}
	return nil
}

// publish sends an entry; its acknowledgement comes to the inbox. Relay.mu is
// held.
func (s *session) publish(e *entry) error {
	s.last++
	token := strconv.FormatUint(s.last, 36)
	if err := s.nc.PublishMsg(message(&e.OutboxEntry, s.inbox+token)); err != nil {
		return err // the caller distinguishes the kinds and wraps
	}
	s.flights[token] = e
	return nil
}

// fail ends the session; the first reason is kept.
func (s *session) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

func (s *session) close() { s.nc.Close() }

// readAck reads a publish acknowledgement: {"stream":..,"seq":..,"duplicate":..}
// or {"error":{"code":..,"err_code":..,"description":..}}.
func readAck(m *nats.Msg) pubAck {
	if len(m.Data) == 0 {
		if m.Header.Get("Status") == "503" {
			return pubAck{err: jetstream.ErrNoStreamResponse}
		}
		return pubAck{err: jetstream.ErrInvalidJSAck}
	}
	fields := gjson.GetManyBytes(m.Data, "seq", "duplicate", "error")
	if e := fields[2]; e.Exists() {
		code := e.Get("err_code").Int()
		return pubAck{err: fmt.Errorf("%s (code %d)", e.Get("description").String(), code), tooLarge: code == codeTooLarge}
	}
	seq := fields[0].Uint()
	if seq == 0 || !gjson.ValidBytes(m.Data) {
		return pubAck{err: jetstream.ErrInvalidJSAck}
	}
	return pubAck{seq: seq, duplicate: fields[1].Bool()}
}

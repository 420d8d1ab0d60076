package rest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// subscription is one that is open, or is about to be.
type subscription struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed after its last message
}

// socket is one WebSocket. One goroutine reads orders, one keeps the connection,
// and each subscription has one that writes: the connection takes them in turn.
type socket struct {
	hub       *sockets
	conn      *websocket.Conn
	namespace string
	session   string // that acts

	// lost is closed when the connection is of no more use. Writes end with it, not
	// with their subscription: a write that is cut would cut the connection.
	lost context.Context
	lose context.CancelFunc
	all  sync.WaitGroup

	mu      sync.Mutex
	open    map[topic]*subscription
	running int // subscriptions that are open, or have yet to send their last message
}

func newSocket(hub *sockets, conn *websocket.Conn, namespace, session string) *socket {
	return &socket{hub: hub, conn: conn, namespace: namespace, session: session, open: map[topic]*subscription{}}
}

// serve takes orders until the connection ends, and cleans up.
func (s *socket) serve(ctx context.Context, first []order) {
	s.lost, s.lose = context.WithCancel(ctx)
	s.all.Go(s.keep)
	for _, o := range first {
		s.obey(o)
	}
	s.read()
	s.lose()
	s.all.Wait()
	_ = s.conn.CloseNow() // it may be closed already
}

func (s *socket) read() {
	for {
		kind, text, err := s.conn.Read(s.lost)
		if err != nil {
			return // a message that is too long has closed it with 1009
		}
		if kind != websocket.MessageText {
			_ = s.conn.Close(websocket.StatusUnsupportedData, "send JSON as text")
			return
		}
		o, err := decode[order](text)
		if err != nil {
			s.send(s.failure(topic{}, err))
			continue
		}
		s.obey(o)
	}
}

// keep pings the client, asks again whether it may read, and says goodbye when
// the server drains.
func (s *socket) keep() {
	defer s.lose()
	idle, recheck := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer idle.Stop()
	defer recheck.Stop()
	drain := draining(s.lost)
	for {
		select {
		case <-idle.C:
			if !s.alive() {
				return
			}
		case <-recheck.C:
			if s.hub.may.mayRead(s.lost, s.namespace) != nil {
				_ = s.conn.Close(websocket.StatusPolicyViolation, "you may no longer read; come back with a good token")
				return
			}
		case <-drain:
			_ = s.conn.Close(websocket.StatusGoingAway, "the server shuts down; come back")
			return
		case <-s.lost.Done():
			return
		}
	}
}

// alive reports whether the client answers a ping.
func (s *socket) alive() bool {
	ctx, cancel := context.WithTimeout(s.lost, streamWriteTimeout)
	defer cancel()
	return s.conn.Ping(ctx) == nil
}

// obey carries out a client's order. It never waits for a service.
func (s *socket) obey(o order) {
	t := topic{stateID: o.StateID, subject: o.Subject}
	if err := o.check(); err != nil {
		s.send(s.failure(t, err))
		return
	}
	var err error
	if o.Type == orderSubscribe {
		err = s.subscribe(t, o)
	} else {
		err = s.unsubscribe(t)
	}
	if err != nil {
		s.send(s.failure(t, err))
	}
}

func (s *socket) subscribe(t topic, o order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[t] != nil {
		return newProblem(http.StatusConflict, string(fault.FailedPrecondition), "you have this subscription; unsubscribe first to begin elsewhere")
	}
	if len(s.open) >= maxSubscriptions || s.running >= 2*maxSubscriptions {
		return fault.New(fault.LimitReached, "a connection has at most %d subscriptions; end one, or open another connection", maxSubscriptions)
	}
	ctx, cancel := context.WithCancel(s.lost)
	sub := &subscription{cancel: cancel, ended: make(chan struct{})}
	s.open[t] = sub
	s.running++
	s.all.Go(func() {
		defer close(sub.ended)
		last := s.follow(ctx, t, o)
		cancel()
		// Anyone who hears that it has ended can begin again.
		s.mu.Lock()
		delete(s.open, t)
		s.mu.Unlock()
		s.send(last)
		s.mu.Lock()
		s.running--
		s.mu.Unlock()
	})
	return nil
}

// unsubscribe ends a subscription and waits for its last message, so that the
// client can begin again at once.
func (s *socket) unsubscribe(t topic) error {
	s.mu.Lock()
	sub := s.open[t]
	s.mu.Unlock()
	if sub == nil {
		return fault.New(fault.NotFound, "you have no such subscription")
	}
	sub.cancel()
	<-sub.ended
	return nil
}

// follow returns the life of a subscription but for its last message, which it answers:
// unsubscribed, or an error.
func (s *socket) follow(ctx context.Context, t topic, o order) notice {
	f, err := s.feed(ctx, o)
	switch {
	case ctx.Err() != nil:
		return t.notice(noticeUnsubscribed)
	case err != nil:
		return s.failure(t, err)
	}
	begun := t.notice(noticeSubscribed)
	if t.stateID != "" {
		begun.Version = &f.version
	}
	s.send(begun)
	if err := f.follow(ctx, func(ev Event) bool { s.event(t, ev); return true }, nil); err != nil && ctx.Err() == nil {
		return s.failure(t, err)
	}
	return t.notice(noticeUnsubscribed)
}

// feed opens the feed of an order.
func (s *socket) feed(ctx context.Context, o order) (*feed, error) {
	if o.StateID != "" {
		after := int64(fromNow)
		if o.AfterVersion != nil {
			after = *o.AfterVersion
		}
		return s.hub.feeds.ofState(ctx, &statev1.WatchStateRequest{StateId: o.StateID, Session: s.session, AfterVersion: after})
	}
	filter, err := subjectFilter(s.namespace, o.Subject)
	if err != nil {
		return nil, err
	}
	var from uint64
	if o.LastEventID != nil {
		from = uint64(*o.LastEventID) + 1 // not negative
	}
	return s.hub.feeds.ofSubject(ctx, s.namespace, filter, from)
}

// event sends one event of a subscription.
func (s *socket) event(t topic, ev Event) {
	if t.stateID != "" {
		s.send(jsontext.Value(ev.Data))
		return
	}
	s.send(eventNotice{Type: noticeEvent, ID: ev.Seq, Subject: ev.Subject, Event: ev.Data})
}

// failure describes an error, as a problem document would.
func (s *socket) failure(t topic, err error) notice {
	p := problemOf(err, &route{})
	if p.Status >= http.StatusInternalServerError && s.lost.Err() == nil {
		s.hub.log.LogAttrs(s.lost, slog.LevelError, "subscription failed", slog.String("state_id", t.stateID),
			slog.String("subject", t.subject), slog.String("code", p.Code), slog.Any("cause", p.cause))
	}
	n := t.notice(noticeError)
	n.Code, n.Message = p.Code, p.Detail
	return n
}

// send writes one message. A client that does not take it in time loses the
// connection.
func (s *socket) send(message any) {
	text, err := encode(message)
	if err != nil {
		s.hub.log.LogAttrs(s.lost, slog.LevelError, "message not sent", slog.Any("cause", err))
		s.lose()
		return
	}
	ctx, cancel := context.WithTimeout(s.lost, streamWriteTimeout)
	defer cancel()
	if s.conn.Write(ctx, websocket.MessageText, text) != nil {
		s.lose()
	}
}

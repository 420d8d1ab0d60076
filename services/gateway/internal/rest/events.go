package rest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Event is one event of the stream.
type Event struct {
	// Seq is the event's place in the stream, from 1.
	Seq uint64
	// Subject it was published on, e.g. interlock.default.run.run_01j.started.
	Subject string
	// Data is the payload: the JSON of event.v1.
	Data []byte
}

// EventSource is where live events come from.
type EventSource interface {
	// Subscribe delivers the events whose subject matches the NATS filter: from
	// the given sequence on, or only those to come when it is 0. A sequence that
	// the stream no longer has means from the oldest that it has. The
	// channel is closed when ctx ends, when the source fails, and when the reader
	// falls too far behind; the reader resumes by its last sequence. It is safe
	// for concurrent use.
	Subscribe(ctx context.Context, filter string, fromSeq uint64) (<-chan Event, error)
}

const (
	// streamWriteTimeout bounds the writing of one event to one client.
	streamWriteTimeout = 10 * time.Second
	// reconnectAfter is what clients are told to wait before they come back, in
	// milliseconds.
	reconnectAfter = 2000
	// subjectRoot is the first token of every subject.
	subjectRoot = "interlock"
	maxSubject  = 512
)

func (e *edge) eventRoutes() {
	e.add(route{
		method: http.MethodGet, path: "/v1/events", id: "streamEvents", summary: "Live events",
		about: "Server-sent events. Each has the stream's sequence as its id and the JSON of an event as its data; " +
			"comments keep an idle connection open. A client that comes back with Last-Event-ID misses nothing; " +
			"0 replays all that the stream still has.",
		params: []param{
			inQuery("subject", "NATS subject filter within the namespace, e.g. run.> or interlock.default.run.*.transitioned; all when absent."),
			inQuery("last_event_id", "Like the header, for clients that cannot set it."),
			{name: headerLastEvent, in: "header", about: "Resume after this event."},
			{name: headerNamespace, in: "header", about: "Namespace of the events, default when absent."},
		},
		answers: map[int]reflect.Type{http.StatusOK: nil}, stream: e.streamEvents,
	})
}

// streamEvents serves events until the client leaves, reads too slowly, may no
// longer read, or the server drains.
func (e *edge) streamEvents(c *call) error {
	namespace := c.header(headerNamespace)
	if namespace == "" {
		namespace = rpc.DefaultNamespace
	}
	filter, err := subjectFilter(namespace, c.query.Get("subject"))
	if err != nil {
		return err
	}
	from, err := c.resumeFrom()
	if err != nil {
		return err
	}
	if e.Events == nil {
		return fault.New(fault.Unavailable, "this server has no event stream")
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if err := e.mayRead(ctx, namespace); err != nil {
		return err
	}
	events, err := e.Events.Subscribe(ctx, filter, from)
	if err != nil {
		return err
	}
	s := &stream{w: c.w, control: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	if c.r.Method == http.MethodHead {
		return nil
	}
	if s.write(fmt.Appendf(nil, ": connected\nretry: %d\n\n", reconnectAfter)) {
		e.pump(ctx, s, events, namespace)
	}
	return nil
}

// pump copies events to the client.
func (e *edge) pump(ctx context.Context, s *stream, events <-chan Event, namespace string) {
	idle, recheck := time.NewTicker(e.heartbeat), time.NewTicker(e.recheck)
	defer idle.Stop()
	defer recheck.Stop()
	drain := draining(ctx)
	for {
		var good bool
		select {
		case ev, open := <-events:
			good = open && s.event(ev)
		case <-idle.C:
			good = s.write([]byte(": keep-alive\n\n"))
		case <-recheck.C:
			// A token may have been withdrawn since; any doubt ends the stream.
			good = e.mayRead(ctx, namespace) == nil
		case <-drain:
			return
		case <-ctx.Done():
			return
		}
		if !good {
			return
		}
	}
}

// mayRead asks the engine whether the caller may read runs of the namespace:
// whoever may, may watch them. The event source itself knows no callers.
func (e *edge) mayRead(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()
	md.Set(rpc.NamespaceKey, namespace)
	_, err := e.Runs.List(metadata.NewOutgoingContext(ctx, md), &enginev1.RunServiceListRequest{PageSize: 1})
	return err
}

// resumeFrom is the first sequence that the client has not seen; 0 for only what
// is to come.
func (c *call) resumeFrom() (uint64, error) {
	name, text := headerLastEvent, c.header(headerLastEvent)
	if text == "" {
		name, text = "last_event_id", c.query.Get("last_event_id")
	}
	if text == "" {
		return 0, nil
	}
	last, err := strconv.ParseUint(text, 10, 64)
	if err != nil || last == math.MaxUint64 {
		return 0, badParameter(name, "INVALID", "must be the id of an event of this stream")
	}
	return last + 1, nil
}

// subjectToken is one token, percent-encoded where it has to be (docs/events.md).
var subjectToken = regexp.MustCompile(`^[A-Za-z0-9_%-]+$`)

// subjectFilter is a filter that cannot leave the namespace. One that does not
// begin at the root is taken to be within the namespace.
func subjectFilter(namespace, subject string) (string, error) {
	prefix := subjectRoot + "." + namespace + "."
	if subject == "" {
		return prefix + ">", nil
	}
	if len(subject) > maxSubject {
		return "", badParameter("subject", "TOO_LARGE", "is too long")
	}
	tokens := strings.Split(subject, ".")
	for i, token := range tokens {
		last := i == len(tokens)-1
		if !subjectToken.MatchString(token) && token != "*" && (token != ">" || !last) {
			return "", badParameter("subject", "INVALID",
				"must be a NATS subject filter, e.g. run.> or run.*.transitioned, with > only at the end")
		}
	}
	if tokens[0] != subjectRoot {
		return prefix + subject, nil
	}
	if len(tokens) < 3 || tokens[1] != namespace {
		return "", newProblem(http.StatusForbidden, string(fault.PermissionDenied),
			"the subject must lie within "+prefix+">; name another namespace with "+headerNamespace)
	}
	return subject, nil
}

// stream writes server-sent events to one client.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event writes one event; false when the client is gone or too slow.
func (s *stream) event(ev Event) bool {
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %d\n", ev.Seq)
	for line := range bytes.Lines(ev.Data) {
		b.WriteString("data: ")
		// A carriage return would end a line of the event stream too.
		b.Write(bytes.ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"), nil))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

func (s *stream) write(p []byte) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not every writer can
	if _, err := s.w.Write(p); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

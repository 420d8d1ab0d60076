package rest

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Event is one event of the stream.
type Event struct {
	// Seq is the event's place in the stream, from 1; 0 for one that cannot be resumed
	// after.
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
	// subjectRoot is the first token of every subject.
	subjectRoot = "interlock"
	maxSubject  = 512
)

// events serves the streams of server-sent events.
type events struct {
	feeds *feeds
}

func (h *events) routes(add func(route)) {
	h.stateRoutes(add)
	add(route{
		method: http.MethodGet, path: "/v1/events", id: "streamEvents", summary: "Live events",
		about: "Server-sent events. Each has the stream's sequence as its id and the JSON of an event as its data; " +
			"comments keep an idle connection open. A client that returns with Last-Event-ID misses no event; " +
			"0 replays all that the stream still has. With state_id the events are those of /v1/states/{state_id}/events. " +
			"Agents get no events of the entities state, session, task, component and approval, which cover all trees: they follow a state by state_id, and wait for an approval with /v1/approvals/{id}?wait=60s.",
		params: []param{
			inQuery("subject", "NATS subject filter within the namespace, e.g. run.> or interlock.default.run.*.transitioned; all when absent."),
			inQuery("last_event_id", "Like the header, for clients that cannot set it."),
			{name: headerLastEvent, in: "header", about: "Resume after this event."},
			{name: headerNamespace, in: "header", about: "Namespace of the events, default when absent."},
			inQuery("state_id", "Changes of this state instead."),
			afterVersionParam, sessionParam,
		},
		answers: map[int]reflect.Type{http.StatusOK: nil}, stream: h.stream,
	})
}

// stream serves the events of a subject, or the changes of a state.
func (h *events) stream(c *call) error {
	if c.query.Has("state_id") {
		if c.query.Has("subject") {
			return badParameter("subject", "CONFLICT", "is for other events than state_id; give one of them")
		}
		return h.streamState(c, c.query.Get("state_id"))
	}
	if c.query.Has("after_version") {
		return badParameter("after_version", "CONFLICT", "is for state_id; other events continue after last_event_id")
	}
	namespace := c.namespace()
	filter, err := subjectFilter(namespace, c.query.Get("subject"))
	if err != nil {
		return err
	}
	last, resumes, err := c.lastEvent()
	if err != nil {
		return err
	}
	var from uint64
	if resumes {
		from = last + 1
	}
	return serveFeed(c, func(ctx context.Context) (*feed, error) { return h.feeds.ofSubject(ctx, namespace, filter, from) })
}

// namespace returns the namespace of a call, as the services know it: the one that it names, the caller's only one, or the
// default one.
func (c *call) namespace() string {
	return cmp.Or(c.header(headerNamespace), access.CallerOf(c.ctx).Principal.HomeNamespace(), rpc.DefaultNamespace)
}

// feeds opens live streams of events, for callers that may follow them.
type feeds struct {
	source EventSource // nil where there is none
	states statev1.StateServiceClient
	may    *readers
}

// ofSubject follows the events whose subject matches the filter, from a sequence
// of the stream on; 0 for those to come.
func (h *feeds) ofSubject(ctx context.Context, namespace, filter string, from uint64) (*feed, error) {
	if h.source == nil {
		return nil, fault.New(fault.Unavailable, "this server has no event stream")
	}
	all, err := h.may.mayFollow(ctx, namespace, filter)
	if err != nil {
		return nil, err
	}
	events, err := h.source.Subscribe(ctx, filter, from)
	if err != nil {
		return nil, err
	}
	if !all {
		events = withoutTrees(ctx, events)
	}
	return &feed{events: events, allowed: func(ctx context.Context) error {
		still, err := h.may.mayFollow(ctx, namespace, filter)
		if err == nil && all && !still {
			err = newProblem(http.StatusForbidden, string(fault.PermissionDenied),
				"you may no longer follow events of all trees; come back for the others")
		}
		return err
	}}, nil
}

// readers asks the services what a caller may read.
type readers struct {
	runs     enginev1.RunServiceClient
	sessions statev1.SessionServiceClient
	identify func(ctx context.Context, token string) (auth.Principal, error) // nil where no token is bound
}

// mayRead asks the engine whether the caller may read runs of the namespace: anyone who may, may
// watch them, and entities that no tree owns. The event source itself knows no callers.
func (h *readers) mayRead(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := h.runs.ListRuns(inNamespace(ctx, namespace), &enginev1.ListRunsRequest{PageSize: 1})
	return err
}

// inNamespace returns the context of calls for a namespace.
func inNamespace(ctx context.Context, namespace string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	md = md.Copy()
	md.Set(rpc.NamespaceKey, namespace)
	return metadata.NewOutgoingContext(ctx, md)
}

// lastEvent returns the id of the last event that the client has seen, if it says so.
func (c *call) lastEvent() (id uint64, given bool, err error) {
	name, text := headerLastEvent, c.header(headerLastEvent)
	if text == "" {
		name, text = "last_event_id", c.query.Get("last_event_id")
	}
	if text == "" {
		return 0, false, nil
	}
	id, err = strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, false, badParameter(name, "INVALID", "must be the id of an event of this stream")
	}
	return id, true, nil
}

// subjectToken is one token, percent-encoded where it has to be (docs/events.md).
var subjectToken = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_%-]+$`) })

// subjectFilter returns a filter that cannot leave the namespace. One that does not begin
// at the root is taken to be within the namespace.
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
		if !subjectToken().MatchString(token) && token != "*" && (token != ">" || !last) {
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

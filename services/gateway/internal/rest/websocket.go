package rest

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

const (
	// socketProtocol is the subprotocol that this server speaks.
	socketProtocol = "interlock.v1"
	// maxMessage is the longest message of a client in bytes.
	maxMessage = 4 << 10
	// maxSubscriptions is how many subscriptions one connection may have.
	maxSubscriptions = 64
)

// sockets serves WebSockets.
type sockets struct {
	feeds  *feeds
	may    *readers
	origin *http.CrossOriginProtection
	log    *slog.Logger
}

func (h *sockets) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: access.SocketPath, id: "openSocket", summary: "Live events over a WebSocket",
		about: `Messages are JSON. {"type":"subscribe","state_id":"...","after_version":7} follows the changes of a state, ` +
			`{"type":"subscribe","subject":"run.>","last_event_id":12} the events of /v1/events; {"type":"unsubscribe",...} ends that. ` +
			`The answers are {"type":"subscribed",...}, {"type":"unsubscribed",...}, also unasked when no more events come, and ` +
			`{"type":"error","code","message",...} for a refusal or a failure. Changes of states look as in /v1/states/{state_id}/events, other events ` +
			`are {"type":"event","id","subject","event"}. The query subscribes at once. Browsers send their token as a ` +
			`subprotocol: interlock.v1, bearer.TOKEN; pages of other origins are refused.`,
		params: []param{
			{name: "state_id", in: "query", repeated: true, about: "Subscribe to the changes of this state; may be repeated."},
			intQuery("after_version", "For all of them: changes with a greater version; those to come when absent."),
			inQuery("subject", "Subscribe to events: a NATS subject filter within the namespace."),
			inQuery("last_event_id", "Resume these events after this one."),
			inQuery("namespace", "Like the header, for browsers."), sessionParam,
		},
		answers: map[int]reflect.Type{http.StatusSwitchingProtocols: nil}, stream: h.serve,
	})
}

// serve serves a WebSocket until the client leaves, reads too slowly or may
// no longer read, or the server drains.
func (h *sockets) serve(c *call) error {
	if err := h.sameOrigin(c.r); err != nil {
		return err
	}
	namespace, err := c.socketNamespace()
	if err != nil {
		return err
	}
	first, err := c.firstSubscriptions()
	if err != nil {
		return err
	}
	ctx := inNamespace(c.ctx, namespace)
	if err := h.may.mayRead(ctx, namespace); err != nil {
		return err
	}
	w := &handshake{ResponseWriter: c.w}
	conn, err := websocket.Accept(w, c.r, &websocket.AcceptOptions{Subprotocols: []string{socketProtocol}})
	if err != nil {
		return w.problem(err)
	}
	conn.SetReadLimit(maxMessage)
	newSocket(h, conn, namespace, c.header(headerSession)).serve(ctx, first)
	return nil
}

// sameOrigin refuses pages of other origins. A WebSocket is like a change: it carries
// data past the rules for reading.
func (h *sockets) sameOrigin(r *http.Request) error {
	change := *r
	change.Method = http.MethodPost
	if h.origin.Check(&change) != nil {
		return newProblem(http.StatusForbidden, codeCrossOrigin, "WebSockets from pages of another origin are refused")
	}
	return nil
}

// socketNamespace returns the namespace that the header or the query names.
func (c *call) socketNamespace() (string, error) {
	header, query := c.header(headerNamespace), c.query.Get("namespace")
	switch {
	case query == "":
		return c.namespace(), nil
	case !rpc.ValidNamespace(query):
		return "", badNamespace("namespace")
	case header != "" && header != query:
		return "", badParameter("namespace", "CONFLICT", headerNamespace+" names another namespace; send one of them")
	}
	return query, nil
}

// firstSubscriptions returns those that the query asks for.
func (c *call) firstSubscriptions() ([]order, error) {
	after, last := int64(0), int64(0)
	var orders []order
	var err error
	if after, err = c.number("after_version", math.MaxInt64); err != nil {
		return nil, err
	}
	if last, err = c.number("last_event_id", math.MaxInt64); err != nil {
		return nil, err
	}
	states := c.query["state_id"]
	switch {
	case len(states) > maxSubscriptions:
		return nil, badParameter("state_id", "TOO_MANY", fmt.Sprintf("a connection has at most %d subscriptions", maxSubscriptions))
	case c.query.Has("after_version") && len(states) == 0:
		return nil, badParameter("after_version", "CONFLICT", "is for state_id; give that too")
	case c.query.Has("last_event_id") && !c.query.Has("subject"):
		return nil, badParameter("last_event_id", "CONFLICT", "is for subject; give that too")
	}
	for _, id := range states {
		o := order{Type: orderSubscribe, StateID: id}
		if c.query.Has("after_version") {
			o.AfterVersion = &after
		}
		orders = append(orders, o)
	}
	if c.query.Has("subject") {
		o := order{Type: orderSubscribe, Subject: c.query.Get("subject")}
		if c.query.Has("last_event_id") {
			o.LastEventID = &last
		}
		orders = append(orders, o)
	}
	return orders, nil
}

// handshake keeps the plain-text answer of a failed handshake, so that it becomes a
// problem.
type handshake struct {
	http.ResponseWriter
	refused int // the status; 0 for none
}

// Unwrap gives the writer that can be hijacked.
func (h *handshake) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader lets only the switch of protocols through.
func (h *handshake) WriteHeader(status int) {
	if status != http.StatusSwitchingProtocols {
		h.refused = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write drops the text of a refusal.
func (h *handshake) Write(p []byte) (int, error) { return len(p), nil }

// problem returns the refusal as a problem.
func (h *handshake) problem(err error) *Problem {
	switch h.refused {
	case http.StatusUpgradeRequired:
		return newProblem(h.refused, codeUpgradeRequired, "this is for WebSocket clients: send Connection: Upgrade and Upgrade: websocket over HTTP/1.1").
			with("Upgrade", "websocket").with("Connection", "Upgrade")
	case http.StatusForbidden:
		return newProblem(h.refused, codeCrossOrigin, "WebSockets from pages of another origin are refused")
	case http.StatusBadRequest:
		return newProblem(h.refused, string(fault.InvalidRequest), "the WebSocket handshake is not that of RFC 6455 with version 13; correct its headers").
			with("Sec-WebSocket-Version", "13")
	case http.StatusMethodNotAllowed:
		return newProblem(h.refused, codeMethodNotAllowed, "a WebSocket begins with GET").with("Allow", http.MethodGet)
	default:
		p := newProblem(http.StatusInternalServerError, string(fault.Internal), "the connection cannot become a WebSocket")
		p.cause = err
		return p
	}
}

// Types of messages.
const (
	orderSubscribe     = "subscribe"
	orderUnsubscribe   = "unsubscribe"
	noticeSubscribed   = "subscribed"
	noticeUnsubscribed = "unsubscribed"
	noticeError        = "error"
	noticeEvent        = "event"
)

// order is a message of a client.
type order struct {
	Type         string `json:"type"`
	StateID      string `json:"state_id,omitzero"`
	Subject      string `json:"subject,omitzero"`
	AfterVersion *int64 `json:"after_version,omitzero"`
	LastEventID  *int64 `json:"last_event_id,omitzero"`
}

// topic is the object of a subscription: a state or a subject filter.
type topic struct{ stateID, subject string }

// notice is the reply to an order, or reports how a subscription stands.
type notice struct {
	Type    string `json:"type"`
	StateID string `json:"state_id,omitzero"`
	Subject string `json:"subject,omitzero"`
	// Version is that after which the changes of a state continue.
	Version *int64 `json:"version,omitzero"`
	Code    string `json:"code,omitzero"`
	Message string `json:"message,omitzero"`
}

func (t topic) notice(kind string) notice {
	return notice{Type: kind, StateID: t.stateID, Subject: t.subject}
}

// eventNotice is one event of a subject.
type eventNotice struct {
	Type    string         `json:"type"`
	ID      uint64         `json:"id"` // last_event_id to resume after it
	Subject string         `json:"subject"`
	Event   jsontext.Value `json:"event"`
}

// check refuses an order that makes no sense.
func (o order) check() error {
	if o.Type != orderSubscribe && o.Type != orderUnsubscribe {
		return badBody(fault.InvalidRequest, inBody("/type", document.CodeEnum, "must be subscribe or unsubscribe"))
	}
	if (o.StateID == "") == (o.Subject == "") {
		return badBody(fault.InvalidRequest, inBody("/state_id", document.CodeRequired, "give one of state_id and subject"))
	}
	ofState, ofSubject := o.AfterVersion != nil, o.LastEventID != nil
	if o.StateID == "" && ofState || o.Subject == "" && ofSubject {
		return badBody(fault.InvalidRequest, inBody("", document.CodeConflict, "after_version is for state_id, last_event_id for subject"))
	}
	if ofState && *o.AfterVersion < 0 || ofSubject && *o.LastEventID < 0 {
		return badBody(fault.InvalidRequest, inBody("", document.CodeRange, "after_version and last_event_id must not be negative"))
	}
	return nil
}

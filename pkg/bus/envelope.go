package bus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/encoding/protojson"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/store"
)

// CloudEvents 1.0 attributes in binary mode, by the NATS protocol binding, and
// the header by which JetStream drops duplicates.
const (
	headerMsgID       = "Nats-Msg-Id"
	headerSpecVersion = "ce-specversion"
	headerID          = "ce-id"
	headerSource      = "ce-source"
	headerType        = "ce-type"
	headerSubject     = "ce-subject"
	headerTime        = "ce-time"
	headerContentType = "content-type"
)

// ErrEvent is the error for an event that cannot be announced.
var ErrEvent = errors.New("bus: bad event")

// Encode makes the outbox entry of an event: its subject, its payload in proto3 JSON, its
// key (namespace, entity, entity id) and its id. An empty ev.Id is filled with EventID.
// Everything else but the payload must be there; the error is ErrEvent and names the
// missing part.
func Encode(ev *eventv1.Event) (store.Event, error) {
	event, err := Head(ev)
	if err != nil {
		return event, err
	}
	event.Payload, err = Payload(ev)
	return event, err
}

// Payload returns an event in proto3 JSON, without any check.
func Payload(ev *eventv1.Event) ([]byte, error) {
	payload, err := marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return payload, nil
}

// Head encodes an event without the payload, for an event whose payload is made later.
func Head(ev *eventv1.Event) (store.Event, error) {
	for _, field := range []struct{ name, value string }{
		{"namespace", ev.GetNamespace()},
		{"entity", ev.GetEntity()},
		{"entity_id", ev.GetEntityId()},
		{"type", ev.GetType()},
	} {
		if field.value == "" {
			return store.Event{}, fmt.Errorf("%w: %s is empty", ErrEvent, field.name)
		}
	}
	if ev.Id == "" {
		ev.Id = EventID(ev)
	}
	if !headerSafe(ev.Id) {
		return store.Event{}, fmt.Errorf("%w: id %q may contain only printable ASCII without spaces, quotes and percent signs", ErrEvent, ev.Id)
	}
	subject := Subject{Namespace: ev.Namespace, Entity: ev.Entity, ID: ev.EntityId, Type: ev.Type}.String()
	if len(subject) > MaxSubjectBytes {
		return store.Event{}, fmt.Errorf("%w: the subject has %d bytes, at most %d are allowed: use a shorter id", ErrEvent, len(subject), MaxSubjectBytes)
	}
	return store.Event{
		Key:     store.Key{Namespace: ev.Namespace, Kind: ev.Entity, ID: ev.EntityId},
		ID:      ev.Id,
		Subject: subject,
	}, nil
}

// EventID returns the id that follows from the event's namespace, entity, entity id, version
// (for a tool call its call id) and type, joined by dots, each with the bytes outside
// [A-Za-z0-9_-] written ~XX. The same change has the same id in every process that computes it,
// and two changes never share one as long as a version (a call id) has at most one event of a
// type.
func EventID(ev *eventv1.Event) string {
	which := strconv.FormatInt(ev.GetVersion(), 10)
	switch p := ev.GetPayload().(type) {
	case *eventv1.Event_ToolcallDecided:
		which = p.ToolcallDecided.GetCallId()
	case *eventv1.Event_ToolcallReported:
		which = p.ToolcallReported.GetCallId()
	case *eventv1.Event_ToolcallOutcome:
		which = p.ToolcallOutcome.GetCallId()
	}
	return escape(ev.GetNamespace(), '~') + "." + escape(ev.GetEntity(), '~') + "." + escape(ev.GetEntityId(), '~') +
		"." + escape(which, '~') + "." + typeTokens(ev.GetType(), '~')
}

// Decode reads a payload that Encode wrote. Unknown fields, of a newer writer,
// are skipped.
func Decode(payload []byte) (*eventv1.Event, error) {
	ev := &eventv1.Event{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, ev); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	return ev, nil
}

// wireID returns the id of an entry in the stream: with the era of the store's history,
// for in another the same id may be of another event.
func wireID(e *store.OutboxEntry) string {
	if e.Era == "" {
		return e.ID
	}
	return e.ID + "@" + e.Era
}

// message returns an outbox entry on the wire. Every header follows from the entry.
func message(e *store.OutboxEntry, reply string) *nats.Msg {
	h := make(nats.Header, 8)
	// One backing array for all values saves an allocation per header.
	values := make([]string, 0, 8)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set(headerMsgID, e.ID)
	set(headerSpecVersion, "1.0")
	set(headerID, e.ID)
	set(headerContentType, "application/json")
	if tokens, ok := split(e.Subject); ok {
		// A token is percent-encoded. In ce-subject the header's own encoding
		// undoes exactly that; ce-source is a URI reference, whose percent signs
		// must be encoded once more.
		set(headerSource, "/"+Root+"/"+strings.ReplaceAll(tokens[0], "%", "%25"))
		set(headerType, TypePrefix+tokens[1]+"."+tokens[3])
		set(headerSubject, tokens[2]+callSuffix(e, tokens[1]))
	} else {
		set(headerSource, "/"+Root)
		set(headerType, e.Subject)
	}
	if t := gjson.GetBytes(e.Payload, "time"); t.Type == gjson.String {
		set(headerTime, t.Str)
	}
	if e.Trace != "" {
		h.Set(headerTrace, e.Trace)
	}
	return &nats.Msg{Subject: e.Subject, Reply: reply, Header: h, Data: e.Payload}
}

// callSuffix returns what ce-subject has after the run of a tool call: a slash and the call's
// id. It is empty for other entities.
func callSuffix(e *store.OutboxEntry, entity string) string {
	if entity != "toolcall" {
		return ""
	}
	for _, id := range gjson.GetManyBytes(e.Payload, "toolcall_decided.call_id", "toolcall_reported.call_id", "toolcall_outcome.call_id") {
		if id.Str != "" {
			return "/" + Token(id.Str)
		}
	}
	return ""
}

// split returns the namespace, the entity, the id and the type, still escaped. A type may have
// several tokens.
func split(subject string) (tokens [4]string, ok bool) {
	rest, ok := strings.CutPrefix(subject, Root+".")
	for i := range 3 {
		if !ok {
			return tokens, false
		}
		tokens[i], rest, ok = strings.Cut(rest, ".")
	}
	tokens[3] = rest
	return tokens, ok && !strings.Contains("."+subject+".", "..")
}

// eventTime returns when the event was decided; zero when the payload does not
// say.
func eventTime(payload []byte) time.Time {
	t, err := time.Parse(time.RFC3339Nano, gjson.GetBytes(payload, "time").Str)
	if err != nil {
		return time.Time{}
	}
	return t
}

// headerSafe reports whether text can be a CloudEvents header value as it is.
func headerSafe(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == '"' || c == '%' {
			return false
		}
	}
	return text != ""
}

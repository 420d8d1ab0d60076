package bus

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestTokenTable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"run_01j-X9": "run_01j-X9",
		"a b":        "a%20b",
		"a.b":        "a%2Eb",
		"*":          "%2A",
		">":          "%3E",
		"100%":       "100%25",
		"%2E":        "%252E",
		"é":          "%C3%A9",
		"$JS":        "%24JS",
		"\x00\n":     "%00%0A",
	} {
		if got := Token(text); got != want {
			t.Errorf("Token(%q) = %q, want %q", text, got, want)
		}
		if got, err := Untoken(want); got != text || err != nil {
			t.Errorf("Untoken(%q) = %q, %v", want, got, err)
		}
	}
	for _, bad := range []string{"a b", "a.b", "*", "%", "%4", "%41", "%2e", "%zz", "é"} {
		if got, err := Untoken(bad); !errors.Is(err, ErrSubject) {
			t.Errorf("Untoken(%q) = %q, %v", bad, got, err)
		}
	}
}

func TestSubjectsRoundTrip(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(1, 40, -1)
	randtest.Check(t, func(t *rapid.T) {
		s := Subject{text.Draw(t, "namespace"), text.Draw(t, "entity"), text.Draw(t, "id"), text.Draw(t, "type")}
		wire := s.String()
		// Dots of a type part tokens, of which none is empty.
		if strings.Count(wire, ".") > 4+strings.Count(s.Type, ".") || strings.Contains(wire+".", "..") || strings.ContainsAny(wire, "*> \t\r\n") {
			t.Fatalf("subject %q", wire)
		}
		back, err := ParseSubject(wire)
		if err != nil || back != s {
			t.Fatalf("%q is %+v, %v", wire, back, err)
		}
		if s.Filter() != wire {
			t.Fatalf("filter %q of %q", s.Filter(), wire)
		}
		other := Subject{s.Namespace, text.Draw(t, "entity2"), s.ID, text.Draw(t, "type2")}
		if lane(wire) != lane(other.String()) {
			t.Fatalf("lanes of %q and %q differ", wire, other.String())
		}
		other.ID += "x"
		if lane(wire) == lane(other.String()) {
			t.Fatalf("lanes of %q and %q are one", wire, other.String())
		}
	})
	if got := (Subject{Namespace: "a.b", Entity: "run"}).Filter(); got != "interlock.a%2Eb.run.*.>" {
		t.Errorf("filter %q", got)
	}
	for _, bad := range []string{"", "interlock", "other.a.b.c.d", "interlock.a.b.c", "interlock.a.b.c.d..e", "interlock.a.b.c.d%2Ee", "interlock.a..c.d", "interlock.a.b.*.d"} {
		if s, err := ParseSubject(bad); !errors.Is(err, ErrSubject) {
			t.Errorf("ParseSubject(%q) = %+v, %v", bad, s, err)
		}
		if got := lane(bad); got == "" && bad != "" {
			t.Errorf("lane(%q) is empty", bad)
		}
	}
}

func sample() *eventv1.Event {
	return &eventv1.Event{
		Namespace: "default", Entity: "run", EntityId: "run_01j", Type: "transitioned", Version: 3,
		Time: timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)), Actor: "agent-1",
		Payload: &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{Event: "READY", From: "planning", To: "implementing"}},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	ev := sample()
	got, err := Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	const payload = `{"id":"default.run.run_01j.3.transitioned","namespace":"default","entity":"run","entity_id":"run_01j",` +
		`"type":"transitioned","version":"3","time":"2026-01-02T03:04:05.006Z","actor":"agent-1",` +
		`"run_transitioned":{"event":"READY","from":"planning","to":"implementing"}}`
	if string(got.Payload) != payload {
		t.Errorf("payload %s", got.Payload)
	}
	if got.Subject != "interlock.default.run.run_01j.transitioned" || got.ID != "default.run.run_01j.3.transitioned" ||
		got.Key != (store.Key{Namespace: "default", Kind: "run", ID: "run_01j"}) {
		t.Errorf("event %+v", got)
	}
	back, err := Decode(got.Payload)
	if err != nil || !proto.Equal(back, ev) {
		t.Errorf("decoded %v, %v", back, err)
	}
	// The same change has the same id; tool calls are distinguished by their call ids.
	if again, _ := Encode(sample()); again.ID != got.ID {
		t.Errorf("id %s, then %s", got.ID, again.ID)
	}
	call := &eventv1.Event{Namespace: "a b", Entity: "toolcall", EntityId: "r.1", Type: "denied", Version: 3, Payload: &eventv1.Event_ToolcallDecided{
		ToolcallDecided: &eventv1.ToolCallDecided{CallId: "call_1"},
	}}
	if id := EventID(call); id != "a~20b.toolcall.r~2E1.call_1.denied" {
		t.Errorf("id %s", id)
	}
	call.GetToolcallDecided().CallId = "call_2"
	if id := EventID(call); id != "a~20b.toolcall.r~2E1.call_2.denied" {
		t.Errorf("id %s", id)
	}
	call.Payload = &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{CallId: "call_3"}}
	if id := EventID(call); id != "a~20b.toolcall.r~2E1.call_3.denied" {
		t.Errorf("id %s", id)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*eventv1.Event){
		"namespace is empty": func(e *eventv1.Event) { e.Namespace = "" },
		"entity is empty":    func(e *eventv1.Event) { e.Entity = "" },
		"entity_id is empty": func(e *eventv1.Event) { e.EntityId = "" },
		"type is empty":      func(e *eventv1.Event) { e.Type = "" },
		"printable ASCII":    func(e *eventv1.Event) { e.Id = "a b" },
		"shorter id":         func(e *eventv1.Event) { e.EntityId = strings.Repeat("*", 1024) },
		"invalid UTF-8":      func(e *eventv1.Event) { e.Actor = "\xff" },
		"nanos":              func(e *eventv1.Event) { e.Time = &timestamppb.Timestamp{Nanos: -1} },
	} {
		ev := sample()
		change(ev)
		if _, err := Encode(ev); !errors.Is(err, ErrEvent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// The binary mode of the CloudEvents NATS binding: attributes in headers, values
// percent-encoded, the event alone in the body.
func TestCloudEventsHeaders(t *testing.T) {
	t.Parallel()
	ev := sample()
	ev.Namespace, ev.EntityId = "my team", "a.b é%"
	out, err := Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	msg := message(&store.OutboxEntry{ID: out.ID, Subject: out.Subject, Payload: out.Payload}, "reply")
	for name, want := range map[string]string{
		"ce-specversion": "1.0",
		"ce-id":          out.ID,
		"Nats-Msg-Id":    out.ID,
		"ce-source":      "/interlock/my%20team",
		"ce-type":        "run.interlock.run.transitioned",
		"ce-subject":     "a.b é%",
		"ce-time":        "2026-01-02T03:04:05.006Z",
		"content-type":   "application/json",
	} {
		raw := msg.Header[name]
		if len(raw) != 1 {
			t.Errorf("%s is %q", name, raw)
			continue
		}
		got, err := url.PathUnescape(raw[0])
		if err != nil || got != want {
			t.Errorf("%s is %q (%q), want %q", name, got, raw[0], want)
		}
		if raw[0] != headerText(raw[0]) {
			t.Errorf("%s: %q is not printable ASCII", name, raw[0])
		}
	}
	if len(msg.Header) != 8 || msg.Subject != out.Subject || msg.Reply != "reply" || string(msg.Data) != string(out.Payload) {
		t.Errorf("message %+v", msg)
	}
	// An entry of another form still has the required attributes.
	msg = message(&store.OutboxEntry{ID: "x", Subject: "interlock.odd"}, "")
	if msg.Header.Get("ce-id") != "x" || msg.Header.Get("ce-source") == "" || msg.Header.Get("ce-type") == "" {
		t.Errorf("headers %v", msg.Header)
	}
}

// Each type of event that docs/events.md shows has the headers that it promises.
func TestCloudEventsHeadersOfEveryType(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile("(?m)^## (`.*)$").FindAllString(string(text), -1)
	headings := strings.Join(types, "\n")
	dots := 0
	for _, found := range regexp.MustCompile("(?s)```json event\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		ev, err := Decode([]byte(found[1]))
		if err != nil {
			t.Fatalf("%v in %s", err, found[1])
		}
		name := ev.Entity + "." + ev.Type
		if !strings.Contains(headings, "`"+name+"`") {
			t.Errorf("no heading names %s", name)
		}
		dots += min(strings.Count(ev.Type, "."), 1)
		out, err := Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		header := message(&store.OutboxEntry{ID: out.ID, Subject: out.Subject, Payload: out.Payload}, "").Header
		about := ev.EntityId
		if call := cmp.Or(ev.GetToolcallDecided().GetCallId(), ev.GetToolcallReported().GetCallId(), ev.GetToolcallOutcome().GetCallId()); call != "" {
			about += "/" + call
		}
		for attribute, want := range map[string]string{
			"ce-source": "/interlock/" + ev.Namespace, "ce-type": "run.interlock." + name, "ce-subject": about, "ce-id": ev.Id,
		} {
			if got, err := url.PathUnescape(header.Get(attribute)); err != nil || got != want {
				t.Errorf("%s: %s is %q, want %q", name, attribute, got, want)
			}
		}
		if at, err := time.Parse(time.RFC3339Nano, header.Get("ce-time")); err != nil || !at.Equal(ev.Time.AsTime()) {
			t.Errorf("%s: ce-time is %q", name, header.Get("ce-time"))
		}
	}
	if dots < 10 {
		t.Errorf("only %d types have a dot", dots)
	}
	// A text that is no subject of an event has no attributes of one.
	for _, odd := range []string{"interlock", "interlock.a.b.c", "interlock.a.b.c.", "interlock.a.b..d", "interlock..b.c.d", "interlock.a.b.c.d.", "interlock.a.b.c.d..e"} {
		if header := message(&store.OutboxEntry{ID: "x", Subject: odd}, "").Header; header.Get("ce-subject") != "" || header.Get("ce-type") != odd {
			t.Errorf("%s has the headers %v", odd, header)
		}
	}
}

func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '"' {
			return -1
		}
		return r
	}, s)
}

// Events that are written by hand decode with protojson like those that it writes.
func TestMarshalAgreesWithProtojson(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_0-9]{0,12}`), rapid.Just("\"\\</script>\u2028\x00\x7f"))
	randtest.Check(t, func(t *rapid.T) {
		ev := &eventv1.Event{
			Id: text.Draw(t, "id"), Namespace: text.Draw(t, "namespace"), Entity: text.Draw(t, "entity"), EntityId: text.Draw(t, "entity_id"),
			Type: text.Draw(t, "type"), Version: rapid.Int64().Draw(t, "version"), Actor: text.Draw(t, "actor"),
		}
		if rapid.Bool().Draw(t, "has time") {
			scale := rapid.SampledFrom([]int32{1, 1e3, 1e6, 1e9}).Draw(t, "scale")
			ev.Time = &timestamppb.Timestamp{
				Seconds: rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"),
				Nanos:   rapid.Int32Range(0, 999_999_999).Draw(t, "nanos") / scale * scale,
			}
		}
		setPayload(t, ev, text)
		got, err := marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		want, err := protoNames.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := canonical(t, got), canonical(t, want); a != b {
			t.Fatalf("wrote %s\nwant  %s", a, b)
		}
		if back, err := Decode(got); err != nil || !proto.Equal(back, ev) {
			t.Fatalf("decoded %v, %v", back, err)
		}
	})
}

func setPayload(t *rapid.T, ev *eventv1.Event, text *rapid.Generator[string]) {
	texts := rapid.SliceOfN(text, 0, 3)
	switch rapid.IntRange(0, 5).Draw(t, "payload") {
	case 1:
		ev.Payload = &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
			CallId: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Decision: text.Draw(t, "decision"), Code: text.Draw(t, "code"),
			Message: text.Draw(t, "message"), State: text.Draw(t, "state"), RunVersion: rapid.Int64().Draw(t, "run version"), InputDigest: text.Draw(t, "digest"),
			Capability: text.Draw(t, "capability"), Policy: text.Draw(t, "policy"), PolicyVersion: rapid.Int64().Draw(t, "policy version"),
			Rule: text.Draw(t, "rule"), ApprovalId: text.Draw(t, "approval"), Shadows: shadows(text).Draw(t, "shadows"),
			Limits: limitsUsed(text).Draw(t, "limits"), Identity: identities(text).Draw(t, "identity"),
		}}
	case 2:
		ev.Payload = &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{
			CallId: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Ok: rapid.Bool().Draw(t, "ok"), ResultBytes: rapid.Int64().Draw(t, "bytes"),
			FilesChanged: texts.Draw(t, "files"), CostUsd: text.Draw(t, "cost"), Unaccounted: rapid.Bool().Draw(t, "unaccounted"),
		}}
	case 3:
		ev.Payload = &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{
			Event: text.Draw(t, "event"), From: text.Draw(t, "from"), To: text.Draw(t, "to"), Rationale: text.Draw(t, "rationale"),
			SafeNext: rapid.Bool().Draw(t, "safe_next"), Guards: texts.Draw(t, "guards"),
			Branch: text.Draw(t, "branch"),
		}}
	case 4:
		ev.Payload = &eventv1.Event_StateChanged{StateChanged: &eventv1.StateChanged{
			SchemaName: text.Draw(t, "schema"), SchemaVersion: rapid.Int64().Draw(t, "schema version"), RootSessionId: text.Draw(t, "root"),
			SessionId: text.Draw(t, "session"), SessionName: text.Draw(t, "session name"), Pointers: texts.Draw(t, "pointers"),
		}}
	case 5:
		ev.Payload = &eventv1.Event_RunResumed{RunResumed: &eventv1.RunResumed{State: text.Draw(t, "state")}}
	}
}

func identities(text *rapid.Generator[string]) *rapid.Generator[*eventv1.CallIdentity] {
	return rapid.Custom(func(t *rapid.T) *eventv1.CallIdentity {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return &eventv1.CallIdentity{
			Role: text.Draw(t, "role"), Token: text.Draw(t, "token"), Via: text.Draw(t, "via"), Person: text.Draw(t, "person"),
			Human: text.Draw(t, "human"), HumanIssuer: text.Draw(t, "issuer"), HumanSource: text.Draw(t, "source"), HumanGroupsKnown: rapid.Bool().Draw(t, "groups"),
			Agent: text.Draw(t, "agent"), AgentVersion: rapid.Int64().Draw(t, "agent version"), RootSession: text.Draw(t, "root"),
			Lineage: rapid.SliceOfN(text, 0, 3).Draw(t, "lineage"), Attributes: rapid.MapOfN(text, text, 0, 2).Draw(t, "attributes"),
		}
	})
}

func shadows(text *rapid.Generator[string]) *rapid.Generator[[]*eventv1.ShadowDecided] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *eventv1.ShadowDecided {
		return &eventv1.ShadowDecided{
			Policy: text.Draw(t, "policy"), PolicyVersion: rapid.Int64().Draw(t, "policy version"), Workflow: text.Draw(t, "workflow"),
			Decision: text.Draw(t, "decision"), Code: text.Draw(t, "code"),
		}
	}), 0, 3)
}

func limitsUsed(text *rapid.Generator[string]) *rapid.Generator[[]*eventv1.LimitUsed] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *eventv1.LimitUsed {
		return &eventv1.LimitUsed{Policy: text.Draw(t, "policy"), Measure: text.Draw(t, "measure"), Used: rapid.Int64().Draw(t, "used")}
	}), 0, 2)
}

// canonical is JSON with sorted keys and no blanks.
func canonical(t *rapid.T, text []byte) string {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The hand-written messages have exactly the fields that marshal knows: a field
// that is added to the contract must be added there.
func TestMarshalKnowsEveryField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    proto.Message
		want int
	}{
		{&eventv1.Event{}, 8 + 48},
		{&eventv1.ToolCallDecided{}, 18},
		{&eventv1.CallIdentity{}, 13},
		{&eventv1.ShadowDecided{}, 5},
		{&eventv1.ToolCallReported{}, 8},
		{&eventv1.RunTransitioned{}, 9},
		{&eventv1.StateChanged{}, 6},
	} {
		if got := c.m.ProtoReflect().Descriptor().Fields().Len(); got != c.want {
			t.Errorf("%T has %d fields, marshal.go writes %d: write the new one and change this count", c.m, got, c.want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	ev := sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(ev); err != nil {
			b.Fatal(err)
		}
	}
}

// The same id in another era of the store may be another event.
func TestWireIDHasTheEra(t *testing.T) {
	t.Parallel()
	before, after := store.OutboxEntry{ID: "default.run.r.1.started", Era: "a"}, store.OutboxEntry{ID: "default.run.r.1.started", Era: "b"}
	if wireID(&before) == wireID(&after) || !headerSafe(wireID(&before)) {
		t.Errorf("%s and %s", wireID(&before), wireID(&after))
	}
}

package tail

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

func TestTableLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 14, 50, 52, 0, time.UTC)
	for _, payload := range []string{"", "{}", `{"id":`, "[]", `{"type":"io.nats"}`} {
		m := bus.Message{Subject: "interlock.default.run.r.\x1b", Payload: []byte(payload), Time: at}
		if got := tableLine(show.Style{}, m); got != "2026-11-20T14:50:52Z  interlock.default.run.r.⟦U+001B⟧  not an event that this version reads" {
			t.Errorf("%q: %s", payload, got)
		}
	}
	ev := &eventv1.Event{Namespace: "default", Entity: "run", EntityId: "run_1", Type: "paused", Version: 1}
	e, err := bus.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	const want = "2026-11-20T14:50:52Z  run       run_1  paused"
	if got := tableLine(show.Style{}, bus.Message{Subject: e.Subject, ID: e.ID, Payload: e.Payload, Time: at}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ev.Time = timestamppb.New(at.Add(time.Hour)) // when it was decided counts
	if e, err = bus.Encode(ev); err != nil {
		t.Fatal(err)
	}
	if got := tableLine(show.Style{}, bus.Message{Subject: e.Subject, ID: e.ID, Payload: e.Payload, Time: at}); got != strings.Replace(want, "T14:", "T15:", 1) {
		t.Errorf("got %q", got)
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	for want, ev := range map[bool]*eventv1.Event{
		true:  {Namespace: "default", Entity: "audit", EntityId: "audit", Type: "sealed", Version: 1, Payload: &eventv1.Event_DecisionsSealed{DecisionsSealed: &eventv1.DecisionsSealed{Head: "a"}}},
		false: {Namespace: "default", Entity: "run", EntityId: "run_1", Type: "paused", Version: 1},
	} {
		e, err := bus.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		if got := seal(bus.Message{Payload: e.Payload}); got != want {
			t.Errorf("%s: %t", ev.GetType(), got)
		}
	}
	if seal(bus.Message{Payload: []byte("{")}) {
		t.Error("a text that is no event counts as a seal")
	}
}

func TestJSONLine(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"m":"a \u003e b \u0026 \u003cc\u003e"}`: `{"m":"a > b & <c>"}`,
		`{ "version": "9007199254740993" }`:       `{"version":"9007199254740993"}`,
		`{"m":"\u001b\n"}`:                        `{"m":"\u001b\n"}`,
		`no JSON`:                                 `no JSON`,
	} {
		if got := jsonLine([]byte(payload)); got != want {
			t.Errorf("%s: got %s, want %s", payload, got, want)
		}
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(jsonLine([]byte(`{"m":"\u003e"}`))), &back); err != nil || back["m"] != ">" {
		t.Errorf("%v, %v", back, err)
	}
}

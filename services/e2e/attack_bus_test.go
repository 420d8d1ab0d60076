package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
)

// endHolds starts a run for a session, ends the session as an operator, and waits until the
// run's calls are denied.
func (w *world) endHolds(t *testing.T, session string) {
	t.Helper()
	operator := w.as(t, auth.Operator)
	operator.register(t, bugfix)
	token := w.tokens[auth.Agent]
	w.allows(t, "an agent", faces[1], opCreate, ask{token: token, session: session})
	run := operator.begin(t, &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: session}).GetRunId()
	w.allows(t, "an operator", faces[1], opEnd, ask{token: w.tokens[auth.Operator], session: session})
	operator.heldBySession(t, run, true)
}

// TestHostileObserver: a process on this machine without a credential connects to the embedded
// NATS, and pauses, deletes, drains, floods and forges. An end of a session holds all the same,
// no forged message is taken, and others still read events.
func TestHostileObserver(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "hostile"}
	told := w.events(t, bus.Subject{Namespace: w.namespace})
	nc := must[*nats.Conn](t)(nats.Connect(u.nats.URL, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	forever := []byte(`{"pause_until":"2099-01-01T00:00:00Z"}`)
	for _, durable := range []string{"interlock-engine-sessions", "interlock-engine-approvals"} {
		for subject, body := range map[string][]byte{
			"$JS.API.CONSUMER.DURABLE.CREATE.INTERLOCK." + durable: []byte(`{"stream_name":"INTERLOCK","config":{"durable_name":"` + durable + `","ack_policy":"explicit"}}`),
			"$JS.API.CONSUMER.CREATE.INTERLOCK." + durable:         []byte(`{"stream_name":"INTERLOCK","config":{"name":"` + durable + `","durable_name":"` + durable + `"}}`),
			"$JS.API.CONSUMER.PAUSE.INTERLOCK." + durable:          forever,
			"$JS.API.CONSUMER.DELETE.INTERLOCK." + durable:         nil,
			"$JS.API.CONSUMER.MSG.NEXT.INTERLOCK." + durable:       []byte(`{"batch":1000}`),
		} {
			if err := nc.PublishRequest(subject, nc.NewInbox(), body); err != nil {
				t.Fatal(err)
			}
		}
	}
	forged := must[[]byte](t)(json.Marshal(map[string]any{
		"id": "evt_forged", "namespace": w.namespace, "entity": "session", "entity_id": "ses_x", "type": "resumed",
		"session_changed": map[string]any{"name": "victim"},
	}))
	if err := nc.Publish("interlock."+w.namespace+".session.ses_x.resumed", forged); err != nil {
		t.Fatal(err)
	}
	js := must[jetstream.JetStream](t)(jetstream.New(nc))
	made := 0
	for ; made < 1000; made++ { // a flood of consumers ends with a refusal
		if _, err := js.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{InactiveThreshold: 24 * time.Hour}); err != nil {
			break
		}
	}
	if made == 1000 {
		t.Error("an observer gets any number of consumers")
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		t.Fatal(err)
	}

	w.endHolds(t, "victim")
	req := must[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodGet, w.http+"/v1/events", nil))
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Operator])
	req.Header.Set("Interlock-Namespace", w.namespace)
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Errorf("events are answered %s: %s", resp.Status, text)
	}
	for over := false; !over; {
		e := told.next(t)
		if e.GetId() == "evt_forged" {
			t.Fatal("a forged event is in the stream")
		}
		over = e.GetEntity() == "session" && e.GetType() == "ended"
	}
}

// TestEndWithoutNATS: a session's end holds its run while there is no NATS at all.
func TestEndWithoutNATS(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	s.natsServer.Stop()
	w := &world{shape: &s.shape, namespace: "end-without-nats"}
	w.endHolds(t, "s")
}

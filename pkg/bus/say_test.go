package bus

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// say publishes an event without a relay.
func say(tb testing.TB, js jetstream.JetStream, entity string, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		subject := Subject{Namespace: "default", Entity: entity, ID: id, Type: "said"}.String()
		if _, err := js.Publish(context.Background(), subject, []byte(`{}`), jetstream.WithMsgID(id)); err != nil {
			tb.Fatal(err)
		}
	}
}

// stray publishes messages without an id under the subjects of events.
func stray(tb testing.TB, js jetstream.JetStream, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		subject := Subject{Namespace: "default", Entity: "run", ID: id, Type: "said"}.String()
		if _, err := js.Publish(context.Background(), subject, []byte(`{}`)); err != nil {
			tb.Fatal(err)
		}
	}
}

func stream(tb testing.TB, r *rig) jetstream.JetStream {
	tb.Helper()
	js := r.js()
	if _, err := (Stream{}).Ensure(context.Background(), js); err != nil {
		tb.Fatal(err)
	}
	return js
}

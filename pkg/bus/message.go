package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Message is an event as the stream holds it.
type Message struct {
	Subject string
	// ID is the event's id; the same event always has the same.
	ID string
	// Payload is the event in proto3 JSON; see Decode.
	Payload []byte
	// Time is when NATS stored it. When it was decided is in the payload.
	Time time.Time
	// Seq is its sequence in the stream.
	Seq uint64
}

// received reads a message and its delivery data.
func received(msg jetstream.Msg) (Message, *jetstream.MsgMetadata, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Message{}, nil, err // the caller logs or wraps it
	}
	return Message{
		Subject: msg.Subject(),
		ID:      msg.Headers().Get(headerMsgID),
		Payload: msg.Data(),
		Time:    meta.Timestamp,
		Seq:     meta.Sequence.Stream,
	}, meta, nil
}

// How a consumer asks for messages. Without a heartbeat for twice its interval
// the consumer counts as gone and is made again.
const (
	pullExpiry    = 10 * time.Second
	pullHeartbeat = time.Second
)

// rearm is how long one wait for a message lasts, longer than two heartbeats.
const rearm = 5 * pullHeartbeat

// nextMessage waits for a message, a while at a time: the client looks for missing
// heartbeats only from the beginning of a wait, and stops looking when it loses
// the connection. One that comes back unnoticed would be waited on forever.
func nextMessage(ctx context.Context, messages jetstream.MessagesContext) (jetstream.Msg, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, rearm)
		msg, err := messages.Next(jetstream.NextContext(wait))
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return msg, err // the caller wraps or logs it
		}
	}
}

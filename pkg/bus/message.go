package bus

import (
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

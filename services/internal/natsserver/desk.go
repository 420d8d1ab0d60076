package natsserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

// Where observers ask for consumers, and where the desk gets that.
const (
	createSubject = "$JS.API.CONSUMER.CREATE."
	deskSubject   = "_DESK.CONSUMER.CREATE."
)

const (
	// maxConsumers is how many consumers the stream may have for an observer to get another.
	maxConsumers = 256
	// idle is how long a consumer of an observer lives without a reader, at most.
	idle = 5 * time.Minute
	// deskTimeout is how long JetStream may take to make one.
	deskTimeout = 5 * time.Second
)

// desk makes consumers for observers, who may not do so themselves: JetStream acts for a
// consumer in this process's name, such as to send events under a subject of the observer's
// choice. Each is ephemeral, and leaves no traces.
type desk struct {
	conn *nats.Conn
	js   jetstream.JetStream
	log  *slog.Logger
	// connected returns whether a connection is there.
	connected func(peer) bool
	// owned and count are used by one request at a time; count is of the consumers that were made.
	owned owned
	count uint64
}

// openDesk serves until the connection ends.
func openDesk(conn *nats.Conn, connected func(peer) bool, log *slog.Logger) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	d := &desk{conn: conn, js: js, log: log, connected: connected, owned: owned{}}
	_, err = conn.Subscribe(deskSubject+">", d.serve)
	return errors.Join(err, conn.Flush())
}

// refusal is an answer of JetStream's that says no.
type refusal struct {
	Code        int    `json:"code"`
	Description string `json:"description"`
}

func (d *desk) serve(msg *nats.Msg) {
	if msg.Reply == "" {
		return // no client would learn the consumer's name
	}
	where := strings.TrimPrefix(msg.Subject, deskSubject)
	body, refused := request(where, msg.Data)
	who, known := asker(msg)
	if refused == nil && !known {
		refused = &refusal{503, "the connection cannot be made out; try again"}
	}
	if refused == nil {
		refused = d.room(who)
	}
	var answer []byte
	if refused == nil {
		made, err := d.conn.Request(createSubject+where, body, deskTimeout)
		if err == nil {
			answer = made.Data
			d.made(who, answer)
		} else {
			refused = &refusal{503, "no consumer could be made; try again"}
		}
	}
	if refused != nil {
		answer, _ = json.Marshal(map[string]any{ // strings and numbers always encode
			"type": "io.nats.jetstream.api.v1.consumer_create_response", "error": refused,
		})
	}
	if err := msg.Respond(answer); err != nil {
		d.log.Debug("an observer could not be answered", "cause", err)
	}
}

// request returns the request of an observer as it is put to JetStream, or why it is not.
// where is the stream, and the consumer's name and its filter if they are given.
func request(where string, body []byte) ([]byte, *refusal) {
	var req struct {
		Stream string         `json:"stream_name"`
		Config map[string]any `json:"config"`
		Action string         `json:"action,omitempty"`
	}
	decode := json.NewDecoder(bytes.NewReader(body))
	decode.UseNumber() // a sequence is more than a float64 holds
	if err := decode.Decode(&req); err != nil || req.Config == nil {
		return nil, &refusal{400, "the request is not a JSON object with a config"}
	}
	text := func(name string) string { value, _ := req.Config[name].(string); return value }
	_, name, _ := strings.Cut(where, ".")
	name, _, _ = strings.Cut(name, ".")
	switch {
	case text("durable_name") != "":
		return nil, &refusal{403, "observers cannot make durable consumers; remember the sequence, and begin there"}
	case strings.HasPrefix(name, "interlock-") || strings.HasPrefix(text("name"), "interlock-"):
		return nil, &refusal{403, "names that begin with interlock- are Interlock's own"}
	case text("deliver_subject") != "" && !strings.HasPrefix(text("deliver_subject"), observerInbox+"."):
		return nil, &refusal{403, "deliver_subject must begin with " + observerInbox + "."}
	case req.Action == "update":
		return nil, &refusal{403, "observers cannot change consumers; make another"}
	}
	req.Action = "create"
	req.Config["ack_policy"] = "none"
	delete(req.Config, "ack_wait")
	delete(req.Config, "max_ack_pending")
	delete(req.Config, "max_deliver")
	delete(req.Config, "backoff")
	delete(req.Config, "pause_until")
	req.Config["mem_storage"] = true
	req.Config["num_replicas"] = 1
	asked, _ := req.Config["inactive_threshold"].(json.Number)
	if lives, err := asked.Int64(); err != nil || lives <= 0 || lives > int64(idle) {
		req.Config["inactive_threshold"] = int64(idle)
	}
	out, err := json.Marshal(req)
	if err != nil {
		return nil, &refusal{400, "the request cannot be read"}
	}
	return out, nil
}

// clean removes consumers that outlived their use: observers could make durable ones once, and
// this process uses none.
func clean(ctx context.Context, js jetstream.JetStream) error {
	stream, err := js.Stream(ctx, bus.DefaultStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	consumers := stream.ListConsumers(ctx)
	for c := range consumers.Info() {
		if c.Config.Durable != "" {
			err = errors.Join(err, stream.DeleteConsumer(ctx, c.Name))
		}
	}
	return errors.Join(err, consumers.Err())
}

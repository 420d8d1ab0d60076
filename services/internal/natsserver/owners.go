package natsserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/bus"
)

// maxOwned is how many consumers a connection of an observer may have.
const maxOwned = 16

// peer is a connection of an observer. Ids begin anew with the server, so the time tells them
// apart.
type peer struct {
	id    uint64
	start int64
}

// asker returns the connection that a request came by. The server writes the header, and replaces
// one that the request has.
func asker(msg *nats.Msg) (peer, bool) {
	var info server.ClientInfo
	if err := json.Unmarshal([]byte(msg.Header.Get(server.ClientInfoHdr)), &info); err != nil || info.ID == 0 || info.Start == nil {
		return peer{}, false
	}
	return peer{info.ID, info.Start.UnixNano()}, true
}

// connected returns whether a connection is there.
func connected(srv *server.Server, o peer) bool {
	found, err := srv.Connz(&server.ConnzOptions{CID: o.id})
	return err == nil && slices.ContainsFunc(found.Conns, func(c *server.ConnInfo) bool { return c.Start.UnixNano() == o.start })
}

// owned are the consumers of each connection, oldest first.
type owned map[peer][]string

// admit decides whether a connection gets another consumer of a stream that has total. Where the
// stream is full, the connection with the most gives up its oldest, which is drop, to one that
// has fewer.
func (o owned) admit(who peer, total int) (drop string, refused *refusal) {
	mine := len(o[who])
	if mine >= maxOwned {
		return "", &refusal{429, fmt.Sprintf("this connection has %d consumers, the most that one may have; delete one first", maxOwned)}
	}
	if total < maxConsumers {
		return "", nil
	}
	var richest []string
	for _, names := range o {
		if len(names) > len(richest) {
			richest = names
		}
	}
	if len(richest) <= mine+1 {
		return "", &refusal{429, fmt.Sprintf(
			"the stream has %d consumers, and observers get no more; close some, or wait until unused ones are gone", maxConsumers)}
	}
	return richest[0], nil
}

// room makes room for another consumer of a connection, or refuses. Consumers end with their
// connection, at the latest here.
func (d *desk) room(who peer) *refusal {
	ctx, cancel := context.WithTimeout(context.Background(), deskTimeout)
	defer cancel()
	stream, err := d.js.Stream(ctx, bus.DefaultStream)
	if err != nil {
		return &refusal{503, "the stream cannot be read; try again"}
	}
	live := map[string]bool{}
	names := stream.ConsumerNames(ctx)
	for name := range names.Name() {
		live[name] = true
	}
	if names.Err() != nil {
		return &refusal{503, "the stream's consumers cannot be read; try again"}
	}
	end := func(name string) {
		if err := stream.DeleteConsumer(ctx, name); err != nil {
			d.log.Debug("a consumer could not be deleted", "cause", err)
		}
		delete(live, name)
	}
	for o, theirs := range d.owned {
		theirs = slices.DeleteFunc(theirs, func(name string) bool { return !live[name] })
		if !d.connected(o) {
			for _, name := range theirs {
				end(name)
			}
			theirs = nil
		}
		if d.owned[o] = theirs; len(theirs) == 0 {
			delete(d.owned, o)
		}
	}
	drop, refused := d.owned.admit(who, len(live))
	if drop != "" {
		end(drop)
	}
	return refused
}

// made keeps whose a consumer is.
func (d *desk) made(who peer, answer []byte) {
	var consumer struct{ Name string }
	if json.Unmarshal(answer, &consumer) == nil && consumer.Name != "" && !slices.Contains(d.owned[who], consumer.Name) {
		d.owned[who] = append(d.owned[who], consumer.Name)
	}
}

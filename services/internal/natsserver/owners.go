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

// peer is a connection of an observer. Ids begin anew with the server, so the time
// distinguishes them.
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
type owned map[peer][]consumer

// consumer is one of a connection; of two, the one with the lower number is older.
type consumer struct {
	name   string
	number uint64
}

// admit decides whether a connection gets another consumer of a stream that has total. Where the
// stream is full, the connection with the most gives up its oldest, which is drop, to one that has
// fewer. A connection that has none always gets one, or a program with many connections would shut
// all others out: where none has more than one, the oldest of all gives way. Its reader makes
// another, and continues.
func (o owned) admit(who peer, total int) (drop string, refused *refusal) {
	mine := len(o[who])
	if mine >= maxOwned {
		return "", &refusal{429, fmt.Sprintf("this connection has %d consumers, the most that one may have; delete one first", maxOwned)}
	}
	if total < maxConsumers {
		return "", nil
	}
	var richest []consumer
	for _, theirs := range o {
		if len(theirs) > len(richest) || len(theirs) == len(richest) && len(theirs) > 0 && theirs[0].number < richest[0].number {
			richest = theirs
		}
	}
	if len(richest) == 0 || len(richest) <= mine+1 && mine > 0 {
		return "", &refusal{429, fmt.Sprintf(
			"the stream has %d consumers, and observers get no more; close some, or wait until unused ones are gone", maxConsumers)}
	}
	return richest[0].name, nil
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
		theirs = slices.DeleteFunc(theirs, func(c consumer) bool { return !live[c.name] })
		if !d.connected(o) {
			for _, c := range theirs {
				end(c.name)
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
	var made struct{ Name string }
	if json.Unmarshal(answer, &made) == nil && made.Name != "" &&
		!slices.ContainsFunc(d.owned[who], func(c consumer) bool { return c.name == made.Name }) {
		d.count++
		d.owned[who] = append(d.owned[who], consumer{made.Name, d.count})
	}
}

package natsserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	from := func(first uint64, n int) (all []consumer) {
		for i := range n {
			all = append(all, consumer{fmt.Sprint("c", first+uint64(i)), first + uint64(i)})
		}
		return all
	}
	names := func(n int) []consumer { return from(0, n) }
	me, other, third := peer{id: 1}, peer{id: 2}, peer{id: 3}
	for name, tt := range map[string]struct {
		owned owned
		total int
		drop  string
		says  string
	}{
		"room":                          {owned{}, 0, "", ""},
		"as many as one may have":       {owned{me: names(maxOwned)}, maxOwned, "", "this connection has 16"},
		"one less":                      {owned{me: names(maxOwned - 1)}, maxConsumers - 1, "", ""},
		"full, and another has more":    {owned{other: names(2)}, maxConsumers, "c0", ""},
		"full, and another has as many": {owned{me: names(1), other: names(2)}, maxConsumers, "", "observers get no more"},
		"full, and each has one":        {owned{other: from(7, 1), third: from(3, 1)}, maxConsumers, "c3", ""},
		"full, and I have one, too":     {owned{me: from(1, 1), other: from(7, 1)}, maxConsumers, "", "observers get no more"},
		"full of the process's own":     {owned{}, maxConsumers, "", "observers get no more"},
	} {
		drop, refused := tt.owned.admit(me, tt.total)
		said := ""
		if refused != nil {
			said = refused.Description
		}
		if drop != tt.drop || (tt.says == "") != (said == "") || !strings.Contains(said, tt.says) {
			t.Errorf("%s: drops %q, says %q", name, drop, said)
		}
	}
}

// A program that has a connection for each of its consumers shuts out no other, and does not end a
// watch that began before.
func TestManyConnectionsBlockNobody(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	publisher, js := connect(t, srv.Endpoint())
	defer publisher.Close()
	watch := func() *bus.Watcher {
		t.Helper()
		nc, reader := connect(t, bus.Endpoint{URL: srv.URL()})
		t.Cleanup(nc.Close)
		tail, err := bus.Watch(ctx, reader, bus.WatchConfig{From: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tail.Stop)
		return tail
	}
	sees := func(tail *bus.Watcher, want string) {
		t.Helper()
		if m, err := tail.Next(ctx); err != nil || m.ID != want {
			t.Errorf("it sees %+v, %v, want %s", m, err, want)
		}
	}
	early := watch()
	publish(t, js, "a")
	sees(early, "a")
	for consumers := 0; consumers < maxConsumers; {
		nc, another := connect(t, bus.Endpoint{URL: srv.URL()})
		defer nc.Close()
		if _, err := another.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{}); err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		consumers = info.State.Consumers
	}
	late := watch() // for which the oldest goes, that of early
	publish(t, js, "b")
	sees(late, "a")
	sees(late, "b")
	sees(early, "b")
}

// However many consumers the connections of one program have, another gets one. Those of a
// connection end with it, and a client's text in the header of its request makes no
// difference.
func TestConsumersOfOthersBlockNobody(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	take := func(nc *nats.Conn, header string) (got int, refused string) {
		t.Helper()
		for {
			msg := nats.NewMsg(createSubject + "INTERLOCK")
			msg.Data = []byte(`{"stream_name":"INTERLOCK","config":{}}`)
			if header != "" {
				msg.Header.Set(server.ClientInfoHdr, header)
			}
			answer, err := nc.RequestMsgWithContext(ctx, msg)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(answer.Data), `"error"`) {
				return got, string(answer.Data)
			}
			got++
		}
	}
	var greedy []*nats.Conn
	for i := range maxConsumers / maxOwned {
		nc, _ := connect(t, bus.Endpoint{URL: srv.URL()})
		defer nc.Close()
		header := ""
		if i == 0 {
			header = `{"id":9999,"start":"2026-01-01T00:00:00Z","acc":"$G"}`
		}
		if got, refused := take(nc, header); got != maxOwned || !strings.Contains(refused, "this connection has 16") {
			t.Fatalf("a connection gets %d consumers, then %s", got, refused)
		}
		greedy = append(greedy, nc)
	}
	publisher, js := connect(t, srv.Endpoint())
	defer publisher.Close()
	publish(t, js, "a")
	nc, reader := connect(t, bus.Endpoint{URL: srv.URL()})
	defer nc.Close()
	tail, err := bus.Watch(ctx, reader, bus.WatchConfig{From: 1})
	if err != nil {
		t.Fatalf("a stream full of one program's consumers: %v", err)
	}
	defer tail.Stop()
	if m, err := tail.Next(ctx); err != nil || m.ID != "a" {
		t.Errorf("it sees %+v, %v", m, err)
	}
	for _, nc := range greedy {
		nc.Close()
	}
	// The server hears of the ends in its own time.
	late, another := connect(t, bus.Endpoint{URL: srv.URL()})
	defer late.Close()
	for consumers := maxConsumers; consumers > 3; {
		made, err := another.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if err := another.DeleteConsumer(ctx, bus.DefaultStream, made.CachedInfo().Name); err != nil {
			t.Fatal(err)
		}
		info, err := stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		consumers = info.State.Consumers
	}
}

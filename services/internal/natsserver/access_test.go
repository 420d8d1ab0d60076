package natsserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

// open starts a server with the stream of events in it.
func open(t *testing.T) (context.Context, *Server, jetstream.Stream) {
	t.Helper()
	srv := start(t, Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(srv.Stop)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	nc, js := connect(t, srv.Endpoint())
	t.Cleanup(nc.Close)
	stream, err := (bus.Stream{}).Ensure(ctx, js)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, srv, stream
}

func TestWrongLoginsAreTurnedAway(t *testing.T) {
	t.Parallel()
	_, srv, _ := open(t)
	_, other, _ := open(t)
	for name, options := range map[string][]nats.Option{
		"no password":                 {nats.UserInfo("interlock", "")},
		"a guess":                     {nats.UserInfo("interlock", "interlock")},
		"another start's":             other.gate.options(),
		"a token":                     {nats.Token(srv.gate.password)},
		"the password without a user": {nats.UserInfo("", srv.gate.password)},
		"a password with more in it":  {nats.UserInfo("interlock", srv.gate.password+"x")},
		"a password with less in it":  {nats.UserInfo("interlock", srv.gate.password[1:])},
	} {
		nc, err := nats.Connect(srv.URL(), options...)
		if err == nil {
			nc.Close()
		}
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An observer sees events, also those of the stream, and can publish none.
func TestObserversDoNotPublish(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	refusals := make(chan error, 16)
	nc, err := nats.Connect(srv.URL(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("interlock.>")
	if err != nil {
		t.Fatal(err)
	}
	publisher, js := connect(t, srv.Endpoint())
	defer publisher.Close()
	for _, forbidden := range []func() error{
		func() error { return nc.Publish("interlock.default.run.r.completed", []byte("forged")) },
		func() error { return nc.Publish("$JS.API.STREAM.PURGE.INTERLOCK", nil) },
		func() error { return nc.Publish("$JS.API.STREAM.DELETE.INTERLOCK", nil) },
		func() error { return nc.Publish("$JS.API.STREAM.CREATE.OTHER", []byte(`{"name":"OTHER"}`)) },
		func() error { return nc.Publish("$JS.API.STREAM.MSG.DELETE.INTERLOCK", []byte(`{"seq":1}`)) },
		func() error { _, err := nc.SubscribeSync("$JS.>"); return err },
		func() error { _, err := nc.SubscribeSync(">"); return err },
		func() error { _, err := nc.SubscribeSync(publisher.NewInbox()); return err },
	} {
		if err := errors.Join(forbidden(), nc.Flush()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refusals:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("refused with %v", err)
			}
		case <-ctx.Done():
			t.Fatal("it was not refused")
		}
	}
	// The announced event comes, and it is the first and only event.
	publish(t, js, "started")
	if msg, err := sub.NextMsgWithContext(ctx); err != nil || string(msg.Data) != "true" {
		t.Errorf("the observer sees %v, %v", msg, err)
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs != 1 {
		t.Errorf("the stream holds %d messages, %v", info.State.Msgs, err)
	}
}

// NATS replies wherever an observer wants the answer, with a message of the stream
// if that is the answer. The stream, and this process, get none of it.
func TestAnswersToObserversAreNoEvents(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	publisher, js := connect(t, srv.Endpoint())
	defer publisher.Close()
	heard, err := publisher.SubscribeSync("interlock.>")
	if err != nil {
		t.Fatal(err)
	}
	publish(t, js, "old")
	nc, reader := connect(t, bus.Endpoint{URL: srv.URL()})
	defer nc.Close()
	if _, err := reader.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{Name: "d", HeadersOnly: true}); err != nil {
		t.Fatal(err)
	}
	seen, err := nc.SubscribeSync("interlock.>")
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"$JS.API.INFO", "$JS.API.STREAM.MSG.GET.INTERLOCK", "$JS.API.CONSUMER.MSG.NEXT.INTERLOCK.d"} {
		if err := nc.PublishRequest(question, "interlock.default.run.r.completed", []byte(`{"seq":1,"expires":30000000000}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := seen.NextMsgWithContext(ctx); err != nil {
			t.Fatalf("%s: no answer: %v", question, err)
		}
	}
	publish(t, js, "new")
	for _, want := range []string{"old", "new"} {
		if m, err := heard.NextMsgWithContext(ctx); err != nil || m.Header.Get("Nats-Msg-Id") != want {
			t.Errorf("this process hears %+v, %v; want %s", m, err, want)
		}
	}
	if info, err := stream.Info(ctx); err != nil || info.State.LastSeq != 2 {
		t.Errorf("the stream holds %+v, %v", info, err)
	}
}

// Observers read the stream by every kind of consumer.
func TestObserversReadTheStream(t *testing.T) {
	t.Parallel()
	ctx, srv, _ := open(t)
	publisher, js := connect(t, srv.Endpoint())
	defer publisher.Close()
	publish(t, js, "a", "b", "c")
	nc, reader := connect(t, bus.Endpoint{URL: srv.URL()})
	defer nc.Close()
	pull, err := bus.Watch(ctx, reader, bus.WatchConfig{From: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pull.Stop()
	pushed, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	ordered, err := pushed.SubscribeSync("interlock.>", nats.OrderedConsumer())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", "b", "c"} {
		if m, err := pull.Next(ctx); err != nil || m.ID != want {
			t.Errorf("pulled %+v, %v; want %s", m, err, want)
		}
		if m, err := ordered.NextMsgWithContext(ctx); err != nil || m.Header.Get("Nats-Msg-Id") != want {
			t.Fatalf("pushed %+v, %v; want %s", m, err, want)
		}
	}
}

// Observers touch only their own consumers, and make none that stay, that send elsewhere, or
// that are too many.
func TestObserversConsumers(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	own, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Name: "own", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	refusals := make(chan error, 16)
	nc, err := nats.Connect(srv.URL(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{
		"$JS.API.CONSUMER.PAUSE.INTERLOCK.own", "$JS.API.CONSUMER.NAMES.INTERLOCK",
		"$JS.API.CONSUMER.LIST.INTERLOCK", "$JS.API.CONSUMER.DURABLE.CREATE.INTERLOCK.d", "$JS.ACK.INTERLOCK.own.1.1.1.1.1",
		"$JS.API.CONSUMER.LEADER.STEPDOWN.INTERLOCK.own", deskSubject + "INTERLOCK.x",
	} {
		if err := errors.Join(nc.PublishRequest(subject, nc.NewInbox(), []byte(`{"pause_until":"2099-01-01T00:00:00Z"}`)), nc.Flush()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-refusals:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: refused with %v", subject, err)
			}
		case <-ctx.Done():
			t.Fatalf("%s was not refused", subject)
		}
	}
	for what, ask := range map[string]struct{ where, config, want string }{
		"durable":        {"INTERLOCK.d", `{"durable_name":"d","name":"d"}`, "durable"},
		"of Interlock's": {"INTERLOCK.interlock-x", `{"name":"interlock-x"}`, "Interlock's own"},
		"sent elsewhere": {"INTERLOCK.p", `{"name":"p","deliver_subject":"$JS.API.CONSUMER.DELETE.INTERLOCK.own"}`, "deliver_subject"},
		"no config":      {"INTERLOCK.p", `null`, "config"},
	} {
		answer, err := nc.RequestWithContext(ctx, createSubject+ask.where, []byte(`{"stream_name":"INTERLOCK","config":`+ask.config+`}`))
		if err != nil || !strings.Contains(string(answer.Data), ask.want) || !strings.Contains(string(answer.Data), `"error"`) {
			t.Errorf("%s: %s, %v", what, answer.Data, err)
		}
	}
	if _, err := nc.RequestWithContext(ctx, createSubject+"INTERLOCK.own", []byte(
		`{"stream_name":"INTERLOCK","action":"update","config":{"name":"own","pause_until":"2099-01-01T00:00:00Z"}}`)); err != nil {
		t.Error(err)
	}
	if info, err := own.Info(ctx); err != nil || info.Config.AckPolicy != jetstream.AckExplicitPolicy || info.Paused {
		t.Errorf("this process's consumer is %+v, %v", info, err)
	}

	reader, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	made, err := reader.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, InactiveThreshold: 24 * time.Hour, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: 1<<53 + 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := made.CachedInfo().Config; c.AckPolicy != jetstream.AckNonePolicy || c.InactiveThreshold != idle || !c.MemoryStorage || c.OptStartSeq != 1<<53+1 {
		t.Errorf("a consumer is made as %+v", c)
	}
	for err == nil {
		_, err = reader.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{})
	}
	if !strings.Contains(err.Error(), "this connection has 16 consumers") {
		t.Error(err)
	}
	inside, js := connect(t, srv.Endpoint())
	defer inside.Close()
	if _, err := js.CreateConsumer(ctx, bus.DefaultStream, jetstream.ConsumerConfig{}); err != nil {
		t.Errorf("this process gets none: %v", err)
	}
}

// Consumers that stayed from a time when observers could make them go with a restart.
func TestOldConsumersGo(t *testing.T) {
	t.Parallel()
	ctx, srv, stream := open(t)
	nc, js := connect(t, srv.Endpoint())
	defer nc.Close()
	for _, durable := range []string{"interlock-engine-sessions", "mine"} {
		if _, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: durable, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Name: "reader", InactiveThreshold: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := clean(ctx, js); err != nil {
		t.Fatal(err)
	}
	var left []string
	for name := range stream.ConsumerNames(ctx).Name() {
		left = append(left, name)
	}
	if !slices.Equal(left, []string{"reader"}) {
		t.Errorf("left are %q", left)
	}
}

func publish(t *testing.T, js jetstream.JetStream, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := js.Publish(t.Context(), "interlock.default.run.r."+id, []byte("true"), jetstream.WithMsgID(id)); err != nil {
			t.Fatal(err)
		}
	}
}

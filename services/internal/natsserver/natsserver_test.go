package natsserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/pkg/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerKeepsItsStreamOverARestart(t *testing.T) {
	t.Parallel()
	cfg := Config{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	srv := start(t, cfg)
	if host, _, err := net.SplitHostPort(strings.TrimPrefix(srv.URL(), "nats://")); err != nil || host != "127.0.0.1" {
		t.Fatalf("listens on %s (%v)", srv.URL(), err)
	}
	nc, js := connect(t, srv.Endpoint())
	if _, err := (bus.Stream{}).Ensure(ctx, js); err != nil {
		t.Fatal(err)
	}
	// Two MiB and their headers fit.
	if _, err := js.Publish(ctx, "interlock.a.b.c.d", make([]byte, 2<<20), jetstream.WithMsgID("one")); err != nil {
		t.Fatal(err)
	}
	nc.Close()
	srv.Stop()

	srv = start(t, cfg)
	defer srv.Stop()
	nc, js = connect(t, bus.Endpoint{URL: srv.URL()})
	defer nc.Close()
	stream, err := js.Stream(ctx, bus.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil || msg.Header.Get("Nats-Msg-Id") != "one" {
		t.Fatalf("message 1 after the restart: %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"no folder":      {Config{}, "set Dir"},
		"all interfaces": {Config{Dir: "x", Addr: "0.0.0.0:0"}, "not a loopback"},
		"no host":        {Config{Dir: "x", Addr: ":4222"}, "must be an IP address"},
		"other machine":  {Config{Dir: "x", Addr: "10.0.0.1:4222"}, "not a loopback"},
		"a name":         {Config{Dir: "x", Addr: "example.org:4222"}, "must be an IP address"},
		"no port":        {Config{Dir: "x", Addr: "127.0.0.1"}, "missing port"},
		"taken":          {Config{Dir: "x", Addr: taken.Addr().String()}, "address already in use"},
		"bad port":       {Config{Dir: "x", Addr: "127.0.0.1:70000"}, "bad port"},
	} {
		srv, err := Start(c.cfg)
		if err == nil {
			srv.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	srv, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func connect(t *testing.T, e bus.Endpoint) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := e.Connect(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// A service that starts before its Redis is alive, not ready, and serves when Redis is there.
func TestServicesWaitForTheirStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	redis, admin := freeAddress(t), freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, "test", "v", Flags{GRPC: "127.0.0.1:0", Admin: admin, AllowAnonymous: true},
			&StoreFlags{Store: "redis://" + redis + "/0", AllowLossyStore: true, NATSURL: "nats://127.0.0.1:1"},
			func(*Daemon) error { return nil })
	}()
	status := func(path string) int {
		resp, err := http.Get("http://" + admin + path)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	await := func(path string, want int) {
		t.Helper()
		deadline, tick := time.NewTimer(2*time.Minute), time.NewTicker(20*time.Millisecond)
		defer deadline.Stop()
		defer tick.Stop()
		for status(path) != want {
			select {
			case <-tick.C:
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-deadline.C:
				t.Fatalf("%s: no %d", path, want)
			}
		}
	}
	await("/healthz", http.StatusOK)
	await("/readyz", http.StatusServiceUnavailable)
	server := redistest.Start(t)
	forward(t, redis, server.Addr())
	// Without NATS it does not use a store that is empty, for all that it knows.
	st, err := redisstore.Open(t.Context(), redisstore.Config{URL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if vouched, err := st.Vouched(t.Context()); vouched || err != nil {
		t.Errorf("a store is vouched for without NATS: %v, %v", vouched, err)
	}
	if status("/readyz") != http.StatusServiceUnavailable {
		t.Error("it is ready with a store that nothing vouches for")
	}
	// One that was used before serves without NATS, too.
	if err := errors.Join(st.Vouch(t.Context()), st.Close()); err != nil {
		t.Fatal(err)
	}
	await("/readyz", http.StatusOK)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// freeAddress is one without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

// forward serves one address at another.
func forward(t *testing.T, from, to string) {
	t.Helper()
	lis, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		for {
			in, err := lis.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
}

// once calls do at the first line of a log.
type once struct {
	slog.Handler
	do func()
}

func (o *once) Enabled(context.Context, slog.Level) bool { return true }

func (o *once) Handle(context.Context, slog.Record) error {
	o.do()
	return nil
}

// A store that refuses connections is waited for, with one line a minute.
func TestAwaitStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	address, server := freeAddress(t), redistest.Start(t).Addr()
	lines := 0
	log := slog.New(&once{slog.DiscardHandler, func() {
		if lines++; lines == 1 {
			forward(t, address, server)
		}
	}})
	st, err := awaitStore(t.Context(), StoreConfig{URL: "redis://" + address + "/0", Logger: log, AllowLossy: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil || lines == 0 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

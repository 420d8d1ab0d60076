package bus_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
)

func unfitness(t *testing.T, url string) string {
	t.Helper()
	err := bus.Endpoint{URL: url}.Fit(t.Context())
	var unfit *bus.UnfitError
	if err != nil && !errors.As(err, &unfit) {
		t.Fatalf("%v is no UnfitError", err)
	}
	if unfit == nil {
		return ""
	}
	return unfit.Why
}

func TestFit(t *testing.T) {
	t.Parallel()
	if why := unfitness(t, natstest.Start(t).URL()); why != "" {
		t.Errorf("a good server: %s", why)
	}
	if why := unfitness(t, announces(t, "2.9.25")); !strings.Contains(why, "it has version 2.9.25, and 2.10 or newer is needed") {
		t.Errorf("an old server: %q", why)
	}
	if why := unfitness(t, withoutJetStream(t)); !strings.Contains(why, "nats-server -js") {
		t.Errorf("a server without JetStream: %q", why)
	}
	if why := unfitness(t, closedAddress(t)); why != "" {
		t.Errorf("no server, which may come: %s", why)
	}
}

// announces is the URL of a server that says it has a version, and no more.
func announces(t *testing.T, version string) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		conn, err := lis.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "INFO {\"server_id\":\"A\",\"version\":%q,\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", version)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if lines.Text() == "PING" {
				fmt.Fprint(conn, "PONG\r\n")
			}
		}
	}()
	return "nats://" + lis.Addr().String()
}

func withoutJetStream(t *testing.T) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(srv.Shutdown)
	if !srv.ReadyForConnections(2 * time.Minute) {
		t.Fatal("the server does not start")
	}
	return srv.ClientURL()
}

func closedAddress(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return "nats://" + lis.Addr().String()
}

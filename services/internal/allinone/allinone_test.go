package allinone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

const definition = `{"id":"w","initial":"a","states":{"a":{"allowed_tools":["Read"],"on":{"GO":"b"}},"b":{"type":"final"}}}`

// start runs a server until the test ends.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	cfg.Data, cfg.WithoutPresence = datadir.Dir(t.TempDir()), true
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// request makes one REST request as an operator.
func request(t *testing.T, c *Server, method, path, body string) (*http.Response, []byte) {
	t.Helper()
	data, err := os.ReadFile(c.TokensFile)
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[string]string
	if err := json.Unmarshal(data, &tokens); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, c.Endpoints.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens["operator"])
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, text
}

// call makes a request that succeeds, and returns its JSON.
func call(t *testing.T, c *Server, method, path, body string) map[string]any {
	t.Helper()
	resp, text := request(t, c, method, path, body)
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return map[string]any{"text": string(text)}
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// One trace goes from the edge through the services to the store.
func TestOneTraceFromEdgeToStore(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	c := start(t, Config{Tracer: provider})
	call(t, c, "POST", "/v1/workflows", definition)
	run := call(t, c, "POST", "/v1/runs", `{"workflow":"w"}`)["run_id"]
	exporter.Reset()
	call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/check", run), `{"tool":"Read"}`)
	traces := map[string][]string{}
	for _, span := range exporter.GetSpans() {
		id := span.SpanContext.TraceID().String()
		traces[id] = append(traces[id], span.Name)
	}
	for _, names := range traces {
		all := strings.Join(names, ",")
		if strings.Contains(all, "POST /v1/runs") && strings.Contains(all, "CheckToolCall") && strings.Contains(all, "store.Commit") {
			return
		}
	}
	t.Errorf("no trace goes all the way: %v", traces)
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	c := used(t, Config{Policy: policyenforcer.Flags{MetricsNames: true}})
	text := call(t, c, "GET", "/metrics", "")["text"].(string)
	for _, want := range []string{
		"Register", "go_goroutines", "interlock_",
		`interlock_decisions_total{code="",decision="ALLOW",reason=""} 1`,
		`interlock_decisions_total{code="TOOL_NOT_ALLOWED",decision="DENY",reason=""} 1`,
		`interlock_decisions_total{code="APPROVAL_REQUIRED",decision="ASK",reason=""} 1`,
		`interlock_denials_total{state="a",workflow="w"} 1`,
		`interlock_policy_limit_used_ratio{capability="tool:Read",measure="calls",policy="p"} 0.25`,
		`interlock_approvals_total{status="PENDING"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s among the metrics", want)
		}
	}
}

func TestAddressesAreReachable(t *testing.T) {
	t.Parallel()
	for want, address := range map[string]net.Addr{
		"127.0.0.1:7420":   &net.TCPAddr{IP: net.IPv6unspecified, Port: 7420},
		"127.0.0.1:7421":   &net.TCPAddr{IP: net.IPv4zero, Port: 7421},
		"127.0.0.1:7422":   &net.TCPAddr{Port: 7422},
		"[::1]:7420":       &net.TCPAddr{IP: net.IPv6loopback, Port: 7420},
		"10.0.0.1:7420":    &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7420},
		"/run/x/grpc.sock": &net.UnixAddr{Name: "/run/x/grpc.sock", Net: "unix"},
	} {
		if got := reachable(address); got != want {
			t.Errorf("%v is reached at %s, want %s", address, got, want)
		}
	}
}

// No address beyond loopback is served in the clear unless the network is trusted,
// no matter who starts the server.
func TestClustersHeedTheirExposure(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{HTTP: ":0"}, {GRPC: ":0"}} {
		cfg.Data, cfg.Logger = datadir.Dir(t.TempDir()), slog.New(slog.DiscardHandler)
		c, err := Start(t.Context(), cfg)
		if err == nil {
			err = c.Close()
		}
		if !errors.Is(err, rpc.ErrPlaintext) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// An event of the services reaches an observer.
func TestObserversSeeEvents(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	observer, err := nats.Connect(c.Endpoints.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer observer.Close()
	sub, err := observer.SubscribeSync("interlock.>")
	if err = errors.Join(err, observer.Flush()); err != nil {
		t.Fatal(err)
	}
	call(t, c, "POST", "/v1/workflows", definition)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if m, err := sub.NextMsgWithContext(ctx); err != nil || m.Subject != "interlock.default.workflow.w.registered" {
		t.Errorf("the observer sees %v, %v", m, err)
	}
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("no %s", what)
		}
	}
}

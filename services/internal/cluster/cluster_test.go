package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

const definition = `{"id":"w","initial":"a","states":{"a":{"allowed_tools":["Read"],"on":{"GO":"b"}},"b":{"type":"final"}}}`

// start runs a cluster until the test ends.
func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	cfg.Data = datadir.Dir(t.TempDir())
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

// call makes one REST request as an operator and answers its JSON.
func call(t *testing.T, c *Cluster, method, path, body string) map[string]any {
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
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
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
	c := start(t, Config{})
	call(t, c, "POST", "/v1/workflows", definition)
	text := call(t, c, "GET", "/metrics", "")["text"].(string)
	for _, want := range []string{"Register", "go_goroutines", "interlock_"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s among the metrics", want)
		}
	}
}

package allinone

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/policyenforcer"
)

// used starts a server in which every measured part is used.
func used(t *testing.T, cfg Config) *Server {
	t.Helper()
	c := start(t, cfg)
	call(t, c, "POST", "/v1/workflows", strings.Replace(definition, `"Read"`, `"Read", "Write"`, 1))
	run := call(t, c, "POST", "/v1/runs", `{"workflow":"w"}`)["run_id"]
	call(t, c, "POST", "/v1/policies", `{"name":"p","role":"operator","allow":[{"capability":"tool:Read","rate_limit":{"max_calls":4,"window_seconds":3600}}],
		"ask":[{"capability":"tool:Write"}]}`)
	call(t, c, "PUT", "/v1/policies/p/attachments/role/operator", ``)
	for _, tool := range []string{"Read", "Bash", "Write"} {
		call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/check", run), `{"tool":"`+tool+`"}`)
	}
	return c
}

// exported are the names of the metrics that servers have.
func exported(t *testing.T, all ...*Server) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, c := range all {
		families, err := c.metrics.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			names[family.GetName()] = true
		}
	}
	return names
}

// documented are the names in the tables of metrics.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Metrics\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var names []string
	for line := range strings.Lines(section) {
		if row, is := strings.CutPrefix(line, "| `"); is {
			cell, _, _ := strings.Cut("`"+row, " |")
			for _, name := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
				names = append(names, name[1])
			}
		}
	}
	return names
}

// Every exported metric is documented, and the other way around.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	cert, key := certtest.Loopback(t)
	one := used(t, Config{Policy: policyenforcer.Flags{MetricsNames: true}})
	other := start(t, Config{Store: redistest.Start(t).URL(), TLS: rpc.ServerTLS{CertFile: cert, KeyFile: key}})
	if resp, text := request(t, one, "GET", "/v1/runs/run_none", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a run that is not there: %s %s", resp.Status, text)
	}
	names := documented(t)
	if len(names) < 40 {
		t.Fatalf("only %q are documented: this test looks in the wrong place", names)
	}
	const settings = "interlock_redis_setting_safe" // which a refresh has to read first
	waitFor(t, func() bool { return exported(t, other)[settings] })
	exports := exported(t, one, other)
	for _, name := range names {
		if !exports[name] {
			t.Errorf("%s is documented, and not exported", name)
		}
	}
	for name := range exports {
		if strings.HasPrefix(name, "interlock_") && !slices.Contains(names, name) {
			t.Errorf("%s is exported, and not documented", name)
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) { // between looks
		if time.Now().After(end) {
			t.Fatal("the condition does not come true")
		}
	}
}

// A scrape asks neither the store nor another service: it is answered while the store is
// silent.
func TestAScrapeReadsMemoryAlone(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	c := used(t, Config{Store: redis.URL()})
	if err := redis.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := redis.Resume(); err != nil {
			t.Error(err)
		}
	}()
	scraped := make(chan error, 1)
	go func() {
		_, err := c.metrics.Gatherer().Gather()
		scraped <- err
	}()
	select {
	case err := <-scraped:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second): // a call of the store would take 10
		t.Error("a scrape waits for the store")
	}
}

// The buckets of latencies name traces.
func TestExemplars(t *testing.T) {
	t.Parallel()
	c := used(t, Config{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(tracetest.NewInMemoryExporter()))})
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", http.NoBody)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	rpc.Metrics(c.metrics.Gatherer()).ServeHTTP(w, r)
	text := w.Body.String()
	for _, name := range []string{"interlock_decision_seconds", "interlock_store_seconds", "grpc_server_handling_seconds"} {
		if !regexp.MustCompile(`(?m)^` + name + `_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}`).MatchString(text) {
			t.Errorf("%s has no exemplar", name)
		}
	}
}

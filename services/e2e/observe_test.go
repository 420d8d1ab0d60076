package e2e

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// otlp is a collector of traces.
type otlp struct {
	collector.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans map[string][]*span // by trace
}

// span is one span, with the service that it is of.
type span struct {
	*tracev1.Span
	service string
}

func startCollector(t *testing.T) *otlp {
	t.Helper()
	lis := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	o := &otlp{address: lis.Addr().String(), spans: map[string][]*span{}}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, o)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis) // until it is stopped
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return o
}

// env has processes export to the collector at once.
func (o *otlp) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + o.address, "OTEL_BSP_SCHEDULE_DELAY=20"}
}

func (o *otlp) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, attribute := range resource.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				service = attribute.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				id := hex.EncodeToString(s.GetTraceId())
				o.spans[id] = append(o.spans[id], &span{s, service})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// way is the way from where a trace comes from to a span of this name by a span whose name
// ends with through, by the names of those between them; empty while there is none. The
// report of the same call has a way of its own, and may be known first.
func (o *otlp) way(trace, root, through, name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	byID := map[string]*span{}
	for _, s := range o.spans[trace] {
		byID[hex.EncodeToString(s.GetSpanId())] = s
	}
	for _, last := range o.spans[trace] {
		var names []string
		for at := last; at != nil && last.GetName() == name; at = byID[hex.EncodeToString(at.GetParentSpanId())] {
			names = append(names, at.GetName())
			if hex.EncodeToString(at.GetParentSpanId()) == root {
				if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, through) }) {
					slices.Reverse(names)
					return strings.Join(names, " > ")
				}
			}
		}
	}
	return ""
}

func (o *otlp) names(trace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, s := range o.spans[trace] {
		names = append(names, s.service+": "+s.GetName())
	}
	return names
}

// A trace that begins at the agent goes from its hook, and from its MCP call, through the
// gateway, the policy enforcer and the store to the event, in all processes.
func TestOneTraceFromHookToEvent(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T, []string, string) *shape{
		"up": func(t *testing.T, env []string, upstream string) *shape {
			u := &together{shape: shape{name: "up", env: env}, data: datadir.Dir(t.TempDir()), args: []string{"--upstream", upstream}}
			u.restart(t)
			return &u.shape
		},
		"separate": func(t *testing.T, env []string, upstream string) *shape {
			return &startSeparateIn(t, env, []string{"--store", redistest.Start(t).URL()}, "--upstream", upstream).shape
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, b := startCollector(t), startBehind(t)
			b.offer("look", "Looks.")
			s := begin(t, o.env(), "behind="+b.url)
			w := &world{shape: s, namespace: "default"}
			w.as(t, auth.Operator).register(t, `{"id": "w", "initial": "a", "states": {
				"a": {"allowed_tools": ["Read", "mcp__behind__look"], "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
			textOf(t, w.connect(t, "s"), "load_workflow", map[string]any{"name": "w"})
			faces := map[string]func(traceparent string){"hook": func(traceparent string) { w.hooked(t, traceparent) }}
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				headers := &tracing{bearing: bearing{w.tokens[auth.Agent]}, traceparent: "00-" + strings.Repeat("e", 32) + "-" + strings.Repeat("e", 16) + "-01"}
				client := w.connectAs(t, "s", version, headers) // in a trace of its own
				faces["MCP "+version] = func(traceparent string) {
					headers.traceparent = traceparent
					look(t, client, nil)
				}
				faces["_meta "+version] = func(traceparent string) { look(t, client, sdk.Meta{"traceparent": traceparent}) }
			}
			for face, call := range faces {
				const parent = "b7ad6b7169203331"
				trace := hex.EncodeToString([]byte(fmt.Sprintf("%16.16s", face)))
				call("00-" + trace + "-" + parent + "-01")
				way := ""
				eventually(t, "the event of the "+face+" is published in the trace", func() error {
					if way = o.way(trace, parent, "/CheckToolCall", "events.publish"); way == "" {
						return fmt.Errorf("there are %q", o.names(trace))
					}
					return nil
				})
				doors := map[string]string{"hook": "POST /v1/hook > ", "MCP": "POST /mcp > mcp tools/call > ", "_meta": "mcp tools/call > "}
				kind, _, _ := strings.Cut(face, " ")
				if !strings.HasPrefix(way, doors[kind]) || !strings.Contains(way, "PolicyEnforcerService/CheckToolCall > store.Commit > events.publish") {
					t.Errorf("%s: the way is %s", face, way)
				}
				if got := s.published(t, trace); got == 0 {
					t.Errorf("%s: no message of the stream is in the trace", face)
				}
			}
		})
	}
}

// look calls a tool behind the gate.
func look(t *testing.T, client *sdk.ClientSession, meta sdk.Meta) {
	t.Helper()
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Meta: meta, Name: "mcp__behind__look", Arguments: map[string]any{}})
	if err != nil || result.IsError {
		t.Errorf("the tool says %+v, %v", result, err)
	}
}

// published counts the messages of the stream that are in a trace.
func (s *shape) published(t *testing.T, trace string) (n int) {
	t.Helper()
	nc := must[*nats.Conn](t)(s.nats.Connect("test"))
	defer nc.Close()
	js := must[jetstream.JetStream](t)(jetstream.New(nc))
	stream := must[jetstream.Stream](t)(js.Stream(within(t), bus.DefaultStream))
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg := must[*jetstream.RawStreamMsg](t)(stream.GetMsg(within(t), seq))
		if parent := msg.Header["traceparent"]; len(parent) == 1 && strings.HasPrefix(parent[0], "00-"+trace+"-") {
			n++
		}
	}
	return n
}

// hooked runs the hook of an agent before a tool call.
func (w *world) hooked(t *testing.T, traceparent string) {
	t.Helper()
	hook := exec.CommandContext(within(t), binary(t, "interlock"), "hook", "--server", w.http)
	hook.Env = append(cleanEnv(), "INTERLOCK_TOKEN="+w.tokens[auth.Agent], "TRACEPARENT="+traceparent)
	hook.Stdin = strings.NewReader(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Read","tool_input":{},"tool_use_id":"t"}`)
	if out, err := hook.CombinedOutput(); err != nil {
		t.Errorf("the hook: %v: %s", err, out)
	}
}

// connectAs is connect of a client of a protocol version.
func (w *world) connectAs(t *testing.T, session, version string, headers http.RoundTripper) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	return must[*sdk.ClientSession](t)(client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: w.http + "/mcp?session=" + session, HTTPClient: &http.Client{Transport: headers},
	}, &sdk.ClientSessionOptions{ProtocolVersion: version}))
}

// tracing has each request in a trace.
type tracing struct {
	bearing
	traceparent string
}

func (c *tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", c.traceparent)
	return c.bearing.RoundTrip(r)
}

package rest

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// index says where things are.
const index = `Interlock: a state-machine enforcement plane for AI agents.

Without a token:
  GET  /docs                    every route, to read; /openapi.json as OpenAPI 3.1, and
                                /asyncapi.json for events
  GET  /workflow-schema.json    JSON Schema of workflow definitions; the same for policy, process,
                                component and scenario
  GET  /healthz  /readyz        liveness, readiness
  POST /v1/login                a challenge for a person's key; .../answer and .../register log in
  GET  /approvals               the page where people decide approvals; it asks for a token

With Authorization: Bearer TOKEN:
  POST /v1/workflows            register a definition (JSON or YAML)
  POST /v1/workflows/validate   check one, store nothing
  POST /v1/verify               prove properties of every run: {"workflow": {}, "properties": {}}
  GET  /v1/workflows            .../{name}  .../{name}/versions/{n}
  POST /v1/runs                 start a run: {"workflow": "NAME"}; or give one of its branches
                                to a session: {"run_id": "...", "branch": "...", "session_id": "..."}
  GET  /v1/runs                 .../{id}  .../{id}/history
  POST /v1/runs/{id}/transition {"event": "READY", "data": {}}
  POST /v1/runs/{id}/check      {"tool": "Edit", "input": {}}
  POST /v1/runs/{id}/report     {"call_id": "...", "tool": "Edit", "ok": true}
  POST /v1/check  /v1/report    the same for a session, with or without a run: {"session": "...", "tool": "Edit"}
  POST /v1/runs/{id}/pause      .../resume  .../cancel  .../force-state

  POST /v1/processes            register a process; GET  .../{name}; POST .../{name}/start
  POST /v1/runs/{id}/answer     {"answer": "yes", "note": "..."}
  POST /v1/policies             store a policy: ?name=...&shadow=true; GET  .../{name}  .../{name}/usage
  POST /v1/policies/{name}/promote  {"version": 2}; PUT or DELETE .../{name}/attachments/{kind}/{id}
  POST /v1/policies/simulate    {"definition": {}, "since": "24h"}
  PUT  /v1/workflows/{name}/shadow  a definition that is judged and not enforced; DELETE ends it
  GET  /v1/decisions            ?run_id=&decision=DENY&since=24h; with Accept: application/x-ndjson all as lines
  GET  /v1/audit/verify         recomputes the hash chains of the decisions
  GET  /v1/approvals            ?status=PENDING  .../{id}?wait=30s
  POST /v1/approvals/{id}/approve  {"note": "...", "edited_data": {}, "digest": "..."}; .../reject
  GET  /v1/leases               leases of approvers; DELETE .../{id} ends it

  GET  /v1/people               .../{name}; POST, PUT, DELETE; POST .../{name}/invitation  .../{name}/keys

  POST /v1/schemas              register a JSON Schema: {"name": "...", "json_schema": {}}
  POST /v1/states               create a shared state: {"schema_name": "...", "initial_data": {}}
  GET  /v1/states/{id}          ?pointer=/a/b  .../history  .../versions/{n}  .../events
  PUT  /v1/states/{id}          {"data": {}, "expected_version": 7}
  PATCH /v1/states/{id}         {"operations": [...]}, or a JSON Patch or JSON Merge Patch with If-Match
  POST /v1/states/{id}/lock  {"holder": "...", "ttl_seconds": 30}; PUT renews, DELETE unlocks
  POST /v1/states/{id}/migrate  {"schema_version": 2}
  POST /v1/sessions             {"session_name": "...", "parent_session_name": "..."}
  GET  /v1/sessions/{id}        .../state; POST .../stop  .../resume  .../grants
  GET  /v1/tasks                tasks of runners
  POST /v1/components           create a state component (JSON or YAML)
  GET  /v1/components/{slug}    .../values; POST .../executions  .../executions/{id}/commit

  GET  /v1/stats                present activity; /v1/principals  acts by principal
  GET  /v1/workflows/{name}/versions/{n}/coverage  which states and transitions runs have used
  GET  /v1/events?subject=run.> live events (server-sent events)
  GET  /v1/ws                   the same over a WebSocket
X-Interlock-Session names the session that acts.
`

// Health is the answer of the probes.
type Health struct {
	Status string `json:"status" enum:"ok,ready"`
	// Checks are the dependencies, with verbose.
	Checks health.Report `json:"checks,omitempty"`
}

// documents adds the texts for people and the OpenAPI document.
func (e *edge) documents() {
	e.raw("/{$}", "text/plain; charset=utf-8", func() []byte { return []byte(index) })
	// Few ask for the document, and to encode it takes most of the time of a start.
	whole := sync.OnceValue(func() *openapi.Document { addExamples(e.doc); return e.doc })
	e.raw("/openapi.json", contentJSON, sync.OnceValue(func() []byte { return openAPIText(whole()) }))
	e.raw("/asyncapi.json", contentJSON, func() []byte { return bus.AsyncAPI })
	e.raw("/docs", "text/html; charset=utf-8", sync.OnceValue(func() []byte { return docsText(whole()) }))
}

// probes serves what probes and editors ask for.
type probes struct {
	checks      health.Checks
	definitions map[string][]byte
	log         *slog.Logger
}

func (h *probes) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/healthz", id: "health", summary: "Is the process alive?",
		answers: answers[Health](http.StatusOK),
		serve:   h.alive,
	})
	add(route{
		method: http.MethodGet, path: "/readyz", id: "ready", summary: "Would calls succeed now?",
		params:  []param{inQuery("verbose", "List each dependency.")},
		answers: answers[Health](http.StatusOK), serve: h.ready,
	})
	for kind, what := range map[string]string{
		"workflow": "workflow definitions", "policy": "policies", "process": "processes", "component": "state components", "scenario": "scenario files",
	} {
		add(route{
			method: http.MethodGet, path: "/" + kind + "-schema.json", id: kind + "Schema", summary: "JSON Schema of " + what,
			answers: answers[jsontext.Value](http.StatusOK),
			serve:   func(*call) (*answer, error) { return h.schema(kind) },
		})
	}
}

// raw serves fixed text that is not part of the OpenAPI document.
func (e *edge) raw(path, contentType string, text func() []byte) {
	e.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		text := text()
		w.Header().Set("Content-Type", contentType)
		docsHeaders(w.Header())
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer can
		_, _ = w.Write(text)
	})
}

func (h *probes) alive(c *call) (*answer, error) {
	if report := h.checks.Run(c.ctx); !report.Alive() {
		h.log.LogAttrs(c.ctx, slog.LevelError, "only a restart helps", slog.Any("cause", report.Cause()))
		failure := fault.New(fault.Unavailable, "only a restart helps: %s", report.Down())
		failure.RetryAfter = 0
		return nil, failure
	}
	return ok(Health{Status: "ok"}), nil
}

func (h *probes) ready(c *call) (*answer, error) {
	report := h.checks.Run(c.ctx)
	if err := report.Cause(); err != nil {
		h.log.LogAttrs(c.ctx, slog.LevelWarn, "dependencies down", slog.Bool("ready", report.Ready()), slog.Any("cause", err))
	}
	if !report.Ready() {
		if f := fault.From(report.Cause()); f.Reason == fault.StoreRolledBack {
			return nil, f
		}
		why := report.Down()
		if c.query.Has("verbose") {
			why = strings.ReplaceAll(strings.TrimSpace(report.String()), "\n", ", ")
		}
		return nil, fault.New(fault.Unavailable, "not ready: %s", why)
	}
	if !c.query.Has("verbose") {
		report = nil
	}
	return ok(Health{Status: "ready", Checks: report}), nil
}

func (h *probes) schema(kind string) (*answer, error) {
	if len(h.definitions[kind]) == 0 {
		return nil, fault.New(fault.NotFound, "this server has no %s schema", kind)
	}
	return ok(jsontext.Value(h.definitions[kind])), nil
}

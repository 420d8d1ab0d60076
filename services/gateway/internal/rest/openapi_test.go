package rest

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// allRoutes are the routes that users rely on; a new one goes here too.
var allRoutes = []string{
	"DELETE /v1/agents/{name}",
	"DELETE /v1/components/{slug}",
	"DELETE /v1/exceptions/{exception_id}",
	"DELETE /v1/leases/{id}",
	"DELETE /v1/people/{name}",
	"DELETE /v1/people/{name}/keys/{key_id}",
	"DELETE /v1/policies/{name}",
	"DELETE /v1/policies/{name}/attachments/{kind}/{id}",
	"DELETE /v1/schedules/{name}",
	"DELETE /v1/sessions/{session_id}",
	"DELETE /v1/sessions/{session_id}/grants/{state_id}",
	"DELETE /v1/sessions/{session_id}/tokens",
	"DELETE /v1/sessions/{session_id}/tokens/{token_id}",
	"DELETE /v1/states/{state_id}",
	"DELETE /v1/states/{state_id}/lock",
	"DELETE /v1/upstreams/{server}",
	"DELETE /v1/upstreams/{server}/tools/{tool}",
	"DELETE /v1/workflows/{name}/shadow",
	"GET /component-schema.json",
	"GET /healthz",
	"GET /policy-schema.json",
	"GET /process-schema.json",
	"GET /readyz",
	"GET /scenario-schema.json",
	"GET /v1/agents",
	"GET /v1/agents/{name}",
	"GET /v1/approvals",
	"GET /v1/approvals/stats",
	"GET /v1/approvals/{id}",
	"GET /v1/audit/verify",
	"GET /v1/breakglass",
	"GET /v1/breakglass/{grant_id}",
	"GET /v1/components",
	"GET /v1/components/{slug}",
	"GET /v1/components/{slug}/values",
	"GET /v1/decisions",
	"GET /v1/decisions/{run_id}/{call_id}",
	"GET /v1/events",
	"GET /v1/exceptions",
	"GET /v1/freezes",
	"GET /v1/halts",
	"GET /v1/leases",
	"GET /v1/namespaces",
	"GET /v1/people",
	"GET /v1/people/{name}",
	"GET /v1/policies",
	"GET /v1/policies/{name}",
	"GET /v1/policies/{name}/usage",
	"GET /v1/policies/{name}/versions/{n}",
	"GET /v1/principals",
	"GET /v1/processes",
	"GET /v1/processes/{name}",
	"GET /v1/processes/{name}/versions/{n}",
	"GET /v1/processes/{name}/versions/{n}/graph",
	"GET /v1/receipts/key",
	"GET /v1/refusals",
	"GET /v1/runs",
	"GET /v1/runs/{id}",
	"GET /v1/runs/{id}/calls",
	"GET /v1/runs/{id}/history",
	"GET /v1/runs/{id}/receipt",
	"GET /v1/runs/{id}/versions/{n}",
	"GET /v1/schedules",
	"GET /v1/schedules/{name}",
	"GET /v1/schedules/{name}/next",
	"GET /v1/schemas",
	"GET /v1/schemas/{name}",
	"GET /v1/schemas/{name}/versions",
	"GET /v1/sessions",
	"GET /v1/sessions/{session_id}",
	"GET /v1/sessions/{session_id}/result",
	"GET /v1/sessions/{session_id}/state",
	"GET /v1/sessions/{session_id}/tokens",
	"GET /v1/sets",
	"GET /v1/sets/{name}",
	"GET /v1/state",
	"GET /v1/states",
	"GET /v1/states/{state_id}",
	"GET /v1/states/{state_id}/events",
	"GET /v1/states/{state_id}/history",
	"GET /v1/states/{state_id}/versions/{n}",
	"GET /v1/states/{state_id}/writers",
	"GET /v1/stats",
	"GET /v1/system",
	"GET /v1/tasks",
	"GET /v1/upstreams",
	"GET /v1/whoami",
	"GET /v1/workflows",
	"GET /v1/workflows/{name}",
	"GET /v1/workflows/{name}/coverage",
	"GET /v1/workflows/{name}/diff",
	"GET /v1/workflows/{name}/versions/{n}",
	"GET /v1/workflows/{name}/versions/{n}/graph",
	"GET /v1/ws",
	"GET /workflow-schema.json",
	"PATCH /v1/state",
	"PATCH /v1/states/{state_id}",
	"POST /v1/agents",
	"POST /v1/approvals/decide",
	"POST /v1/approvals/statement",
	"POST /v1/approvals/{id}/approve",
	"POST /v1/approvals/{id}/reject",
	"POST /v1/breakglass",
	"POST /v1/breakglass/{grant_id}/confirm",
	"POST /v1/breakglass/{grant_id}/hand-in",
	"POST /v1/breakglass/{grant_id}/revoke",
	"POST /v1/check",
	"POST /v1/components",
	"POST /v1/components/{slug}/executions",
	"POST /v1/components/{slug}/executions/{execution_id}/commit",
	"POST /v1/exceptions",
	"POST /v1/exceptions/{exception_id}/confirm",
	"POST /v1/freezes",
	"POST /v1/freezes/{id}/lift",
	"POST /v1/halts",
	"POST /v1/halts/{id}/lift",
	"POST /v1/login",
	"POST /v1/login/answer",
	"POST /v1/login/invitation",
	"POST /v1/login/register",
	"POST /v1/login/renew",
	"POST /v1/people",
	"POST /v1/people/{name}/invitation",
	"POST /v1/people/{name}/keys",
	"POST /v1/policies",
	"POST /v1/policies/simulate",
	"POST /v1/policies/{name}/attachments",
	"POST /v1/policies/{name}/promote",
	"POST /v1/processes",
	"POST /v1/processes/{name}/start",
	"POST /v1/report",
	"POST /v1/runs",
	"POST /v1/runs/{id}/answer",
	"POST /v1/runs/{id}/calls/{call_id}/settle",
	"POST /v1/runs/{id}/cancel",
	"POST /v1/runs/{id}/check",
	"POST /v1/runs/{id}/force-state",
	"POST /v1/runs/{id}/migrate",
	"POST /v1/runs/{id}/pause",
	"POST /v1/runs/{id}/report",
	"POST /v1/runs/{id}/resume",
	"POST /v1/runs/{id}/transition",
	"POST /v1/schedules",
	"POST /v1/schedules/{name}/pause",
	"POST /v1/schedules/{name}/resume",
	"POST /v1/schedules/{name}/trigger",
	"POST /v1/schemas",
	"POST /v1/sessions",
	"POST /v1/sessions/{session_id}/costs",
	"POST /v1/sessions/{session_id}/grants",
	"POST /v1/sessions/{session_id}/narrow",
	"POST /v1/sessions/{session_id}/resume",
	"POST /v1/sessions/{session_id}/stop",
	"POST /v1/sessions/{session_id}/tokens",
	"POST /v1/sets/{name}/apply",
	"POST /v1/simulate",
	"POST /v1/state",
	"POST /v1/states",
	"POST /v1/states/{state_id}/lock",
	"POST /v1/states/{state_id}/migrate",
	"POST /v1/upstreams/{server}/tools/{tool}/accept",
	"POST /v1/verify",
	"POST /v1/workflows",
	"POST /v1/workflows/graph",
	"POST /v1/workflows/validate",
	"POST /v1/workflows/{name}/migration-plans",
	"POST /v1/workflows/{name}/promote",
	"POST /v1/workflows/{name}/replay",
	"POST /v1/workflows/{name}/restore",
	"POST /v1/workflows/{name}/retire",
	"PUT /v1/agents/{name}",
	"PUT /v1/components/{slug}",
	"PUT /v1/people/{name}",
	"PUT /v1/policies/{name}/attachments/{kind}/{id}",
	"PUT /v1/schedules/{name}",
	"PUT /v1/state",
	"PUT /v1/states/{state_id}",
	"PUT /v1/states/{state_id}/lock",
	"PUT /v1/workflows/{name}/shadow",
}

// openPaths need no token.
var openPaths = map[string]bool{
	"/healthz": true, "/readyz": true, "/workflow-schema.json": true,
	"/policy-schema.json": true, "/process-schema.json": true, "/component-schema.json": true, "/scenario-schema.json": true,
	"/v1/login": true, "/v1/login/answer": true, "/v1/login/invitation": true, "/v1/login/register": true,
}

// TestOpenAPI: the document is served without a token, lists every route, and
// every reference in it leads somewhere.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if rec := h.do("GET", "/asyncapi.json", "", "Authorization", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), "run.interlock.run.transitioned") {
		t.Errorf("/asyncapi.json: %d", rec.Code)
	}
	rec := h.do("GET", "/openapi.json", "", "Authorization", "")
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", rec.Code, rec.Header())
	}
	var doc struct {
		OpenAPI    string
		Info       struct{ Title, Version string }
		Paths      map[string]map[string]operationDoc
		Components struct {
			Schemas         map[string]any
			SecuritySchemes map[string]any
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Info.Title == "" || doc.Info.Version == "" || doc.Components.SecuritySchemes["bearer"] == nil {
		t.Errorf("openapi %q, info %v", doc.OpenAPI, doc.Info)
	}
	var routes []string
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			route := strings.ToUpper(method) + " " + path
			routes = append(routes, route)
			if ids[op.OperationID] || op.OperationID == "" {
				t.Errorf("%s: operationId %q is empty or used twice", route, op.OperationID)
			}
			ids[op.OperationID] = true
			for _, problem := range op.problems(path) {
				t.Errorf("%s: %s", route, problem)
			}
			if len(op.Security) != 1 || openPaths[path] != (len(op.Security[0]) == 0) {
				t.Errorf("%s: security %v", route, op.Security)
			}
		}
	}
	slices.Sort(routes)
	if !slices.Equal(routes, allRoutes) {
		t.Errorf("routes\n got %q\nwant %q", routes, allRoutes)
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(rec.Body.String(), -1) {
		name, found := strings.CutPrefix(ref[1], openapi.Prefix)
		if !found || doc.Components.Schemas[name] == nil {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
	for _, want := range []string{
		`"allowed_tools":{"description":"null when the state does not restrict tools.","items":{"type":"string"},"type":["array","null"]}`,
		`"allowed_commands":{"description":"null when the state does not restrict commands.","items":{"type":"string"},"type":["array","null"]}`,
		`"env_overrides":{"additionalProperties":{"type":"string"},"description":"Variables that tools get instead of their own.","type":"object"}`,
		`"fork":{"$ref":"#/components/schemas/Fork","description":"Set while the run is in branches."}`,
		`"state_update_status":{"description":"How far it has got with its report; null before its first stop.","enum":["pending","completed","failed","skipped",null],"type":["string","null"]}`,
		`"operations":{"description":"JSON Patch (RFC 6902).","items":{"additionalProperties":true,"type":"object"},"type":"array"}`,
		`"explode":true,"in":"query","name":"pointer","schema":{"items":{"type":"string"},"type":"array"},"style":"form"}`,
		`"targets":{"description":"Every state that it may lead to, in definition order.","items":{"type":"string"},"type":"array"}`,
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

type operationDoc struct {
	OperationID string
	Security    []map[string]any
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   map[string]any
	}
	RequestBody *struct {
		Content map[string]struct{ Schema map[string]any }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema map[string]any }
	}
}

// problems are the rules of OpenAPI 3.1 that an operation breaks.
func (op operationDoc) problems(path string) (problems []string) {
	declared := map[string]bool{}
	seen := map[string]bool{}
	for _, p := range op.Parameters {
		if seen[p.In+p.Name] || p.Schema == nil || p.Required != (p.In == "path") {
			problems = append(problems, fmt.Sprintf("parameter %s is double, without schema or wrongly required", p.Name))
		}
		seen[p.In+p.Name] = true
		if p.In == "path" {
			declared[p.Name] = true
		}
	}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		if !declared[m[1]] {
			problems = append(problems, "path parameter "+m[1]+" is not declared")
		}
		delete(declared, m[1])
	}
	if len(declared) > 0 {
		problems = append(problems, fmt.Sprintf("path parameters %v are not in the path", declared))
	}
	if op.RequestBody != nil && len(op.RequestBody.Content) == 0 {
		problems = append(problems, "the request body has no content")
	}
	if op.Responses["4XX"].Content[contentProblem].Schema["$ref"] != openapi.Prefix+"Problem" ||
		op.Responses["5XX"].Content[contentProblem].Schema["$ref"] != openapi.Prefix+"Problem" {
		problems = append(problems, "the default response is no problem")
	}
	for status, resp := range op.Responses {
		empty := status == "101" || status == "204" || status == "304"
		if resp.Description == "" || empty != (len(resp.Content) == 0) {
			problems = append(problems, "the response "+status+" has no description, or content where none can be, or none")
		}
	}
	return problems
}

// TestRouteTable: what the router serves is what the document says, so no route
// can be added past it.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, route := range allRoutes {
		method, path, _ := strings.Cut(route, " ")
		rec := h.do(method, path, "", "Authorization", "")
		if open := openPaths[path]; open != (rec.Code != 401) || open && method == "GET" && rec.Code != 200 {
			t.Errorf("%s without a token: %d", route, rec.Code)
		}
	}
}

// TestExamples: every operation that takes or gives JSON shows a recorded example, and
// each is what its schema says.
func TestExamples(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var doc struct {
		Tags       []struct{ Name string }
		Paths      map[string]map[string]exampleDoc
		Components json.RawMessage
	}
	if err := json.Unmarshal(h.do("GET", "/openapi.json", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{}
	for _, tag := range doc.Tags {
		tags[tag.Name] = true
	}
	tried := 0
	for path, item := range doc.Paths {
		for method, op := range item {
			if len(op.Tags) != 1 || !tags[op.Tags[0]] {
				t.Errorf("%s %s: tags %q are not described", method, path, op.Tags)
			}
			bodies := map[string]mediaDoc{"request": op.RequestBody.Content[contentJSON]}
			for status, answer := range op.Responses {
				if strings.HasPrefix(status, "2") {
					bodies[status] = answer.Content[contentJSON]
				}
			}
			for what, media := range bodies {
				if media.Schema == nil || strings.HasSuffix(path, "-schema.json") {
					continue
				}
				tried++
				if media.Example == nil {
					t.Errorf("%s %s: %s has no example", method, path, what)
					continue
				}
				if problems := conformsTo(t, media.Schema, doc.Components, media.Example); len(problems) > 0 {
					t.Errorf("%s %s: the example of %s: %v", method, path, what, problems)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d bodies were tried", tried)
	}
}

type (
	exampleDoc struct {
		Tags        []string
		RequestBody struct{ Content map[string]mediaDoc }
		Responses   map[string]struct{ Content map[string]mediaDoc }
	}
	mediaDoc struct{ Schema, Example json.RawMessage }
)

// conformsTo validates a value by a schema that refers to components of the document.
func conformsTo(t *testing.T, schema, components, value json.RawMessage) document.Problems {
	t.Helper()
	whole, problem := document.Parse(fmt.Appendf(nil, `{"allOf": [%s], "components": %s}`, schema, components), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	compiled, problems := document.CompileSchema(whole)
	if compiled == nil {
		t.Fatal(problems)
	}
	v, problem := document.Parse(value, document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return compiled.Validate(v)
}

// TestDocsPage: people can read of every operation and schema, and the page loads nothing.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	rec := h.do("GET", "/docs", "", "Authorization", "")
	page := rec.Body.String()
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
		!strings.Contains(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("%d %v", rec.Code, rec.Header())
	}
	for _, route := range allRoutes {
		method, path, _ := strings.Cut(route, " ")
		if !strings.Contains(page, fmt.Sprintf("<span class=\"method\">%s</span> <code>%s</code>", method, html.EscapeString(path))) {
			t.Errorf("nothing of %s", route)
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, `id="`+link[1]+`"`) {
			t.Errorf("#%s leads nowhere", link[1])
		}
	}
	for _, loads := range []string{"<script", "src=", "@import", "url("} {
		if strings.Contains(page, loads) {
			t.Errorf("the page has %s", loads)
		}
	}
}

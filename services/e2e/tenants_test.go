package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// hush is in all that the tenant shop says, and in no request of the other one.
const hush = "hush-hush"

// tenancy is one server with two tenants: shop, which has one object of each kind, and rival, which tries to reach them.
type tenancy struct {
	*testing.T
	*world
	up *together
	// own are the tokens of a tenant's roles, by "TENANT ROLE", and "both operator" of one who may call in both.
	own map[string]string
	// of has what shop's objects are called, by the names of parameters and fields.
	of map[string]string
	// ids has what "id" and "name" mean, by the first part of a path or the name of a service.
	ids     map[string]map[string]string
	conns   map[string]*grpc.ClientConn // by token
	signals int
}

// tenantRoles are the roles of callers that a tenant has.
var tenantRoles = []auth.Role{auth.Agent, auth.Operator, auth.Approver, auth.Observer, auth.Runtime}

func newTenancy(t *testing.T, args ...string) *tenancy {
	t.Helper()
	n := &tenancy{T: t, own: map[string]string{}, conns: map[string]*grpc.ClientConn{}}
	file := filepath.Join(t.TempDir(), "tokens.json")
	var entries []auth.Entry
	add := func(name string, role auth.Role, namespaces ...string) {
		token := auth.Mint()
		n.own[name] = token
		entries = append(entries, auth.Entry{Name: strings.ReplaceAll(name, " ", "-"), Role: role, Namespaces: namespaces, Token: token})
	}
	for _, tenant := range []string{"shop", "rival"} {
		for _, role := range tenantRoles {
			add(tenant+" "+string(role), role, tenant)
		}
	}
	add("rival relay", auth.Relay, "rival")
	add("wide observer", auth.Observer, "rival", "default") // of two, of which neither is shop
	add("both operator", auth.Operator, "rival", "shop")
	if err := os.WriteFile(file, must[[]byte](t)(json.Marshal(auth.File{Tokens: entries})), 0o600); err != nil {
		t.Fatal(err)
	}
	n.up = startUp(t, append([]string{"--tokens", file}, args...)...)
	n.world = &world{shape: &n.up.shape}
	n.own["shop root"] = n.tokens[auth.Operator] // in all namespaces
	n.furnish()
	return n
}

// ask makes a request. An empty namespace is none.
func (n *tenancy) ask(token, namespace, method, path, body string) reply {
	n.Helper()
	return (&world{shape: n.shape, namespace: namespace}).send(n.T, method, path, token, body)
}

// shop makes a request of the shop that has to succeed.
func (n *tenancy) shop(role auth.Role, method, path, body string) reply {
	n.Helper()
	got := n.ask(n.own["shop "+string(role)], "", method, path, body)
	if got.status >= http.StatusMultipleChoices {
		n.Fatalf("%s %s %s: %v", method, path, body, got)
	}
	return got
}

// furnish gives shop one object of each kind.
func (n *tenancy) furnish() {
	n.Helper()
	text := func(r reply, name string) string {
		n.Helper()
		s, ok := r.field(name).(string)
		if !ok || s == "" {
			n.Fatalf("no %s in %v", name, r)
		}
		return s
	}
	const post = http.MethodPost
	n.shop("operator", post, "/v1/workflows", `{"id": "vault-flow", "description": "hush-hush", "initial": "build", "meta": {"approval_mode": "ui"}, "states": {
		"build": {"instructions": "hush-hush", "allowed_tools": ["Read", "mcp__db__query"], "on": {"SHIP": {"target": "live", "requires_approval": true, "approval_message": "hush-hush"}}}, "live": {"on": {"DONE": "over"}}, "over": {"type": "final"}}}`)
	n.shop("operator", post, "/v1/processes", `{"name": "vault-questions", "allowed_tools": ["process_step"], "initial": "q", "states": {"q": {"question": "hush-hush?", "answers": {"no": {"next": "q"}, "yes": {"action": "complete", "next": null}}}}}`)
	n.shop("operator", post, "/v1/schemas", `{"name": "vault-schema", "description": "hush-hush", "json_schema": {"type": "object", "properties": {"secret": {"type": "string"}}}}`)
	n.shop("operator", post, "/v1/components", `{"slug": "vault-part", "name": "hush-hush", "persistence": "session", "schema_definition": {"limit": {"type": "number"}}, "initial_values": {"limit": 5}}`)
	n.shop("operator", post, "/v1/agents", `{"name": "vault-agent", "model_ref": "m", "instructions": "hush-hush"}`)
	n.shop("operator", post, "/v1/policies", `{"name": "vault-policy", "role": "agent", "deny": [{"capability": "tool:Write", "message": "hush-hush", "exceptable": true}]}`)
	n.shop("operator", http.MethodPut, "/v1/policies/vault-policy/attachments/workflow/vault-flow", "")
	exception := n.shop("operator", post, "/v1/exceptions", `{"policy": "vault-policy", "principal": "ann", "reason": "hush-hush", "rule": "/deny/0", "until": "6h"}`)
	n.shop("operator", post, "/v1/sessions", `{"session_name": "vault", "labels": {"note": "hush-hush"}}`)
	state := n.shop("operator", post, "/v1/states", `{"schema_name": "vault-schema", "root_session_id": "vault", "initial_data": {"secret": "hush-hush"}}`)
	minted := n.shop("operator", post, "/v1/sessions/vault/tokens", `{"name": "hush-hush"}`)
	n.own["shop session"] = text(minted, "token")
	run := n.shop("operator", post, "/v1/runs", `{"workflow": "vault-flow", "session_id": "vault", "context": {"note": "hush-hush"}}`)
	n.shop("agent", post, "/v1/runs/"+text(run, "run_id")+"/check", `{"tool": "Read", "call_id": "vault-call", "input": {"file_path": "hush-hush"}}`)
	asked := n.shop("agent", post, "/v1/runs/"+text(run, "run_id")+"/transition", `{"event": "SHIP"}`)
	n.shop("operator", post, "/v1/schedules", `{"name": "vault-times", "workflow": "vault-flow", "cron": "@daily", "context": {"note": "hush-hush"}, "paused": true}`)
	n.shop("operator", post, "/v1/sets/vault-set/apply", `{"repo": "hush-hush", "changes": [{"kind": "workflow", "name": "vault-flow", "expected_version": 1, "version": 1}]}`)
	halt := n.shop("operator", post, "/v1/halts", `{"kind": "session", "name": "never", "reason": "hush-hush"}`)
	freeze := n.shop("operator", post, "/v1/freezes", `{"workflow": "never-*", "until": "1h", "reason": "hush-hush"}`)
	n.shop("operator", post, "/v1/processes/vault-questions/start", `{"session_id": "vault-talk"}`)
	must[*identityv1.CreatePersonResponse](n.T)(identityv1.NewPersonServiceClient(n.dial(n.T, n.approvals[0], n.own["shop operator"])).CreatePerson(within(n.T),
		&identityv1.CreatePersonRequest{Spec: &identityv1.PersonSpec{Name: "shopkeeper", Roles: []string{"approver"}, Namespaces: []string{"shop"}, Groups: []string{hush}}}))
	n.of = map[string]string{
		"run_id": text(run, "run_id"), "session": "vault", "session_id": "vault", "session_name": "vault-new", "root_session": "vault", "parent_session": "vault",
		"root_session_id": "vault", "parent_session_id": "vault", "parent_session_name": "vault", "parent": "vault", "root": "vault", "for_session": "vault",
		"state_id": text(state, "state_id"), "workflow_state_id": text(state, "state_id"), "schema_name": "vault-schema", "schema": "vault-schema", "slug": "vault-part", "component": "vault-part", "execution_id": "vault-x",
		"workflow": "vault-flow", "process": "vault-questions", "policy": "vault-policy", "agent": "vault-agent", "exception_id": text(exception, "exception_id"), "token_id": text(minted, "token_id"),
		"approval_id": text(asked, "approval_id"), "call_id": "vault-call", "server": "db", "tool": "mcp__db__query", "kind": "workflow", "n": "1", "version": "1",
		"lease_id": "lea_01jd3k0c7qf3ta3bfa1m2y8x9n", "task_id": "task_01jd3k0c7qf3ta3bfa1m2y8x9n", "principal": "shop-agent", "person": "shopkeeper", "subject": "vault", "holder": "vault", "schedule": "vault-times", "halt_id": text(halt, "halt_id"), "grant_id": "grant_01jd3k0c7qf3ta3bfa1m2y8x9n", "key_id": "key-1",
	}
	n.ids = map[string]map[string]string{
		"runs": {"id": n.of["run_id"]}, "approvals": {"id": n.of["approval_id"]}, "halts": {"id": n.of["halt_id"]}, "freezes": {"id": text(freeze, "freeze_id")}, "leases": {"id": n.of["lease_id"]},
		"workflows": {"name": "vault-flow"}, "processes": {"name": "vault-questions"}, "policies": {"name": "vault-policy", "id": "vault-flow"}, "schedules": {"name": "vault-times"}, "sets": {"name": "vault-set"}, "schemas": {"name": "vault-schema"}, "agents": {"name": "vault-agent"},
		"components": {"name": "vault-part"}, "sessions": {"name": "vault", "id": "vault"}, "people": {"name": "shopkeeper", "id": "shopkeeper"},
	}
}

// value returns what shop calls an object in the field of a name; known is false where no case says what that is.
func (n *tenancy) value(group, field string) (value string, known bool) {
	if value, known = n.ids[group][field]; !known {
		value, known = n.of[field]
	}
	return value, known
}

// operation is one method of a path of the OpenAPI document.
type operation struct {
	method, path, id string
	query            []string
	body             any
	open             bool // it is of the deployment: schemas, health, log-ins, the public key of receipts
}

// operations reads the server's own document.
func (n *tenancy) operations() []operation {
	n.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct{ Name, In string }
			RequestBody struct {
				Content map[string]struct{ Example any }
			} `json:"requestBody"`
		}
	}
	if err := json.Unmarshal([]byte(n.ask("", "", http.MethodGet, "/openapi.json", "").body), &doc); err != nil {
		n.Fatal(err)
	}
	var all []operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			d := doc.Paths[path][method]
			o := operation{method: strings.ToUpper(method), path: path, id: d.OperationID, body: d.RequestBody.Content["application/json"].Example, open: !strings.HasPrefix(path, "/v1/") || d.OperationID == "getReceiptKey" || path == "/v1/login" || strings.HasPrefix(path, "/v1/login/")}
			for media, content := range d.RequestBody.Content {
				if o.body == nil && strings.Contains(media, "json") {
					o.body = content.Example
				}
			}
			for _, p := range d.Parameters {
				if p.In == "query" {
					o.query = append(o.query, p.Name)
				}
			}
			all = append(all, o)
		}
	}
	return all
}

var pathParam = regexp.MustCompile(`\{([^}]+)\}`)

// aimed returns the path and body of an operation with shop's names in them.
func (n *tenancy) aimed(o operation) (path, body string) {
	n.Helper()
	group, _, _ := strings.Cut(strings.TrimPrefix(o.path, "/v1/"), "/")
	path = pathParam.ReplaceAllStringFunc(o.path, func(p string) string {
		value, known := n.value(group, p[1:len(p)-1])
		if !known {
			n.Errorf("%s %s: no case says what %s is; name it in furnish", o.method, o.path, p)
		}
		return url.PathEscape(value)
	})
	query := url.Values{}
	for _, name := range o.query {
		if value, known := n.value(group, name); known && name != "subject" {
			query.Set(name, value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if o.body != nil {
		body = string(must[[]byte](n.T)(json.Marshal(n.renamed(group, o.body))))
	}
	return path, body
}

// renamed returns an example in which the texts of known fields are shop's names.
func (n *tenancy) renamed(group string, example any) any {
	switch v := example.(type) {
	case map[string]any:
		all := map[string]any{}
		for field, inner := range v {
			all[field] = n.renamed(group, inner)
			if value, known := n.value(group, field); known {
				if _, isText := inner.(string); isText {
					all[field] = value
				}
			}
		}
		return all
	case []any:
		var all []any
		for _, inner := range v {
			all = append(all, n.renamed(group, inner))
		}
		return all
	default:
		return v
	}
}

// streams are operations whose answers do not end; see TestStreamsOfOtherTenants.
var streams = []string{"streamEvents", "openSocket", "watchState"}

// moving are parts of answers that change by themselves.
var moving = regexp.MustCompile(`,?"(updated_at|created_at|now|age_seconds|waiting_seconds|expires_in_seconds|checked_at|read_at|sealed_at|sealed|hash|covered_until|unsealed|records|partitions)":\s*("[^"]*"|[0-9.]+|\{[^}]*\}|\[[^\]]*\])`)

// picture returns all of shop that its own operator can read.
func (n *tenancy) picture() map[string]string {
	n.Helper()
	shown := map[string]string{}
	for _, o := range n.operations() {
		if o.method != http.MethodGet || o.open || slices.Contains(streams, o.id) || slices.Contains([]string{"getSystem", "getStats", "listPrincipals", "whoAmI", "verifyDecisions", "getRunReceipt", "getReceiptKey", "getWorkflowCoverage"}, o.id) {
			continue
		}
		path, _ := n.aimed(o)
		shown[path] = moving.ReplaceAllString(n.ask(n.own["shop operator"], "", http.MethodGet, path, "").body, "")
	}
	return shown
}

// attackers are the tokens of others than shop.
func (n *tenancy) attackers() map[string]string {
	n.Helper()
	all := map[string]string{}
	for name, token := range n.own {
		if tenant, _, _ := strings.Cut(name, " "); tenant == "rival" || tenant == "wide" {
			all[name] = token
		}
	}
	if got := n.ask(n.own["rival operator"], "", http.MethodPost, "/v1/sessions", `{"session_name": "den"}`); got.status != http.StatusCreated {
		n.Fatal(got)
	}
	all["rival session"], _ = n.ask(n.own["rival operator"], "", http.MethodPost, "/v1/sessions/den/tokens", `{}`).field("token").(string)
	return all
}

// S22.34: no token of a tenant reaches another one, by any route of the REST API and any RPC: not when it names the other
// namespace, and not by the names and ids of the other's objects. The routes and the RPCs are those that the server has.
func TestNoTenantReachesAnother(t *testing.T) {
	t.Parallel()
	n := newTenancy(t)
	before := n.picture()
	if all := strings.Join(slices.Sorted(maps.Values(before)), "\n"); strings.Count(all, hush) < 15 {
		t.Fatalf("shop keeps too few secrets: %s", all)
	}
	attackers := n.attackers()
	attempts := 0
	for name, token := range attackers {
		for _, o := range n.operations() {
			attempts += n.tryRoute(name, token, o)
		}
		for _, method := range methods() {
			attempts += n.tryRPC(name, token, method)
		}
	}
	after := n.picture()
	for path, now := range after {
		if now != before[path] {
			t.Errorf("%s was %s\nand is %s", path, before[path], now)
		}
	}
	t.Logf("%d attempts by %d tokens", attempts, len(attackers))
	if attempts < 60 {
		t.Errorf("%d attempts are too few", attempts)
	}
	n.control()
}

// tryRoute tries a route, and returns the number of attempts.
func (n *tenancy) tryRoute(name, token string, o operation) int {
	n.Helper()
	path, body := n.aimed(o)
	if o.open {
		n.says(name+" "+o.id, n.ask(token, "shop", o.method, path, body).body)
		return 1
	}
	if got := n.ask(token, "shop", o.method, path, body); got.status != http.StatusForbidden && got.status != http.StatusUnauthorized {
		n.Errorf("%s, naming shop: %s %s is answered %v", name, o.method, path, got)
	}
	if slices.Contains(streams, o.id) {
		return 1
	}
	n.says(name+" "+o.method+" "+path, n.ask(token, "", o.method, path, body).body)
	return 2
}

// says fails if an answer says what only shop knows.
func (n *tenancy) says(what, answer string) {
	n.Helper()
	if strings.Contains(answer, hush) {
		n.Errorf("%s: %.500s", what, answer)
	}
}

// request returns the request of an RPC with shop's names in its fields.
func (n *tenancy) request(method protoreflect.MethodDescriptor) proto.Message {
	n.Helper()
	kind := must[protoreflect.MessageType](n.T)(protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName()))
	m := kind.New()
	group := strings.TrimSuffix(strings.ToLower(string(method.Parent().Name())), "service")
	n.fill(m, map[string]string{"policy": "policies", "process": "processes", "person": "people"}[group], group+"s", 0)
	return m.Interface()
}

// namesObject matches the fields whose names say that they name an object: each must be known.
var namesObject = regexp.MustCompile(`(^|_)(id|session|name)$`)

// nameless are fields of that form that name no object of a tenant.
var nameless = []string{
	"correlation_id", "challenge_id", "credential_id", "rp_id", "event_id", "display_name", "by_name", "raw_id", "key_id", "user_id", "request_id", "tool_use_id", "model_id", "cause_id", "caller_id",
}

func (n *tenancy) fill(m protoreflect.Message, group, plural string, depth int) {
	n.Helper()
	if group == "" {
		group = plural
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		name := string(fd.Name())
		value, known := n.value(group, name)
		switch {
		case fd.IsMap() || depth > 3:
		case fd.Kind() == protoreflect.StringKind && known && !fd.IsList():
			m.Set(fd, protoreflect.ValueOfString(value))
		case fd.Kind() == protoreflect.StringKind && namesObject.MatchString(name) && !known && !slices.Contains(nameless, name) && depth == 0:
			n.Errorf("%s: no case says what the field %s is; name it in furnish", m.Descriptor().FullName(), name)
		case fd.Kind() == protoreflect.MessageKind && !fd.IsList() && fd.ContainingOneof() == nil && strings.HasPrefix(string(fd.Message().FullName()), "interlock."):
			n.fill(m.Mutable(fd).Message(), group, plural, depth+1)
		case fd.Kind() == protoreflect.MessageKind && fd.IsList() && strings.HasPrefix(string(fd.Message().FullName()), "interlock."):
			n.fill(m.Mutable(fd).List().AppendMutable().Message(), group, plural, depth+1)
		}
	}
}

// methods returns the RPCs of Interlock's own contracts. Envoy's is a face of its own.
func methods() []string {
	own := slices.DeleteFunc(auth.Methods(), func(m string) bool { return !strings.HasPrefix(m, "/interlock.") })
	return slices.Sorted(slices.Values(own))
}

// rpc makes one call of any kind and returns the text of its first answer.
func (n *tenancy) rpc(token, namespace, name string, req proto.Message, d protoreflect.MethodDescriptor) (string, error) {
	n.Helper()
	conn := n.conns[token]
	if conn == nil {
		conn = (&world{shape: n.shape}).dial(n.T, n.engines[0], token)
		n.conns[token] = conn
	}
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	if d.IsStreamingServer() && namespace == "" {
		ctx, cancel = context.WithTimeout(n.Context(), 200*time.Millisecond) // one without an answer is one without a reach
	}
	defer cancel()
	if namespace != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.NamespaceKey, namespace)
	}
	resp := must[protoreflect.MessageType](n.T)(protoregistry.GlobalTypes.FindMessageByName(d.Output().FullName())).New().Interface()
	if !d.IsStreamingServer() && !d.IsStreamingClient() {
		err := conn.Invoke(ctx, name, req, resp)
		return fmt.Sprint(resp), err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: d.IsStreamingServer(), ClientStreams: d.IsStreamingClient()}, name)
	if err == nil {
		err = stream.SendMsg(req)
	}
	if err == nil || errors.Is(err, io.EOF) {
		_ = stream.CloseSend() // the answer says what is wrong
		err = stream.RecvMsg(resp)
	}
	return fmt.Sprint(resp), err
}

// tryRPC tries an RPC, and returns the number of attempts.
func (n *tenancy) tryRPC(name, token, method string) int {
	n.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(method[1:], "/", ".")))
	if err != nil {
		n.Fatalf("%s: %v", method, err)
	}
	of := d.(protoreflect.MethodDescriptor)
	req := n.request(of)
	text, err := n.rpc(token, "shop", method, req, of)
	if reason := fault.ReasonOf(err); reason != fault.PermissionDenied && reason != fault.Unauthenticated && !auth.Open(method) {
		n.Errorf("%s, naming shop: %s is answered %v: %.300s", name, method, err, text)
	}
	n.says(name+", naming shop: "+method, fmt.Sprint(text, err))
	text, err = n.rpc(token, "", method, req, of)
	n.says(name+" "+method, fmt.Sprint(text, err))
	return 2
}

// control shows that the attempts reach shop where nothing is in their way: by a token of both tenants.
func (n *tenancy) control() {
	n.Helper()
	reached := 0
	for _, o := range n.operations() {
		if path, body := n.aimed(o); !o.open && !slices.Contains(streams, o.id) {
			got := n.ask(n.own["both operator"], "shop", o.method, path, body)
			if got.status < http.StatusMultipleChoices || strings.Contains(got.body, hush) {
				reached++
			}
		}
	}
	byRPC := 0
	for _, method := range methods() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(method[1:], "/", ".")))
		if err != nil {
			n.Fatal(err)
		}
		of := d.(protoreflect.MethodDescriptor)
		if auth.Open(method) || of.IsStreamingServer() {
			continue
		}
		if _, err := n.rpc(n.own["both operator"], "shop", method, n.request(of), of); fault.ReasonOf(err) != fault.PermissionDenied {
			byRPC++
		}
	}
	n.Logf("the control reaches shop by %d routes and %d RPCs", reached, byRPC)
	if reached < 60 || byRPC < 60 {
		n.Errorf("the control reaches shop by %d routes and %d RPCs: the attempts show nothing", reached, byRPC)
	}
}

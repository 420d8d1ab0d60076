package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// edge is the gateway of a deployment.
type edge struct {
	url    string
	client *http.Client
	tokens map[auth.Role]string
}

// ask makes a request with a role's token.
func (e *edge) ask(t testing.TB, role auth.Role, method, path, body string) (reply, error) {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), method, e.url+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+e.tokens[role])
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(data)}, err
}

// done is ask of a request that must succeed.
func (e *edge) done(t testing.TB, role auth.Role, method, path, body string) reply {
	t.Helper()
	got := must[reply](t)(e.ask(t, role, method, path, body))
	if got.status >= 300 {
		t.Fatalf("%s %s: %v", method, path, got)
	}
	return got
}

// serves waits until the gateway has reached each service.
func (e *edge) serves(t testing.TB) {
	t.Helper()
	for _, path := range []string{"/v1/runs", "/v1/decisions", "/v1/approvals", "/v1/sessions"} {
		eventually(t, path+" is served", func() error {
			got, err := e.ask(t, auth.Operator, "GET", path, "")
			if err == nil && got.status != http.StatusOK {
				err = errors.New(got.String())
			}
			return err
		})
	}
}

const deployedWorkflow = `{"id": "deployed", "initial": "a", "meta": {"approval_mode": "ui"}, "states": {
	"a": {"allowed_tools": ["Read", "Write"], "on": {"GO": "b"}},
	"b": {"allowed_tools": ["Read"], "on": {"ASK": {"target": "c", "requires_approval": true}}},
	"c": {"allowed_tools": ["Read"], "on": {"END": "d"}}, "d": {"type": "final"}}}`

// acknowledged holds the answers that the callers of a deployment got.
type acknowledged struct{ run, approval, state string }

// write uses each service of a deployment: a policy, a run with decisions, an approval, a state.
func (e *edge) write(t testing.TB) (a acknowledged) {
	t.Helper()
	e.serves(t)
	e.done(t, auth.Operator, "POST", "/v1/workflows", deployedWorkflow)
	e.done(t, auth.Operator, "POST", "/v1/policies",
		`{"name":"deployed","role":"agent","allow":[{"capability":"tool:Read","rate_limit":{"max_calls":9,"window_seconds":3600}}],"deny":[{"capability":"tool:Write"}]}`)
	e.done(t, auth.Operator, "PUT", "/v1/policies/deployed/attachments/role/agent", "")
	a.run = fmt.Sprint(e.done(t, auth.Agent, "POST", "/v1/runs", `{"workflow":"deployed"}`).field("run_id"))
	e.decides(t, a, "Read", "call-read", "ALLOW")
	e.decides(t, a, "Write", "call-write", "DENY")
	e.done(t, auth.Agent, "POST", "/v1/runs/"+a.run+"/transition", `{"event":"GO"}`)
	e.done(t, auth.Agent, "POST", "/v1/runs/"+a.run+"/transition", `{"event":"ASK"}`)
	eventually(t, "people are asked", func() error {
		var list struct {
			Approvals []struct {
				ApprovalID string `json:"approval_id"`
			}
		}
		got := e.done(t, auth.Approver, "GET", "/v1/approvals?status=PENDING", "")
		if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Approvals) != 1 {
			return errors.New(got.String())
		}
		a.approval = list.Approvals[0].ApprovalID
		return nil
	})
	e.done(t, auth.Approver, "POST", "/v1/approvals/"+a.approval+"/approve", `{}`)
	e.done(t, auth.Operator, "POST", "/v1/schemas", `{"name":"deployed","json_schema":{"type":"object"}}`)
	a.state = fmt.Sprint(e.done(t, auth.Operator, "POST", "/v1/states",
		`{"schema_name":"deployed","session_name":"lead","initial_data":{"list":["kept"]}}`).field("state_id"))
	eventually(t, "the run continues", func() error { return e.in(t, a, "c") })
	e.decides(t, a, "Read", "call-last", "ALLOW")
	return a
}

// in requires that the run is in a state.
func (e *edge) in(t testing.TB, a acknowledged, state string) error {
	t.Helper()
	if got := e.done(t, auth.Agent, "GET", "/v1/runs/"+a.run, ""); got.field("state") != state {
		return fmt.Errorf("the run is not in %s: %v", state, got)
	}
	return nil
}

// decides requires a decision on a call.
func (e *edge) decides(t testing.TB, a acknowledged, tool, call, want string) {
	t.Helper()
	got := e.done(t, auth.Agent, "POST", "/v1/runs/"+a.run+"/check", `{"tool":"`+tool+`","call_id":"`+call+`"}`)
	if got.field("decision") != want {
		t.Errorf("%s: %v, not %s", tool, got, want)
	}
}

// read requires that a deployment has all that it has acknowledged, and still enforces it.
func (e *edge) read(t testing.TB, a acknowledged) {
	t.Helper()
	e.serves(t)
	if err := e.in(t, a, "c"); err != nil {
		t.Error(err)
	}
	e.decides(t, a, "Read", "call-last", "ALLOW")
	e.decides(t, a, "Write", "", "DENY")
	for path, words := range map[string][]string{
		"/v1/runs/" + a.run + "/history": {`"GO"`, `"ASK"`},
		"/v1/approvals/" + a.approval:    {`"approver"`},
		"/v1/decisions?run_id=" + a.run:  {`"call-read"`, `"call-write"`},
		"/v1/policies/deployed":          {`"tool:Write"`},
		"/v1/states/" + a.state:          {`"kept"`},
		"/v1/workflows/deployed":         {`"deployed"`},
		"/v1/decisions?decision=DENY":    {`"call-write"`},
		"/v1/approvals?status=PENDING":   {`"approvals"`},
		"/v1/schemas":                    {`"deployed"`},
		"/v1/runs?workflow=deployed":     {a.run},
		"/v1/policies":                   {`"deployed"`},
		"/v1/states?schema=deployed":     {a.state},
	} {
		got := e.done(t, auth.Operator, "GET", path, "")
		for _, word := range words {
			if !strings.Contains(got.body, word) {
				t.Errorf("GET %s has no %s: %s", path, word, got.body)
			}
		}
	}
}

package pdp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pdp"
)

// TestAsk: only a clear yes of the decision point itself is one (S21.19).
func TestAsk(t *testing.T) {
	t.Parallel()
	yes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision": true}`) // the test sees the answer
	}))
	t.Cleanup(yes.Close)
	for name, row := range map[string]struct {
		status           int
		kind, text       string
		agrees, answered bool
	}{
		"yes":                  {200, "application/json", `{"decision": true}`, true, true},
		"yes, with a reason":   {200, "application/json; charset=utf-8", `{"context": {"reason": "ok"}, "decision": true}`, true, true},
		"no":                   {200, "application/json", `{"decision": false}`, false, true},
		"yes and no":           {200, "application/json", `{"decision": false, "decision": true}`, false, false},
		"the text true":        {200, "application/json", `{"decision": "true"}`, false, false},
		"the number 1":         {200, "application/json", `{"decision": 1}`, false, false},
		"null":                 {200, "application/json", `{"decision": null}`, false, false},
		"another case":         {200, "application/json", `{"Decision": true}`, false, false},
		"no decision":          {200, "application/json", `{}`, false, false},
		"a list":               {200, "application/json", `[{"decision": true}]`, false, false},
		"true alone":           {200, "application/json", `true`, false, false},
		"nothing":              {200, "application/json", ``, false, false},
		"two answers":          {200, "application/json", `{"decision": true} {"decision": false}`, false, false},
		"cut off":              {200, "application/json", `{"decision": true`, false, false},
		"not UTF-8":            {200, "application/json", "{\"decision\": true, \"a\": \"\xff\"}", false, false},
		"too long":             {200, "application/json", `{"decision": true, "a": "` + strings.Repeat("x", 64<<10) + `"}`, false, false},
		"another type":         {200, "text/html", `{"decision": true}`, false, false},
		"created":              {201, "application/json", `{"decision": true}`, false, false},
		"a fault":              {500, "application/json", `{"decision": true}`, false, false},
		"a redirect":           {307, "application/json", `{"decision": true}`, false, false},
		"a redirect after yes": {302, "application/json", `{"decision": true}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", row.kind)
				w.Header().Set("Location", yes.URL)
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.text) // the test sees the answer
			}))
			defer server.Close()
			agrees, err := pdp.New().Ask(t.Context(), &rules.Point{URL: server.URL, Timeout: 10 * time.Second}, &enforcer.Question{Tool: "Read"})
			if agrees != row.agrees || (err == nil) != row.answered {
				t.Errorf("%v, %v", agrees, err)
			}
			if err != nil && strings.Contains(err.Error(), server.URL) {
				t.Errorf("the error has the URL: %v", err)
			}
		})
	}
}

// TestNoAnswer: a decision point that is not there, or is late, has not agreed.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if agrees, err := pdp.New().Ask(t.Context(), &rules.Point{URL: gone.URL, Timeout: 10 * time.Second}, &enforcer.Question{}); agrees || err == nil {
		t.Errorf("one that is gone: %v, %v", agrees, err)
	}
	late := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees that the client has left when it has read the body
		<-r.Context().Done()
	}))
	defer late.Close()
	agrees, err := pdp.New().Ask(t.Context(), &rules.Point{URL: late.URL, Timeout: time.Millisecond}, &enforcer.Question{})
	if agrees || err == nil || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("one that is late: %v, %v", agrees, err)
	}
}

// TestQuestion: the question has the call, as AuthZEN writes one.
func TestQuestion(t *testing.T) {
	t.Parallel()
	asked := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an empty one fails below
		asked <- body
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"decision": true}`) // the test sees the answer
	}))
	defer server.Close()
	q := &enforcer.Question{
		Principal: "amir", Role: "agent", Namespace: "shop", Session: "s1", Tool: "mcp__stripe__refund", Capability: "mcp:stripe:refund",
		Input: []byte(`{"amount": 12345678901234567890}`), RunID: "run_1", Workflow: "w", State: "a",
	}
	if agrees, err := pdp.New().Ask(t.Context(), &rules.Point{URL: server.URL, Timeout: 10 * time.Second}, q); !agrees || err != nil {
		t.Fatalf("%v, %v", agrees, err)
	}
	body := <-asked
	var got struct {
		Subject, Action, Resource struct {
			Type, ID, Name string
			Properties     map[string]string
		}
		Context map[string]any
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Subject.ID != "amir" || got.Subject.Properties["session"] != "s1" || got.Action.Name != "tools/call" || got.Resource.Type != "tool" ||
		got.Resource.ID != "mcp__stripe__refund" || got.Resource.Properties["capability"] != "mcp:stripe:refund" || got.Context["state"] != "a" ||
		!strings.Contains(string(body), `"amount":12345678901234567890`) {
		t.Errorf("%s", body)
	}
}

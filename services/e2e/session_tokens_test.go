package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
)

// mintAt asks for a token at a session, and returns it with its id.
func (i *isolation) mintAt(as auth.Role, session, body string) (token auth.Role, id string) {
	i.Helper()
	got := i.do(as, http.MethodPost, "/v1/sessions/"+session+"/tokens", body)
	if got.status != http.StatusCreated {
		i.Fatalf("mint at %s %s: %v", session, body, got)
	}
	secret, _ := got.field("token").(string)
	id, _ = got.field("token_id").(string)
	return auth.Role(secret), id
}

// refuses checks that a request fails with a text in its answer.
func (i *isolation) refuses(as auth.Role, method, path, body, says string) {
	i.Helper()
	if got := i.do(as, method, path, body); got.status < http.StatusBadRequest || !strings.Contains(got.body, says) {
		i.Errorf("%s %s %s: %v, want %q", method, path, body, got, says)
	}
}

// decides returns the answer to a call in a session.
func (i *isolation) decides(as auth.Role, session, tool, input string) (code, message string) {
	i.Helper()
	d, err := i.with(i.T, 0, i.token(as)).policy.CheckToolCall(within(i.T), &policyv1.CheckToolCallRequest{SessionId: session, Tool: tool, Input: []byte(input)})
	if err != nil {
		return "error", err.Error()
	}
	if d.GetDecision() == policyv1.Decision_DECISION_ALLOW {
		return "", ""
	}
	return strings.TrimPrefix(d.GetCode().String(), "DECISION_CODE_"), d.GetMessage()
}

// bounds is a server whose session lead has a run of a workflow that allows all, and a token of it.
func newBounds(t *testing.T, args ...string) (i *isolation, lead auth.Role) {
	t.Helper()
	i = newIsolation(t, args...)
	i.post(auth.Operator, "/v1/workflows", `{"id": "w", "initial": "a", "meta": {"enforcement": "always"}, "states": {"a": {"on": {"END": "z"}}, "z": {"type": "final"}}}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "lead"}`)
	lead, _ = i.mintAt(auth.Operator, "lead", `{"name": "lead-agent", "ttl_seconds": 600}`)
	i.post(lead, "/v1/runs", `{"workflow": "w"}`)
	return i, lead
}

// S22.20: a token has no more rights than the one that it was minted with.
func TestTokensAreNotWiderThanTheirMinters(t *testing.T) {
	t.Parallel()
	i, lead := newBounds(t)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "other"}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "lead/elsewhere"}`) // a root by that name
	i.post(lead, "/v1/sessions", `{"session_name": "lead/sub", "parent_session_name": "lead"}`)
	const tokens = "/v1/sessions/lead/tokens"
	i.refuses(lead, http.MethodPost, tokens, `{"ttl_seconds": 3600}`, "the caller's own ends")
	i.refuses(lead, http.MethodPost, tokens, `{"name": "somebody"}`, "the agent's own name")
	i.refuses(lead, http.MethodPost, tokens, `{"session": "other"}`, "not below")
	i.refuses(lead, http.MethodPost, tokens, `{"session": "lead/elsewhere"}`, "not below")
	i.refuses(lead, http.MethodPost, tokens, `{"session": "leader"}`, "not below")
	i.refuses(lead, http.MethodPost, "/v1/sessions/other/tokens", `{}`, "another tree")
	i.refuses(auth.Operator, http.MethodPost, tokens, `{"name": "operator"}`, "belongs to a principal of the role operator")
	i.refuses(auth.Operator, http.MethodPost, tokens, `{"ttl_seconds": 2592001}`, "ttl_seconds")
	i.refuses(auth.Operator, http.MethodPost, "/v1/sessions/never/tokens", `{}`, "NOT_FOUND")
	i.refuses("approver", http.MethodPost, tokens, `{}`, "may not")

	sub, _ := i.mintAt(lead, "lead", `{"session": "lead/sub"}`)
	i.refuses(sub, http.MethodPost, tokens, `{}`, "not \\\"lead\\\"")
	i.refuses(sub, http.MethodDelete, tokens, ``, "not \\\"lead\\\"")
	i.refuses(sub, http.MethodPost, "/v1/sessions/lead/narrow", `{"only": [{"tools": ["Read"]}]}`, "not \\\"lead\\\"")

	branch, _ := i.mintAt(lead, "lead", `{"branch": "one"}`)
	i.refuses(branch, http.MethodPost, tokens, `{}`, "mints tokens of that branch alone")
	i.refuses(branch, http.MethodPost, tokens, `{"branch": "two"}`, "mints tokens of that branch alone")
	i.refuses(branch, http.MethodPost, "/v1/sessions/lead/tokens", `{"session": "lead/sub", "branch": "one"}`, "mints tokens of that branch alone")

	// A minted token has its own entries, and those of the token that it was minted with.
	narrow, _ := i.mintAt(lead, "lead", `{"only": [{"tools": ["Read", "Grep"]}]}`)
	second, _ := i.mintAt(narrow, "lead", `{"session": "lead/sub", "only": [{"tools": ["Read", "Write"]}]}`)
	for tool, want := range map[string]string{"Read": "", "Grep": "NARROWED", "Write": "NARROWED"} {
		if code, message := i.decides(second, "lead/sub", tool, `{"file_path": "a"}`); code != want && (want != "" || code != "error" || !strings.Contains(message, "NOT_FOUND")) {
			t.Errorf("%s: %s %s, want %q", tool, code, message, want)
		}
	}
	if code, message := i.decides(lead, "lead", "Write", `{"file_path": "a"}`); code != "" {
		t.Errorf("the minter is narrowed: %s %s", code, message)
	}

	// The namespace is the caller's: a token of one is for no other.
	claims, err := sessiontoken.Read(string(second))
	if err != nil || claims.Namespace != "default" || claims.Name != "lead-agent" || claims.Parent != "lead" {
		t.Errorf("%+v, %v", claims, err)
	}
}

// S22.21: a revoked token ends at once, with those that were minted with it, and so does every token of a session
// and of those below it once all are revoked.
func TestRevokedTokensEnd(t *testing.T) {
	t.Parallel()
	i, lead := newBounds(t)
	i.post(lead, "/v1/sessions", `{"session_name": "lead/sub", "parent_session_name": "lead"}`)
	first, id := i.mintAt(lead, "lead", `{}`)
	second, _ := i.mintAt(first, "lead", `{"session": "lead/sub"}`)
	offline := i.mint("--session", "lead/sub", "--name", "sub-agent")
	works := func(token auth.Role, session string, want bool) {
		t.Helper()
		code, message := i.decides(token, session, "Read", `{"file_path": "a"}`)
		if refused := code == "error" && strings.Contains(message, "token is refused"); refused == want {
			t.Errorf("a call in %s: %s %s, want it to work: %v", session, code, message, want)
		}
		got := i.do(token, http.MethodGet, "/v1/sessions/"+url.PathEscape(session), "")
		if (got.status == http.StatusOK) != want {
			t.Errorf("reads %s: %v, want it to work: %v", session, got, want)
		}
		if got.status != http.StatusOK && (got.status != http.StatusUnauthorized || !strings.Contains(got.body, "revoked")) {
			t.Errorf("refused by %v", got)
		}
	}
	works(first, "lead", true)
	works(second, "lead/sub", true)
	i.refuses(lead, http.MethodDelete, "/v1/sessions/lead/tokens/stok_01jd3k0c7qf3ta3bfa1m2y8x9n", "", "NOT_FOUND")
	if got := i.do(lead, http.MethodDelete, "/v1/sessions/lead/tokens/"+id, ""); got.status != http.StatusNoContent {
		t.Fatal(got)
	}
	works(first, "lead", false)
	works(second, "lead/sub", false) // it was minted with that one
	works(lead, "lead", true)
	works(offline, "lead/sub", true)
	if got := i.do(auth.Operator, http.MethodGet, "/v1/sessions/lead/tokens", ""); !strings.Contains(got.body, `"revoked_by":"lead-agent"`) || strings.Contains(got.body, sessiontoken.Prefix) {
		t.Errorf("the list: %v", got)
	}

	claims, err := sessiontoken.Read(string(offline))
	if err != nil {
		t.Fatal(err)
	}
	another := i.mint("--session", "lead/sub", "--name", "sub-agent")
	if got := i.do(auth.Operator, http.MethodDelete, "/v1/sessions/lead%2Fsub/tokens/"+claims.ID, ""); got.status != http.StatusNoContent {
		t.Fatal(got)
	}
	works(offline, "lead/sub", false)
	works(another, "lead/sub", true)

	fresh, _ := i.mintAt(lead, "lead", `{"session": "lead/sub"}`)
	if got := i.do(auth.Operator, http.MethodDelete, "/v1/sessions/lead/tokens", ""); got.status != http.StatusNoContent {
		t.Fatal(got)
	}
	for token, session := range map[auth.Role]string{lead: "lead", fresh: "lead/sub", another: "lead/sub"} {
		works(token, session, false)
	}
	last, _ := i.mintAt(auth.Operator, "lead", `{"session": "lead/sub"}`)
	works(last, "lead/sub", true)

	// A deleted session lists no token, so none of it counts, and its name makes no other.
	for _, name := range []string{"lead%2Fsub", "lead"} {
		i.post(auth.Operator, "/v1/sessions/"+name+"/stop", `{"end": true}`)
	}
	if got := i.do(auth.Operator, http.MethodDelete, "/v1/sessions/lead?cascade=true", ""); got.status != http.StatusNoContent {
		t.Fatal(got)
	}
	i.refuses(last, http.MethodGet, "/v1/runs", "", "was deleted")
	i.refuses(auth.Operator, http.MethodPost, "/v1/sessions", `{"session_name": "lead"}`, "NAME_TAKEN")
}

// S22.20: tokens that nobody has minted, or that are changed, are not known.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	i, lead := newBounds(t)
	claims, err := sessiontoken.Read(string(lead))
	if err != nil {
		t.Fatal(err)
	}
	key, err := sessiontoken.LoadKey(i.up.data.TokenKey())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*sessiontoken.Claims){
		"an id that is not listed": func(c *sessiontoken.Claims) { c.ID = sessiontoken.NewListedID() },
		"another session":          func(c *sessiontoken.Claims) { c.Session, c.Parent = "other", "lead" },
		"a later end":              func(c *sessiontoken.Claims) { c.Expires = c.Expires.Add(sessiontoken.MaxTTL / 2) },
		"another branch":           func(c *sessiontoken.Claims) { c.Branch = "x" },
	} {
		c := claims
		change(&c)
		forged, err := key.Mint(c) // with the key, even
		if err != nil {
			t.Fatal(err)
		}
		if got := i.do(auth.Role(forged), http.MethodGet, "/v1/runs", ""); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "token is refused") {
			t.Errorf("%s: %v", name, got)
		}
	}
	i.refuses(lead[:len(lead)-4]+"AAAA", http.MethodGet, "/v1/runs", "", "not known")
}

// S22.24: what a session is narrowed to holds for it and for those below it, with a run and without one, and an
// agent only adds to it.
func TestNarrowedSessions(t *testing.T) {
	t.Parallel()
	i, lead := newBounds(t)
	call := func(token auth.Role, session, tool, input, want, says string) {
		t.Helper()
		code, message := i.decides(token, session, tool, input)
		if code != want || !strings.Contains(message, says) {
			t.Errorf("%s %s in %s: %s %s, want %q %q", tool, input, session, code, message, want, says)
		}
	}
	const narrow = "/v1/sessions/lead/narrow"
	i.refuses(lead, http.MethodPost, narrow, `{"only": [{"tool": "mcp__db__query", "only": {"not": {"writes": "a"}}}]}`, "list the values that are allowed")
	i.refuses(lead, http.MethodPost, narrow, `{"only": [{"tool": "mcp__db__query", "only": {"/a": 1}, "tools": ["Read"]}]}`, "write two entries")
	i.refuses(lead, http.MethodPost, narrow, `{"only": {}}`, "must be a list")
	i.refuses(lead, http.MethodPost, narrow, `{}`, "give the entries")
	i.refuses(lead, http.MethodPost, narrow, `{"only": [`+strings.Repeat(`{"tools": ["Read"]},`, 32)+`{"tools": ["Read"]}]}`, "32")
	call(lead, "lead", "mcp__db__query", `{"region": "us"}`, "", "")
	i.post(lead, narrow, `{"only": [{"tool": "mcp__db__query", "only": {"/region": "eu"}}]}`)
	call(lead, "lead", "mcp__db__query", `{"region": "us"}`, "NARROWED", `session "lead" is narrowed, and entry 1 of its "only", for "mcp__db__query", does not hold: /region must be "eu", and is "us"`)
	call(lead, "lead", "mcp__db__query", `{}`, "NARROWED", "missing") // in doubt
	call(lead, "lead", "mcp__db__query", `{"region": "eu"}`, "", "")
	call(auth.Agent, "lead", "mcp__db__query", `{"region": "us"}`, "NARROWED", "")

	i.refuses(lead, http.MethodPost, narrow, `{"only": [{"tools": ["*"]}], "replace": true}`, "only an operator")
	i.refuses(lead, http.MethodPost, narrow, `{"replace": true}`, "only an operator")
	i.post(lead, narrow, `{"only": [{"tool": "mcp__db__query", "only": {"/region": ["us", "eu"]}}]}`) // adds, and so widens nothing
	call(lead, "lead", "mcp__db__query", `{"region": "us"}`, "NARROWED", "")

	// Below it, by the tree and by the name, with no run and no policy.
	i.post(lead, "/v1/sessions", `{"session_name": "lead/sub", "parent_session_name": "lead", "only": [{"tools": ["Read", "mcp__db__*"]}]}`)
	sub, _ := i.mintAt(lead, "lead", `{"session": "lead/sub"}`)
	call(sub, "lead/sub", "mcp__db__query", `{"region": "us"}`, "NARROWED", `session "lead"`)
	call(sub, "lead/sub", "Write", `{"file_path": "a"}`, "NARROWED", `session "lead/sub" is narrowed, and entry 1 of its "only" allows no other tools than Read, mcp__db__*`)
	call(sub, "lead/sub", "Read", `{"file_path": "a"}`, "", "")
	never, _ := i.mintAt(lead, "lead", `{"session": "lead/never"}`)
	call(never, "lead/never", "mcp__db__query", `{"region": "us"}`, "NARROWED", "")
	i.refuses(lead, http.MethodPost, "/v1/sessions", `{"session_name": "lead/sub", "parent_session_name": "lead"}`, "NAME_TAKEN")

	// The other faces say the same.
	hook := fmt.Sprintf(`{"hook_event_name": "PreToolUse", "session_id": %q, "tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": "a", "content": ""}}`, "lead/sub")
	if got := i.do(sub, http.MethodPost, "/v1/hook", hook); !strings.Contains(got.body, "deny") {
		t.Errorf("the hook: %v", got)
	}
	authzen := fmt.Sprintf(`{"subject": {"type": "session", "id": %q}, "action": {"name": "tools/call"}, "resource": {"type": "tool", "id": "Write"}}`, "lead/sub")
	if got := i.do(sub, http.MethodPost, "/access/v1/evaluation", authzen); !strings.Contains(strings.ReplaceAll(got.body, " ", ""), `"decision":false`) {
		t.Errorf("AuthZEN: %v", got)
	}

	// The log says what has narrowed the call, and only an operator widens.
	if got := i.do(auth.Operator, http.MethodGet, "/v1/decisions?code=NARROWED", ""); !strings.Contains(got.body, `"narrowed":[`) {
		t.Errorf("the log: %v", got)
	}
	i.post(auth.Operator, narrow, `{"replace": true}`)
	call(lead, "lead", "mcp__db__query", `{"region": "us"}`, "", "")
	call(sub, "lead/sub", "mcp__db__query", `{"region": "us"}`, "", "")
	call(sub, "lead/sub", "Write", `{"file_path": "a"}`, "NARROWED", "")
}

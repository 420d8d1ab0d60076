package e2e

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/auth"
)

// S22.24: calls through the MCP gate meet the entries of the session's token, and of the session. The list of tools is that of the
// state: it is no permission.
func TestNarrowedCallsOfMCP(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	for _, tool := range []string{"read", "query", "drop"} {
		b.offer(tool, "Works on the database.")
	}
	i, lead := newBounds(t, "--upstream", "db="+b.url)
	narrow, _ := i.mintAt(lead, "lead", `{"only": [{"tools": ["mcp__db__read", "mcp__db__query"]}]}`)
	byHalf, _ := i.mintAt(narrow, "lead", `{"only": [{"tool": "mcp__db__query", "only": {"/region": "eu"}}]}`)
	calls := func(token auth.Role, tool, region, want string) {
		t.Helper()
		before := b.calls.Load()
		agent := i.connectBy(t, string(token), "lead")
		defer agent.Close()
		got, made := textOf(t, agent, tool, map[string]any{"region": region}), b.calls.Load()-before
		if !strings.Contains(got, want) || (want == "done") != (made == 1) || made > 1 {
			t.Errorf("%s in %s: %s, and %d calls reached the server; want %s", tool, region, got, made, want)
		}
	}
	calls(lead, "mcp__db__drop", "us", "done")
	calls(narrow, "mcp__db__read", "us", "done")
	calls(narrow, "mcp__db__query", "us", "done")
	calls(narrow, "mcp__db__drop", "eu", "NARROWED")
	calls(byHalf, "mcp__db__query", "eu", "done")
	calls(byHalf, "mcp__db__query", "us", "NARROWED")
	calls(byHalf, "mcp__db__drop", "eu", "NARROWED")

	listed := func(token auth.Role) (names string) {
		t.Helper()
		agent := i.connectBy(t, string(token), "lead")
		defer agent.Close()
		for _, tool := range must[*sdk.ListToolsResult](t)(agent.ListTools(t.Context(), nil)).Tools {
			if strings.HasPrefix(tool.Name, "mcp__db__") {
				names += " " + strings.TrimPrefix(tool.Name, "mcp__db__")
			}
		}
		return names
	}
	for name, token := range map[string]auth.Role{"not narrowed": lead, "narrowed": narrow} {
		if got := listed(token); got != " drop query read" {
			t.Errorf("a client that is %s lists%s", name, got)
		}
	}

	// A session that is narrowed narrows the tokens that it has already.
	if got := i.do(lead, http.MethodPost, "/v1/sessions/lead/narrow", `{"only": [{"tools": ["mcp__db__read"]}]}`); got.status >= http.StatusMultipleChoices {
		t.Fatal(got)
	}
	calls(lead, "mcp__db__query", "eu", "NARROWED")
	calls(narrow, "mcp__db__query", "eu", "NARROWED")
	calls(narrow, "mcp__db__read", "us", "done")
}

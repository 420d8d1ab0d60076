package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/importer"
)

// TestStatewright reads files of Statewright.
func TestStatewright(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ src, definition, servers, left, fails string }{
		"no servers":  {`{"definition": {"id": "w"}, "upstream_servers": []}`, `{"id":"w"}`, "", "", ""},
		"yaml":        {"definition: {id: w}", `{"id":"w"}`, "", "", ""},
		"a list":      {`{"definition": {}, "upstream_servers": [{"name": "fs", "command": "npx", "args": ["-y"], "transport": "stdio"}, {"name": "docs", "url": "https://d.example/mcp"}]}`, `{}`, `{"mcpServers":{"fs":{"command":"npx","args":["-y"]},"docs":{"url":"https://d.example/mcp"}}}`, "", ""},
		"an object":   {`{"definition": {}, "upstream_servers": {"fs": {"command": "npx", "env": {"A": "b"}}}}`, `{}`, `{"mcpServers":{"fs":{"command":"npx","env":{"A":"b"}}}}`, "", ""},
		"the rest":    {`{"definition": {}, "owner": "me", "upstream_servers": [{"name": "fs", "command": "npx", "timeout": 3, "transport": "sse"}, {"name": "fs", "command": "b"}, {"command": "c"}, {"name": "none"}, 7]}`, `{}`, `{"mcpServers":{"fs":{"command":"npx"}}}`, `owner: the field is not known; upstream server "fs": timeout: the field is not known; upstream server "fs": transport: the transport "sse" is not one of stdio and http; upstream server "fs": another server has this name; an upstream server: it has no "name"; upstream server "none": it needs either "command" or "url"; an upstream server: it has no "name"`, ""},
		"a workflow":  {`{"id": "w"}`, "", "", "", "register a definition as it is"},
		"no document": {`[`, "", "", "", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := importer.Statewright([]byte(test.src))
			if fails := fmt.Sprint(err); (err != nil) != (test.fails != "") || !strings.Contains(fails, test.fails) {
				t.Fatalf("it says %s, want %q", fails, test.fails)
			}
			var left []string
			for _, n := range w.Left {
				left = append(left, n.Text+": "+n.Why)
			}
			if got := strings.Join(left, "; "); got != test.left {
				t.Errorf("not translated: %s, want %s", got, test.left)
			}
			if err == nil && (w.Definition.String() != test.definition || !w.Servers.IsZero() && w.Servers.String() != test.servers || w.Servers.IsZero() != (test.servers == "")) {
				t.Errorf("it is %s and %s", w.Definition, w.Servers)
			}
		})
	}
}

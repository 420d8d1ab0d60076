package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S21.14: policies and states know a tool by the description that an operator has accepted, until it changes. That of
// a policy or workflow of its own goes first.
func TestAcceptedDescriptionsAreKnown(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{``, `"meta": {"tools": {"mcp__web__get": {"urls": ["/other"]}}},`} {
		s := stage.New(t, `{"id": "w", "initial": "a", `+meta+`
			"states": {"a": {"on": {"GO": "z"}, "calls": [{"capability": "mcp:web", "only": {"host": ["a.example", "b.example"]}}]}, "z": {"type": "final"}}}`)
		s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "*", "when": {"host": ["b.example"]}}]}`,
			policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		a := s.App()
		gateway := enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Service}}
		see := func(digest string) {
			if _, err := a.Pins.Pin(t.Context(), gateway, "web", []pins.Offered{{Tool: "get", Digest: digest, Draft: `{"urls":["/url"]}`}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(host string, want toolcall.Code) {
			t.Helper()
			d := stage.Ask(t, a, check.Request{Tool: "mcp__web__get", Input: []byte(`{"url": "https://` + host + `/x"}`)})
			if d.Verdict.Code != want {
				t.Errorf("%s %s: %s %q, want %q", meta, host, d.Verdict.Code, d.Message, want)
			}
		}
		see("1")
		ask("a.example", toolcall.CodeCallUnclear)
		p, err := a.Pins.Propose(t.Context(), enforcertest.Namespace, "web", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Pins.AcceptDescriptions(t.Context(), enforcertest.Operator, "web", "", p.Digest); err != nil {
			t.Fatal(err)
		}
		if meta != "" {
			ask("a.example", toolcall.CodeCallUnclear) // to its workflow, the URL is elsewhere
			continue
		}
		ask("a.example", "")
		ask("b.example", toolcall.CodePolicyDenied)
		ask("c.example", toolcall.CodeCallNotAllowed)
		see("2")
		ask("a.example", toolcall.CodeCallUnclear)
	}
}

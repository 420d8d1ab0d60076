package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// S9.6: a lease answers the question of one rule of one version of one policy, and no
// other.
func TestLeasedCall(t *testing.T) {
	t.Parallel()
	named := rules.Compile(parse(t, `{"name": "p", "role": "agent", "ask": [{"capability": "bash"}, {"capability": "mcp:box"}]}`), 2)
	shell := rules.Call{Tool: "Bash", Now: noon}
	both := rules.Call{Tool: "mcp__box__bash", Now: noon} // a server's tool, and a shell
	asked := func(call rules.Call, leased *rules.Source) rules.Verdict {
		call.Leased = leased
		return named.Decide(call, nil)
	}
	source := asked(shell, nil).By
	if source == nil || source.Pointer() != "/ask/0" || source.Version != 2 {
		t.Fatalf("%+v asks", source)
	}
	if v := asked(shell, source); v.Decision != toolcall.Allow || !v.Approved || v.By.Pointer() != "/ask/0" {
		t.Errorf("it is %+v", v)
	}
	for name, change := range map[string]func(*rules.Source){
		"policy": func(s *rules.Source) { s.Policy = "q" }, "version": func(s *rules.Source) { s.Version = 3 },
		"place": func(s *rules.Source) { s.Place = "allow" }, "index": func(s *rules.Source) { s.Index = 1 },
	} {
		other := *source
		change(&other)
		if v := asked(shell, &other); v.Decision != toolcall.Ask {
			t.Errorf("another %s answers: %+v", name, v)
		}
	}
	first := asked(both, nil).By
	if v := asked(both, first); v.Decision != toolcall.Ask || v.By.Pointer() == first.Pointer() {
		t.Errorf("what is asked of shells too is %+v after %s", v, first.Pointer())
	}
}

package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// An agent has as many runs under way, and registers as many bytes, as its quota says; a run
// that ends makes room; operators have no quota, and one agent takes nothing of another's.
func TestQuotas(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	a.Enforcement = workflow.UntilSuccess // so that texts keep their sizes
	a.Quotas = ports.Quotas{Runs: 2, DefinitionBytes: 300}
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(review), ""); err != nil {
		t.Fatal(err)
	}
	start := func(who ports.Caller, key string) (*View, error) {
		v, _, err := a.Starts.Start(t.Context(), who, Start{Workflow: "review", IdempotencyKey: key})
		return v, err
	}
	refused := func(err error, mentions string) {
		t.Helper()
		if fault.ReasonOf(err) != fault.QuotaExceeded || !strings.Contains(err.Error(), mentions) {
			t.Errorf("%v", err)
		}
	}
	first, err := start(agent, "one")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeat takes no more
		if _, err := start(agent, "two"); err != nil {
			t.Fatal(err)
		}
	}
	_, err = start(agent, "three")
	refused(err, "--runs-per-principal")
	other := agent
	other.Principal.Name = "other"
	for _, who := range []ports.Caller{other, operator, operator, operator} {
		if _, err := start(who, ""); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Moves.Cancel(t.Context(), operator, first.Run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := start(agent, "three"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	_, err = start(agent, "four")
	refused(err, "2 runs")

	register := func(who ports.Caller, n int) error {
		_, _, _, err := a.Registry.Register(t.Context(), who, fmt.Appendf(nil, `{"id": "w%d", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`, n), "")
		return err
	}
	for n, who := range []ports.Caller{agent, agent, agent, operator, operator, operator, operator} {
		if err := register(who, n); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	refused(register(agent, 10), "--definition-bytes-per-principal")
	if agent.Principal.Role != auth.Agent {
		t.Fatal("the agent is none")
	}
}

package stage

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// Agent is the caller of most calls.
var Agent = enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "amir", Role: auth.Agent}}

// NewApp returns a process by the clock of the machine.
func NewApp(e *Engine, st store.Store) *app.App { return AppAt(e, st, time.Now) }

// AppAt returns a process by a clock.
func AppAt(e *Engine, st store.Store, clock func() time.Time) *app.App {
	return app.New(st, e, Announcer{}, clock, slog.New(slog.DiscardHandler), app.Config{})
}

// Check asks for a call without input.
func Check(t *testing.T, a *app.App, tool, call string) *check.Decision {
	t.Helper()
	d, err := a.Checks.Check(t.Context(), Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, CallID: call})
	if err != nil {
		t.Fatalf("check %s: %v", tool, err)
	}
	return d
}

// Payloads returns the contents of the outbox.
func Payloads(t *testing.T, st store.Store) []string {
	t.Helper()
	after := map[int]int64{}
	for i := range st.Shards() {
		after[i] = 0
	}
	entries, err := st.Tail(t.Context(), after, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, string(e.Payload))
	}
	return out
}

// Witnessed is the agent with an observer, who vouches for its reports.
var Witnessed = enforcer.Caller{Namespace: Agent.Namespace, Principal: Agent.Principal, Vouched: true}

// GoTest is the input of the tests that Proven names.
var GoTest = []byte(`{"command": "go test ./..."}`)

// ReportAs reports the end of a call.
func ReportAs(t *testing.T, a *app.App, caller enforcer.Caller, id, tool string, ok bool) *outcome.Reported {
	t.Helper()
	r, err := a.Outcomes.Report(t.Context(), caller, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: ok})
	if err != nil {
		t.Fatalf("report %s: %v", id, err)
	}
	return r
}

// HeldNow returns the status of the evidence "tests" in the store.
func HeldNow(t *testing.T, e *Engine, st store.Store) evidence.Status {
	t.Helper()
	return HeldAt(t, e, st, time.Now())
}

// HeldAt returns the status of the evidence "tests" at a time.
func HeldAt(t *testing.T, e *Engine, st store.Store, now time.Time) evidence.Status {
	t.Helper()
	var record evidence.Record
	if stored, err := st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1"))); err == nil {
		if record, err = ledger.DecodeEvidence(stored.Data); err != nil {
			t.Fatal(err)
		}
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	at := e.Current.At("")
	b := at.EvidenceOf(record, now)
	return b.Judge(e.Machine.Evidence())["tests"]
}

// Write returns the input of a write to a file.
func Write(path string) []byte { return fmt.Appendf(nil, `{"file_path": %q, "content": "x"}`, path) }

// MustCheck asks for a call with an input.
func MustCheck(t *testing.T, a *app.App, tool string, input []byte, call string) *check.Decision {
	t.Helper()
	d, err := a.Checks.Check(t.Context(), Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, Input: input, CallID: call})
	if err != nil {
		t.Fatalf("check %s %s: %v", tool, input, err)
	}
	return d
}

// MustReport reports a call of the agent.
func MustReport(t *testing.T, a *app.App, r outcome.Report) *outcome.Reported {
	t.Helper()
	r.Target = enforcer.Target{RunID: "run_1"}
	reported, err := a.Outcomes.Report(t.Context(), Agent, r)
	if err != nil {
		t.Fatalf("report %s: %v", r.CallID, err)
	}
	return reported
}

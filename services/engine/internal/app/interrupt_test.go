package app

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// S4.1: a file that the call named and that was reported under another name is in the record once.
func TestEachFileOfAnInterruptIsNamedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		workspace   string
		files, want []string
	}{
		{"/w", []string{"db/1.sql", "db/1.sql"}, []string{"db/1.sql"}},
		{"/w", []string{"/w/db/1.sql", "db/1.sql", "./db/1.sql", "db//x/../1.sql"}, []string{"/w/db/1.sql"}},
		{"/w", []string{"db/1.sql", "/v/db/1.sql", "../v/db/1.sql"}, []string{"db/1.sql", "/v/db/1.sql"}},
		{"/w", []string{"a.sql", "A.sql"}, []string{"a.sql", "A.sql"}},
		{`C:\w`, []string{`C:\w\db\1.sql`, "db/1.sql"}, []string{`C:\w\db\1.sql`}},
		{"", []string{"db/1.sql", "./db/1.sql"}, []string{"db/1.sql"}},
		{"/w", []string{"", "dir/", ""}, []string{"", "dir/"}},
		{"/w", nil, nil},
	} {
		if got := eachOnce(pathglob.RootOf(tt.workspace), tt.files); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %q are %q, want %q", tt.files, tt.workspace, got, tt.want)
		}
	}
}

// S4.1: only a call that was allowed fires an interrupt, once; and the counters of
// the state that it leaves are over.
func TestInterruptNeedsAnAllowedCall(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	const watched = `{
		"id": "watched", "initial": "work",
		"interrupts": {"sql": {"trigger": {"file_pattern": "**/*.sql"}, "target": "check"}},
		"states": {"work": {"on": {"END": "done"}}, "check": {"on": {"OK": "$return"}}, "done": {"type": "final"}}
	}`
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(watched), ""); err != nil {
		t.Fatal(err)
	}
	run := mustStart(t, a, agent, Start{Workflow: "watched", Workspace: "/w"})
	key := runKey("default", run.ID)
	decided := func(id string, v toolcall.Verdict) {
		log := ledger.Decisions(key)
		d := ledger.Decision{RunID: run.ID, RunVersion: 1, Tool: v.Tool, Decision: v.Decision, Kept: ledger.KeptOf(&v, 1, nil)}
		d.Kept.Profile = []byte(`{"version": 1, "writes": "allow", "workspace": "/w"}`)
		_, err := st.Commit(t.Context(), store.Batch{
			Idempotency: &store.Idempotency{Owner: key, Name: ledger.CallName(id), Entry: log, TTL: idempotency.TTL},
			Appends:     []store.Append{{Key: log, Entry: d.Encode()}},
			Counters:    []store.Counter{{Owner: ledger.Entry(key, 1), Name: ledger.Iterations, Delta: 1, Limit: store.NoLimit}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	decided("denied", toolcall.Verdict{Decision: toolcall.Deny, Tool: "Edit"})
	decided("shell", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Bash"})
	decided("other", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Edit", Paths: []string{"a.go"}})
	decided("edit", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Edit", Paths: []string{"db/1.sql"}})
	for id, seen := range map[string]jail.Witness{"jailed": {Written: []string{"b.go"}}, "schema": {Written: []string{"db/2.sql"}}, "unknown": {TreeFailed: "too large"}} {
		decided(id, toolcall.Verdict{Decision: toolcall.Allow, Tool: "Bash"})
		witness, _ := seen.Sign(nil)
		_, err := st.Commit(t.Context(), store.Batch{Idempotency: &store.Idempotency{Owner: key, Name: ledger.WitnessName(id), Digest: "w", Answer: witness, TTL: idempotency.TTL}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "jailed", []string{"db/1.sql"}); err != nil || in.Fired {
		t.Errorf("a file that its jail has not seen: %+v, %v", in, err)
	}
	for _, id := range []string{"none", "denied", "shell"} {
		if _, err := a.Moves.Interrupt(t.Context(), agent, run.ID, id, []string{"db/1.sql"}); fault.ReasonOf(err) != fault.FailedPrecondition {
			t.Errorf("call %s: %v", id, err)
		}
	}
	if in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "other", []string{"b.go"}); err != nil || in.Fired {
		t.Errorf("no match: %+v, %v", in, err)
	}
	for range 2 {
		in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "edit", nil)
		if err != nil || !in.Fired || in.Interrupt != "sql" || in.From != "work" || in.View.At.State != "check" {
			t.Fatalf("%+v, %v", in, err)
		}
	}
	if counters, err := st.Counters(t.Context(), ledger.Entry(key, 1)); err != nil || len(counters) != 0 {
		t.Errorf("the entry that was left still counts %v, %v", counters, err)
	}
	if view := accepted(t, a, ports.Target{RunID: run.ID}, "OK", "", ""); view.At.State != "work" || view.At.Entry != 3 {
		t.Errorf("returned to %+v", view.At)
	}
	if in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "schema", nil); err != nil || !in.Fired || in.From != "work" {
		t.Errorf("a file that a jail has seen: %+v, %v", in, err)
	}
	accepted(t, a, ports.Target{RunID: run.ID}, "OK", "", "")
	if in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "unknown", nil); err != nil || !in.Fired || in.Interrupt != "sql" || in.From != "work" {
		t.Errorf("files that no jail has seen: %+v, %v", in, err)
	}
	accepted(t, a, ports.Target{RunID: run.ID}, "OK", "", "")
	// The same call does not fire again.
	if in, err := a.Moves.Interrupt(t.Context(), agent, run.ID, "edit", nil); err != nil || load(t, a, run.ID).State != "work" {
		t.Errorf("%+v, %v", in, err)
	}
}

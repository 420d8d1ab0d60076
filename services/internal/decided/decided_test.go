package decided_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

func decision(call string) *ledger.Decision {
	return &ledger.Decision{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC), Principal: "amir", SessionID: "s", RunID: "run_1", RunVersion: 7,
		Workflow: "w", WorkflowVersion: 2, State: "work", CallID: call, Tool: "mcp__x__y", Capability: "mcp:x:y",
		Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Message: "no", Rule: "/deny/0", Policy: "p", PolicyVersion: 3,
		InputDigest: "00ff", Input: []byte(`{"secret":"input"}`), ApprovalID: "apr_1",
		Shadows: []ledger.Shadow{{Policy: "q", PolicyVersion: 4, Decision: toolcall.Ask, Code: toolcall.CodeApprovalRequired, Message: "hidden"}},
		Limits:  []ledger.Limit{{Policy: "p", Rule: "/allow/0", Measure: "calls", Scope: "policy", Used: 9, Max: 10, Until: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)}},
		Kept:    ledger.Kept{Entry: 9, Paths: []string{"hidden.go"}},
	}
}

func open(t *testing.T) store.Store {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: t.TempDir() + "/s.db", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func put(t *testing.T, st store.Store, root store.Key, d *ledger.Decision) {
	t.Helper()
	event, err := decided.Head(root.Namespace, root.ID, d)
	if err != nil {
		t.Fatal(err)
	}
	log := ledger.Decisions(root)
	event.Entry = log
	plain := store.Event{Key: root, ID: "plain", Subject: "interlock.default.run.run_1.started", Payload: []byte("{}")}
	if _, err := st.Commit(t.Context(), store.Batch{
		Appends: []store.Append{{Key: log, Entry: d.Encode()}}, Events: []store.Event{event, plain},
	}); err != nil {
		t.Fatal(err)
	}
}

func tail(t *testing.T, st store.Store, root store.Key) []store.OutboxEntry {
	t.Helper()
	entries, err := decided.Outbox(st).Tail(t.Context(), map[int]int64{root.Shard(st.Shards()): 0}, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// The event of a decision has the decision's data, under the id and the subject that
// were committed, without fields of the log alone.
func TestEventOfDecision(t *testing.T) {
	t.Parallel()
	st, root := open(t), store.Key{Namespace: "default", Kind: "run", ID: "run_1"}
	put(t, st, root, decision("call 1"))
	entries := tail(t, st, root)
	if len(entries) != 2 || string(entries[1].Payload) != "{}" {
		t.Fatalf("the outbox has %+v", entries)
	}
	e := entries[0]
	got, err := bus.Decode(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := decided.Event("default", "run_1", decision("call 1"))
	want.Id = "default.toolcall.run_1.call~201.denied"
	if !proto.Equal(got, want) || e.ID != want.GetId() || e.Subject != "interlock.default.toolcall.run_1.denied" {
		t.Errorf("published as %s on %s: %v, want %v", e.ID, e.Subject, got, want)
	}
	for _, kept := range []string{"secret", "hidden", "amir"} {
		if has := strings.Contains(string(e.Payload), kept); has != (kept == "amir") {
			t.Errorf("the event has %s: %t", kept, has)
		}
	}
}

// A call that was asked about is judged again when it is repeated: each time is an event.
func TestEventsOfAskedCalls(t *testing.T) {
	t.Parallel()
	st, root := open(t), store.Key{Namespace: "default", Kind: "run", ID: "run_1"}
	asked := decision("call 1")
	asked.Decision = toolcall.Ask
	put(t, st, root, asked)
	put(t, st, root, asked)
	entries := tail(t, st, root)
	first, second := entries[0], entries[2]
	if first.ID == second.ID || first.Subject != second.Subject || first.Subject != "interlock.default.toolcall.run_1.asked" {
		t.Errorf("two decisions are published as %s on %s, and %s on %s", first.ID, first.Subject, second.ID, second.Subject)
	}
}

// An entry that the log has dropped before it was published holds up no other.
func TestEventOfDroppedDecision(t *testing.T) {
	t.Parallel()
	st, root := open(t), store.Key{Namespace: "default", Kind: "run", ID: "run_1"}
	put(t, st, root, decision("call 1"))
	put(t, st, root, decision("call 2"))
	if _, err := st.Commit(context.WithoutCancel(t.Context()), store.Batch{Forget: []store.Forget{{Key: ledger.Decisions(root), Through: 1}}}); err != nil {
		t.Fatal(err)
	}
	entries := tail(t, st, root)
	if len(entries) != 4 {
		t.Fatalf("the outbox has %+v", entries)
	}
	lost, err := bus.Decode(entries[0].Payload)
	if err != nil || lost.GetId() != entries[0].ID || lost.GetEntityId() != "run_1" || lost.GetType() != "denied" ||
		lost.GetToolcallDecided().GetMessage() != "decision 1 of run_1 is no longer kept" {
		t.Errorf("the dropped one is announced as %v, %v", lost, err)
	}
	if kept, err := bus.Decode(entries[2].Payload); err != nil || kept.GetToolcallDecided().GetCallId() != "call 2" {
		t.Errorf("the other one is announced as %v, %v", kept, err)
	}
}

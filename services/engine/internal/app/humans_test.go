package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// humans is an approval service in memory.
type humans struct {
	clock *storetest.Clock
	// befalls, when set, is asked before every call: before fails it, and after fails
	// it once it is done, as when the answer is lost.
	befalls func(call string) (before, after error)

	mu    sync.Mutex
	asked map[string]*ports.Approval
	used  map[string]string
	calls []string
}

var _ ports.Approvals = (*humans)(nil)

func newHumans(clock *storetest.Clock) *humans {
	return &humans{clock: clock, asked: map[string]*ports.Approval{}, used: map[string]string{}}
}

// do is one call.
func (h *humans) do(call, namespace, id string, work func(a *ports.Approval) error) error {
	var before, after error
	if h.befalls != nil {
		before, after = h.befalls(call)
	}
	if before != nil {
		return before
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call+" "+id)
	a := h.asked[namespace+"/"+id]
	if a == nil && call != "create" {
		return fault.New(fault.NotFound, "no approval %q", id)
	}
	if a != nil {
		a.Approval = *a.Tick(h.clock.Now()).Approval
	}
	return errors.Join(work(a), after)
}

// become makes the result of a command how an approval stands.
func become(a *ports.Approval, r consent.Result) error {
	if r.Refusal != nil {
		return fault.New(fault.FailedPrecondition, "%s", r.Refusal.Message)
	}
	a.Approval = *r.Approval
	return nil
}

func (h *humans) Create(_ context.Context, namespace, runID string, r consent.Request) error {
	return h.do("create", namespace, r.ID, func(a *ports.Approval) error {
		if a != nil {
			if a.Action.Digest() != r.Action.Digest() {
				return fault.New(fault.IdempotencyMismatch, "another action")
			}
			return nil
		}
		opened, err := consent.Open(r, h.clock.Now())
		if err != nil {
			return fault.New(fault.InvalidRequest, "%s", err)
		}
		h.asked[namespace+"/"+r.ID] = &ports.Approval{Approval: *opened.Approval, RunID: runID}
		return nil
	})
}

func (h *humans) Get(_ context.Context, namespace, id string) (*ports.Approval, error) {
	var found ports.Approval
	err := h.do("get", namespace, id, func(a *ports.Approval) error { found = *a; return nil })
	if err != nil {
		return nil, err
	}
	return &found, nil
}

func (h *humans) Consume(_ context.Context, namespace, id, digest, usedBy string) error {
	return h.do("consume", namespace, id, func(a *ports.Approval) error {
		if !a.UsedAt.IsZero() && h.used[id] == usedBy {
			return nil
		}
		h.used[id] = usedBy
		return become(a, a.Consume(digest, h.clock.Now()))
	})
}

func (h *humans) Void(_ context.Context, namespace, id, reason string) error {
	return h.do("void", namespace, id, func(a *ports.Approval) error {
		if a.Status == consent.Stale {
			return nil
		}
		return become(a, a.Void(reason, h.clock.Now()))
	})
}

func (h *humans) Cancel(_ context.Context, namespace, id, reason string) error {
	return h.do("cancel", namespace, id, func(a *ports.Approval) error {
		if a.Status == consent.Cancelled {
			return nil
		}
		return become(a, a.Cancel("engine", reason, h.clock.Now()))
	})
}

func (h *humans) Open(_ context.Context, namespace, runID string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, a := range h.asked {
		now := a.Tick(h.clock.Now()).Approval
		waits := now.Status == consent.Pending || now.Status == consent.Granted && now.UsedAt.IsZero()
		if waits && a.RunID == runID && strings.HasPrefix(key, namespace+"/") {
			return true, nil
		}
	}
	return false, nil
}

// decide is what a human says.
func (h *humans) decide(t *testing.T, id string, approve bool, note, edited string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.asked["default/"+id]
	if a == nil {
		t.Fatalf("nobody is asked for %s", id)
	}
	d := consent.Decision{Approve: approve, Note: note}
	if edited != "" {
		d.Data = value(t, edited)
	}
	if err := become(a, a.Decide(consent.Approver{Name: "alice", Role: consent.RoleApprover}, d, h.clock.Now())); err != nil {
		t.Fatal(err)
	}
}

// standing is how the approval service sees an approval.
func (h *humans) standing(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.asked["default/"+id]
	switch {
	case a == nil:
		return "unknown"
	case !a.UsedAt.IsZero():
		return "USED by " + h.used[id]
	default:
		return string(a.Tick(h.clock.Now()).Approval.Status)
	}
}

// gated is a rig: an engine that asks humans, on a clock of its own.
type gated struct {
	*testing.T
	*App
	clock  *storetest.Clock
	store  *storetest.Faulty
	humans *humans
}

func newGated(t *testing.T) *gated {
	t.Helper()
	clock := storetest.NewClock()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	g := &gated{T: t, clock: clock, store: &storetest.Faulty{Store: st}, humans: newHumans(clock)}
	g.App = g.replica()
	if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{
		Key: ledger.PolicyIndexOf("default"), Expect: store.Absent, Data: []byte(`{"policies": {"guard": {}, "spend": {}}}`),
	}}}); err != nil {
		t.Fatal(err)
	}
	for _, definition := range []string{shipping, outer, parallel, alone} {
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := g.Registry.RegisterProcess(t.Context(), operator, []byte(signoff), registry.Terms{}); err != nil {
		t.Fatal(err)
	}
	return g
}

// replica is another engine on the same store.
func (g *gated) replica() *App {
	a := New(g.store, announcer{new(atomic.Int64)}, g.clock.Now, slog.New(slog.DiscardHandler))
	a.Enforcement = workflow.WhileRunning
	a.Approvals = g.humans
	return a
}

// start starts a run of the agent's.
func (g *gated) start(workflow, session string) string {
	g.Helper()
	return mustStart(g.T, g.App, agent, Start{Workflow: workflow, SessionID: session}).ID
}

// park fires an event that waits for humans, and answers the approval's id.
func (g *gated) park(runID, event, data string) string {
	g.Helper()
	outcome, err := fire(g.App, agent, runID, event, data, "")
	if err != nil || outcome.Rejection != nil || outcome.ApprovalID == "" || outcome.Note == "" {
		g.Fatalf("%s is not parked: %+v, %v", event, outcome, err)
	}
	return outcome.ApprovalID
}

func (g *gated) settle(runID, approvalID string, want bool) *View {
	g.Helper()
	view, settled, err := g.Settlement.SettleApproval(g.Context(), "default", runID, approvalID)
	if err != nil || settled != want {
		g.Fatalf("settled %t, %v; want %t", settled, err, want)
	}
	return view
}

// is checks where a run stands.
func (g *gated) is(runID string, status workflow.Status, state string) *workflow.Run {
	g.Helper()
	run, err := g.runs.load(g.Context(), runKey("default", runID))
	if err != nil || run.Status != status || run.State != state {
		g.Fatalf("the run is %s in %s (%v), want %s in %s", run.Status, run.State, err, status, state)
	}
	return run
}

func (g *gated) stands(id, want string) {
	g.Helper()
	if got := g.humans.standing(id); got != want {
		g.Errorf("approval %s is %s, want %s", id, got, want)
	}
}

// pass lets time pass, and timers fire.
func (g *gated) pass(d time.Duration) {
	g.Helper()
	for more := true; more; more = d > 0 { // as services sweep while time passes
		step := min(d, gapLook)
		d -= step
		g.clock.Advance(step)
		g.Upkeep.SweepOnce(g.Context())
	}
}

// timers counts those that are set.
func (g *gated) timers() int {
	g.Helper()
	due, err := g.store.Due(g.Context(), g.clock.Now().Add(1000*time.Hour), 1000, ports.KindRun, kindForget)
	if err != nil {
		g.Fatal(err)
	}
	return len(due)
}

// types are those of a run's history.
func (g *gated) types(runID string) string {
	g.Helper()
	entries, _, err := g.Reads.History(g.Context(), operator, runID, Position{}, 100)
	if err != nil {
		g.Fatal(err)
	}
	var line string
	for _, e := range entries {
		line += fmt.Sprintf("%s %s-%s; ", e.Type, e.From, e.To)
	}
	return line
}

const (
	shipping = `{
		"id": "shipping", "initial": "ready", "context": {"n": 0}, "meta": {"approval_mode": "ui", "debug": true, "policy": ["guard", "spend"],
			"approval": {"wait_seconds": 30}},
		"states": {
			"ready": {"allowed_tools": ["Read"], "on": {"SHIP": {"target": "shipped", "requires_approval": true, "approval_message": "Ship it?"}, "LOOK": "ready"}},
			"shipped": {"on": {"END": {"target": "done", "requires_approval": true}}},
			"done": {"type": "final"}
		}
	}`
	outer = `{
		"id": "outer", "initial": "a",
		"states": {
			"a": {"on": {"DELEGATE": {"invoke": "shipping", "on_complete": "z", "on_fail": "b"}, "CHECK": {"invoke": "signoff", "on_complete": "z", "on_fail": "b"}}},
			"b": {"on": {"END": "z"}}, "z": {"type": "final"}
		}
	}`
	parallel = `{
		"id": "parallel", "initial": "s", "meta": {"approval_mode": "ui", "debug": true},
		"states": {
			"s": {"on": {"FORK": {"fork": {"branches": {
				"one": {"initial": "o", "terminal": "o_ok"}, "two": {"initial": "t", "terminal": "t_ok"}},
				"join": "any", "on_complete": "e", "on_fail": "e"}}}},
			"o": {"on": {"OK": {"target": "o_ok", "requires_approval": true}}}, "o_ok": {"type": "final"},
			"t": {"on": {"OK": {"target": "t_ok", "requires_approval": true}, "FREE": "t_ok"}}, "t_ok": {"type": "final"},
			"e": {"on": {"END": "z"}}, "z": {"type": "final"}
		}
	}`
	alone = `{
		"id": "alone", "initial": "a", "meta": {"approval_mode": "ui", "approval": {"approvers": {"names": ["amir"]}}},
		"states": {"a": {"on": {"GO": {"target": "z", "requires_approval": true, "guard": "ready"}, "SET": "a"}}, "z": {"type": "final"}},
		"guards": {"ready": {"field": "ready", "op": "eq", "value": true}}
	}`
	signoff = `{
		"name": "signoff", "initial": "q", "initial_prompt": "Think.",
		"states": {"q": {"question": "Ready?", "answers": {
			"yes": {"next": "r", "action": "notify_human"}, "later": {"next": "q", "action": "warn"}, "no": {"next": null, "action": "block"}}},
			"r": {"question": "Sure?", "answers": {"yes": {"next": null, "action": "complete"}}}}
	}`
)

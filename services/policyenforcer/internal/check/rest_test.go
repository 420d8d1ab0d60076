package check_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// table is the shared state of every session: a record of the store itself, as the
// state-store's are.
type table struct {
	t    *testing.T
	st   store.Store
	id   string // of the state; empty for none
	away error
}

func (s *table) Reads(ctx context.Context, namespace, _ string, pointers []string) (*consent.Reads, error) {
	if s.away != nil || s.id == "" {
		return &consent.Reads{}, s.away
	}
	record, err := s.st.Get(ctx, ledger.State(namespace, s.id))
	if err != nil {
		return nil, err
	}
	doc, problem := document.Parse(record.Data, document.Limits{})
	if problem != nil {
		s.t.Error(problem)
	}
	reads := &consent.Reads{StateID: s.id, Version: record.Version}
	for _, pointer := range pointers {
		v, _ := document.Lookup(doc, pointer)
		reads.Values = append(reads.Values, consent.ReadOf(pointer, v))
	}
	return reads, nil
}

func (s *table) put(text string) {
	s.t.Helper()
	_, err := s.st.Commit(s.t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.State("default", s.id), Expect: store.AnyVersion, Data: []byte(text)}}})
	if err != nil {
		s.t.Fatal(err)
	}
}

const resting1 = `{"id": "w", "initial": "working", "meta": {"approval": {"reads": ["/plan"]}},
	"states": {"working": {"on": {"END": "over"}}, "over": {"type": "final"}}}`

// onTable runs a test with a shared state and a policy that asks about every call.
func onTable(t *testing.T, test func(t *testing.T, s *stage.Stage, shared *table, process func(store.Store) *app.App)) {
	t.Helper()
	s := stage.New(t, resting1)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:ops:deploy"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	shared := &table{t: t, st: s.Store, id: "wfstate_1"}
	shared.put(`{"plan":3}`)
	test(t, s, shared, func(st store.Store) *app.App {
		return app.New(st, s.Engine, stage.Announcer{}, s.Clock, slog.New(slog.DiscardHandler), app.Config{Approvals: s.Approvals, Sessions: s.Sessions, Shared: shared})
	})
}

var deploy = check.Request{Tool: "mcp__ops__deploy", Input: []byte(`{"to":"production"}`)}

// A granted call is admitted when the values that the decision rests on are as they were;
// else the approval is stale, the agent reads the changed values, and people are asked again
// (S18.5, S18.7).
func TestCallsRestOnSharedState(t *testing.T) {
	t.Parallel()
	onTable(t, func(t *testing.T, s *stage.Stage, shared *table, process func(store.Store) *app.App) {
		a := process(s.Store)
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1")
		if subject := s.Approvals.Asked[0].Action.Subject.String(); !strings.Contains(subject, `"reads":{"state_id":"wfstate_1","values":[{"pointer":"/plan","digest":"`) {
			t.Errorf("people are asked about %s", subject)
		}
		shared.put(`{"plan":3,"log":1}`) // elsewhere
		s.Approvals.Decide("apr_1", consent.Granted)
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Allow, "")

		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
		s.Approvals.Decide("apr_2", consent.Granted)
		shared.put(`{"plan":4}`)
		d := stage.Ask(t, a, deploy)
		stage.Expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired, "apr_3", "has changed: /plan: 3 -> 4")
		if s.Approvals.Status["apr_2"] != consent.Stale || s.Approvals.Outcome != "the basis of its decision has changed: /plan: 3 -> 4" {
			t.Errorf("the approval is %s: %s", s.Approvals.Status["apr_2"], s.Approvals.Outcome)
		}
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Ask, toolcall.CodeApprovalPending, "apr_3")
		s.Approvals.Decide("apr_3", consent.Granted)
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Allow, "")
	})
}

// The state moves while the grant is consumed, in 50 rounds: no call is admitted by a grant
// for other values (S18.7).
func TestSharedStateMovesAtTheCommit(t *testing.T) {
	t.Parallel()
	onTable(t, func(t *testing.T, s *stage.Stage, shared *table, process func(store.Store) *app.App) {
		for round := range 50 {
			shared.put(`{"plan":3}`)
			req := deploy
			req.Input = fmt.Appendf(nil, `{"round":%d}`, round)
			id := stage.Ask(t, process(s.Store), req).ApprovalID
			s.Approvals.Decide(id, consent.Granted)
			moved := false
			a := process(&storetest.Faulty{Store: s.Store, Decide: func(_ int, batch *store.Batch) storetest.Fault {
				if !moved && len(batch.Appends) > 0 {
					moved = true
					shared.put([]string{`{"plan":4}`, `{"plan":3,"log":1}`}[round%2])
				}
				return storetest.Healthy
			}})
			d := stage.Ask(t, a, req)
			switch {
			case !moved:
				t.Fatal("nothing was moved")
			case round%2 == 1:
				stage.Expect(t, d, toolcall.Allow, "")
			default:
				stage.Expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired)
			}
		}
	})
}

// Without the values or a shared state the call is denied, and no approval is used (S18.7).
func TestSharedStateUnknown(t *testing.T) {
	t.Parallel()
	onTable(t, func(t *testing.T, s *stage.Stage, shared *table, process func(store.Store) *app.App) {
		a := process(s.Store)
		id := stage.Ask(t, a, deploy).ApprovalID
		s.Approvals.Decide(id, consent.Granted)
		shared.away = fault.New(fault.Unavailable, "down")
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Deny, toolcall.CodePolicyUnavailable)
		shared.away, shared.id = nil, ""
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Deny, toolcall.CodePolicyUnavailable)
		if by := s.Approvals.UsedBy[id]; by != "" {
			t.Errorf("used by %s", by)
		}
		shared.id = "wfstate_1"
		stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Allow, "")
	})
}

// A grant is for one rule in one version of its policy. If another rule or version asks at its use, it is stale and
// people are asked again (S18.7).
func TestGrantOfAnotherRule(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a := s.App()
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:ops:deploy"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	id := stage.Ask(t, a, deploy).ApprovalID
	s.Approvals.Decide(id, consent.Granted)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:ops:other"}, {"capability": "mcp:ops:deploy"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2",
		`rule /ask/0 of policy "p" version 1 asked, and now rule /ask/1 of policy "p" version 2 does`)
	if s.Approvals.Status[id] != consent.Stale {
		t.Errorf("the approval is %s", s.Approvals.Status[id])
	}
	s.Approvals.Decide("apr_2", consent.Granted)
	stage.Expect(t, stage.Ask(t, a, deploy), toolcall.Allow, "")
}

// A policy that changes while a grant is consumed asks again: the use was for the rule that
// asked before (S18.7).
func TestPolicyChangesAtTheCommit(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:ops:deploy"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	id := stage.Ask(t, s.App(), deploy).ApprovalID
	s.Approvals.Decide(id, consent.Granted)
	changed := false
	faulty := &stage.Stage{Engine: s.Engine, Approvals: s.Approvals, Sessions: s.Sessions, Now: s.Now}
	faulty.Store = &storetest.Faulty{Store: s.Store, Decide: func(_ int, batch *store.Batch) storetest.Fault {
		if !changed && len(batch.Appends) > 0 {
			changed = true
			s.Put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:*"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		}
		return storetest.Healthy
	}}
	d := stage.Ask(t, faulty.App(), deploy)
	if !changed {
		t.Fatal("no change was made")
	}
	stage.Expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
}

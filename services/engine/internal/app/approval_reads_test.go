package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// table is the shared state of every session: records of the store itself, as the
// state-store's are, so that a commit can rest on their versions.
type table struct {
	*gated
	away error
	id   string // of the state; empty for none
}

func (s *table) Reads(ctx context.Context, namespace, _ string, pointers []string) (*consent.Reads, error) {
	if s.away != nil || s.id == "" {
		return &consent.Reads{}, s.away
	}
	record, err := s.store.Get(ctx, ledger.State(namespace, s.id))
	if err != nil {
		return nil, err
	}
	doc := value(s.T, string(record.Data))
	reads := &consent.Reads{StateID: s.id, Version: record.Version}
	for _, pointer := range pointers {
		v, _ := document.Lookup(doc, pointer)
		reads.Values = append(reads.Values, consent.ReadOf(pointer, v))
	}
	return reads, nil
}

func (s *table) put(text string) {
	s.Helper()
	_, err := s.store.Store.Commit(s.Context(), store.Batch{Puts: []store.Put{{Key: ledger.State("default", s.id), Expect: store.AnyVersion, Data: json.RawMessage(text)}}})
	if err != nil {
		s.Fatal(err)
	}
}

const planned = `{"id": "planned", "initial": "ready",
	"meta": {"approval_mode": "ui", "approval": {"reads": ["/plan", "/budget"]}},
	"states": {"ready": {"on": {"SHIP": {"target": "shipped", "requires_approval": true}}}, "shipped": {"type": "final"}}}`

func newTable(t *testing.T) *table {
	t.Helper()
	s := &table{gated: newGated(t), id: "wfstate_1"}
	s.Shared = s
	if _, _, _, err := s.Registry.Register(t.Context(), operator, []byte(planned), ""); err != nil {
		t.Fatal(err)
	}
	s.put(`{"plan":3,"log":0}`)
	return s
}

// A grant fires the transition when what it was decided on is as it was, and is stale with
// the difference when it is not; then it can be asked again (S18.5, S18.6).
func TestReads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, now, moved string }{
		{"as it was", `{"plan":3,"log":0}`, ""},
		{"elsewhere", `{"log":1,"plan":3.0,"more":true}`, ""},
		{"another value", `{"plan":4,"log":0}`, "/plan: 3 -> 4"},
		{"a value that was not there", `{"plan":3,"budget":100}`, "/budget: nothing -> 100"},
		{"gone", `{}`, "/plan: 3 -> nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newTable(t)
			run := s.start("planned", "s")
			id := s.park(run, "SHIP", `{"n":1}`)
			subject := s.humans.asked["default/"+id].Action.Subject.String()
			if !strings.Contains(subject, `"reads":{"state_id":"wfstate_1","values":[{"pointer":"/plan","digest":"`) || strings.Contains(subject, `"shown"`) {
				t.Errorf("people are asked about %s", subject)
			}
			s.put(c.now)
			s.humans.decide(t, id, true, "", "")
			s.settle(run, id, true)
			if c.moved == "" {
				s.is(run, workflow.Completed, "shipped")
				return
			}
			settled := s.is(run, workflow.Running, "ready")
			if a := settled.Approval; a.Outcome != workflow.ApprovalStale || !strings.Contains(a.Note, "has changed: "+c.moved+";") {
				t.Errorf("the agent is told %q", a.Note)
			}
			s.stands(id, "STALE")
			again := s.park(run, "SHIP", `{"n":1}`)
			s.humans.decide(t, again, true, "", "")
			s.settle(run, again, true)
			s.is(run, workflow.Completed, "shipped")
		})
	}
}

// The state is patched at the moment of the grant's commit, in 50 rounds: the commit that
// fires is one in which nothing has moved (S18.6).
func TestReadsMoveAtTheCommit(t *testing.T) {
	t.Parallel()
	s := newTable(t)
	for round := range 50 {
		s.put(`{"plan":3}`)
		run := s.start("planned", fmt.Sprint("s", round))
		id := s.park(run, "SHIP", "")
		s.humans.decide(t, id, true, "", "")
		patched := false
		s.store.Decide = func(_ int, batch *store.Batch) storetest.Fault {
			if !patched && len(batch.Puts) > 0 && batch.Puts[0].Key.Kind == ports.KindRun {
				patched = true
				s.put([]string{`{"plan":4}`, `{"plan":3,"log":1}`}[round%2])
			}
			return storetest.Healthy
		}
		s.settle(run, id, true)
		s.store.Decide = nil
		if !patched {
			t.Fatal("nothing was patched")
		}
		if round%2 == 0 {
			s.is(run, workflow.Running, "ready")
			s.stands(id, "STALE")
		} else {
			s.is(run, workflow.Completed, "shipped")
		}
	}
}

// What cannot be read fires nothing, and is not stale either: the run waits until it can
// (S18.6).
func TestReadsUnknown(t *testing.T) {
	t.Parallel()
	s := newTable(t)
	run := s.start("planned", "s")
	id := s.park(run, "SHIP", "")
	s.humans.decide(t, id, true, "", "")
	s.away = errors.New("the state-store is down")
	if _, settled, err := s.Settlement.SettleApproval(t.Context(), "default", run, id); err == nil || settled {
		t.Errorf("settled %t, %v", settled, err)
	}
	if got := s.is(run, workflow.AwaitingApproval, "ready"); !got.Approval.Pending() {
		t.Errorf("it does not wait: %+v", got.Approval)
	}
	s.stands(id, "GRANTED")
	s.away = nil
	s.id = "" // the state was deleted
	s.settle(run, id, true)
	if a := s.is(run, workflow.Running, "ready").Approval; a.Outcome != workflow.ApprovalStale || !strings.Contains(a.Note, "the shared state was wfstate_1 and is none") {
		t.Errorf("the agent is told %+v", a)
	}
}

// Without a shared state nobody can be asked, and the refusal says why (S18.5).
func TestNothingToRead(t *testing.T) {
	t.Parallel()
	s := newTable(t)
	for _, session := range []string{"", "s"} {
		if session != "" {
			s.id = ""
		}
		run := s.start("planned", session)
		outcome, err := fire(s.App, agent, run, "SHIP", "", "")
		if err != nil || outcome.Rejection == nil || !strings.Contains(outcome.Rejection.Message, "rests on the shared state") {
			t.Errorf("session %q: %+v, %v", session, outcome, err)
		}
	}
}

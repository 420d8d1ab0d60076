package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// narrow is a store that does not span shards, as a Redis Cluster.
type narrow struct{ store.Store }

func (narrow) Spans() bool { return false }

func (n narrow) Probe(ctx context.Context, b store.Batch) error {
	if _, _, err := b.Shard(n.Shards(), false); err != nil {
		return err
	}
	return n.Store.Probe(ctx, b)
}

func (n narrow) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if _, _, err := b.Shard(n.Shards(), false); err != nil {
		return store.Result{}, err
	}
	return n.Store.Commit(ctx, b)
}

// approvals is the approval service, in memory.
type approvals struct {
	mu      sync.Mutex
	asked   []Ask
	status  map[string]consent.Status // by id
	byWhat  map[string]string         // id by digest
	usedBy  map[string]string
	usedAt  time.Time
	clock   func() time.Time
	outcome string
	down    bool
}

func newApprovals() *approvals {
	return &approvals{status: map[string]consent.Status{}, byWhat: map[string]string{}, usedBy: map[string]string{}}
}

func (a *approvals) Request(_ context.Context, _ string, ask Ask) (Approval, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return Approval{}, errDown
	}
	digest := ask.Action.Digest()
	id := a.byWhat[digest]
	if by := a.usedBy[id]; by != "" && by != ask.SettledUse {
		status := consent.Used
		if by == ask.UsedBy {
			status = consent.Granted
		}
		why := a.whyOf(id)
		return Approval{
			ID: id, Status: status, UsedBy: by, UsedAt: a.usedAt, Policy: why.Policy, PolicyVersion: why.PolicyVersion, Rule: why.Rule,
		}, nil
	}
	created := id == "" || a.usedBy[id] != ""
	if created {
		a.asked = append(a.asked, ask)
		id = fmt.Sprintf("apr_%d", len(a.asked))
		a.byWhat[digest], a.status[id] = id, consent.Pending
	}
	why := a.whyOf(id)
	return Approval{ID: id, Created: created, Status: a.status[id], Outcome: a.outcome, Policy: why.Policy, PolicyVersion: why.PolicyVersion, Rule: why.Rule}, nil
}

// whyOf is the question of an approval.
func (a *approvals) whyOf(id string) Ask {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "apr_"))
	return a.asked[n-1]
}

func (a *approvals) Withdraw(_ context.Context, _, id, reason string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.usedBy[id] == "" && (a.status[id] == consent.Granted || a.status[id] == consent.Pending) {
		a.status[id], a.outcome = consent.Stale, reason
		delete(a.byWhat, a.whyOf(id).Action.Digest())
	}
	return nil
}

func (a *approvals) Consume(_ context.Context, _, id, digest, usedBy, insteadOf string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.byWhat[digest] != id, a.status[id] != consent.Granted:
		return fault.New(fault.FailedPrecondition, "not granted for this")
	case a.usedBy[id] != "" && a.usedBy[id] != usedBy && a.usedBy[id] != insteadOf:
		return fault.New(fault.FailedPrecondition, "used")
	}
	a.usedBy[id], a.usedAt = usedBy, a.clock()
	return nil
}

func (a *approvals) decide(id string, s consent.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[id] = s
}

// tree is sessions: the parent of each.
type tree map[string]string

func (t tree) Place(_ context.Context, _, session, _ string) (*sessionread.Place, error) {
	if session == "unreachable" {
		return nil, errDown
	}
	names := []string{session}
	for parent := t[session]; parent != ""; parent = t[parent] {
		names = append([]string{parent}, names...)
	}
	return &sessionread.Place{Names: names, Account: names[0]}, nil
}

// stage is a run under policies, and the enforcers that judge its calls.
type stage struct {
	engine    *engine
	store     store.Store
	approvals *approvals
	sessions  tree
	mu        sync.Mutex
	now       time.Time
	index     policystore.IndexText
	version   int64
}

func newStage(t *testing.T, workflow string) *stage {
	t.Helper()
	e, st := newEngineOf(t, workflow)
	return stageOf(e, st)
}

func stageOf(e *engine, st store.Store) *stage {
	s := &stage{
		engine: e, store: st, approvals: newApprovals(), sessions: tree{}, now: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
		index: policystore.IndexText{Policies: map[string]policystore.Indexed{}},
	}
	s.approvals.clock = s.clock
	return s
}

func (s *stage) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stage) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *stage) app() *App {
	return New(s.store, s.engine, announcer{}, s.clock, slog.New(slog.DiscardHandler), Config{Approvals: s.approvals, Sessions: s.sessions})
}

// put stores a version of a policy and its entry in the index.
func (s *stage) put(t *testing.T, name, text string, as policystore.Indexed) {
	t.Helper()
	data, err := json.Marshal(policystore.Version{Name: name, Definition: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policystore.Key("default", name), Expect: store.AnyVersion, History: data}}})
	if err != nil {
		t.Fatal(err)
	}
	if as.Live == 0 && as.Shadow == 0 {
		as.Live = result.Versions[0]
	}
	s.index.Policies[name] = as
	s.write(t)
}

func (s *stage) write(t *testing.T) {
	t.Helper()
	data, err := json.Marshal(s.index)
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policystore.IndexKey("default"), Expect: s.version, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	s.version = result.Versions[0]
}

func toRole(role auth.Role) []policystore.Attachment {
	return []policystore.Attachment{{Kind: policystore.AttachedToRole, ID: string(role)}}
}

func ask(t *testing.T, a *App, req Check) *Decision {
	t.Helper()
	req.Target = Target{RunID: "run_1"}
	d, err := a.Check(t.Context(), agent, req)
	if err != nil {
		t.Fatalf("%s: %v", req.Tool, err)
	}
	return d
}

func expect(t *testing.T, d *Decision, decision toolcall.Decision, code toolcall.Code, mentions ...string) {
	t.Helper()
	if d.Verdict.Decision != decision || d.Verdict.Code != code {
		t.Fatalf("%s is %s %s: %s; want %s %s", d.Tool, d.Verdict.Decision, d.Verdict.Code, d.Message, decision, code)
	}
	for _, word := range mentions {
		if !strings.Contains(d.Message, word) {
			t.Errorf("the message does not mention %q: %s", word, d.Message)
		}
	}
}

const open = `{"id": "w", "initial": "working", "states": {"working": {"on": {"GO": "working", "END": "over"}}, "over": {"type": "final"}}}`

// onStores runs a test on a store that spans shards and on one that does not.
func onStores(t *testing.T, workflow string, test func(*testing.T, *stage)) {
	t.Helper()
	t.Run("spanning", func(t *testing.T) {
		t.Parallel()
		test(t, newStage(t, workflow))
	})
	t.Run("narrow", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, workflow)
		s.store = narrow{s.store}
		test(t, s)
	})
}

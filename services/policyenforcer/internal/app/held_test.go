package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// narrow is a store that does not span shards, as a Redis Cluster.
type narrow struct{ store.Store }

func (narrow) Spans() bool { return false }

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
	created := id == "" || a.usedBy[id] != ""
	if created {
		a.asked = append(a.asked, ask)
		id = fmt.Sprintf("apr_%d", len(a.asked))
		a.byWhat[digest], a.status[id] = id, consent.Pending
	}
	return Approval{ID: id, Created: created, Status: a.status[id], Outcome: a.outcome}, nil
}

func (a *approvals) Consume(_ context.Context, _, id, digest, usedBy string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.byWhat[digest] != id, a.status[id] != consent.Granted:
		return fault.New(fault.FailedPrecondition, "not granted for this")
	case a.usedBy[id] != "" && a.usedBy[id] != usedBy:
		return fault.New(fault.FailedPrecondition, "used")
	}
	a.usedBy[id] = usedBy
	return nil
}

func (a *approvals) decide(id string, s consent.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[id] = s
}

// tree is sessions: the parent of each.
type tree map[string]string

func (t tree) Lineage(_ context.Context, _, session string) ([]string, error) {
	if session == "unreachable" {
		return nil, errDown
	}
	names := []string{session}
	for parent := t[session]; parent != ""; parent = t[parent] {
		names = append([]string{parent}, names...)
	}
	return names, nil
}

// stage is a run under policies, and the enforcers that judge its calls.
type stage struct {
	engine    *engine
	store     store.Store
	approvals *approvals
	sessions  tree
	mu        sync.Mutex
	now       time.Time
	index     indexText
	version   int64
}

func newStage(t *testing.T, workflow string) *stage {
	t.Helper()
	e, st := newEngineOf(t, workflow)
	return stageOf(e, st)
}

func stageOf(e *engine, st store.Store) *stage {
	return &stage{
		engine: e, store: st, approvals: newApprovals(), sessions: tree{}, now: time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC),
		index: indexText{Policies: map[string]indexed{}},
	}
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

// put keeps a version of a policy and says in the index what holds.
func (s *stage) put(t *testing.T, name, text string, as indexed) {
	t.Helper()
	data, err := json.Marshal(PolicyVersion{Name: name, Definition: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policyKey("default", name), Expect: store.AnyVersion, History: data}}})
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
	result, err := s.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: policyIndexKey("default"), Expect: s.version, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	s.version = result.Versions[0]
}

func toRole(role auth.Role) []Attachment { return []Attachment{{AttachedToRole, string(role)}} }

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

// S7.4: no more than the limit is admitted, whatever the number of callers and of
// replicas, and a denied call takes nothing.
func TestLimitsHoldOnThreeReplicas(t *testing.T) {
	t.Parallel()
	limits := func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "allow": [{"capability": "bash", "rate_limit": {"max_calls": 50, "window_seconds": 3600}}, {"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}}]}`,
			indexed{Attachments: toRole(auth.Agent)})
		replicas := []*App{s.app(), s.app(), s.app()}
		for name, c := range map[string]struct {
			req  Check
			want int
			code toolcall.Code
		}{
			"calls": {Check{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, 50, toolcall.CodeRateLimited},
			"money": {Check{Tool: "Pay", EstimatedCost: 30_000}, 33, toolcall.CodeBudgetExceeded},
		} {
			var group sync.WaitGroup
			results := make([]*Decision, 64)
			for i := range results {
				group.Go(func() {
					req := c.req
					req.Target, req.CallID = Target{RunID: "run_1"}, fmt.Sprintf("%s-%d", name, i)
					d, err := replicas[i%3].Check(t.Context(), agent, req)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					results[i] = d
				})
			}
			group.Wait()
			admitted := 0
			for _, d := range results {
				switch {
				case d == nil:
				case d.Verdict.Decision == toolcall.Allow:
					admitted++
				default:
					expect(t, d, toolcall.Deny, c.code)
				}
			}
			if admitted != c.want {
				t.Errorf("%s: %d were admitted, want %d", name, admitted, c.want)
			}
		}
	}
	onStores(t, open, limits)
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redistest.Start(t).URL(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		limits(t, stageOf(newEngineOn(t, st, open)))
	})
}

// S7.5: an estimate is reserved, the report settles it, and nothing is counted
// twice when it comes again.
func TestReportSettlesWhatWasReserved(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "hourly"}}]}`,
			indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		pay := Check{Tool: "Pay", EstimatedCost: 600_000}
		pay.CallID = "one"
		expect(t, ask(t, a, pay), toolcall.Allow, "")
		pay.CallID = "two"
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded, "2026-11-20T11:00")
		for range 2 {
			if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "one", Tool: "Pay", OK: true, CostUSD: "0.1"}); err != nil {
				t.Fatal(err)
			}
		}
		pay.CallID = "three"
		expect(t, ask(t, a, pay), toolcall.Allow, "") // 0.1 + 0.6
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: false}); err != nil {
			t.Fatal(err)
		}
		pay.CallID, pay.EstimatedCost = "four", 900_000
		expect(t, ask(t, a, pay), toolcall.Allow, "") // a failed call gives back all
		pay.CallID, pay.EstimatedCost = "five", 0
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded) // spent
		s.advance(time.Hour)
		pay.CallID = "six"
		expect(t, ask(t, a, pay), toolcall.Allow, "")
	})
}

// S7.6: one approval for exactly this call, and one call for the approval.
func TestAskedCalls(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "ask": [{"capability": "mcp:fs:write", "rate_limit": {"max_calls": 2, "window_seconds": 3600}}]}`,
			indexed{Attachments: toRole(auth.Agent)})
		a, b := s.app(), s.app()
		write := Check{Tool: "mcp__fs__write", Input: []byte(`{"path":"a","n":1}`)}
		d := ask(t, a, write)
		expect(t, d, toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1", "mcp__fs__write")
		if d.ApprovalID != "apr_1" || s.approvals.asked[0].Asker != (consent.Asker{Principal: "amir", SessionID: "s", RootID: "s"}) {
			t.Errorf("asked %+v as %s", s.approvals.asked, d.ApprovalID)
		}
		same := write
		same.Input = []byte(`{ "n": 1.0, "path": "a" }`) // the same, written otherwise
		expect(t, ask(t, b, same), toolcall.Ask, toolcall.CodeApprovalPending, "apr_1")
		other := write
		other.Input = []byte(`{"path":"b"}`)
		expect(t, ask(t, b, other), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")

		s.approvals.decide("apr_1", consent.Granted)
		var group sync.WaitGroup
		admitted := make([]bool, 8)
		for i := range admitted {
			group.Go(func() {
				req := write
				req.Target = Target{RunID: "run_1"}
				d, err := []*App{a, b}[i%2].Check(t.Context(), agent, req)
				if err != nil {
					t.Errorf("the others ask anew, instead: %v", err)
					return
				}
				admitted[i] = d.Verdict.Decision == toolcall.Allow
			})
		}
		group.Wait()
		n := 0
		for _, ok := range admitted {
			if ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the approval has admitted %d calls", n)
		}
		s.approvals.outcome = "REJECTED by \"bob\"."
		s.approvals.decide("apr_2", consent.Rejected)
		expect(t, ask(t, a, other), toolcall.Deny, toolcall.CodePolicyDenied, "bob")

		// Over a limit nobody is asked any more.
		id := ask(t, a, write).ApprovalID
		s.approvals.decide(id, consent.Granted)
		expect(t, ask(t, a, write), toolcall.Allow, "")
		before := len(s.approvals.asked)
		expect(t, ask(t, a, write), toolcall.Deny, toolcall.CodeRateLimited)
		if len(s.approvals.asked) != before {
			t.Error("a human was asked about what the limit denies")
		}
	})
}

// An approval is for the run as it stood.
func TestAnotherRunVersionIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired)
	s.approvals.decide("apr_1", consent.Granted)
	s.engine.fire(t, "GO")
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
}

// S7.2: what can not be judged is denied.
func TestWhatPoliciesCanNotJudgeIsDenied(t *testing.T) {
	t.Parallel()
	asks := `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`
	for name, prepare := range map[string]func(*testing.T, *stage){
		"a policy that is named and not there": func(_ *testing.T, s *stage) { s.engine.policies = []string{"missing"} },
		"a policy that can not be read": func(t *testing.T, s *stage) {
			s.put(t, "p", `{"role": "agent", "ask": 7}`, indexed{Attachments: toRole(auth.Agent)})
		},
		"no approval service": func(t *testing.T, s *stage) {
			s.put(t, "p", asks, indexed{Attachments: toRole(auth.Agent)})
			s.approvals.down = true
		},
		"no state-store": func(t *testing.T, s *stage) {
			s.put(t, "p", asks, indexed{Attachments: []Attachment{{AttachedToSession, "x"}}})
			s.engine.run.SessionID = "unreachable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open)
			prepare(t, s)
			expect(t, ask(t, s.app(), Check{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyUnavailable)
		})
	}
}

// A change of policies holds from then on, on every replica.
func TestPoliciesChangeAtOnce(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		a, b := s.app(), s.app()
		for _, app := range []*App{a, b} {
			expect(t, ask(t, app, Check{Tool: "Write"}), toolcall.Allow, "")
		}
		s.put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, indexed{Attachments: toRole(auth.Agent)})
		for _, app := range []*App{a, b} {
			d := ask(t, app, Check{Tool: "Write"})
			expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, `"p"`)
			if d.By == nil || d.By.Pointer() != "/deny/0" {
				t.Errorf("decided by %v", d.By)
			}
		}
		s.index.Policies["p"] = indexed{Live: 1}
		s.write(t)
		expect(t, ask(t, b, Check{Tool: "Write"}), toolcall.Allow, "")
	})
}

// The stricter of state and policy wins; what a policy says does not end with the run.
func TestWhatAPolicyIsAttachedTo(t *testing.T) {
	t.Parallel()
	deny := `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`
	for name, c := range map[string]struct {
		as      []Attachment
		named   bool
		after   toolcall.Decision // the run's end
		matches bool
	}{
		"the workflow":          {as: []Attachment{{AttachedToWorkflow, "w"}}, after: toolcall.Deny, matches: true},
		"another workflow":      {as: []Attachment{{AttachedToWorkflow, "v"}}, after: toolcall.Allow},
		"a process of its name": {as: []Attachment{{AttachedToProcess, "w"}}, after: toolcall.Allow},
		"meta.policy":           {named: true, after: toolcall.Deny, matches: true},
		"the role":              {as: toRole(auth.Agent), after: toolcall.Deny, matches: true},
		"another role":          {as: toRole(auth.Operator), after: toolcall.Allow},
		"the session":           {as: []Attachment{{AttachedToSession, "s"}}, after: toolcall.Deny, matches: true},
		"a session above":       {as: []Attachment{{AttachedToSession, "root"}}, after: toolcall.Deny, matches: true},
		"a session below":       {as: []Attachment{{AttachedToSession, "child"}}, after: toolcall.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, open)
			s.sessions = tree{"s": "middle", "middle": "root", "child": "s"}
			if c.named {
				s.engine.policies = []string{"p"}
			}
			s.put(t, "p", deny, indexed{Attachments: c.as})
			a := s.app()
			want := map[bool]toolcall.Decision{true: toolcall.Deny, false: toolcall.Allow}[c.matches]
			if d := ask(t, a, Check{Tool: "Write"}); d.Verdict.Decision != want {
				t.Errorf("%s: %s", d.Verdict.Decision, d.Message)
			}
			s.engine.fire(t, "END")
			if d := ask(t, a, Check{Tool: "Write"}); d.Verdict.Decision != c.after {
				t.Errorf("after the end %s: %s", d.Verdict.Decision, d.Message)
			}
			expect(t, ask(t, a, Check{Tool: "get_state"}), toolcall.Allow, "")
		})
	}
}

// A session's budget is its whole tree's.
func TestTreesShareTheirRootsBudget(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.sessions = tree{"s": "root", "sibling": "root"}
	s.put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60, "scope": "session"}}]}`,
		indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Read"}), toolcall.Allow, "")
	s.engine.mu.Lock()
	s.engine.run.SessionID = "sibling"
	s.engine.mu.Unlock()
	b := s.app()
	expect(t, ask(t, b, Check{Tool: "Read"}), toolcall.Allow, "")
	expect(t, ask(t, a, Check{Tool: "Read"}), toolcall.Deny, toolcall.CodeRateLimited)
}

// A shadow is judged and told, and changes nothing.
func TestShadowsAreToldAndNotEnforced(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Write"}]}`, indexed{Attachments: toRole(auth.Agent)})
	s.put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, indexed{Live: 1, Shadow: 2, Attachments: toRole(auth.Agent)})
	a := s.app()
	d := ask(t, a, Check{Tool: "Write"})
	expect(t, d, toolcall.Allow, "")
	if len(d.Shadows) != 1 || d.Shadows[0].Policy != "p" || d.Shadows[0].PolicyVersion != 2 || d.Shadows[0].Decision != toolcall.Deny {
		t.Errorf("shadows %+v", d.Shadows)
	}
	if d := ask(t, a, Check{Tool: "Read"}); len(d.Shadows) != 0 {
		t.Errorf("shadows that agree: %+v", d.Shadows)
	}
	entries, err := s.store.History(t.Context(), decisionsKey("default", "run_1"), 0, 10)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d decisions in the log, %v", len(entries), err)
	}
	rec, err := decodeDecision("run_1", entries[0])
	if err != nil || len(rec.Shadows) != 1 || rec.Decision != toolcall.Allow || rec.Tool != "Write" || rec.Principal != "amir" {
		t.Errorf("%+v, %v", rec, err)
	}
}

// The call id is the idempotency key: a repeat spends nothing.
func TestARepeatSpendsNothing(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": 2, "window_seconds": 60}}]}`,
			indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		for range 3 {
			expect(t, ask(t, a, Check{Tool: "Read", CallID: "same"}), toolcall.Allow, "")
		}
		expect(t, ask(t, a, Check{Tool: "Read", CallID: "other"}), toolcall.Allow, "")
		expect(t, ask(t, a, Check{Tool: "Read", CallID: "third"}), toolcall.Deny, toolcall.CodeRateLimited)
	})
}

// A run that its session has left judges nothing any more: naming it lifts nothing.
func TestALeftRunJudgesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	a := s.app()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Allow, "")
	s.engine.fire(t, "END")
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Allow, "")
	s.engine.mu.Lock()
	s.engine.superseded = "run_2"
	s.engine.mu.Unlock()
	expect(t, ask(t, a, Check{Tool: "Write"}), toolcall.Deny, toolcall.CodeRunNotActive, "run_2")
	expect(t, ask(t, a, Check{Tool: "get_state"}), toolcall.Allow, "")
}

// A session that drives no run is held to the policies of its role and its tree.
func TestASessionWithoutARun(t *testing.T) {
	t.Parallel()
	without := func(a *App, call string) (*Decision, error) {
		return a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write", CallID: call, Input: []byte(`{}`)})
	}
	for name, as := range map[string][]Attachment{"the role": toRole(auth.Agent), "the tree": {{AttachedToSession, "root"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, open, func(t *testing.T, s *stage) {
				s.sessions["lost"] = "root"
				s.engine.run.ID = "another" // the engine knows no run of the session
				a := s.app()
				if _, err := a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"}); fault.ReasonOf(err) != fault.NotFound {
					t.Fatalf("without policies: %v", err)
				}
				s.put(t, "p", `{"role": "agent", "allow": [{"capability": "tool:Write", "rate_limit": {"max_calls": 1, "window_seconds": 60}}]}`, indexed{Attachments: as})
				d, err := a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"})
				if err != nil || !d.Unbound {
					t.Fatalf("%+v, %v", d, err)
				}
				expect(t, d, toolcall.Allow, "")
				if d, err = a.Check(t.Context(), agent, Check{Target: Target{SessionID: "lost"}, Tool: "Write"}); err != nil {
					t.Fatal(err)
				}
				expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
				// The same call again is answered the same, and never with NOT_FOUND, which
				// would let it pass.
				for range 2 {
					if d, err = without(a, "again"); err != nil {
						t.Fatal(err)
					}
					expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
				}
				s.engine.mu.Lock()
				s.engine.run.ID = "run_1" // the session begins a run
				s.engine.run.SessionID = "lost"
				s.engine.any = true
				s.engine.mu.Unlock()
				if d, err = without(a, "again"); err != nil { // the run's calls are other calls
					t.Fatal(err)
				}
				expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
			})
		})
	}
	s := newStage(t, open)
	s.engine.run.ID = "another"
	s.put(t, "p", `{"role": "operator", "deny": [{"capability": "*"}]}`, indexed{Attachments: toRole(auth.Operator)})
	if _, err := without(s.app(), "x"); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("another role's policy: %v", err)
	}
}

// A repeat of a call that was admitted by an approval is answered as the first: the
// approval is used, and the call is not asked about again.
func TestARepeatOfAnApprovedCall(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "p", `{"role": "agent", "ask": [{"capability": "tool:Write"}]}`, indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		expect(t, ask(t, a, Check{Tool: "Write", CallID: "one"}), toolcall.Ask, toolcall.CodeApprovalRequired)
		s.approvals.decide("apr_1", consent.Granted)
		for range 3 {
			d := ask(t, a, Check{Tool: "Write", CallID: "one"})
			expect(t, d, toolcall.Allow, "")
			if d.ApprovalID != "apr_1" {
				t.Errorf("admitted by %q", d.ApprovalID)
			}
		}
		_, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Write", CallID: "one", Input: []byte(`{"n":1}`)})
		if fault.ReasonOf(err) != fault.IdempotencyMismatch {
			t.Errorf("another call of the same id: %v", err)
		}
		expect(t, ask(t, a, Check{Tool: "Write", CallID: "two"}), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	})
}

// An email counts whatever is reported of it, and a call whose cost is not told keeps
// its estimate.
func TestReportsGiveNothingBackThatMayBeSpent(t *testing.T) {
	t.Parallel()
	onStores(t, open, func(t *testing.T, s *stage) {
		s.put(t, "mail", `{"role": "agent", "email_config": {"max_emails_per_session": 1}, "session_budget_usd": 1}`, indexed{Attachments: toRole(auth.Agent)})
		a := s.app()
		mail := Check{Tool: "resend-email", Input: []byte(`{"to":"a@example.com"}`), CallID: "one"}
		expect(t, ask(t, a, mail), toolcall.Allow, "")
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "one", Tool: "resend-email"}); err != nil {
			t.Fatal(err)
		}
		mail.CallID = "two"
		expect(t, ask(t, a, mail), toolcall.Deny, toolcall.CodeEmailDenied)
		pay := Check{Tool: "Pay", EstimatedCost: 900_000, CallID: "three"}
		expect(t, ask(t, a, pay), toolcall.Allow, "")
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "three", Tool: "Pay", OK: true}); err != nil {
			t.Fatal(err)
		}
		pay.CallID = "four"
		expect(t, ask(t, a, pay), toolcall.Deny, toolcall.CodeBudgetExceeded)
		if _, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: "four", Tool: "Pay", OK: true, CostUSD: "9223372036854.7"}); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("a cost beyond all measure: %v", err)
		}
	})
}

// What invokes a run holds it to its policies.
func TestPoliciesHoldInInvokedRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.engine.parentPolicies = []string{"p"}
	var parent string
	for i, shard := 0, ledger.Run("default", "run_1").Shard(s.store.Shards()); ; i++ {
		// Runs that invoke each other share a shard.
		if parent = fmt.Sprintf("parent_%d", i); ledger.Run("default", parent).Shard(s.store.Shards()) == shard {
			break
		}
	}
	s.engine.run.Parent = &workflow.Parent{RunID: parent, Root: parent}
	s.put(t, "p", `{"role": "agent", "deny": [{"capability": "tool:Write"}]}`, indexed{})
	expect(t, ask(t, s.app(), Check{Tool: "Write"}), toolcall.Deny, toolcall.CodePolicyDenied)
}

// Messages quote what was called; nobody else is told its secrets.
func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	s := newStage(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Bash"], "allowed_commands": ["ls"], "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
	d := ask(t, s.app(), Check{Tool: "Bash", Input: []byte(`{"command":"curl --password hunter2 https://example.com"}`)})
	expect(t, d, toolcall.Deny, toolcall.CodeCommandNotAllowed)
	entries, err := s.store.History(t.Context(), decisionsKey("default", "run_1"), 0, 10)
	if err != nil || len(entries) != 1 || strings.Contains(string(entries[0].Data), "hunter2") {
		t.Errorf("the log has %+v, %v", entries, err)
	}
}

// A tool of an MCP server is judged by its full name, also when it is called by its
// plain one (S7.1); a name that is another tool's changes nothing.
func TestPlainNamesAreNoWayRound(t *testing.T) {
	t.Parallel()
	s := newStage(t, open)
	s.put(t, "p", `{"role": "agent", "deny": [{"capability": "mcp:fs:write_file"}, {"capability": "bash"}]}`, indexed{Attachments: toRole(auth.Agent)})
	a := s.app()
	d := ask(t, a, Check{Tool: "write_file", Qualified: "mcp__fs__write_file"})
	expect(t, d, toolcall.Deny, toolcall.CodePolicyDenied, "mcp:fs:write_file")
	if d.Capability != "mcp:fs:write_file" {
		t.Errorf("it is %s", d.Capability)
	}
	expect(t, ask(t, a, Check{Tool: "read_file", Qualified: "mcp__fs__read_file"}), toolcall.Allow, "")
	expect(t, ask(t, a, Check{Tool: "bash", Qualified: "mcp__box__bash"}), toolcall.Deny, toolcall.CodePolicyDenied)
	expect(t, ask(t, a, Check{Tool: "Bash", Qualified: "mcp__fs__read_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
	expect(t, ask(t, a, Check{Tool: "mcp__fs__write_file", Qualified: "mcp__x__write_file"}), toolcall.Deny, toolcall.CodePolicyDenied)
}

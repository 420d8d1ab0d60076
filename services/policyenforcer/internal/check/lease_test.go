package check_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const asksPush = `{"role": "agent", "ask": [{"capability": "bash"}, {"capability": "tool:Write"}]}`

// leaseStage is a run whose shell a policy asks about.
func leaseStage(t *testing.T, st store.Store) *stage.Stage {
	t.Helper()
	e, faulty := stage.NewEngineOn(t, st, stage.Open)
	s := stage.Of(e, faulty)
	s.Put(t, "p", asksPush, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	return s
}

// lease grants one for `git push *` in the first entry.
func lease(t *testing.T, s *stage.Stage, change func(*consent.Lease)) *consent.Lease {
	t.Helper()
	l := &consent.Lease{
		ID: "lse_1", ApprovalID: "apr_0", Terms: consent.Terms{}.Digest(), Pattern: "git push *", Calls: 10, ExpiresAt: s.Clock().Add(time.Hour), GrantedBy: "alice",
		GrantedAt: s.Clock(), Status: consent.LeaseActive, Version: 1,
		Scope: consent.Scope{
			RunID: "run_1", Entry: s.Engine.Current.Entry, State: "working", RootSession: "s", Policy: "p", PolicyVersion: s.Index.Policies["p"].Live,
			Rule: "/ask/0", Capability: "bash",
		},
	}
	if change != nil {
		change(l)
	}
	keep(t, s, l)
	return l
}

func keep(t *testing.T, s *stage.Stage, l *consent.Lease) {
	t.Helper()
	put, err := ledger.PutLease("default", l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{put}}); err != nil {
		t.Fatal(err)
	}
}

func bash(line string) check.Request {
	return check.Request{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, line)}
}

// leaseEvents are the types of the events about leases.
func leaseEvents(t *testing.T, s *stage.Stage) (types []string) {
	t.Helper()
	after := map[int]int64{}
	for shard := range s.Store.Shards() {
		after[shard] = 0
	}
	entries, err := s.Store.Tail(t.Context(), after, 10_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.Contains(entry.Subject, ".lease.") {
			ev, err := bus.Decode(entry.Payload)
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, ev.GetType()+" "+ev.GetEntityId()+" by "+ev.GetActor())
		}
	}
	return types
}

// S9.6: a lease lets the calls pass that match it, and its log names it. When it is used up,
// people are asked again.
func TestLeaseLetsPass(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		a := s.App()
		stage.Expect(t, stage.Ask(t, a, bash("git push origin a")), toolcall.Ask, toolcall.CodeApprovalRequired)
		lease(t, s, func(l *consent.Lease) { l.Calls = 2 })
		for _, line := range []string{"rm -rf /", "git push origin a; rm x", "git push"} {
			stage.Expect(t, stage.Ask(t, a, bash(line)), toolcall.Ask, toolcall.CodeApprovalRequired)
		}
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Ask, toolcall.CodeApprovalRequired)
		dry := bash("git push origin a")
		dry.DryRun = true
		stage.Expect(t, stage.Ask(t, a, dry), toolcall.Allow, "")
		first := bash("git push origin a")
		first.CallID = "one"
		for range 3 { // a repeat is the same call
			d := stage.Ask(t, a, first)
			stage.Expect(t, d, toolcall.Allow, "")
		}
		record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: "one"})
		if err != nil || record.LeaseID != "lse_1" || record.ApprovalID != "apr_0" || record.Policy != "p" || record.Rule != "/ask/0" {
			t.Errorf("the record is %+v, %v", record, err)
		}
		if got := leaseEvents(t, s); len(got) != 0 {
			t.Errorf("the events are %q", got)
		}
		stage.Expect(t, stage.Ask(t, a, bash("git push origin b")), toolcall.Allow, "")
		stage.Expect(t, stage.Ask(t, a, bash("git push origin c")), toolcall.Ask, toolcall.CodeApprovalRequired)
		stage.Expect(t, stage.Ask(t, a, dry), toolcall.Ask, toolcall.CodeApprovalRequired)
		if got := leaseEvents(t, s); len(got) != 1 || got[0] != "used_up lse_1 by interlock" {
			t.Errorf("the events are %q", got)
		}
		left, err := st.Get(t.Context(), ledger.LeaseOf("default", "lse_1"))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := ledger.DecodeLease(left); err != nil || l.Status != consent.LeaseUsedUp {
			t.Errorf("it is %+v, %v", l, err)
		}
	})
}

// S9.6: of 100 concurrent calls with 10 left, 10 pass, and the others are asked about.
func TestLeaseCountsExactly(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		lease(t, s, nil)
		apps := []*app.App{s.App(), s.App(), s.App()}
		var allowed, asked atomic.Int64
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				req := bash(fmt.Sprintf("git push origin b%d", i))
				req.Target = enforcer.Target{RunID: "run_1"}
				for {
					d, err := apps[i%3].Checks.Check(context.Background(), stage.Agent, req)
					if err != nil { // too many at once: it says so, and is asked again
						continue
					}
					switch d.Verdict.Decision {
					case toolcall.Allow:
						allowed.Add(1)
					case toolcall.Ask:
						asked.Add(1)
					default:
						t.Errorf("it is denied: %s", d.Message)
					}
					return
				}
			})
		}
		group.Wait()
		if allowed.Load() != 10 || asked.Load() != 90 {
			t.Errorf("%d passed, and %d were asked about", allowed.Load(), asked.Load())
		}
		counters, err := st.Counters(t.Context(), ledger.LeaseOf("default", "lse_1"))
		if err != nil || counters[ledger.LeaseCalls] != 10 {
			t.Errorf("counted %v, %v", counters, err)
		}
		if got := leaseEvents(t, s); len(got) != 1 {
			t.Errorf("the events are %q", got)
		}
	})
}

// S9.6: a lease ends with its time, with the entry of the state, with its policy, and when it
// is revoked; and it answers for no other rule, capability, tree or run.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	push := bash("git push origin a")
	for name, c := range map[string]struct {
		lease  func(*consent.Lease)
		before func(*testing.T, *stage.Stage)
	}{
		"time":  {nil, func(_ *testing.T, s *stage.Stage) { s.Advance(time.Hour) }},
		"entry": {nil, func(t *testing.T, s *stage.Stage) { s.Engine.Fire(t, "GO") }},
		"policy": {nil, func(t *testing.T, s *stage.Stage) {
			s.Put(t, "p", asksPush, policystore.Indexed{Live: 2, Attachments: stage.ToRole(auth.Agent)})
		}},
		"revoked":    {func(l *consent.Lease) { l.Status = consent.LeaseRevoked }, nil},
		"rule":       {func(l *consent.Lease) { l.Rule = "/ask/1" }, nil},
		"capability": {func(l *consent.Lease) { l.Capability = "tool:Bash" }, nil},
		"tree":       {func(l *consent.Lease) { l.RootSession = "other" }, nil},
		"run":        {func(l *consent.Lease) { l.RunID = "run_2" }, nil},
		"pattern":    {func(l *consent.Lease) { l.Pattern = "*" }, nil},
		"another policy": {nil, func(t *testing.T, s *stage.Stage) {
			s.Put(t, "q", `{"role": "agent", "ask": [{"capability": "bash"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage.OnBoth(t, func(t *testing.T, st store.Store) {
				s := leaseStage(t, st)
				lease(t, s, c.lease)
				if c.before != nil {
					stage.Expect(t, stage.Ask(t, s.App(), push), toolcall.Allow, "")
					c.before(t, s)
				}
				stage.Expect(t, stage.Ask(t, s.App(), push), toolcall.Ask, toolcall.CodeApprovalRequired)
			})
		})
	}
}

// S17.2: a run that was moved stands in the same entry. A lease lasts there where the other version
// asks under the same terms: it may now need two people, or another one.
func TestLeaseOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meta string
		want toolcall.Decision
	}{
		"alike":      {`{}`, toolcall.Allow},
		"two people": {`{"approval": {"required": 2}}`, toolcall.Ask},
		"one other":  {`{"approval": {"approvers": {"names": ["bob"]}}}`, toolcall.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage.OnBoth(t, func(t *testing.T, st store.Store) {
				s := leaseStage(t, st)
				lease(t, s, nil)
				stage.Expect(t, stage.Ask(t, s.App(), bash("git push origin a")), toolcall.Allow, "")
				other, report := workflow.Parse([]byte(strings.Replace(stage.Open, "{", `{"meta": `+c.meta+",", 1)))
				if report.HasErrors() {
					t.Fatal(report)
				}
				s.Engine.Before, s.Engine.Machine = s.Engine.Machine, workflow.Compile(other, 2)
				s.Engine.Moves(t, 2)
				d := stage.Ask(t, s.App(), bash("git push origin b"))
				if d.Verdict.Decision != c.want {
					t.Errorf("%s %s", d.Verdict.Decision, d.Message)
				}
			})
		})
	}
}

// S9.6: no lease lets a call pass that a state, a policy or a full limit denies.
func TestLeaseIsNotWider(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		s.Put(t, "limits", `{"role": "agent", "allow": [{"capability": "bash", "rate_limit": {"max_calls": 1, "window_seconds": 3600}}]}`,
			policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		lease(t, s, nil)
		a := s.App()
		stage.Expect(t, stage.Ask(t, a, bash("git push origin a")), toolcall.Allow, "")
		d := stage.Ask(t, a, bash("git push origin b"))
		stage.Expect(t, d, toolcall.Deny, toolcall.CodeRateLimited)
		if d.LeaseID != "" || d.ApprovalID != "" {
			t.Errorf("a denial names the lease: %+v", d)
		}
		s.Put(t, "never", `{"role": "agent", "deny": [{"capability": "bash"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		stage.Expect(t, stage.Ask(t, a, bash("git push origin c")), toolcall.Deny, toolcall.CodePolicyDenied)
		counters, err := st.Counters(t.Context(), ledger.LeaseOf("default", "lse_1"))
		if err != nil || counters[ledger.LeaseCalls] != 1 {
			t.Errorf("counted %v, %v", counters, err)
		}
	})
}

// justBefore is a store in which something happens just before a commit that counts a lease.
type justBefore struct {
	store.Store
	once sync.Once
	do   func()
}

func (m *justBefore) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	for i := range b.Counters {
		if b.Counters[i].Name == ledger.LeaseCalls {
			m.once.Do(m.do)
		}
	}
	return m.Store.Commit(ctx, b)
}

// S9.6: a lease that is revoked while a call is judged does not let it pass.
func TestLeaseRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		l := lease(t, s, nil)
		ended, _ := l.Ended(consent.LeaseRevoked)
		whole := s.Store
		racing := &justBefore{Store: whole}
		racing.do = func() {
			put, err := ledger.PutLease("default", ended)
			if err == nil {
				_, err = whole.Commit(context.Background(), store.Batch{Puts: []store.Put{put}})
			}
			if err != nil {
				t.Error(err)
			}
		}
		s.Store = racing
		stage.Expect(t, stage.Ask(t, s.App(), bash("git push origin a")), toolcall.Ask, toolcall.CodeApprovalRequired)
	})
}

// S9.6: the approval that a lease has used is not taken over by a call, and people are asked
// anew.
func TestLeaseHasUsedItsApproval(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		a := s.App()
		push := bash("git push origin a")
		stage.Expect(t, stage.Ask(t, a, push), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1")
		s.Approvals.Mu.Lock()
		s.Approvals.Status["apr_1"], s.Approvals.UsedBy["apr_1"], s.Approvals.UsedAt = consent.Granted, "lse_9", s.Clock()
		s.Approvals.Mu.Unlock()
		s.Advance(check.DecisionGrace)
		stage.Expect(t, stage.Ask(t, a, push), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_2")
	})
}

// S23.46: a lease that was granted before a halt lets no call in its scope pass after it; one outside of the scope does.
func TestHaltsEndLeases(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		s := leaseStage(t, st)
		a := s.App()
		for _, scope := range []halts.Scope{{Kind: halts.Session, Name: "s"}, {Kind: halts.Namespace}, {Kind: halts.Session, Name: "elsewhere"}} {
			ends := scope.Name != "elsewhere"
			id := fmt.Sprintf("lse_%s_%s", scope.Kind, scope.Name)
			lease(t, s, func(l *consent.Lease) { l.ID = id })
			push := bash("git push origin " + id)
			stage.Expect(t, stage.Ask(t, a, push), toolcall.Allow, "")
			root := halts.Caller{Namespace: "default", Principal: auth.Principal{Name: "rita", Root: true}}
			halt, _, err := a.Halts.Create(t.Context(), root, scope, "a test")
			if err != nil {
				t.Fatal(err)
			}
			if ends {
				stage.Expect(t, stage.Ask(t, a, push), toolcall.Deny, toolcall.CodeHalted)
			}
			if _, err := a.Halts.Lift(t.Context(), root, halt.ID, "over"); err != nil {
				t.Fatal(err)
			}
			if !ends {
				stage.Expect(t, stage.Ask(t, a, push), toolcall.Allow, "")
				continue
			}
			stage.Expect(t, stage.Ask(t, a, push), toolcall.Ask, toolcall.CodeApprovalRequired)
			if got := leaseEvents(t, s); !slices.Contains(got, "revoked "+id+" by interlock") {
				t.Errorf("%v: the events of leases are %q", scope, got)
			}
			s.Advance(time.Second)
			lease(t, s, func(l *consent.Lease) { l.ID = id + "_later" })
			stage.Expect(t, stage.Ask(t, a, push), toolcall.Allow, "")
		}
	})
}

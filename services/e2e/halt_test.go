package e2e

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

func (w *world) halts(t testing.TB, replica int, role auth.Role) identityv1.HaltServiceClient {
	t.Helper()
	return identityv1.NewHaltServiceClient(w.dial(t, w.policies[replica], w.tokens[role]))
}

// haltsHold halts work that goes on all the time through both replicas, by each kind of scope: what begins after the
// answer is refused by every service, and what is outside of the scope goes on; lifted, all goes on (S23.40, S23.41).
func haltsHold(t *testing.T, w *world) {
	w.as(t, auth.Agent).register(t, pingPong)
	w.component(t, `{"name": "Notes", "slug": "notes", "persistence": "session", "schema_definition": {"n": {"type": "integer"}}}`)
	must[*statev1.CreateAgentResponse](t)(statev1.NewAgentServiceClient(w.dial(t, w.states[0], w.tokens[auth.Operator])).CreateAgent(within(t), &statev1.CreateAgentRequest{
		Spec: &statev1.AgentSpec{Name: "helper"},
	}))
	pat := w.person(t, "pat", "pay")
	outside := w.at(t, 1, auth.Runtime).start(t, "ping-pong").GetRunId()
	agent, operator := w.tokens[auth.Agent], w.tokens[auth.Operator]
	for i, h := range []halting{
		{kind: identityv1.HaltKind_HALT_KIND_SESSION, name: "Top", worker: agent, opener: operator},
		{kind: identityv1.HaltKind_HALT_KIND_WORKFLOW, name: "ping-pong", worker: agent, opener: operator},
		{kind: identityv1.HaltKind_HALT_KIND_PRINCIPAL, name: "agent", worker: agent, opener: operator},
		{kind: identityv1.HaltKind_HALT_KIND_PERSON, name: "Pat", worker: pat, opener: operator},
		{kind: identityv1.HaltKind_HALT_KIND_HUMAN, name: "pat", worker: agent, opener: pat},
		{kind: identityv1.HaltKind_HALT_KIND_GROUP, name: "pay", worker: agent, opener: pat},
		{kind: identityv1.HaltKind_HALT_KIND_AGENT, name: "helper", worker: agent, opener: operator, agent: "helper"},
		{kind: identityv1.HaltKind_HALT_KIND_NAMESPACE, worker: agent, opener: operator},
	} {
		t.Run(h.kind.String(), func(t *testing.T) { haltsWork(t, w, h, i, outside) })
	}
}

// person returns the token of a new person with the role operator, who is of a group.
func (w *world) person(t testing.TB, name, group string) string {
	t.Helper()
	conn := w.dial(t, w.approvals[0], w.tokens[auth.Operator])
	service := identityv1.NewPersonServiceClient(conn)
	must[*identityv1.CreatePersonResponse](t)(service.CreatePerson(within(t), &identityv1.CreatePersonRequest{
		Spec: &identityv1.PersonSpec{Name: name, Roles: []string{string(auth.Operator)}, Namespaces: []string{w.namespace}, Groups: []string{group}},
	}))
	invited := must[*identityv1.InvitePersonResponse](t)(service.InvitePerson(within(t), &identityv1.InvitePersonRequest{Name: name}))
	return must[*identityv1.RegisterResponse](t)(identityv1.NewLoginServiceClient(conn).Register(within(t), &identityv1.RegisterRequest{
		Code: invited.GetCode(), Credential: &identityv1.NewCredential{Key: &identityv1.NewCredential_Passphrase{Passphrase: "a passphrase of " + name}},
	})).GetLogin().GetTokens()[0].GetToken()
}

// component creates a component.
func (w *world) component(t testing.TB, definition string) {
	t.Helper()
	must[*statev1.CreateComponentResponse](t)(statev1.NewComponentServiceClient(w.dial(t, w.states[0], w.tokens[auth.Operator])).CreateComponent(within(t), &statev1.CreateComponentRequest{
		Definition: []byte(definition),
	}))
}

// halting is a halt that stops the work of a caller in sessions that another one has opened.
type halting struct {
	kind identityv1.HaltKind
	name string
	// worker and opener are tokens.
	worker, opener string
	// agent is the one that the sessions start from; empty for none.
	agent string
}

// deed is one kind of act of an agent; passes reports that it was let through.
type deed struct {
	name string
	does func(ctx context.Context, n int) (passes bool, err error)
}

// deeds are the work that h halts, through both replicas. inSession is a run that some of them move.
func (h halting) deeds(t *testing.T, w *world, round int) (all []deed, inSession string) {
	t.Helper()
	top := fmt.Sprintf("top/%d", round)
	opener := w.sessions(t, h.opener)
	must[*statev1.CreateSessionResponse](t)(opener.CreateSession(within(t), &statev1.CreateSessionRequest{Name: top, Agent: h.agent}))
	inSession = w.with(t, 0, h.worker).begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: top}).GetRunId()
	for r := range 2 {
		c := w.with(t, r, h.worker)
		below := fmt.Sprint(top, "/starts-", r)
		must[*statev1.CreateSessionResponse](t)(opener.CreateSession(within(t), &statev1.CreateSessionRequest{Name: below, Parent: top}))
		all = append(all, deed{"check", func(ctx context.Context, n int) (bool, error) {
			resp, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: inSession, Tool: "InA", CallId: fmt.Sprint(r, "-", n%5)})
			if fault.ReasonOf(err) == fault.IdempotencyMismatch { // the run has moved since
				return false, nil
			}
			return resp.GetDecision() == allow || resp.GetDecision() == deny && resp.GetCode() != policyv1.DecisionCode_DECISION_CODE_HALTED, err
		}}, deed{"dry run", func(ctx context.Context, _ int) (bool, error) {
			resp, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: inSession, Tool: "InA", DryRun: true})
			return resp.GetCode() != policyv1.DecisionCode_DECISION_CODE_HALTED, err
		}}, deed{"transition", func(ctx context.Context, _ int) (bool, error) {
			_, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: inSession, Event: "GO"})
			return err == nil, err
		}}, deed{"start", func(ctx context.Context, _ int) (bool, error) {
			resp, err := c.runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: below})
			if err != nil {
				return false, err
			}
			_, err = c.runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: resp.GetRun().GetRunId(), Reason: "room for others"})
			return true, err
		}})
		if h.kind == identityv1.HaltKind_HALT_KIND_WORKFLOW { // a session has no workflow
			continue
		}
		states := w.dial(t, w.states[r%len(w.states)], h.worker)
		sessions, components := statev1.NewSessionServiceClient(states), statev1.NewComponentServiceClient(states)
		all = append(all, deed{"new session", func(ctx context.Context, n int) (bool, error) {
			_, err := sessions.CreateSession(ctx, &statev1.CreateSessionRequest{Name: fmt.Sprintf("%s/new-%d-%d", top, r, n), Parent: top})
			return err == nil, err
		}}, deed{"execution", func(ctx context.Context, _ int) (bool, error) {
			resp, err := components.BeginExecution(ctx, &statev1.BeginExecutionRequest{Slug: "notes", Session: below})
			if err == nil {
				_, err = components.CommitExecution(ctx, &statev1.CommitExecutionRequest{ExecutionId: resp.GetExecution().GetExecutionId(), Session: below})
			}
			return err == nil, err
		}})
	}
	return all, inSession
}

func haltsWork(t *testing.T, w *world, h halting, round int, outside string) {
	ctx := within(t)
	works, inSession := h.deeds(t, w, round)
	scope := &identityv1.HaltScope{Kind: h.kind, Name: h.name}
	halts := w.halts(t, 1, auth.Operator)
	var answered atomic.Bool
	var halt *identityv1.Halt
	before, after := make([]atomic.Int64, len(works)), make([]atomic.Int64, len(works))
	const mostAfter = 25
	all(t, len(works)+1, func(i int) error {
		if i == len(works) {
			for j := range works { // each kind of work passes before
				for before[j].Load() < 3 && ctx.Err() == nil {
					runtime.Gosched()
				}
			}
			resp, err := halts.CreateHalt(ctx, &identityv1.CreateHaltRequest{Scope: scope, Reason: "a test"})
			halt = resp.GetHalt()
			answered.Store(true)
			return err
		}
		for n := 0; after[i].Load() < mostAfter; n++ {
			began := answered.Load()
			passes, err := works[i].does(ctx, n)
			if fault.ReasonOf(err) == fault.VersionConflict { // it lost every race that it may lose
				continue
			}
			if err != nil && fault.ReasonOf(err) != fault.Halted {
				return fmt.Errorf("%s: %w", works[i].name, err)
			}
			switch {
			case began && passes:
				return fmt.Errorf("%s passed after the answer to the halt", works[i].name)
			case began:
				after[i].Add(1)
			case passes:
				before[i].Add(1)
			}
		}
		return nil
	})
	if h.kind != identityv1.HaltKind_HALT_KIND_WORKFLOW && h.kind != identityv1.HaltKind_HALT_KIND_NAMESPACE {
		w.at(t, 0, auth.Runtime).expect(t, outside, "InA", allow, "")
	}
	// What reads and stops goes on (S23.42); new sessions did not (S23.43).
	workers := []*caller{w.with(t, 0, h.worker), w.with(t, 1, h.worker)}
	if run := workers[1].get(t, inSession); run.GetStatus() != running {
		t.Errorf("the halted run is %s", run.GetStatus())
	}
	if _, err := workers[1].runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: inSession, Reason: "over"}); err != nil {
		t.Errorf("a halted run cannot be cancelled: %v", err)
	}
	if listed := must[*identityv1.ListHaltsResponse](t)(halts.ListHalts(ctx, &identityv1.ListHaltsRequest{})).GetHalts(); len(listed) != 1 || listed[0].GetId() != halt.GetId() {
		t.Errorf("the halts in force are %v", listed)
	}
	must[*identityv1.LiftHaltResponse](t)(w.halts(t, 0, auth.Operator).LiftHalt(ctx, &identityv1.LiftHaltRequest{Id: halt.GetId(), Reason: "over"}))
	for i, c := range workers {
		again := c.begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: fmt.Sprintf("top/%d/again-%d", round, i)})
		c.expect(t, again.GetRunId(), "InA", allow, "")
		c.move(t, again.GetRunId(), "GO")
	}
}

// pingFreeze has a transition that a freeze stops, and one that goes on.
const pingFreeze = `{
  "id": "ping-freeze", "initial": "a", "freeze": ["GO"], "meta": {"enforcement": "while_running"},
  "states": {"a": {"on": {"GO": "b", "ASIDE": "b", "END": "over"}}, "b": {"on": {"GO": "a", "ASIDE": "a", "END": "over"}}, "over": {"type": "final"}}
}`

// freezesHold freezes a workflow whose runs agents move on all the time through both replicas: no transition that a freeze stops and
// that begins after the answer passes, and others do (S25.12); lifted, all go on.
func freezesHold(t *testing.T, w *world) {
	ctx := within(t)
	agents := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	agents[0].register(t, pingFreeze)
	halts := w.halts(t, 1, auth.Operator)
	var answered atomic.Bool
	var freeze *identityv1.Freeze
	before, after := make([]atomic.Int64, len(agents)), make([]atomic.Int64, len(agents))
	const mostAfter = 25
	all(t, len(agents)+1, func(i int) error {
		if i == len(agents) {
			for j := range agents { // each agent moves before
				for before[j].Load() < 5 && ctx.Err() == nil {
					runtime.Gosched()
				}
			}
			resp, err := halts.CreateFreeze(ctx, &identityv1.CreateFreezeRequest{Workflow: "Ping-F*", Until: timestamppb.New(time.Now().Add(time.Hour)), Reason: "a test"})
			freeze = resp.GetFreeze()
			answered.Store(true)
			return err
		}
		run := agents[i].start(t, "ping-freeze").GetRunId()
		for after[i].Load() < mostAfter {
			began := answered.Load()
			resp, err := agents[i].runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: run, Event: "GO"})
			rejection := resp.GetRejection()
			switch {
			case err != nil:
				return err
			case rejection != nil && rejection.GetCode() != enginev1.RejectionCode_REJECTION_CODE_FROZEN:
				return fmt.Errorf("it is refused by %s", rejection.GetMessage())
			case began && rejection == nil:
				return fmt.Errorf("a transition passed after the answer to the freeze")
			case began:
				after[i].Add(1)
			case rejection == nil:
				before[i].Add(1)
			}
		}
		agents[i].move(t, run, "ASIDE")
		if got := agents[1-i].get(t, run).GetFreeze(); got.GetFreezeId() == "" || got.GetReason() != "a test" {
			return fmt.Errorf("the run shows the freeze %v", got)
		}
		return nil
	})
	if listed := must[*identityv1.ListFreezesResponse](t)(halts.ListFreezes(ctx, &identityv1.ListFreezesRequest{})).GetFreezes(); len(listed) != 1 || listed[0].GetId() != freeze.GetId() {
		t.Errorf("the freezes in force are %v", listed)
	}
	must[*identityv1.LiftFreezeResponse](t)(w.halts(t, 0, auth.Operator).LiftFreeze(ctx, &identityv1.LiftFreezeRequest{Id: freeze.GetId(), Reason: "over"}))
	for _, c := range agents {
		c.move(t, c.start(t, "ping-freeze").GetRunId(), "GO")
	}
}

package e2e

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// repeats sends every mutating request twice, the second time to the other
// replica (S6.5).
func repeats(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Operator), w.at(t, 1, auth.Operator)
	register := &enginev1.RegisterWorkflowRequest{Definition: []byte(bugfix), IdempotencyKey: "k"}
	first := must[*enginev1.RegisterWorkflowResponse](t)(one.workflows.RegisterWorkflow(within(t), register))
	again := must[*enginev1.RegisterWorkflowResponse](t)(other.workflows.RegisterWorkflow(within(t), register))
	if !again.GetCreated() || again.GetWorkflow().GetVersion() != first.GetWorkflow().GetVersion() {
		t.Errorf("the repeat registered %v after %v", again, first)
	}

	begin := &enginev1.StartRunRequest{Workflow: "bugfix", IdempotencyKey: "k", Context: []byte(`{"n":9007199254740993}`)}
	run := one.begin(t, begin)
	if second := other.begin(t, begin); second.GetRunId() != run.GetRunId() {
		t.Errorf("the repeat started %s after %s", second.GetRunId(), run.GetRunId())
	}
	agent := w.at(t, 1, auth.Agent)
	if own := agent.begin(t, begin); own.GetRunId() == run.GetRunId() {
		t.Errorf("the agent's request with the operator's key and content is answered with the operator's run")
	}
	id := run.GetRunId()
	move := &enginev1.TransitionRunRequest{RunId: id, Event: "READY", Data: []byte(`{"a":1}`), IdempotencyKey: "k", ExpectedVersion: 1}
	moved := must[*enginev1.TransitionRunResponse](t)(one.runs.TransitionRun(within(t), move))
	other.expect(t, id, "Edit", allow, "")
	repeat := must[*enginev1.TransitionRunResponse](t)(other.runs.TransitionRun(within(t), move))
	if !repeat.GetAccepted() || repeat.GetRun().GetVersion() != moved.GetRun().GetVersion() || repeat.GetRun().GetState() != "implementing" {
		t.Errorf("the repeat is answered with %v after %v", repeat, moved)
	}
	mismatch := proto.CloneOf(move)
	mismatch.Data, mismatch.ExpectedVersion = []byte(`{"a":2}`), 0
	_, err := other.runs.TransitionRun(within(t), mismatch)
	refused(t, err, fault.IdempotencyMismatch)
	if got := one.history(t, id); len(got) != 2 {
		t.Errorf("the history has %d entries, want 2", len(got))
	}
	repeatedCheck(t, one, other, id)
}

// repeatedCheck asks about one call twice: it counts once.
func repeatedCheck(t *testing.T, one, other *caller, id string) {
	t.Helper()
	before := one.get(t, id).GetUsage().GetIterations()
	req := &policyv1.CheckToolCallRequest{RunId: id, Tool: "Edit", Input: []byte(`{"file_path":"a"}`), CallId: "call_1"}
	for _, c := range []*caller{one, other, one} {
		d := must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t), req))
		if d.GetDecision() != allow || d.GetCallId() != "call_1" {
			t.Fatalf("the call is decided as %v", d)
		}
	}
	if got := other.get(t, id).GetUsage().GetIterations(); got != before+1 {
		t.Errorf("one call that was asked about three times counts %d", got-before)
	}
	changed := proto.CloneOf(req)
	changed.Input = []byte(`{"file_path":"b"}`)
	_, err := other.policy.CheckToolCall(within(t), changed)
	refused(t, err, fault.IdempotencyMismatch)
}

// concurrentRepeats sends the same requests from many callers at once.
func concurrentRepeats(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pingPong)
	ctx := within(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	all(t, 32, func(i int) error {
		resp, err := callers[i%2].runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "s", IdempotencyKey: "begin"})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		seen[resp.GetRun().GetRunId()] = true
		return nil
	})
	if len(seen) != 1 {
		t.Fatalf("one request started %d runs", len(seen))
	}
	for id := range seen {
		all(t, 32, func(i int) error {
			resp, err := callers[i%2].runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: id, Event: "GO", IdempotencyKey: "go"})
			if err == nil && (!resp.GetAccepted() || resp.GetRun().GetVersion() != 2) {
				err = fmt.Errorf("answered with %v", resp)
			}
			return err
		})
		if got := callers[1].history(t, id); len(got) != 2 {
			t.Errorf("one request made %d entries", len(got)-1)
		}
	}
}

func expectedVersion(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	one.register(t, pingPong)
	id := one.start(t, "ping-pong").GetRunId()
	other.move(t, id, "GO")
	for _, c := range []*caller{one, other} {
		_, err := c.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{RunId: id, Event: "GO", ExpectedVersion: 1})
		if f := refused(t, err, fault.VersionConflict); f.Metadata["current_version"] != "2" {
			t.Errorf("the conflict does not tell the current version: %v", f.Metadata)
		}
	}
	if got := one.history(t, id); len(got) != 2 {
		t.Errorf("a conflict changed the run: %v", got)
	}
	resp := must[*enginev1.TransitionRunResponse](t)(one.runs.TransitionRun(within(t),
		&enginev1.TransitionRunRequest{RunId: id, Event: "GO", ExpectedVersion: 2}))
	if !resp.GetAccepted() || resp.GetRun().GetVersion() != 3 {
		t.Errorf("the expected version is refused: %v", resp)
	}
}

// concurrentWriters move one run with expected_version, as an optimistic client
// does: every success is one entry, at the version after the expected one.
func concurrentWriters(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pingPong)
	id := callers[0].start(t, "ping-pong").GetRunId()
	ctx := within(t)
	const writers, each = 8, 5
	all(t, writers, func(i int) error {
		c := callers[i%2]
		for done := 0; done < each; {
			now, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: id})
			if err != nil {
				return err
			}
			version := now.GetRun().GetVersion()
			resp, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
				RunId: id, Event: "GO", ExpectedVersion: version, Data: fmt.Appendf(nil, `{"w%d":%d}`, i, done),
			})
			switch {
			case err == nil && resp.GetRun().GetVersion() != version+1:
				return errors.New("two writers were told of the same version")
			case err == nil:
				done++
			case fault.ReasonOf(err) != fault.VersionConflict:
				return err
			}
		}
		return nil
	})
	history := callers[1].history(t, id)
	contiguous(t, id, history)
	if len(history) != 1+writers*each {
		t.Errorf("the history has %d entries, want %d", len(history), 1+writers*each)
	}
}

// TestRepeatAtAnotherReplica: a check that is repeated elsewhere, as a client does after a lost
// connection, has the first decision, though that replica had not heard of the run's last move.
func TestRepeatAtAnotherReplica(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "repeat-elsewhere"}
	first, second := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	first.register(t, pingPong)
	for n := range 20 {
		id := first.start(t, "ping-pong").GetRunId()
		second.expect(t, id, "InA", allow, "") // its copy of the run is from before
		first.move(t, id, "GO")
		req := &policyv1.CheckToolCallRequest{RunId: id, Tool: "InB", CallId: fmt.Sprint("call-", n)}
		told := must[*policyv1.CheckToolCallResponse](t)(first.policy.CheckToolCall(within(t), req))
		again := must[*policyv1.CheckToolCallResponse](t)(second.policy.CheckToolCall(within(t), req))
		if told.GetDecision() != allow || again.GetDecision() != allow || again.GetRunVersion() != told.GetRunVersion() {
			t.Fatalf("first %v, repeated %v", told, again)
		}
	}
}

package e2e

import (
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
)

// bugfix gates edits, limits them, and ships only when tests passed.
const bugfix = `{
  "id": "bugfix", "initial": "planning", "context": {"test_result": null},
  "states": {
    "planning": {"allowed_tools": ["Read"], "instructions": "Find the bug.", "on": {"READY": "implementing"}},
    "implementing": {"allowed_tools": ["Read", "Edit"], "max_iterations": 20, "on": {"DONE": "testing"}},
    "testing": {"allowed_tools": ["Read"], "on": {
      "TESTED": "testing", "SHIP": {"target": "shipped", "guard": "tests_passed"}, "GIVE_UP": "failed"}},
    "shipped": {"type": "final"}, "failed": {"type": "final"}
  },
  "guards": {"tests_passed": {"field": "test_result", "op": "eq", "value": "pass"}}
}`

// pingPong has two states with a tool each: odd versions of a run are in a, even
// ones in b.
const pingPong = `{
  "id": "ping-pong", "initial": "a", "meta": {"enforcement": "while_running"},
  "states": {
    "a": {"allowed_tools": ["InA"], "on": {"GO": "b", "END": "over"}},
    "b": {"allowed_tools": ["InB"], "on": {"GO": "a", "END": "over"}},
    "over": {"type": "final"}
  }
}`

func walkWorkflow(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	if v := w.as(t, auth.Operator).register(t, bugfix); v.GetVersion() != 1 || v.GetCreatedBy() != "operator" {
		t.Fatalf("registered %v", v)
	}
	run := one.start(t, "bugfix")
	id := run.GetRunId()
	if run.GetState() != "planning" || run.GetStatus() != running || run.GetRules().GetInstructions() != "Find the bug." {
		t.Fatalf("started as %v", run)
	}

	d := other.expect(t, id, "Edit", deny, "TOOL_NOT_ALLOWED")
	if !slices.Equal(d.GetAllowedTools(), []string{"Read"}) || len(d.GetLegalEvents()) != 1 || d.GetLegalEvents()[0].GetEvent() != "READY" {
		t.Errorf("the denial does not teach: %v", d)
	}
	if got := one.fire(t, id, "SHIP", "").GetRejection(); got.GetCode() != enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_EVENT ||
		got.GetState() != "planning" || got.GetLegalEvents()[0].GetEvent() != "READY" {
		t.Errorf("the rejection does not teach: %v", got)
	}
	one.move(t, id, "READY")
	if d := other.expect(t, id, "Edit", allow, ""); d.GetIterations() != 1 || d.GetMaxIterations() != 20 {
		t.Errorf("the first call is %v", d)
	}
	other.move(t, id, "DONE")
	guardFails(t, one, id)
	other.moveWith(t, id, "TESTED", `{"test_result":"pass","rationale":"all green"}`)
	shipped := one.move(t, id, "SHIP")
	if shipped.GetStatus() != completed || shipped.GetState() != "shipped" {
		t.Errorf("shipped as %v", shipped)
	}
	// S2.9: enforcement ends with the run.
	other.expect(t, id, "Edit", allow, "NOT_ENFORCED")
	if got := other.fire(t, id, "READY", "").GetRejection(); got.GetCode() != enginev1.RejectionCode_REJECTION_CODE_RUN_NOT_RUNNING {
		t.Errorf("a run that ended moves on: %v", got)
	}
	history := other.history(t, id)
	contiguous(t, id, history)
	var events []string
	for _, entry := range history {
		events = append(events, entry.GetEvent())
	}
	if !slices.Equal(events, []string{"", "READY", "DONE", "TESTED", "SHIP"}) || history[3].GetRationale() != "all green" {
		t.Errorf("the history has %v", history)
	}
}

// guardFails expects that data of the same call does not help its own guard, and
// that the refusal has no effect (S2.3).
func guardFails(t *testing.T, c *caller, id string) {
	t.Helper()
	before := c.get(t, id)
	got := c.fire(t, id, "SHIP", `{"test_result":"pass"}`)
	r := got.GetRejection()
	if got.GetAccepted() || r.GetCode() != enginev1.RejectionCode_REJECTION_CODE_GUARD_FAILED || len(r.GetGuards()) != 1 {
		t.Fatalf("a guard that fails is %v", got)
	}
	g := r.GetGuards()[0]
	if g.GetName() != "tests_passed" || g.GetField() != "test_result" || string(g.GetExpected()) != `"pass"` ||
		string(g.GetActual()) != "null" || g.GetPassed() {
		t.Errorf("the guard does not teach: %v", g)
	}
	if after := c.get(t, id); after.GetVersion() != before.GetVersion() || string(after.GetContext()) != string(before.GetContext()) {
		t.Errorf("a rejection changed %v to %v", before, after)
	}
}

// limitExactly spends ten of twenty calls, then asks a hundred times at once over
// both replicas (S3.2).
func limitExactly(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, bugfix)
	id := callers[0].start(t, "bugfix").GetRunId()
	callers[0].move(t, id, "READY")
	for i := range 10 {
		callers[i%2].expect(t, id, "Edit", allow, "")
		callers[i%2].expect(t, id, "Bash", deny, "TOOL_NOT_ALLOWED") // does not count
	}
	var allowed, limited atomic.Int64
	ctx := within(t)
	all(t, 100, func(i int) error {
		d, err := callers[i%2].policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: id, Tool: "Read"})
		switch {
		case err != nil:
			return err
		case d.GetDecision() == allow:
			allowed.Add(1)
		case codeOf(d) == "MAX_ITERATIONS":
			limited.Add(1)
		}
		return nil
	})
	if allowed.Load() != 10 || limited.Load() != 90 {
		t.Errorf("%d allowed and %d over the limit, want 10 and 90", allowed.Load(), limited.Load())
	}
	// A new entry counts anew (S2.10).
	callers[1].move(t, id, "DONE")
	if got := callers[0].get(t, id); got.GetUsage().GetIterations() != 0 {
		t.Errorf("the next state begins with %d iterations", got.GetUsage().GetIterations())
	}
}

// streamOfChecks sends good and bad messages over one stream.
func streamOfChecks(t *testing.T, w *world) {
	c := w.as(t, auth.Agent)
	c.register(t, bugfix)
	id := c.start(t, "bugfix").GetRunId()
	c.move(t, id, "READY")
	stream := must[policyv1.PolicyEnforcerService_CheckToolCallsClient](t)(c.policy.CheckToolCalls(within(t)))
	call := func(tool string) *policyv1.CheckToolCallRequest {
		return &policyv1.CheckToolCallRequest{RunId: id, Tool: tool}
	}
	edits := make([]*policyv1.CheckToolCallRequest, 24)
	for i := range edits {
		edits[i] = call("Edit")
	}
	messages := map[uint64][]*policyv1.CheckToolCallRequest{
		1: {call("Bash"), call(""), {RunId: "run_none", Tool: "Read"}},
		2: edits,
		3: nil,
	}
	for id, calls := range messages {
		if err := stream.Send(&policyv1.CheckToolCallsRequest{CorrelationId: id, Calls: calls}); err != nil {
			t.Fatal(err)
		}
	}
	answers := map[uint64][]string{}
	for range messages {
		resp := must[*policyv1.CheckToolCallsResponse](t)(stream.Recv())
		for _, r := range resp.GetResults() {
			word := string(fault.ReasonOf(status.ErrorProto(r.GetError())))
			if d := r.GetDecision(); d != nil {
				word = d.GetDecision().String()[len("DECISION_"):] + codeOf(d)
			}
			answers[resp.GetCorrelationId()] = append(answers[resp.GetCorrelationId()], word)
		}
	}
	if want := []string{"DENYTOOL_NOT_ALLOWED", "INVALID_REQUEST", "NOT_FOUND"}; !slices.Equal(answers[1], want) {
		t.Errorf("the mixed message is answered with %v, want %v", answers[1], want)
	}
	count := map[string]int{}
	for _, word := range answers[2] {
		count[word]++
	}
	if count["ALLOW"] != 20 || count["DENYMAX_ITERATIONS"] != 4 {
		t.Errorf("the batch is answered with %v", count)
	}
	if !slices.Equal(answers[3], []string{"INVALID_REQUEST"}) {
		t.Errorf("the empty message is answered with %v", answers[3])
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// reports are idempotent, and one for a call that was not allowed is announced
// (S3.9).
func reports(t *testing.T, w *world) {
	c, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	c.register(t, bugfix)
	id := c.start(t, "bugfix").GetRunId()
	report := func(who *caller, call, tool string) bool {
		resp := must[*policyv1.ReportToolCallResponse](t)(who.policy.ReportToolCall(within(t),
			&policyv1.ReportToolCallRequest{RunId: id, CallId: call, Tool: tool, Ok: true, ResultBytes: 3, CostUsd: "0.02"}))
		return resp.GetAccounted()
	}
	allowed, denied := c.expect(t, id, "Read", allow, ""), c.expect(t, id, "Edit", deny, "TOOL_NOT_ALLOWED")
	if !report(other, allowed.GetCallId(), "Read") || !report(c, allowed.GetCallId(), "Read") {
		t.Error("a report of an allowed call is not accounted")
	}
	if report(other, denied.GetCallId(), "Edit") || report(c, "call_invented", "Read") {
		t.Error("a report of a call that was not allowed is accounted")
	}
	types := map[string]int{}
	events := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "toolcall", ID: id})
	for range 5 { // allowed, denied, reported, twice unaccounted
		types[events.next(t).GetType()]++
	}
	if types["reported"] != 1 || types["unaccounted"] != 2 {
		t.Errorf("the reports are announced as %v", types)
	}
}

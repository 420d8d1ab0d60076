package receipts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

const shipping = `{
	"id": "shipping", "initial": "work",
	"states": {
		"work": {"allowed_tools": ["Read", "Bash"], "allowed_commands": ["go test"], "on": {"SHIP": {"target": "ship", "requires_approval": true}}},
		"ship": {"allowed_tools": ["Bash"], "allowed_commands": ["git push"], "on": {"DONE": "done"}},
		"done": {"type": "final"}
	},
	"properties": {"approved": {"never": {"state": "ship"}, "unless": {"approval": {"by": "approver"}}}},
	"meta": {"approval_mode": "ui", "capture_output": true, "policy": ["quiet"]}
}`

// plane is Interlock in one process, and clients of it.
type plane struct {
	*testing.T
	tokens map[string]string
	conns  map[string]*grpc.ClientConn
	target string
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	c, err := allinone.Start(t.Context(), allinone.Config{WithoutPresence: true, Data: datadir.Dir(t.TempDir()), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	p := &plane{T: t, conns: map[string]*grpc.ClientConn{}, target: c.Endpoints.GRPC}
	text, err := os.ReadFile(c.TokensFile)
	if err == nil {
		err = json.Unmarshal(text, &p.tokens)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// as is a connection of a role.
func (p *plane) as(role string) *grpc.ClientConn {
	p.Helper()
	if conn := p.conns[role]; conn != nil {
		return conn
	}
	conn, err := rpc.Dial(p.target, rpc.ClientConfig{Token: p.tokens[role]})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	p.conns[role] = conn
	return conn
}

func done[T any](p *plane, answer T, err error) T {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
	return answer
}

func (p *plane) start() string {
	p.Helper()
	ctx := p.Context()
	_, err := policyv1.NewPolicyServiceClient(p.as("operator")).RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Name: "quiet", Definition: []byte(`{"role": "agent", "deny": [{"capability": "tool:Read"}]}`)})
	done(p, "", err)
	_, err = enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(shipping)})
	done(p, "", err)
	run, err := enginev1.NewRunServiceClient(p.as("agent")).StartRun(ctx, &enginev1.StartRunRequest{Workflow: "shipping", SessionId: "s1"})
	return done(p, run, err).GetRun().GetRunId()
}

func (p *plane) check(run, tool, input string, want policyv1.Decision) {
	p.Helper()
	got, err := policyv1.NewPolicyEnforcerServiceClient(p.as("agent")).CheckToolCall(p.Context(), &policyv1.CheckToolCallRequest{RunId: run, Tool: tool, Input: []byte(input)})
	if done(p, got, err).GetDecision() != want {
		p.Fatalf("%s %s: %v", tool, input, got)
	}
}

func (p *plane) fire(run, event, data string) string {
	p.Helper()
	got, err := enginev1.NewRunServiceClient(p.as("agent")).TransitionRun(p.Context(), &enginev1.TransitionRunRequest{RunId: run, Event: event, Data: []byte(data)})
	if !done(p, got, err).GetAccepted() {
		p.Fatal(got)
	}
	return got.GetApprovalId()
}

func (p *plane) receipt(run string) []byte {
	p.Helper()
	conn := p.as("operator")
	f, err := receipts.Make(p.Context(), receipts.Sources{
		Sources: recorded.Sources{
			Runs: enginev1.NewRunServiceClient(conn), Workflows: enginev1.NewWorkflowServiceClient(conn),
			Decisions: policyv1.NewDecisionServiceClient(conn), Policies: policyv1.NewPolicyServiceClient(conn),
		},
		Approvals: approvalv1.NewApprovalServiceClient(conn), Sets: policyv1.NewSetServiceClient(conn),
	}, rpc.DefaultNamespace, run, keyOf(p.T, "deployment"), time.Unix(1_790_000_000, 0))
	done(p, f, err)
	if err := f.Cosign("witness.example.com", time.Unix(1_790_000_100, 0), keyOf(p.T, "witness")); err != nil {
		p.Fatal(err)
	}
	text, err := f.Write()
	return done(p, text, err)
}

// genuineReceipt is of a run that real services have decided: four calls, of which a policy
// denies one, and an approval.
func genuineReceipt(t *testing.T) []byte {
	t.Helper()
	p := newPlane(t)
	run := p.start()
	p.check(run, "Bash", `{"command":"go test ./..."}`, policyv1.Decision_DECISION_ALLOW)
	p.check(run, "Bash", `{"command":"rm -rf /"}`, policyv1.Decision_DECISION_DENY)
	p.check(run, "Read", `{"file_path": "a"}`, policyv1.Decision_DECISION_DENY)
	id := p.fire(run, "SHIP", `{"target": "production"}`)
	_, err := approvalv1.NewApprovalServiceClient(p.as("approver")).DecideApproval(p.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true, Note: "go ahead"})
	done(p, "", err)
	runs := enginev1.NewRunServiceClient(p.as("operator"))
	watch, err := runs.WatchRun(p.Context(), &enginev1.WatchRunRequest{RunId: run})
	for done(p, watch, err); ; {
		now, err := watch.Recv()
		if done(p, now, err).GetRun().GetState() == "ship" {
			break
		}
	}
	p.check(run, "Bash", `{"command":"git push"}`, policyv1.Decision_DECISION_ALLOW)
	p.fire(run, "DONE", "")
	return p.receipt(run)
}

// A receipt shows people the actual events.
func TestSentences(t *testing.T) {
	t.Parallel()
	checked, err := receipts.Check(genuineReceipt(t), keyOf(t, "deployment").Public(), nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Fatal(err, checked)
	}
	text := strings.Join(checked.Sentences(), "\n")
	for _, want := range []string{
		`of workflow "shipping"`, "COMPLETED", `went from "work" to "ship" by SHIP, approved by approver.`, "2 calls were allowed, and 2 refused or asked about.",
		`Version 1 keeps "approved", regardless of the agent's actions (proved, `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// A receipt names the set that has made a version live, also when the set has another one by now, and its signature covers that.
func TestReceiptNamesSets(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.start()
	key := keyOf(t, "deployment").Public()
	apply := func(expected, live, version int64, commit string) {
		req := &policyv1.ApplySetRequest{
			Name: "shop", ExpectedVersion: expected, Repo: "git.example.com/shop", Commit: commit,
			Changes: []*policyv1.SetChange{{Kind: policyv1.DefinitionKind_DEFINITION_KIND_WORKFLOW, Name: "shipping", ExpectedVersion: live, Version: version, Take: true}},
		}
		resp, err := policyv1.NewSetServiceClient(p.as("operator")).ApplySet(p.Context(), req)
		done(p, resp, err)
	}
	if text := p.receipt(run); bytes.Contains(predicateOf(t, text), []byte(`"set"`)) {
		t.Error("a set is named before there is one")
	}
	apply(0, 1, 1, "abc123")
	wider := strings.Replace(shipping, `"git push"`, `"git pull"`, 1)
	resp, err := enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(p.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(wider), Staged: true})
	apply(1, 1, done(p, resp, err).GetWorkflow().GetVersion(), "def456")
	text := p.receipt(run)
	checked, err := receipts.Check(text, key, nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Fatal(err, checked)
	}
	const want = "Version 1 of shipping is of set shop version 1, git.example.com/shop@abc123, applied by operator."
	if said := strings.Join(checked.Sentences(), "\n"); !strings.Contains(said, want) {
		t.Errorf("%q is missing in\n%s", want, said)
	}
	var f receipt.File
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	f.Payload = bytes.Replace(f.Payload, []byte("abc123"), []byte("abc124"), 1)
	forged, err := f.Write()
	if err != nil {
		t.Fatal(err)
	}
	if checked, err := receipts.Check(forged, key, nil); err == nil && len(checked.Faults) == 0 {
		t.Error("a receipt with another commit counts")
	}
}

// predicateOf returns the signed text of a receipt.
func predicateOf(t *testing.T, text []byte) []byte {
	t.Helper()
	var f receipt.File
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f.Payload
}

// S2.9: a receipt distinguishes calls that no rule of a state has judged from the others.
func TestSentencesOfWhatIsNotEnforced(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.start()
	id := p.fire(run, "SHIP", `{"target": "production"}`)
	_, err := approvalv1.NewApprovalServiceClient(p.as("approver")).DecideApproval(p.Context(), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true, Note: "go ahead"})
	done(p, "", err)
	watch, err := enginev1.NewRunServiceClient(p.as("operator")).WatchRun(p.Context(), &enginev1.WatchRunRequest{RunId: run})
	for done(p, watch, err); ; {
		now, err := watch.Recv()
		if done(p, now, err).GetRun().GetState() == "ship" {
			break
		}
	}
	p.check(run, "Bash", `{"command":"git push"}`, policyv1.Decision_DECISION_ALLOW)
	p.fire(run, "DONE", "")
	p.check(run, "Bash", `{"command":"git status"}`, policyv1.Decision_DECISION_ALLOW)
	checked, err := receipts.Check(p.receipt(run), keyOf(t, "deployment").Public(), nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Fatal(err, checked)
	}
	text := strings.Join(checked.Sentences(), "\n")
	if !strings.Contains(text, "2 calls were allowed, and 0 refused or asked about.") || !strings.Contains(text, "1 of these calls was allowed because enforcement was off (NOT_ENFORCED)") {
		t.Error(text)
	}
}

// A run that is under way, and one without decisions, have receipts too.
func TestReceiptsOfEveryStage(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	run := p.start()
	key := keyOf(t, "deployment").Public()
	for i, act := range []func(){
		func() {}, func() { p.check(run, "Bash", `{"command":"go test"}`, policyv1.Decision_DECISION_ALLOW) }, func() { p.fire(run, "SHIP", "") },
	} {
		act()
		if checked, err := receipts.Check(p.receipt(run), key, nil); err != nil || len(checked.Faults) > 0 {
			t.Errorf("%d: %v, %v", i, err, checked.Faults)
		}
	}
}

const forking = `{
	"id": "forking", "initial": "build",
	"states": {
		"build": {"on": {"BUILT": {"fork": {"branches": {"lint": {"initial": "linting", "terminal": "linted"}, "types": {"initial": "typing", "terminal": "typed"}}, "on_complete": "ship"}}}},
		"linting": {"on": {"LINTED": "linted"}}, "linted": {"type": "final"},
		"typing": {"on": {"CHECK": "checking"}}, "checking": {"on": {"TYPED": "typed"}}, "typed": {"type": "final"},
		"ship": {"on": {"DONE": "done"}}, "done": {"type": "final"}
	}
}`

// The last change of a run may be one of a branch, or join it: then the run is not where the
// branch is. A run that is said to be elsewhere is still found out.
func TestReceiptsOfForks(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	_, err := enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(p.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(forking)})
	done(p, "", err)
	started, err := enginev1.NewRunServiceClient(p.as("agent")).StartRun(p.Context(), &enginev1.StartRunRequest{Workflow: "forking", SessionId: "s2"})
	run := done(p, started, err).GetRun().GetRunId()
	for _, event := range []string{"BUILT", "LINTED", "CHECK", "TYPED", "DONE"} {
		p.fire(run, event, "")
		text := p.receipt(run)
		if checked, err := receipts.Check(text, keyOf(t, "deployment").Public(), nil); err != nil || len(checked.Faults) > 0 {
			t.Errorf("after %s: %v, %v", event, err, checked.Faults)
		}
		m := &tamperer{t: t, key: keyOf(t, "deployment"), resign: keyOf(t, "deployment")}
		if err := json.Unmarshal(text, &m.file); err != nil {
			t.Fatal(err)
		}
		m.payload = decoded(t, m.file["payload"])
		m.predicate()["state"] = "linted"
		if checked, err := receipts.Check(m.write(), keyOf(t, "deployment").Public(), nil); err == nil && len(checked.Faults) == 0 {
			t.Errorf("after %s: the run is said to be elsewhere, and nobody says so", event)
		}
	}
}

// A receipt states that an operator has taken the run past its rules, or moved it to
// other rules.
func TestSentencesOfOperators(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	const src = `{"id": "ruled", "initial": "work", "meta": {"debug": "operator"}, "states": {"work": {"on": {"DONE": "done"%s}}, "done": {"type": "final"}}}`
	for _, more := range []string{"", `, "STOP": "done"`} {
		_, err := enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(p.Context(), &enginev1.RegisterWorkflowRequest{Definition: fmt.Appendf(nil, src, more)})
		done(p, "", err)
	}
	runs := enginev1.NewRunServiceClient(p.as("operator"))
	started, err := runs.StartRun(p.Context(), &enginev1.StartRunRequest{Workflow: "ruled", SessionId: "s3", WorkflowVersion: 2})
	run := done(p, started, err).GetRun().GetRunId()
	_, err = runs.MigrateRun(p.Context(), &enginev1.MigrateRunRequest{RunId: run, ToVersion: 1})
	done(p, "", err)
	_, err = runs.ForceState(p.Context(), &enginev1.ForceStateRequest{RunId: run, State: "done"})
	done(p, "", err)
	checked, err := receipts.Check(p.receipt(run), keyOf(t, "deployment").Public(), nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Fatal(err, checked)
	}
	text := strings.Join(checked.Sentences(), "\n")
	for _, want := range []string{"operator moved it from version 2 to version 1.", `operator forced it from "work" to "done", past guards and approvals.`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// The proof leaves aside data of operators: a receipt of a run that may rest on that says so.
func TestSentenceOfWhatAnOperatorSends(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	_, err := enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(p.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(
		`{"id": "sent", "initial": "work", "context": {"ok": false}, "states": {"work": {"on": {"SET": "work", "GO": {"target": "done", "guard": "g"}}}, "done": {"type": "final"}},
		"guards": {"g": {"field": "ok", "op": "eq", "value": true, "source": "operator"}}}`)})
	done(p, "", err)
	runs := enginev1.NewRunServiceClient(p.as("operator"))
	started, err := runs.StartRun(p.Context(), &enginev1.StartRunRequest{Workflow: "sent", SessionId: "s4"})
	run := done(p, started, err).GetRun().GetRunId()
	for _, event := range []*enginev1.TransitionRunRequest{{Event: "SET", Data: []byte(`{"ok": true}`)}, {Event: "GO"}} {
		event.RunId = run
		moved, err := runs.TransitionRun(p.Context(), event)
		if !done(p, moved, err).GetAccepted() {
			t.Fatal(moved.GetRejection())
		}
	}
	checked, err := receipts.Check(p.receipt(run), keyOf(t, "deployment").Public(), nil)
	if err != nil || len(checked.Faults) > 0 {
		t.Fatal(err, checked)
	}
	if text := strings.Join(checked.Sentences(), "\n"); !strings.Contains(text, "an operator may have done so") {
		t.Error(text)
	}
}

// BenchmarkReceipt makes and checks receipts of runs with many decisions.
func BenchmarkReceipt(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		p := &receipt.Predicate{Namespace: "default", Partition: "run_1", RunID: "run_1"}
		for i := range n {
			p.Log = append(p.Log, receipt.Entry{Sequence: int64(i + 1), Record: fmt.Sprintf(`{"time":"2026-11-26T00:00:00Z","run_id":"run_1","message":%q}`, strings.Repeat("x", 400))})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				links, err := receipt.Chain(p.Namespace, p.Partition, p.Log)
				if err != nil {
					b.Fatal(err)
				}
				_ = receipt.CheckpointOf(p.Namespace, p.Partition, links)
			}
		})
	}
}

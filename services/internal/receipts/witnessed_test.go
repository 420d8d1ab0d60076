package receipts_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/receipts"
)

const tested = `{
	"id": "tested", "initial": "work",
	"states": {
		"work": {"allowed_tools": ["Read", "Bash"], "on": {"SHIP": {"target": "done", "guard": "green"}}},
		"done": {"type": "final"}
	},
	"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "after": "edit"}},
	"guards": {"green": {"evidence": "tests"}},
	"meta": {"capture_output": true}
}`

// S14.9: a receipt says which tests have passed on which files, by the witness of which jail; one whose witness is of
// no command in a jail does not hold.
func TestWitnessedReceipt(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	ctx := t.Context()
	_, err := enginev1.NewWorkflowServiceClient(p.as("operator")).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(tested)})
	done(p, "", err)
	started, err := enginev1.NewRunServiceClient(p.as("agent")).StartRun(ctx, &enginev1.StartRunRequest{Workflow: "tested", SessionId: "s1"})
	run := done(p, started, err).GetRun().GetRunId()

	const line, tree = "go test ./...", "tree:sha256:0011"
	agent, runtime := policyv1.NewPolicyEnforcerServiceClient(p.as("agent")), policyv1.NewPolicyEnforcerServiceClient(p.as("runtime"))
	checked, err := agent.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: run, Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`), JailLevel: 3})
	if done(p, checked, err).GetJail().GetDigest() == "" {
		t.Fatal(checked)
	}
	if _, err := agent.StartCommand(ctx, &policyv1.StartCommandRequest{RunId: run, CallId: checked.GetCallId(), Command: []byte(line), Level: 3}); err == nil {
		t.Error("an agent has started the command")
	}
	command, err := runtime.StartCommand(ctx, &policyv1.StartCommandRequest{RunId: run, CallId: checked.GetCallId(), Command: []byte(line), Level: 3})
	done(p, command, err)
	w := &jail.Witness{
		CallID: checked.GetCallId(), Profile: command.GetJail().GetDigest(), Level: 3, Started: time.Now(), Ended: time.Now(), TreeBefore: tree, TreeAfter: tree,
	}
	data, signature := w.Sign(command.GetKey())
	finished, err := runtime.FinishCommand(ctx, &policyv1.FinishCommandRequest{RunId: run, CallId: checked.GetCallId(), Witness: data, Signature: signature})
	if got := done(p, finished, err).GetEvidence(); len(got) != 1 || got[0] != "tests" {
		t.Errorf("it gives %v", got)
	}
	p.fire(run, "SHIP", "")

	genuine := p.receipt(run)
	key := keyOf(t, "deployment")
	found, err := receipts.Check(genuine, key.Public(), nil)
	if err != nil || len(found.Faults) > 0 {
		t.Fatal(err, found.Faults)
	}
	want := "a jail has witnessed tests on " + tree + ` (call "` + checked.GetCallId() + `", witness sha256:`
	if text := strings.Join(found.Sentences(), "\n"); !strings.Contains(text, want) {
		t.Errorf("%q is missing in\n%s", want, text)
	}
	check := independent(t)
	if out, ok := check(genuine, true); !ok || !strings.Contains(out, want) {
		t.Errorf("the independent checker says %s", out)
	}
	for name, do := range map[string]func(result object){
		"of another call":     func(r object) { r["call_id"] = "other" },
		"without its witness": func(r object) { delete(r, "witness") },
		"of other evidence":   func(r object) { r["evidence"] = []any{"ci"} },
	} {
		m := &tamperer{t: t, key: key, witness: keyOf(t, "witness")}
		if err := json.Unmarshal(genuine, &m.file); err != nil {
			t.Fatal(err)
		}
		m.payload = decoded(t, m.file["payload"])
		m.resign = m.key
		for i := range m.list("history") {
			if result, is := m.one("history", i)["tool_result"].(object); is {
				do(result)
			}
		}
		text := m.write()
		if lie, err := receipts.Check(text, key.Public(), nil); err != nil || len(lie.Faults) == 0 {
			t.Errorf("%s: interlock has not found it: %v", name, err)
		}
		if out, ok := check(text, true); ok {
			t.Errorf("%s: the independent checker says %s", name, out)
		}
	}
}

package allinone_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/tree"
)

const onFiles = `{
	"id": "onfiles", "initial": "work",
	"states": {"work": {"on": {"SHIP": {"target": "done", "guard": "green"}}}, "done": {"type": "final"}},
	"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "after": "edit"}},
	"guards": {"green": {"evidence": "tests"}}
}`

// S14.9: evidence that a jail has witnessed follows the files on the disk, which no call has changed.
func TestEvidenceFollowsTheDisk(t *testing.T) {
	t.Parallel()
	c, err := allinone.Start(t.Context(), allinone.Config{WithoutPresence: true, Data: datadir.Dir(t.TempDir()), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	workspace := t.TempDir()
	file := filepath.Join(workspace, "main.go")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "package main")
	write(filepath.Join(workspace, ".gitignore"), "*.log\n")

	conn := connect(t, c, "runtime")
	runs, policy := enginev1.NewRunServiceClient(conn), policyv1.NewPolicyEnforcerServiceClient(conn)
	operator := connect(t, c, "operator")
	_, err = enginev1.NewWorkflowServiceClient(operator).RegisterWorkflow(t.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(onFiles)})
	must(t, err)
	started, err := runs.StartRun(t.Context(), &enginev1.StartRunRequest{Workflow: "onfiles", SessionId: "s", Workspace: workspace})
	must(t, err)
	run := started.GetRun().GetRunId()

	checked, err := policy.CheckToolCall(t.Context(), &policyv1.CheckToolCallRequest{
		RunId: run, Tool: "Bash", Input: []byte(`{"command": "go test ./..."}`), Folder: workspace, JailLevel: 3,
	})
	must(t, err)
	command, err := policy.StartCommand(t.Context(), &policyv1.StartCommandRequest{RunId: run, CallId: checked.GetCallId(), Command: []byte("go test ./..."), Level: 3})
	must(t, err)
	now, err := tree.Digest(t.Context(), workspace, "")
	must(t, err)
	w := &jail.Witness{
		CallID: checked.GetCallId(), Profile: command.GetJail().GetDigest(), Level: 3, Started: time.Now(), Ended: time.Now(),
		TreeBefore: now.Digest, TreeAfter: now.Digest,
	}
	data, signature := w.Sign(command.GetKey())
	_, err = policy.FinishCommand(t.Context(), &policyv1.FinishCommandRequest{RunId: run, CallId: checked.GetCallId(), Witness: data, Signature: signature})
	must(t, err)

	ships := func(what string, dry, want bool) {
		t.Helper()
		got, err := runs.TransitionRun(t.Context(), &enginev1.TransitionRunRequest{RunId: run, Event: "SHIP", DryRun: dry})
		must(t, err)
		if got.GetAccepted() != want || !want && !strings.Contains(got.GetRejection().GetMessage(), "a change of files since") {
			t.Errorf("%s: %v", what, got)
		}
	}
	ships("the files of the tests", true, true)
	write(file, "package changed")
	ships("a file was changed without a call", true, false)
	write(file, "package main")
	ships("it was taken back", true, true)
	write(filepath.Join(workspace, "new.go"), "package main")
	ships("a file is new", true, false)
	must(t, os.Remove(filepath.Join(workspace, "new.go")))
	write(filepath.Join(workspace, "x.log"), "ignored")
	edit, err := policy.CheckToolCall(t.Context(), &policyv1.CheckToolCallRequest{RunId: run, Tool: "Write", Input: []byte(`{"file_path": "a.go", "content": "x"}`)})
	must(t, err)
	if edit.GetDecision() != policyv1.Decision_DECISION_ALLOW {
		t.Fatal(edit)
	}
	got, err := runs.GetRun(t.Context(), &enginev1.GetRunRequest{RunId: run})
	must(t, err)
	if e := got.GetRun().GetEvidence()[0]; !e.GetHeld() || e.GetTree() != now.Digest {
		t.Errorf("%v", e)
	}
	ships("an ignored file is new, and an edit is open that has changed nothing", false, true)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connect is a connection of a role.
func connect(t *testing.T, c *allinone.Server, role string) *grpc.ClientConn {
	t.Helper()
	text, err := os.ReadFile(c.TokensFile)
	must(t, err)
	var tokens map[string]string
	must(t, json.Unmarshal(text, &tokens))
	conn, err := rpc.Dial(c.Endpoints.GRPC, rpc.ClientConfig{Token: tokens[role]})
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

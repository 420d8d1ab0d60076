package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
)

// shellServer starts an edge whose shell runs lines without a jail, in a state that allows Bash.
func shellServer(t *testing.T, p *plane, change func(*Config)) (s *Server, workspace string) {
	t.Helper()
	p.states["testing"] = planeState{restricted: true, allowed: []string{"Bash"}, events: map[string]string{"DEPLOY": "deploying"}}
	p.start("s1")
	if p.onCheck == nil {
		p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			res, err := p.judge(in)
			if res.GetDecision() == policyv1.Decision_DECISION_ALLOW && in.GetJailLevel() > 0 {
				res.Jail = &policyv1.Jail{Level: in.GetJailLevel(), Digest: "sha256:x", Profile: []byte(`{}`)}
			}
			return res, err
		}
	}
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(workspace+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	return server(t, p, func(c *Config) {
		c.Alone, c.Stdio.Workspace = true, workspace
		c.Shell = &gate.Shell{Level: 3, Argv: func(run, call, line string) []string {
			return []string{"/bin/bash", "-c", line, run, call}
		}}
		if change != nil {
			change(c)
		}
	}), workspace
}

// TestShell: a command line is judged as Bash with the level of its jail, run in its folder,
// and reported.
func TestShell(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s, workspace := shellServer(t, p, nil)
	session := overStdio(t, s, "2025-06-18", nil)
	result := call(t, session, "shell", `{"command": "echo out; echo err >&2; pwd; echo $0", "folder": "sub"}`)
	wantOK(t, result, "out\nerr\n"+workspace+"/sub\n", p.drives["s1"])
	if structured, ok := result.StructuredContent.(map[string]any); !ok || structured["exit_status"] != 0. || structured["jail_level"] != 3. {
		t.Errorf("%v", result.StructuredContent)
	}
	check := p.checks[len(p.checks)-1]
	if check.GetTool() != "Bash" || check.GetJailLevel() != 3 || check.GetFolder() != workspace+"/sub" || !strings.Contains(string(check.GetInput()), `"command":`) {
		t.Errorf("%v", check)
	}
	if report := p.lastReport(); report.GetTool() != "Bash" || !report.GetOk() || report.GetResultBytes() == 0 || report.GetCallId() != check.GetCallId() {
		t.Errorf("%v", report)
	}
	result = call(t, session, "shell", `{"command": "echo no; exit 3"}`)
	if !result.IsError || !strings.Contains(textOf(result), "no\n\nExit status: 3") || p.lastReport().GetOk() {
		t.Errorf("%v, %v", textOf(result), p.lastReport())
	}
}

// TestShellIsJudged: a command that the state does not allow, or that has no jail, is not run.
func TestShellIsJudged(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s, workspace := shellServer(t, p, nil)
	session := overStdio(t, s, "2025-06-18", nil)
	p.change(p.drives["s1"], func(run *enginev1.Run) { run.Rules.AllowedTools = []string{"Read"} })
	wantRefused(t, call(t, session, "shell", `{"command": "touch x"}`), "TOOL_NOT_ALLOWED")
	p.change(p.drives["s1"], func(run *enginev1.Run) { run.Rules.AllowedTools = []string{"Bash"} })
	p.mu.Lock()
	p.onCheck = nil // it gives no jail
	p.mu.Unlock()
	wantRefused(t, call(t, session, "shell", `{"command": "touch x"}`), "JAIL_REQUIRED", "in a jail only")
	if report := p.lastReport(); report.GetOk() || !report.GetOutcomeUnknown() && report.GetResultBytes() == 0 {
		t.Errorf("%v", report)
	}
	p.mu.Lock()
	delete(p.drives, "s1")
	p.mu.Unlock()
	wantRefused(t, call(t, session, "shell", `{"command": "touch x"}`), "NO_WORKFLOW")
	for arguments, words := range map[string]string{
		`{}`:                                         "command",
		`{"command": "x", "folder": "/etc"}`:         "not in the workspace",
		`{"command": "x", "folder": ".."}`:           "not in the workspace",
		`{"command": "x", "folder": "link"}`:         "not in the workspace",
		`{"command": "x", "folder": "none"}`:         "no such file",
		`{"command": "x", "folder": "file"}`:         "not a folder",
		`{"command": "x", "timeout_seconds": 10000}`: "timeout_seconds",
		`{"command": "x", "jail": 0}`:                "jail",
	} {
		os.Symlink("/etc", workspace+"/link")               // it may be there
		os.WriteFile(workspace+"/file", []byte("x"), 0o600) // the row fails
		wantRefused(t, call(t, session, "shell", arguments), "INVALID_ARGUMENT", words)
	}
	if _, err := os.Stat(workspace + "/x"); err == nil {
		t.Error("a refused command was run")
	}
}

// TestShellIsListed: clients that get notifications see the tool where the state allows Bash, and
// no client over HTTP has it.
func TestShellIsListed(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s, _ := shellServer(t, p, nil)
	session := overStdio(t, s, "2025-06-18", nil)
	if got := toolNames(t, session); !slices.Contains(got, "shell") {
		t.Error("where Bash is allowed: ", got)
	}
	wantOK(t, call(t, session, "transition", `{"event": "DEPLOY"}`))
	if got := toolNames(t, session); slices.Contains(got, "shell") {
		t.Error("where it is not: ", got)
	}
	stateless := overStdio(t, s, wire.ProtocolStateless, nil)
	if got := toolNames(t, stateless); !slices.Contains(got, "shell") {
		t.Error("in a list that must not vary: ", got)
	}
	web := overHTTP(t, endpoint(t, s)+"?session=s1&workspace=/tmp", "2025-06-18", nil, nil)
	if got := toolNames(t, web); slices.Contains(got, "shell") {
		t.Error("over HTTP: ", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := web.CallTool(ctx, &sdk.CallToolParams{Name: "shell", Arguments: json.RawMessage(`{"command":"true"}`)}); err == nil {
		t.Error("called over HTTP")
	}
	plain := server(t, newPlane(), nil)
	if got := toolNames(t, overStdio(t, plain, wire.ProtocolStateless, nil)); slices.Contains(got, "shell") {
		t.Error("without a jail: ", got)
	}
}

// TestShellIsStopped: when its time is up, and when the client cancels, a command ends, and the call
// is reported.
func TestShellIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s, workspace := shellServer(t, p, nil)
	session := overStdio(t, s, "2025-06-18", nil)
	result := call(t, session, "shell", `{"command": "echo began; exec sleep 600", "timeout_seconds": 1}`)
	if !result.IsError || !strings.Contains(textOf(result), "began\n") || !strings.Contains(textOf(result), "its time was up") {
		t.Error(textOf(result))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "shell", Arguments: json.RawMessage(`{"command": "touch began; exec sleep 600"}`)})
		ended <- err
	}()
	eventually(t, "it has begun", func() bool { _, err := os.Stat(workspace + "/began"); return err == nil })
	_, before := p.counts()
	cancel()
	<-ended
	eventually(t, "it is reported", func() bool { _, after := p.counts(); return after > before })
}

// TestShellOutput: output is bounded.
func TestShellOutput(t *testing.T) {
	t.Parallel()
	s, _ := shellServer(t, newPlane(), nil)
	result := call(t, overStdio(t, s, "2025-06-18", nil), "shell", `{"command": "yes | head -c 3000000; echo end"}`)
	wantOK(t, result, "y\ny\n", "bytes are left out here", "y\nend\n")
	if size := len(textOf(result)); size > 64<<10+200 {
		t.Errorf("%d bytes", size)
	}
}

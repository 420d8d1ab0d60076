package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// TestSubagentsWorkInBranches: S5.3 as Claude Code does it. All subagents share
// one MCP connection; the hook distinguishes them, by agent_id, and names them in
// the input of Interlock's own tools.
func TestSubagentsWorkInBranches(t *testing.T) {
	t.Parallel()
	clients := nodeModules(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	c := w.as(t, auth.Agent)
	c.register(t, pipelineSuite)
	c.register(t, pipeline)
	c.begin(t, &enginev1.StartRunRequest{Workflow: "pipeline", SessionId: "conversation"})
	c.moveSession(t, "conversation", "BUILT")
	s := &subagents{t: t, up: u, client: startWalker(t, clients)}

	// Unbound, a subagent is judged as its parent: in the first branch.
	s.judged("sub-1", "Lint", "allow")
	s.judged("sub-1", "Types", "deny")
	for agent, branch := range map[string]string{"sub-1": "types", "sub-2": "lint"} {
		if said := s.own(agent, "load_workflow", map[string]any{"name": "pipeline", "branch": branch}); said.IsError || !strings.Contains(said.Text, branch) {
			t.Fatalf("%s takes %s: %+v", agent, branch, said)
		}
	}
	s.judged("sub-1", "Types", "allow")
	s.judged("sub-1", "Lint", "deny")
	s.judged("sub-2", "Lint", "allow")
	s.judged("", "Tests", "allow") // the rest for the main agent
	s.judged("", "Types", "deny")
	if said := s.own("sub-1", "transition", map[string]any{"event": "OK"}); said.IsError {
		t.Fatalf("sub-1 ends its branch: %+v", said)
	}
	s.judged("sub-1", "Types", "deny")
	// The main agent cannot pass for a subagent.
	if input := s.rewritten("", "transition", map[string]any{"event": "OK", "agent": "sub-2"}); input["agent"] != nil {
		t.Errorf("the main agent's call goes as %v", input)
	}
	if said := s.own("sub-2", "transition", map[string]any{"event": "OK"}); said.IsError {
		t.Fatalf("sub-2 ends its branch: %+v", said)
	}
	for _, event := range []string{"RUN", "GREEN"} {
		if said := s.own("", "transition", map[string]any{"event": event}); said.IsError {
			t.Fatalf("the main agent: %+v", said)
		}
	}
	s.judged("", "Ship", "allow")
	s.judged("sub-2", "Ship", "deny")
}

func (c *caller) moveSession(t testing.TB, session, event string) *enginev1.Run {
	t.Helper()
	resp := must[*enginev1.TransitionRunResponse](t)(c.runs.TransitionRun(within(t), &enginev1.TransitionRunRequest{SessionId: session, Event: event}))
	if !resp.GetAccepted() {
		t.Fatalf("%s: %s", event, resp.GetRejection().GetMessage())
	}
	return resp.GetRun()
}

// subagents is a conversation of Claude Code: its hooks, and its MCP connection.
type subagents struct {
	t      *testing.T
	up     *together
	client *walker
	calls  int
}

// hook is the answer to a PreToolUse event; empty when there is none.
func (s *subagents) hook(agent, tool string, input map[string]any) map[string]any {
	s.t.Helper()
	s.calls++
	event := map[string]any{
		"session_id": "conversation", "hook_event_name": "PreToolUse", "cwd": "/repo", "tool_name": tool,
		"tool_input": input, "tool_use_id": fmt.Sprint("call", s.calls),
	}
	if agent != "" {
		event["agent_id"], event["agent_type"] = agent, "general-purpose"
	}
	cmd := exec.Command(binary(s.t, "interlock"), "hook", "--data-dir", string(s.up.data))
	cmd.Env = cleanEnv()
	cmd.Stdin = bytes.NewReader(must[[]byte](s.t)(json.Marshal(event)))
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("hook %s %s: %v", agent, tool, err)
	}
	var answer struct {
		Output map[string]any `json:"hookSpecificOutput"`
	}
	if len(bytes.TrimSpace(out)) > 0 {
		if err := json.Unmarshal(out, &answer); err != nil {
			s.t.Fatalf("hook %s %s: %v in %s", agent, tool, err, out)
		}
	}
	return answer.Output
}

func (s *subagents) judged(agent, tool, want string) {
	s.t.Helper()
	if got := s.hook(agent, tool, map[string]any{}); got["permissionDecision"] != want {
		s.t.Errorf("%s of %q: %v, want %s", tool, agent, got, want)
	}
}

// rewritten is the input of an own tool as the hook lets it go.
func (s *subagents) rewritten(agent, tool string, input map[string]any) map[string]any {
	s.t.Helper()
	if updated, ok := s.hook(agent, "mcp__interlock__"+tool, input)["updatedInput"].(map[string]any); ok {
		return updated
	}
	return input
}

// own calls one of Interlock's own tools, past the hook, on the conversation's one
// connection.
func (s *subagents) own(agent, tool string, input map[string]any) said {
	s.t.Helper()
	return s.client.call(s.t, map[string]any{
		"url": s.up.http, "token": s.up.tokens[auth.Agent], "session": "conversation", "workspace": "/repo",
		"tool": tool, "arguments": s.rewritten(agent, tool, input),
	})
}

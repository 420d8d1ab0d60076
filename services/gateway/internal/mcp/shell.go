package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Shell runs command lines of the client on stdio in jails.
type Shell struct {
	// Level of the jails, 1 to 3.
	Level int
	// Argv returns the command that claims an allowed call of a run, and runs its line in a jail.
	Argv func(run, call, line string) []string
	// Env is the environment of that command; nil for that of this process.
	Env []string
}

const (
	// shellName is the name of the tool, without a prefix.
	shellName = "shell"
	// judgedAs is the tool that states and policies have rules about.
	judgedAs = "Bash"

	defaultCommandTime = 2 * time.Minute
	longestCommand     = 10 * time.Minute
	// maxCommandOutput bounds the output that an agent gets of a command.
	maxCommandOutput = 64 << 10
	// endCommand is how long a command that is stopped has, until it is killed.
	endCommand = 8 * time.Second
)

// shellTool is the tool that runs command lines. It is gated as the shell of the state is (S20.12).
var shellTool = &ownTool{
	name: shellName, title: "Run a command", destructive: true,
	description: "Runs a command line of bash in the workspace, in a jail that the kernel holds: it may do what the state allows. " +
		"In a state that only reads, changes of files are discarded. The state allows it where it allows the tool Bash. " +
		"The result is the output, and the exit status.",
	params: []arguments.Param{
		{Name: "command", Kind: document.String, Required: true, MaxBytes: 64 << 10, Description: "The command line."},
		{
			Name: "timeout_seconds", Kind: document.Number, Max: int64(longestCommand / time.Second),
			Description: "When the command is stopped; 120 by default.",
		},
		{Name: "folder", Kind: document.String, MaxBytes: caller.MaxWorkspace, Description: "Where it starts, relative to the workspace; the workspace by default."},
	},
}

// ranView is the structured content of a command that was run.
type ranView struct {
	ExitStatus int    `json:"exit_status"`
	Output     string `json:"output"`
	TimedOut   bool   `json:"timed_out,omitzero"`
	LeftOut    int    `json:"bytes_left_out,omitzero"`
	Jail       int    `json:"jail_level"`
}

// offersShell reports that a caller can have the tool.
func (s *Server) offersShell(c caller.Caller) bool {
	return s.cfg.Shell != nil && c.Alone && c.Workspace != ""
}

// callShell puts a command line before the gate and, when it is allowed, into a jail.
func (s *Server) callShell(ctx context.Context, c caller.Caller, req *sdk.CallToolRequest) sdk.Result {
	s.life.inflight.Add(1)
	defer s.life.inflight.Done()
	args, err := arguments.Parse(req.Params.Arguments, s.cfg.ToolPrefix+shellName, shellTool.params)
	var folder string
	if err == nil {
		folder, err = folderOf(c.Workspace, args.Text("folder"))
	}
	if err != nil {
		return reply.Complete(req, reply.Refusal{Code: reply.CodeInvalidArgument, Message: err.Error()}.Result())
	}
	line := args.Text("command")
	g := &gated{
		caller: c, name: judgedAs, callID: newCallID(), folder: folder, jail: s.cfg.Shell.Level,
		input:  relay.Object([]relay.Member{{Name: "command", Value: relay.Quote(line)}}),
		target: &upstream.Tool{Tool: &sdk.Tool{Name: judgedAs}, Qualified: judgedAs},
	}
	if answer := s.admitCall(ctx, g); answer != nil {
		return reply.Complete(req, answer)
	}
	if refused := s.unjailed(ctx, g); refused != nil {
		s.settle(ctx, g, refused.Text())
		return reply.Complete(req, refused.Result())
	}
	limit := cmp.Or(time.Duration(args.Integer("timeout_seconds"))*time.Second, defaultCommandTime)
	ran, err := s.runCommand(ctx, g, line, limit)
	if err != nil {
		failed := reply.Refusal{Code: reply.CodeShellFailed, CallID: g.callID, Lead: "Failed", Message: "the command was not run: " + err.Error()}
		s.settle(ctx, g, failed.Text())
		return reply.Complete(req, failed.Result())
	}
	g.answered, g.done = true, ran.ExitStatus == 0
	result := reply.Text(ran.result())
	s.settle(ctx, g, result).addTo(result)
	return reply.Written(&sdk.CallToolResult{}, result, req.ProtocolVersion())
}

// unjailed refuses an allowed call that has no jail to run in, or whose caller has left.
func (s *Server) unjailed(ctx context.Context, g *gated) *reply.Refusal {
	switch {
	case ctx.Err() != nil:
		return s.refuseUndecided(ctx.Err())
	case g.admitted.GetRunId() == "":
		return reply.NoWorkflow(g.caller.SessionID, s.cfg.ToolPrefix)
	case g.admitted.GetJail() == nil:
		return &reply.Refusal{
			Decision: "DENY", Code: reply.CodeJailRequired, CallID: g.callID, Lead: "Denied",
			Message: "this tool runs commands in a jail only, and the policy service has given none: its --jail may be off; use another tool",
		}
	}
	return nil
}

// folderOf returns the absolute path of a folder in the workspace.
func folderOf(workspace, folder string) (string, error) {
	path := filepath.Join(workspace, folder)
	if filepath.IsAbs(folder) {
		path = filepath.Clean(folder)
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", fmt.Errorf("the workspace %s cannot be read: %w", workspace, errors.Unwrap(err))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("the folder %s cannot be read: %w", reply.Clip(folder, 128), cmp.Or(errors.Unwrap(err), err))
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", reply.Clip(folder, 128))
	}
	if within, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(within) {
		return "", fmt.Errorf("the folder %s is not in the workspace %s", reply.Clip(folder, 128), workspace)
	}
	return real, nil
}

// runCommand runs the line of an allowed call in its jail until it ends, its time is up, or the client
// cancels it. An error means that it did not run.
func (s *Server) runCommand(ctx context.Context, g *gated, line string, limit time.Duration) (*ranView, error) {
	defer clients.Progress(ctx, g.caller.Call, s.cfg.progressEvery, limit, "running a command")()
	argv := s.cfg.Shell.Argv(g.admitted.GetRunId(), g.callID, line)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.life.calls, cancel)()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...) // it runs the line in a jail
	out := &ends{limit: maxCommandOutput}
	cmd.Env = s.cfg.Shell.Env
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = g.folder, out, out, endCommand
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, err
	}
	ran := &ranView{ExitStatus: cmd.ProcessState.ExitCode(), TimedOut: errors.Is(limited.Err(), context.DeadlineExceeded), Jail: int(g.admitted.GetJail().GetLevel())}
	ran.Output, ran.LeftOut = out.text()
	return ran, nil
}

// result returns the text for the agent.
func (r *ranView) result() *sdk.CallToolResult {
	lines := []string{r.Output}
	switch {
	case r.TimedOut:
		lines = append(lines, "[INTERLOCK] The command was stopped: its time was up. Give timeout_seconds for more.")
	case r.ExitStatus != 0:
		lines = append(lines, fmt.Sprintf("Exit status: %d", r.ExitStatus))
	}
	res := reply.Answer(strings.TrimPrefix(strings.Join(lines, "\n"), "\n"), r)
	res.IsError = r.ExitStatus != 0 || r.TimedOut
	return res
}

// ends keeps the beginning and the end of the output.
type ends struct {
	limit int

	mu         sync.Mutex
	head, tail []byte
	left       int
}

// Write implements io.Writer.
func (e *ends) Write(data []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(data)
	room := min(e.limit/2-len(e.head), len(data))
	e.head, data = append(e.head, data[:room]...), data[room:]
	if e.tail = append(e.tail, data...); len(e.tail) > e.limit {
		e.cut()
	}
	return n, nil
}

// cut leaves out all but the end of the tail.
func (e *ends) cut() {
	if over := len(e.tail) - e.limit/2; over > 0 {
		e.left += over
		e.tail = bytes.Clone(e.tail[over:])
	}
}

// text returns the output, and how many bytes of it are left out.
func (e *ends) text() (string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut()
	middle := ""
	if e.left > 0 {
		middle = fmt.Sprintf("\n[INTERLOCK] %d bytes are left out here.\n", e.left)
	}
	return strings.ToValidUTF8(string(e.head), "\uFFFD") + middle + strings.ToValidUTF8(string(e.tail), "\uFFFD"), e.left
}

package gate

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

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
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
	// ShellName is the name of the tool that runs command lines, without a prefix.
	ShellName = "shell"
	// CheckedAs is the tool by which command lines are checked: states and policies have rules about it.
	CheckedAs = "Bash"

	defaultCommandTime = 2 * time.Minute
	longestCommand     = 10 * time.Minute
	// maxCommandOutput bounds the output that an agent gets of a command.
	maxCommandOutput = 64 << 10
	// endCommand is how long a command that is stopped has, until it is killed.
	endCommand = 8 * time.Second
)

var shellParams = []arguments.Param{
	{Name: "command", Kind: document.String, Required: true, MaxBytes: 64 << 10, Description: "The command line."},
	{
		Name: "timeout_seconds", Kind: document.Number, Max: int64(longestCommand / time.Second),
		Description: "When the command is stopped; 120 by default.",
	},
	{Name: "folder", Kind: document.String, MaxBytes: caller.MaxWorkspace, Description: "Where it starts, relative to the workspace; the workspace by default."},
}

// ShellTool returns the tool that runs command lines. It is gated as the shell of the state is (S20.12).
func (g *Gate) ShellTool() *sdk.Tool {
	yes := true
	return &sdk.Tool{
		Name: g.cfg.ToolPrefix + ShellName, Title: "Run a command", InputSchema: arguments.Schema(shellParams),
		Description: "Runs a command line of bash in the workspace, in a jail that the kernel holds: it may do what the state allows. " +
			"In a state that only reads, changes of files are discarded. The state allows it where it allows the tool Bash. " +
			"The result is the output, and the exit status.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes},
	}
}

// ranView is the structured content of a command that was run.
type ranView struct {
	ExitStatus int    `json:"exit_status"`
	Output     string `json:"output"`
	TimedOut   bool   `json:"timed_out,omitzero"`
	LeftOut    int    `json:"bytes_left_out,omitzero"`
	Jail       int    `json:"jail_level"`
}

// OffersShell reports whether a caller can have the tool.
func (g *Gate) OffersShell(c caller.Caller) bool {
	return g.cfg.Shell != nil && c.Alone && c.Workspace != ""
}

// JailText describes the jail of a caller's command lines in a run; empty where it has none.
// asked is the run that the caller drives or names.
func (g *Gate) JailText(ctx context.Context, c caller.Caller, run *enginev1.Run, asked string) string {
	if !g.OffersShell(c) || !c.Bound() {
		return ""
	}
	question := brief.JailQuestion(asked, run, CheckedAs, int32(g.cfg.Shell.Level)) //nolint:gosec // 0 to 3
	if question == nil {
		return ""
	}
	decision, err := g.cfg.Policy.CheckToolCall(ctx, question)
	if err != nil {
		return ""
	}
	return brief.Jail(decision)
}

// CallShell runs a command line in a jail when it is allowed.
func (g *Gate) CallShell(ctx context.Context, c caller.Caller, req *sdk.CallToolRequest) sdk.Result {
	g.inflight.Add(1)
	defer g.inflight.Done()
	args, err := arguments.Parse(req.Params.Arguments, g.cfg.ToolPrefix+ShellName, shellParams)
	var folder string
	if err == nil {
		folder, err = folderOf(c.Workspace, args.Text("folder"))
	}
	if err != nil {
		return reply.Complete(req, reply.Refusal{Code: reply.CodeInvalidArgument, Message: err.Error()}.Result())
	}
	line := args.Text("command")
	call := Identified{
		caller: c, name: CheckedAs, id: typeid.New(typeid.Call), folder: folder, jail: g.cfg.Shell.Level,
		input:  relay.Object([]relay.Member{{Name: "command", Value: relay.Quote(line)}}),
		target: &upstream.Tool{Tool: &sdk.Tool{Name: CheckedAs}, Qualified: CheckedAs},
	}
	allowed, answer := g.checkAndAwait(ctx, call)
	if answer != nil {
		return reply.Complete(req, answer)
	}
	limit := cmp.Or(time.Duration(args.Integer("timeout_seconds"))*time.Second, defaultCommandTime)
	sent, refused := g.sendCommand(ctx, allowed, line, limit)
	reported := g.report(ctx, sent)
	if refused != nil {
		return reply.Complete(req, refused.Result())
	}
	return reply.Written(&sdk.CallToolResult{}, reported.result(), req.ProtocolVersion())
}

// sendCommand runs the line of an allowed call. refused is why it did not run.
func (g *Gate) sendCommand(ctx context.Context, allowed Allowed, line string, limit time.Duration) (_ Sent, refused *reply.Refusal) {
	if refused := g.refuseUnjailed(ctx, allowed); refused != nil {
		return Sent{Allowed: allowed, text: refused.Text()}, refused
	}
	ran, err := g.runCommand(ctx, allowed, line, limit)
	if err != nil {
		failed := reply.Refusal{Code: reply.CodeShellFailed, CallID: allowed.id, Lead: "Failed", Message: "the command was not run: " + err.Error()}
		return Sent{Allowed: allowed, text: failed.Text()}, &failed
	}
	return Sent{Allowed: allowed, answered: true, done: ran.ExitStatus == 0, text: reply.Text(ran.result())}, nil
}

// refuseUnjailed refuses an allowed call that has no jail to run in, or whose caller has left.
func (g *Gate) refuseUnjailed(ctx context.Context, allowed Allowed) *reply.Refusal {
	switch {
	case ctx.Err() != nil:
		return g.refuseUndecided(ctx.Err())
	case allowed.decision.GetRunId() == "":
		return reply.NoWorkflow(allowed.caller.SessionID, g.cfg.ToolPrefix)
	case allowed.decision.GetJail() == nil:
		return &reply.Refusal{
			Decision: "DENY", Code: reply.CodeJailRequired, CallID: allowed.id, Lead: "Denied",
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
func (g *Gate) runCommand(ctx context.Context, allowed Allowed, line string, limit time.Duration) (*ranView, error) {
	defer clients.Progress(ctx, allowed.caller.Call, g.cfg.ProgressEvery, limit, "running a command")()
	argv := g.cfg.Shell.Argv(allowed.decision.GetRunId(), allowed.id, line)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(g.cfg.Calls, cancel)()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...) // it runs the line in a jail
	out := &ends{limit: maxCommandOutput}
	cmd.Env = g.cfg.Shell.Env
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = allowed.folder, out, out, endCommand
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return nil, err
	}
	ran := &ranView{ExitStatus: cmd.ProcessState.ExitCode(), TimedOut: errors.Is(limited.Err(), context.DeadlineExceeded), Jail: int(allowed.decision.GetJail().GetLevel())}
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

package jail

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
)

type showCommand struct {
	client.Connection
	run.BranchFlag
	RunID string `name:"run" required:"" help:"Id of the run, or its beginning; @last for the newest." placeholder:"RUN"`
	State string `help:"Show another state of the run's workflow, without regard to policies." placeholder:"STATE"`
	Tool  string `help:"Name of the shell tool." default:"Bash" placeholder:"TOOL"`
	Why   string `help:"Explain one entry instead: a path, a host or a variable." placeholder:"ENTRY"`
	JSON  bool   `name:"json" help:"Print the profile as it is stored."`
	Line  string `arg:"" optional:"" help:"The command line; its programs may be lent credentials. Without one: the jail of any line of the state, without regard to policies and to what allowed_commands lends."`
}

// Run prints the profile that a command line would get in the state of a run, in words; without a line, that of the state.
func (c *showCommand) Run(ctx context.Context, io console.Streams) error {
	input, err := json.Marshal(map[string]string{"command": cmp.Or(c.Line, "true")})
	if err != nil {
		return fmt.Errorf("write the call: %w", err)
	}
	var found answer
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) (err error) {
		if c.RunID, err = client.RunID(ctx, conn, c.RunID); err != nil {
			return err
		}
		if c.State != "" || c.Line == "" {
			found, err = c.inState(ctx, conn, input)
			return err
		}
		resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCall(ctx, &policyv1.CheckToolCallRequest{
			RunId: c.RunID, Branch: c.Branch, Tool: c.Tool, Input: input, DryRun: true, JailLevel: int32(jail.Full),
		})
		found = answer{resp.GetDecision() == policyv1.Decision_DECISION_ALLOW, resp.GetMessage(), resp.GetJail().GetProfile()}
		return err
	})
	switch {
	case err != nil:
		return err
	case !found.allowed:
		fmt.Fprintln(io.Out, show.Text(found.message))
		return console.ErrNo
	case found.profile == nil:
		fmt.Fprintln(io.Out, "this call runs in no jail")
		return console.ErrNo
	}
	profile := &jail.Profile{}
	if err := json.Unmarshal(found.profile, profile); err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	text := strings.Join(profile.Words(), "\n")
	switch {
	case c.JSON:
		text = string(found.profile)
	case c.Why != "":
		home, _ := os.UserHomeDir()
		text = profile.Why(ofHome(home, profile.Workspace, c.Why))
	}
	for line := range strings.Lines(text) {
		fmt.Fprintln(io.Out, show.Text(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// answer has the jail of a call: why the call is denied, or its profile in JSON.
type answer struct {
	allowed bool
	message string
	profile []byte
}

// inState judges the call in a state of the run's workflow: another one, or that of the run.
func (c *showCommand) inState(ctx context.Context, conn grpc.ClientConnInterface, input []byte) (answer, error) {
	got, err := enginev1.NewRunServiceClient(conn).GetRun(ctx, &enginev1.GetRunRequest{RunId: c.RunID, Branch: c.Branch})
	if err != nil {
		return answer{}, err
	}
	r := got.GetRun()
	registered, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: r.GetWorkflow(), Version: r.GetWorkflowVersion()})
	if err != nil {
		return answer{}, err
	}
	m, err := definition.Flags{}.Compile(registered.GetWorkflow().GetDefinition(), r.GetWorkflowVersion())
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", r.GetWorkflow(), err)
	}
	state := cmp.Or(c.State, r.GetState())
	if m.State(state).Name == "" {
		return answer{}, fmt.Errorf("workflow %s has no state %q", r.GetWorkflow(), state)
	}
	imagined := &workflow.Run{Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(), ID: r.GetRunId(), Workspace: r.GetWorkspace(), Status: workflow.Running, Lane: workflow.Lane{State: state, Entry: 1}}
	at := imagined.At("")
	v := toolcall.Decide(m.Machine, &at, facet.InRun(m.Machine, &at, toolcall.Call{Tool: c.Tool, Input: input, Jail: jail.Full}))
	jailed := v.Jail != nil || v.Decision != toolcall.Allow // an allowed call without a jail is of a tool that runs no lines
	if c.Line == "" && jailed && v.Code != toolcall.CodeToolNotAllowed {
		p := toolcall.ProfileIn(&at, m.State(state))
		return answer{allowed: true, profile: p.JSON()}, nil
	}
	found := answer{allowed: v.Decision == toolcall.Allow, message: v.Message(m.Machine, &at)}
	if v.Jail != nil {
		found.profile = v.Jail.JSON()
	}
	return found, nil
}

// ofHome returns a path of the home folder as profiles have it: a shell has expanded the ~ of an
// argument.
func ofHome(home, workspace, entry string) string {
	rest, inside := strings.CutPrefix(entry, home+"/")
	if home == "" || !inside || workspace != "" && strings.HasPrefix(entry+"/", workspace+"/") {
		return entry
	}
	return "~/" + rest
}

type tryCommand struct {
	Line string `arg:"" help:"The command line, as one word after --."`
}

// Run runs a line of a person's in the jail of a state that only reads. No server is asked, and the run is not
// recorded.
func (c *tryCommand) Run(ctx context.Context, io console.Streams) error {
	folder, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	seen, err := jailclient.Try(ctx, folder, c.Line)
	if err != nil {
		return err
	}
	if len(seen.Tried) > 0 {
		fmt.Fprintf(io.Err, "interlock jail: discarded: %s\n", show.Text(strings.Join(seen.Tried, " ")))
	}
	if status := jailclient.Status(seen); status != 0 {
		return Status(status)
	}
	return nil
}

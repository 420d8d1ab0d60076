// Package hook translates between the hooks of coding agents and Interlock's contracts.
// It fails closed: an event that cannot be decided blocks. By itself it denies only for the reasons in reasonToDeny, tooLong and
// inItsJail, which only it can see.
package hook

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// Exit codes of a hook command: 2 blocks the act that the agent was about to do and shows
// it standard error.
const (
	exitDone  = 0
	exitBlock = 2
)

// autostartKey makes concurrent hooks of one session start one run.
const autostartKey = "hook-autostart"

// Answer is the effect of the hook command: print and exit.
type Answer struct {
	Exit   int    `json:"exit"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Handler responds to hook events through the services.
type Handler struct {
	Runs   enginev1.RunServiceClient
	Policy policyv1.PolicyEnforcerServiceClient
	// Sessions is the state-store; without it no session shares a state.
	Sessions statev1.SessionServiceClient
	// Processes asks the questions of processes; without it there are none.
	Processes enginev1.ProcessServiceClient
	// Approvals is waited on for decisions of people; without it there is no wait.
	Approvals approvalv1.ApprovalServiceClient
	// PublicURL is where people reach the gateway; empty for no links to approvals.
	PublicURL string
	// Places are where Interlock is on the machine that agents run on too.
	Places toolcall.Places
	// Undecided is notified of each call that was blocked because it could not be decided;
	// nil if there is none.
	Undecided func(error)
}

// Options of one hook event.
type Options struct {
	Agent Agent // ClaudeCode when empty
	// Workflow, when not empty, is the one that sessions must be on: one without a run
	// is put on it, and calls of one that drives a run of another are denied.
	Workflow string
	// Session, when not empty, is the session to work on instead of the event's: that of
	// clients whose MCP servers do not know the event's.
	Session string
	// Observe records calls of sessions without a run, also where no policy applies to them. It allows none that would
	// be denied without it.
	Observe bool
	// Local is true when the agent's files are this machine's.
	Local bool
	// Refused is why the hook's program refuses calls of its client; empty when it does not.
	Refused string
	// Patience is how long the hook waits for its answer; 10 s when it is 0.
	Patience time.Duration
	// Jail is the jail of the agent's machine for commands.
	Jail Jail
}

// Handle responds to one hook event.
func (h *Handler) Handle(ctx context.Context, data []byte, opts Options) Answer {
	d, known := dialects[cmp.Or(opts.Agent, ClaudeCode)]
	if !known {
		return block(fmt.Errorf("unknown agent %q: use %s", opts.Agent, strings.Join(Agents(), ", ")))
	}
	ev, err := d.read(data)
	if err == nil && ev.kind == hookevent.Unknown && hookevent.CallLike(data) {
		err = fmt.Errorf("unknown hook event %q, which could be about a call of a tool: remove the hook for it", ev.Name)
	}
	if err != nil {
		return block(err)
	}
	ev.SessionID = cmp.Or(opts.Session, ev.SessionID)
	out, err := h.handleEvent(ctx, ev, opts)
	if ev.inSkill() && out.verdict == deny {
		out.reason = fmt.Sprintf("The text of %q runs a command as it is loaded. %s", ev.Skill, out.reason)
	}
	if err == nil {
		var answer Answer
		if answer, err = d.write(ev, out); err == nil {
			return answer
		}
	}
	if ev.kind == hookevent.Before && h.Undecided != nil {
		h.Undecided(err)
	}
	if ev.stoppedBefore() {
		return Answer{Stderr: block(err).Stderr}
	}
	return block(err)
}

// handleEvent returns the outcome of an event, by its kind.
func (h *Handler) handleEvent(ctx context.Context, ev *event, opts Options) (outcome, error) {
	switch ev.kind {
	case hookevent.Before:
		return h.beforeCall(ctx, ev, opts)
	case hookevent.After:
		return h.afterCall(ctx, ev, opts, true)
	case hookevent.Failed:
		return h.afterCall(ctx, ev, opts, false)
	case hookevent.Permission:
		return h.vetoPermission(ctx, ev, opts)
	case hookevent.Prompt, hookevent.Start, hookevent.SubagentStart:
		return h.inform(ctx, ev, opts)
	case hookevent.Stop, hookevent.SubagentStop:
		return h.stop(ctx, ev)
	default: // it has no gate, and needs no answer
		return outcome{}, nil
	}
}

func block(err error) Answer {
	message := err.Error()
	if _, ok := status.FromError(err); ok {
		message = fault.From(err).Message
	}
	return Answer{Exit: exitBlock, Stderr: "Interlock blocks this: " + message}
}

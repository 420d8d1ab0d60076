package hook

import (
	"cmp"
	"context"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/subagent"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// inform returns to the agent where its run stands.
func (h *Handler) inform(ctx context.Context, ev *event, opts Options) (outcome, error) {
	if err := h.working(ctx, ev); err != nil {
		return outcome{}, err
	}
	at, err := h.binding(ctx, ev, opts.Workflow)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	if at != nil {
		if out, err = h.runStatus(ctx, at, opts); err != nil {
			return outcome{}, err
		}
	}
	if ev.kind == hookevent.Prompt {
		return out, nil
	}
	add := func(text string) { out.context = strings.TrimPrefix(out.context+"\n"+text, "\n") }
	if ev.kind == hookevent.Start {
		if out.context != "" && opts.Jail.Level < int(jail.Full) && opts.Jail.Missing != "" {
			add(jail.Sentence(jail.Level(opts.Jail.Level), opts.Jail.Missing))
		}
		if out.shown, err = h.standing(ctx, ev, at, opts); err != nil {
			return outcome{}, err
		}
		add(out.shown)
	}
	if component := h.component(ctx, ev); component != "" {
		add(component)
	}
	return out, nil
}

// component names the component that the session refers to, before the first turn (S15.2);
// empty for none, and where that is unknown: no decision depends on it.
func (h *Handler) component(ctx context.Context, ev *event) string {
	if h.Sessions == nil {
		return ""
	}
	name := ev.SessionID
	if ev.AgentID != "" {
		name = subagent.Session(ev.SessionID, ev.AgentID)
	}
	got, err := h.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: name})
	slug := got.GetSession().GetStateRef()
	if err != nil || slug == "" {
		return ""
	}
	return "Component: " + slug + ". component_read shows the values, component_update changes them."
}

// runStatus returns where the agent's run stands.
func (h *Handler) runStatus(ctx context.Context, at *binding, opts Options) (outcome, error) {
	stray, err := h.astray(ctx, at, opts.Workflow)
	if err != nil {
		return outcome{}, err
	}
	if stray != "" {
		return outcome{context: stray}, nil
	}
	prompt, err := h.firstPrompt(ctx, at)
	switch {
	case err != nil:
		return outcome{}, err
	case prompt != "":
		return outcome{context: brief.Opening(prompt, at.run)}, nil
	}
	return outcome{context: brief.Injected(at.run) + h.jailSentence(ctx, at, opts)}, nil
}

// jailSentence returns a line on the jail in which the agent's command lines run; empty without one. Nothing is decided by it.
func (h *Handler) jailSentence(ctx context.Context, at *binding, opts Options) string {
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	if opts.Jail.Command == "" || len(how.shells) == 0 || how.granted && !at.run.GetRules().GetToolsRestricted() {
		return ""
	}
	question := brief.JailQuestion(at.target, at.run, how.shells[0], int32(opts.Jail.Level)) //nolint:gosec // 0 to 3
	if question == nil {
		return ""
	}
	d, err := h.Policy.CheckToolCall(ctx, question)
	sentence := brief.Jail(d)
	if err != nil || sentence == "" {
		return ""
	}
	return "\n" + sentence
}

// firstPrompt returns the text for an agent before its first turn of a process; empty
// afterwards, and where there is none (S8.5).
func (h *Handler) firstPrompt(ctx context.Context, at *binding) (string, error) {
	if h.Processes == nil || !at.run.GetWorkflowMeta().GetProcess() || at.run.GetTransitionCount() > 0 {
		return "", nil
	}
	now, err := h.Processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{SessionId: at.session})
	return now.GetTurn().GetInitialPrompt(), err
}

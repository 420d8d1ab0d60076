package scenario

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// judged is the outcome of a call.
type judged struct {
	rules.Combined
	// approval that has admitted it, that it waits for, or that was rejected; nil for
	// none.
	approval *asked
	// failed says why no human could be asked; then the call is denied.
	failed string
}

// judge holds a call to the state, whose verdict is given, and to the policies of its
// run: the strictest answers (S7). The limits of policies count it when it is allowed,
// and humans are asked when it needs them.
func (w *simulation) judge(s binding, at *workflow.View, a call, state toolcall.Verdict) judged {
	action := a.action(at)
	known := w.askedFor(action.Digest())
	verdicts := w.verdicts(s, at, a, known.admits())
	if len(verdicts) == 0 {
		return judged{Combined: rules.Combine(state, nil, nil)}
	}
	j := judged{Combined: w.tally.Admit(rules.Combine(state, verdicts, nil), w.now)}
	switch {
	case j.Decision == toolcall.Allow && approved(j.Policies):
		j.approval = known
		known.at = known.at.Consume(action.Digest(), w.now).Approval
	case j.Decision == toolcall.Ask:
		w.askFor(s, at, a, action, known, &j)
	}
	return j
}

// verdicts returns the verdicts of the policies: those of the workflow or process and of
// all that have invoked it, regardless of the run's status, and those of the file.
func (w *simulation) verdicts(s binding, at *workflow.View, a call, approved bool) []rules.Verdict {
	var policies []*rules.Set
	for t := s.tracked; t != nil; {
		policies = append(policies, t.of.policies...)
		if t.run.Parent == nil {
			break
		}
		t = w.runs[t.run.Parent.RunID]
	}
	policies = append(policies, w.suite.policies...)
	verdicts := make([]rules.Verdict, len(policies))
	for i, policy := range policies {
		shell := toolcall.Shell(s.of.machine.State(at.State), a.tool)
		verdicts[i] = policy.Decide(rules.Call{
			Tool: a.tool, Shell: shell, Input: a.input, Facts: w.facts(s, at, a, policy.Tools()),
			EstimatedCost: a.estimate, Principal: w.who.subject.CallerName, Human: w.who.human, Session: session, Approved: approved, Repeats: w.repeats(&a), Now: w.now,
		}, nil)
	}
	return verdicts
}

// facts returns what a call does, with the descriptions of tools of one policy.
func (w *simulation) facts(s binding, at *workflow.View, a call, tools facet.Tools) *facet.Facts {
	subject := w.who.at(w.began, w.now, w.depth)
	subject.Tool, subject.Shell, subject.Input, subject.Tools = a.tool, toolcall.Shell(s.of.machine.State(at.State), a.tool), a.input, tools
	subject.RunState, subject.RunWorkflow = at.State, at.Workflow
	return facet.Of(subject)
}

func approved(verdicts []rules.Verdict) bool {
	for i := range verdicts {
		if verdicts[i].Approved {
			return true
		}
	}
	return false
}

// action returns the exact call, of the run as it is now, to which an approval is bound
// (S7.6).
func (a call) action(at *workflow.View) consent.Action {
	var input document.Value
	if len(a.input) > 0 {
		input, _ = document.Parse(a.input, document.Limits{})
	}
	return consent.Action{
		Kind: consent.ToolCall,
		Subject: document.ObjectValue([]document.Member{
			{Name: "run_id", Value: document.StringValue(at.ID)},
			{Name: "run_version", Value: integer(at.Version)},
			{Name: "branch", Value: document.StringValue(at.Branch)},
			{Name: "tool", Value: document.StringValue(a.tool)},
		}),
		Data: input,
	}
}

// askFor asks humans about a call, unless they were asked about exactly this one:
// then it waits with the first, or they have rejected it.
func (w *simulation) askFor(s binding, at *workflow.View, a call, action consent.Action, known *asked, j *judged) {
	switch {
	case known != nil && known.at.Status == consent.Pending:
		j.approval, j.Code = known, toolcall.CodeApprovalPending
	case known != nil && known.at.Status == consent.Rejected:
		j.approval, j.Decision, j.Code = known, toolcall.Deny, toolcall.CodePolicyDenied
	default:
		opened, err := w.open(s.tracked, at.Branch, consent.Request{
			ID: w.approvalID(), Action: action, Terms: s.of.machine.ApprovalFor(w.facts(s, at, a, s.of.machine.Meta().Described)),
			Asker: consent.Asker{Principal: actor, SessionID: session, RootSession: session},
		})
		if err != nil {
			j.Decision, j.Code, j.failed = toolcall.Deny, toolcall.CodePolicyUnavailable, err.Error()
			return
		}
		j.approval = opened
	}
}

// message describes why a call was not allowed, and how its approval stands.
func (j *judged) message(m *workflow.Machine, at *workflow.View) string {
	if j.Decision == toolcall.Allow {
		return ""
	}
	var words []string
	add := func(text string) {
		if text != "" {
			words = append(words, text)
		}
	}
	if j.State.Decision == j.Decision {
		add(j.State.Message(m, at))
	}
	add(j.Message())
	if j.failed != "" {
		add("No approver can be asked: " + j.failed + ".")
	}
	if j.approval != nil {
		add("Of it, " + j.approval.at.Outcome() + ".")
	}
	return strings.Join(words, " ")
}

package process

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Fire returns the event that an answer is: process_step (S8.1). The note is kept as the
// rationale of the step. The id is that of the approval to ask with when the answer
// notifies a human.
func Fire(answer, note, approvalID, actor string) workflow.Fire {
	fire := workflow.Fire{Event: answer, ApprovalID: approvalID, Actor: actor}
	if note != "" {
		fire.Data = document.ObjectValue([]document.Member{{Name: "rationale", Value: document.StringValue(note)}})
	}
	return fire
}

// Turn is where a session of a process stands, as its agent is notified.
type Turn struct {
	// Prompt is the initial prompt; it comes with the first turn alone (S8.5).
	Prompt string
	State  string
	// Question of the state, and the answers that it takes: none when the session
	// has ended.
	Question string
	Answers  []string
	Status   workflow.Status
	// Approval is the question to a human, or the answer, or nil.
	Approval *workflow.Approval
}

// Turn describes where a run stands.
func (p *Process) Turn(at *workflow.View) Turn {
	t := Turn{State: at.State, Status: at.Status, Approval: at.Approval}
	if at.Version == 1 {
		t.Prompt = p.definition.InitialPrompt
	}
	if s := p.at(at.State); s != nil {
		t.Question = s.Question
		if !at.Status.Ended() {
			t.Answers = s.keys()
		}
	}
	return t
}

func (p *Process) at(state string) *State {
	i := slices.IndexFunc(p.definition.States, func(s State) bool { return s.Name == state })
	if i < 0 {
		return nil
	}
	return &p.definition.States[i]
}

func (s *State) keys() []string {
	keys := make([]string, len(s.Answers))
	for i := range s.Answers {
		keys[i] = s.Answers[i].Key
	}
	return keys
}

// String returns the text for the agent: the outcome of its answer, and the next question
// with its answers, or the end.
func (t Turn) String() string {
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if t.Prompt != "" {
		say("%s", t.Prompt)
	}
	if a := t.Approval; a != nil && !a.Pending() {
		text := fmt.Sprintf("The answer %s was not accepted: %s.", document.Quote(a.Event), outcomes[a.Outcome])
		if a.Note != "" {
			text += " Note: " + strconv.Quote(a.Note)
		}
		say("%s", text)
	}
	switch {
	case t.Status == workflow.Running:
		say("%s", t.Question)
		say("Answer with process_step, one of: %s.", list(t.Answers))
	case t.Status == workflow.AwaitingApproval && t.Approval.Pending():
		say("The answer %s waits for a human to review it (approval %s). Wait for that; no other answer is accepted until then.",
			document.Quote(t.Approval.Event), document.Quote(t.Approval.ID))
	case t.Status == workflow.Completed:
		if t.Question != "" {
			say("%s", t.Question) // a terminal state may have last words
		}
		say("The process is complete.")
	case t.Status == workflow.Blocked:
		say("The process is blocked, and this session cannot continue. Stop, and inform the person you work for.")
	default:
		say("The process is %s.", t.Status)
	}
	return strings.Join(parts, "\n")
}

var outcomes = map[workflow.ApprovalOutcome]string{
	workflow.ApprovalRejected:  "a human has rejected it",
	workflow.ApprovalExpired:   "no human decided in time, and it can be given again",
	workflow.ApprovalCancelled: "it was withdrawn",
	workflow.ApprovalStale:     "it was no longer possible when a human approved it",
}

// Explain describes why an answer was refused, in the words of processes: an unknown
// answer is refused with the answers that are valid (S8.4).
func (p *Process) Explain(answer string, r *workflow.Rejection) string {
	s := p.at(r.State)
	if s == nil || r.Code != workflow.RejectUnknownEvent {
		return r.Message
	}
	hint := new(document.Report).DidYouMean(answer, slices.Values(s.keys()))
	if hint == "" {
		hint = "."
	}
	return fmt.Sprintf("%s is not an answer to the question of state %s%s Answers match exactly. Valid answers: %s. The question is: %s",
		document.Quote(answer), document.Quote(s.Name), hint, list(s.keys()), s.Question)
}

func list(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = document.Quote(key)
	}
	return strings.Join(quoted, ", ")
}

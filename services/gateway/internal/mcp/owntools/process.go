package owntools

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// turnView is where a session of a process stands.
type turnView struct {
	Accepted   bool     `json:"accepted"`
	Question   string   `json:"question"`
	Answers    []string `json:"answers"`
	Status     string   `json:"status"`
	State      string   `json:"state"`
	ApprovalID string   `json:"approval_id,omitzero"`
	Run        runView  `json:"run"`
}

// processStep gives the answer to the question of a process, or asks for it again (S8.1).
func (t *runTools) processStep(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	if t.cfg.Processes == nil {
		return reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to an engine with processes; the operator can connect one"}.Result()
	}
	before, none := t.findDriven(ctx, c)
	if none != nil {
		return none
	}
	res, err := t.answerQuestion(ctx, c, args.Text("answer"), args.Text("note"))
	if err != nil {
		return reply.Fault(err, "Not done").Result()
	}
	run := res.GetRun()
	if res.GetAccepted() && args.Text("answer") != "" {
		t.cfg.Clients.NotifyMoved(c, before.Target, before.Run.GetRunId(), run.GetRunId())
	} else {
		t.cfg.Clients.NotifyRun(c, clients.ListingOf(run))
	}
	if res.GetRejection() != nil {
		return refuseAnswer(res).Result()
	}
	return reply.Answer(t.turnText(res), viewTurn(res))
}

func (t *runTools) answerQuestion(ctx context.Context, c caller.Caller, answer, note string) (*enginev1.AnswerQuestionResponse, error) {
	return t.cfg.Processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{
		RunId: c.RunID, SessionId: c.NamedSession(), Answer: answer, Note: note, IdempotencyKey: newCallID(),
	})
}

// turnText returns the text for the agent: the engine's words, and how to wait for
// people.
func (t *runTools) turnText(res *enginev1.AnswerQuestionResponse) string {
	text := res.GetTurn().GetText()
	if id := waitsFor(res); id != "" {
		text += "\n" + brief.Deciders(t.cfg.Desk.Link(id)) + " " + t.cfg.ToolPrefix + "wait_approval waits for that."
	}
	return text
}

// waitsFor returns the approval that a process waits for, or empty.
func waitsFor(res *enginev1.AnswerQuestionResponse) string {
	if a := res.GetRun().GetApproval(); a.GetPending() {
		return a.GetApprovalId()
	}
	return res.GetApprovalId()
}

func viewTurn(res *enginev1.AnswerQuestionResponse) turnView {
	turn := res.GetTurn()
	v := turnView{
		Accepted: res.GetAccepted(), Question: turn.GetQuestion(), Answers: turn.GetAnswers(), Status: jsonview.StatusName(turn.GetStatus()),
		State: turn.GetState(), ApprovalID: waitsFor(res), Run: viewRun(res.GetRun()),
	}
	if v.Answers == nil {
		v.Answers = []string{}
	}
	return v
}

// refuseAnswer makes a refusal of an answer that was not taken, with those that are
// (S8.4).
func refuseAnswer(res *enginev1.AnswerQuestionResponse) reply.Refusal {
	r := reply.Rejection(res.GetRejection(), res.GetRun()).WithoutEvents()
	r.ApprovalID = waitsFor(res)
	if r.Answers = res.GetTurn().GetAnswers(); len(r.Answers) > 0 {
		quoted := make([]string, len(r.Answers))
		for i, a := range r.Answers {
			quoted[i] = strconv.Quote(a)
		}
		r.Next = "Question: " + res.GetTurn().GetQuestion() + "\nValid answers: " + strings.Join(quoted, ", ") + "."
	}
	return r
}

// parkedText returns the text for an agent whose event waits for people (S9.1).
func (t *runTools) parkedText(event, id string) string {
	return fmt.Sprintf("Parked: people must approve %q first (approval %s). The state has not changed. %s %swait_approval waits for that.",
		event, id, brief.Deciders(t.cfg.Desk.Link(id)), t.cfg.ToolPrefix)
}

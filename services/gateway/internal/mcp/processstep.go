package mcp

import (
	"context"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
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

// processStep answers the question of a process, or asks for it again (S8.1).
func (s *Server) processStep(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	if s.cfg.Processes == nil {
		return refusal{Code: string(fault.Unavailable), Message: "no engine with processes is connected here; the operator can connect one"}.result()
	}
	before, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	res, err := s.answer(ctx, c, args.str("answer"), args.str("note"))
	if err != nil {
		return refuseFault(err, "Not done").result()
	}
	run := res.GetRun()
	if res.GetAccepted() && args.str("answer") != "" {
		s.sessions.moved(c, before.asked, before.run.GetRunId(), run.GetRunId())
	} else {
		s.sessions.saw(c, listedIn(run))
	}
	if res.GetRejection() != nil {
		return refuseAnswer(res).result()
	}
	return answer(s.turnText(res), viewTurn(res))
}

func (s *Server) answer(ctx context.Context, c caller, answer, note string) (*enginev1.AnswerQuestionResponse, error) {
	key, err := mint()
	if err != nil {
		return nil, err
	}
	return s.cfg.Processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{
		RunId: c.RunID, SessionId: sessionOf(c), Answer: answer, Note: note, IdempotencyKey: key,
	})
}

// turnText is what the agent reads: the engine's words, and how to wait for people.
func (s *Server) turnText(res *enginev1.AnswerQuestionResponse) string {
	text := res.GetTurn().GetText()
	if id := waitsFor(res); id != "" {
		text += "\n" + brief.Deciders(id, s.link(id)) + " " + s.cfg.ToolPrefix + "wait_approval waits for that."
	}
	return text
}

// waitsFor is the approval that a process waits for, or empty.
func waitsFor(res *enginev1.AnswerQuestionResponse) string {
	if a := res.GetRun().GetApproval(); a.GetPending() {
		return a.GetApprovalId()
	}
	return res.GetApprovalId()
}

func viewTurn(res *enginev1.AnswerQuestionResponse) turnView {
	turn := res.GetTurn()
	v := turnView{
		Accepted: res.GetAccepted(), Question: turn.GetQuestion(), Answers: turn.GetAnswers(), Status: brief.Status(turn.GetStatus()),
		State: turn.GetState(), ApprovalID: waitsFor(res), Run: viewRun(res.GetRun()),
	}
	if v.Answers == nil {
		v.Answers = []string{}
	}
	return v
}

// refuseAnswer makes a refusal of an answer that was not taken, with those that are
// (S8.4).
func refuseAnswer(res *enginev1.AnswerQuestionResponse) refusal {
	r := refuseRejection(res.GetRejection(), res.GetRun())
	r.events, r.LegalEvents, r.ApprovalID = nil, nil, waitsFor(res)
	if r.Answers = res.GetTurn().GetAnswers(); len(r.Answers) > 0 {
		quoted := make([]string, len(r.Answers))
		for i, a := range r.Answers {
			quoted[i] = strconv.Quote(a)
		}
		r.next = "Question: " + res.GetTurn().GetQuestion() + "\nValid answers: " + strings.Join(quoted, ", ") + "."
	}
	return r
}

package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// The endpoint for processes offers only the tools that the process of the session may
// use there: a session without a process has no tools. Its offers are gated like
// everywhere (S7.8). Interlock's own tools that only show where the session stands, and
// wait for people, are always among it: a process may have to wait for them.

const processInstructions = "Interlock leads you through a process, question by question. " +
	"Call %[1]sprocess_step without an answer to read the current question, and with one of its answers to continue."

const codeNoProcess = "NO_PROCESS"

// alwaysOffered are the own tools that every process has at its endpoint.
var alwaysOffered = []string{"get_state", "wait_approval"}

// offer has the tools that a process may use at its endpoint.
type offer struct {
	process string
	tools   []string // a trailing * stands for any rest of the name
}

// offered looks up the process of the caller's session.
func (s *Server) offered(ctx context.Context, c caller.Caller) (offer, *reply.Refusal) {
	if s.cfg.Processes == nil {
		return offer{}, &reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to an engine with processes; the operator can connect one"}
	}
	if !c.Bound() {
		return offer{}, reply.NotBound()
	}
	ctx, cancel := context.WithTimeout(c.Outgoing(ctx), s.cfg.CheckTimeout)
	defer cancel()
	at, err := caller.Locate(ctx, s.cfg.Runs, c)
	switch {
	case err != nil && reply.IsNotFound(err):
		return offer{}, &reply.Refusal{Code: codeNoProcess, Message: "no process runs here; an operator can start one for the session"}
	case err != nil:
		return offer{}, reply.Fault(err, "")
	case !at.Run.GetWorkflowMeta().GetProcess():
		return offer{}, &reply.Refusal{Code: codeNoProcess, Message: fmt.Sprintf(
			"the run %s of %s is not a process, and this endpoint is for processes; connect to %s", at.Run.GetRunId(), at.Run.GetWorkflow(), Path)}
	}
	got, err := s.cfg.Processes.GetProcess(ctx, &enginev1.GetProcessRequest{Name: at.Run.GetWorkflow(), Version: at.Run.GetWorkflowVersion()})
	if err != nil {
		return offer{}, reply.Fault(err, "")
	}
	tools := slices.Clone(got.GetProcess().GetTools())
	for _, name := range alwaysOffered {
		if !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return offer{got.GetProcess().GetName(), tools}, nil
}

// has reports whether a tool is offered: an own one by its name without prefix, and one of a
// server by either of its names, or by the one that its server gives it, which is how
// processes name tools.
func (o offer) has(s *Server, name string) bool {
	if own := s.own.byName[name]; own != nil {
		return gate.Matches(o.tools, own.name)
	}
	if gate.Matches(o.tools, name) {
		return true
	}
	target := s.upstreams.Catalogue().Tools[name]
	return target != nil && (gate.Matches(o.tools, target.Other(name)) || gate.Matches(o.tools, s.gate.NameInProcess(target)))
}

// lists reports whether a tool is listed: one that has two names is, by the one that the
// operator has given it.
func (o offer) lists(s *Server, name string) bool {
	target := s.upstreams.Catalogue().Tools[name]
	return o.has(s, name) && (target == nil || name != target.Qualified || target.Other(name) == "" || !o.has(s, target.Other(name)))
}

// listProcessTools lists the tools that the session's process may use.
func (s *Server) listProcessTools(ctx context.Context, c caller.Caller, req *sdk.ListToolsRequest) (sdk.Result, error) {
	list := s.listTools(ctx, c, req)
	offer, refused := s.offered(ctx, c)
	switch {
	case refused == nil:
	case refused.Code == codeNoProcess || refused.Code == reply.CodeNotBound:
		// No tool is offered, and calls say why.
	default:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the process of this session cannot be read: " + refused.Message}
	}
	list.Tools = slices.DeleteFunc(list.Tools, func(tool *sdk.Tool) bool { return !offer.lists(s, tool.Name) })
	return s.writtenTools(list, req.ProtocolVersion()), nil
}

// outsideProcess refuses a tool that the session's process may not use; nil when it
// may.
func (s *Server) outsideProcess(ctx context.Context, c caller.Caller, name string) *reply.Refusal {
	offer, refused := s.offered(ctx, c)
	switch {
	case refused != nil:
		refused.Decision, refused.Lead = "DENY", "Denied"
		return refused
	case offer.has(s, name):
		return nil
	}
	return &reply.Refusal{
		Decision: "DENY", Code: "TOOL_NOT_ALLOWED", Lead: "Denied", ToolsRestricted: true, AllowedTools: &offer.tools,
		Message: fmt.Sprintf("the process %s may not use %q here; it may use %s", offer.process, reply.Clip(name, 128), list(offer.tools)),
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "no tool"
	}
	return strings.Join(names, ", ")
}

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
func (s *Server) processStep(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	if s.cfg.Processes == nil {
		return reply.Refusal{Code: string(fault.Unavailable), Message: "this server is not connected to an engine with processes; the operator can connect one"}.Result()
	}
	before, none := s.driven(ctx, c)
	if none != nil {
		return none
	}
	res, err := s.answer(ctx, c, args.Text("answer"), args.Text("note"))
	if err != nil {
		return reply.Fault(err, "Not done").Result()
	}
	run := res.GetRun()
	if res.GetAccepted() && args.Text("answer") != "" {
		s.sessions.Moved(c, before.Asked, before.Run.GetRunId(), run.GetRunId())
	} else {
		s.sessions.Saw(c, clients.ListingOf(run))
	}
	if res.GetRejection() != nil {
		return refuseAnswer(res).Result()
	}
	return reply.Answer(s.turnText(res), viewTurn(res))
}

func (s *Server) answer(ctx context.Context, c caller.Caller, answer, note string) (*enginev1.AnswerQuestionResponse, error) {
	return s.cfg.Processes.AnswerQuestion(ctx, &enginev1.AnswerQuestionRequest{
		RunId: c.RunID, SessionId: c.NamedSession(), Answer: answer, Note: note, IdempotencyKey: newCallID(),
	})
}

// turnText returns the text for the agent: the engine's words, and how to wait for
// people.
func (s *Server) turnText(res *enginev1.AnswerQuestionResponse) string {
	text := res.GetTurn().GetText()
	if id := waitsFor(res); id != "" {
		text += "\n" + brief.Deciders(s.desk.Link(id)) + " " + s.cfg.ToolPrefix + "wait_approval waits for that."
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

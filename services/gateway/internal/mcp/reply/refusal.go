// Package reply has the results of tools as clients get them: answers, refusals, and results
// of servers as these have written them.
package reply

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Codes of refusals that are made here. All others come from the services.
const (
	CodeInvalidArgument   = "INVALID_ARGUMENT"
	CodeInvalidInput      = "INVALID_INPUT"
	CodeNoWorkflow        = "NO_WORKFLOW"
	CodeNotBound          = "NOT_BOUND"
	CodeNoSession         = "NO_SESSION"
	CodeNoState           = "NO_STATE"
	CodePolicyUnavailable = "POLICY_UNAVAILABLE"
	CodeUpstreamFailed    = "UPSTREAM_FAILED"
	CodeUpstreamTimeout   = "UPSTREAM_TIMEOUT"
	CodeResultTooLarge    = "RESULT_TOO_LARGE"
	CodeToolChanged       = "TOOL_CHANGED"
	CodeJailRequired      = "JAIL_REQUIRED"
	CodeShellFailed       = "SHELL_FAILED"
)

// Keys of a result's _meta. Interlock's own facts about an upstream call go there:
// structured content must have the upstream tool's own shape.
const (
	// OwnMeta begins them.
	OwnMeta = "interlock.run/"
	// DecisionMeta carries the details of a refused call.
	DecisionMeta = OwnMeta + "decision"
	// InterruptMeta reports an interrupt that the call has fired.
	InterruptMeta = OwnMeta + "interrupt"
	// WarningMeta is a warning, such as of a context budget that is nearly spent.
	WarningMeta = OwnMeta + "warning"
	// UnreportedMeta is true when the result could not be reported in time.
	UnreportedMeta = OwnMeta + "unreported"
)

// Refusal is an answer "no" that teaches: a tool result with isError, never a
// protocol error, so that the agent sees it.
type Refusal struct {
	Decision        string                 `json:"decision,omitzero"`
	Code            string                 `json:"code"`
	Message         string                 `json:"message"`
	Guards          []jsonview.GuardResult `json:"guards,omitzero"`
	State           string                 `json:"state,omitzero"`
	Branch          string                 `json:"branch,omitzero"`
	Status          string                 `json:"status,omitzero"`
	ToolsRestricted bool                   `json:"tools_restricted,omitzero"`
	AllowedTools    *[]string              `json:"allowed_tools,omitzero"`
	LegalEvents     []jsonview.LegalEvent  `json:"legal_events,omitzero"`
	Problems        []ProblemView          `json:"problems,omitzero"`
	ApprovalID      string                 `json:"approval_id,omitzero"`
	Answers         []string               `json:"answers,omitzero"`
	CallID          string                 `json:"call_id,omitzero"`
	RunID           string                 `json:"run_id,omitzero"`
	RunVersion      int64                  `json:"run_version,omitzero"`
	Iterations      int64                  `json:"iterations,omitzero"`
	MaxIterations   int64                  `json:"max_iterations,omitzero"`
	RetryAfter      float64                `json:"retry_after_seconds,omitzero"`
	StateID         string                 `json:"state_id,omitzero"`
	CurrentVersion  int64                  `json:"current_version,omitzero"`
	LockedBy        string                 `json:"locked_by,omitzero"`
	LockedUntil     string                 `json:"locked_until,omitzero"`

	// Lead is the first word of the text, "Refused" by default.
	Lead string `json:"-"`
	// Next is the advice, as a last line.
	Next string `json:"-"`

	guards  []*enginev1.GuardResult // of Guards
	events  []*enginev1.LegalEvent  // of LegalEvents
	allowed []string                // of AllowedTools
	tools   bool                    // whether the text lists the allowed tools
}

// ProblemView is a problem of a definition or a document.
type ProblemView struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// text names the place, but for the whole document, which has no name.
func (p ProblemView) text() string {
	if p.Pointer == "" {
		return p.Code + ": " + p.Message
	}
	return p.Pointer + ": " + p.Code + ": " + p.Message
}

// sentence returns the text for the agent.
func (r Refusal) sentence() string {
	lines := []string{cmp.Or(r.Lead, "Refused") + " (" + r.Code + "): " + r.Message}
	for _, g := range r.guards {
		if said := g.GetMessage(); said == "" || !strings.Contains(r.Message, said) {
			lines = append(lines, guardText(g))
		}
	}
	for _, p := range r.Problems {
		lines = append(lines, p.text())
	}
	if r.tools {
		lines = append(lines, "Phase: "+r.State+". Tools: "+brief.Tools(r.ToolsRestricted, r.allowed)+".")
	}
	if r.tools || len(r.events) > 0 {
		lines = append(lines, "Transitions: "+brief.Events(r.events)+".")
	}
	if r.Next != "" {
		lines = append(lines, r.Next)
	}
	return strings.Join(lines, "\n")
}

// Result returns the result of an own tool that was refused.
func (r Refusal) Result() *sdk.CallToolResult {
	return &sdk.CallToolResult{
		IsError:           true,
		Content:           []sdk.Content{&sdk.TextContent{Text: r.sentence()}},
		StructuredContent: Structure(r),
	}
}

// Text returns the result as text.
func (r Refusal) Text() *relay.Result { return Text(r.Result()) }

// ResultFor returns the result for an upstream tool: clients check structured content
// against the output schema of a tool that has one.
func (r Refusal) ResultFor(tool *sdk.Tool) *sdk.CallToolResult {
	res := r.Result()
	if tool.OutputSchema != nil {
		res.StructuredContent = nil
		res.Meta = sdk.Meta{DecisionMeta: Structure(r)}
	}
	return res
}

// Fault makes a refusal of a service's failure.
func Fault(err error, lead string) *Refusal {
	f := fault.From(err)
	r := &Refusal{Code: string(f.Reason), Message: f.Message, RetryAfter: f.RetryAfter.Seconds(), Lead: lead}
	for _, v := range f.Violations {
		r.Problems = append(r.Problems, ProblemView{Pointer: v.Pointer, Code: v.Code, Message: v.Message})
	}
	switch f.Reason {
	case fault.Unauthenticated:
		r.Next = "Interlock does not know the caller. Set a valid token: the header Authorization: Bearer TOKEN, or INTERLOCK_TOKEN for interlock mcp."
	case fault.DeadlineExceeded, fault.CommitUncertain:
		r.Next = "It may or may not have been done: look with get_state before trying again."
	default:
	}
	return r
}

// Rejection makes a refusal of a rejected transition (S2.7).
func Rejection(rej *enginev1.Rejection, run *enginev1.Run) Refusal {
	guards := failing(rej.GetGuards())
	r := Refusal{
		Code: strings.TrimPrefix(rej.GetCode().String(), "REJECTION_CODE_"), Message: rej.GetMessage(),
		Guards: jsonview.GuardResults(guards), State: rej.GetState(), Branch: run.GetBranch(), Status: jsonview.StatusName(rej.GetStatus()),
		LegalEvents: jsonview.LegalEvents(rej.GetLegalEvents()), RunID: run.GetRunId(), RunVersion: run.GetVersion(),
		Lead: "Rejected", guards: guards, events: rej.GetLegalEvents(),
	}
	if r.Message == "" {
		r.Message = "the transition was rejected; the state has not changed"
	}
	return r
}

// WithoutEvents returns the refusal without the events of the state: a process has answers.
func (r Refusal) WithoutEvents() Refusal {
	r.events, r.LegalEvents = nil, nil
	return r
}

// Decision makes a refusal of a decision that was not ALLOW.
func Decision(res *policyv1.CheckToolCallResponse) *Refusal {
	r := &Refusal{
		Decision: strings.TrimPrefix(res.GetDecision().String(), "DECISION_"),
		Code:     strings.TrimPrefix(res.GetCode().String(), "DECISION_CODE_"), Message: res.GetMessage(),
		State: res.GetState(), Branch: res.GetBranch(), ToolsRestricted: res.GetToolsRestricted(),
		AllowedTools: jsonview.ListOf(res.GetToolsRestricted(), res.GetAllowedTools()), allowed: res.GetAllowedTools(),
		LegalEvents: jsonview.LegalEvents(res.GetLegalEvents()), ApprovalID: res.GetApprovalId(), CallID: res.GetCallId(),
		RunID: res.GetRunId(), RunVersion: res.GetRunVersion(),
		Iterations: res.GetIterations(), MaxIterations: res.GetMaxIterations(),
		Lead: "Denied", events: res.GetLegalEvents(), tools: res.GetState() != "",
	}
	switch res.GetDecision() {
	case policyv1.Decision_DECISION_DENY:
	case policyv1.Decision_DECISION_ASK:
		r.Lead = "Not yet"
		if r.Message == "" {
			r.Message = "a human must approve this call first"
		}
	default:
		// A decision that this build does not know is no permission.
		r.Decision, r.Code = "DENY", CodePolicyUnavailable
		r.Message = "the policy service returned an unknown decision, so the call was denied"
	}
	if r.Message == "" {
		r.Message = "the call is not allowed in this state"
	}
	return r
}

// IsNotFound reports whether a service knows no such run or session.
func IsNotFound(err error) bool { return fault.ReasonOf(err) == fault.NotFound }

// NoWorkflow makes the refusal of a call of a session that drives no run.
func NoWorkflow(session, prefix string) *Refusal {
	return &Refusal{Code: CodeNoWorkflow, Message: fmt.Sprintf(
		"No workflow is loaded for session %q. %[2]slist_workflows names them; begin with %[2]sload_workflow(name=...).",
		session, prefix)}
}

// NotBound makes the refusal of a call on a connection without a session or a run.
func NotBound() *Refusal {
	return &Refusal{Code: CodeNotBound, Message: "This connection does not belong to a session, so no workflow can be loaded on it. " +
		"Connect to /mcp?session=NAME (a name of your choice), or to /mcp?run=ID for an existing run, or send the header " + caller.SessionHeader + "."}
}

// failing returns the guards that failed.
func failing(results []*enginev1.GuardResult) []*enginev1.GuardResult {
	var failed []*enginev1.GuardResult
	for _, g := range results {
		if !g.GetPassed() {
			failed = append(failed, g)
		}
	}
	return failed
}

// guardText returns one failed guard as a sentence.
func guardText(g *enginev1.GuardResult) string {
	if said := g.GetMessage(); said != "" { // it is more than a comparison of one field
		return "Guard " + g.GetName() + " failed: it " + said + "."
	}
	text := "Guard " + g.GetName() + " failed: " + g.GetField() + " " + protomap.LowerWord(g.GetOperator(), "GUARD_OPERATOR_")
	if len(g.GetExpected()) > 0 {
		text += " " + Clip(string(g.GetExpected()), 256)
	}
	if len(g.GetActual()) == 0 {
		return text + ", but it is missing."
	}
	return text + ", but it is " + Clip(string(g.GetActual()), 256) + "."
}

// Clip shortens text for messages, at a character's boundary.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit] + "..."
}

// Structure returns structured content as bytes, so that it is not reinterpreted.
func Structure(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("{}") // the text says the same
	}
	return raw
}

// Answer returns a tool result that went well.
func Answer(text string, structured any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: Structure(structured)}
}

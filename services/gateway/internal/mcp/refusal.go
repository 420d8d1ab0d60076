package mcp

import (
	"cmp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Codes of refusals that are made here. All others come from the services.
const (
	codeInvalidArgument   = "INVALID_ARGUMENT"
	codeInvalidInput      = "INVALID_INPUT"
	codeNoWorkflow        = "NO_WORKFLOW"
	codeNotBound          = "NOT_BOUND"
	codeNoSession         = "NO_SESSION"
	codeNoState           = "NO_STATE"
	codePolicyUnavailable = "POLICY_UNAVAILABLE"
	codeUpstreamFailed    = "UPSTREAM_FAILED"
	codeUpstreamTimeout   = "UPSTREAM_TIMEOUT"
	codeResultTooLarge    = "RESULT_TOO_LARGE"
	codeToolChanged       = "TOOL_CHANGED"
	codeJailRequired      = "JAIL_REQUIRED"
	codeShellFailed       = "SHELL_FAILED"
)

// Keys of a result's _meta. Interlock's own facts about an upstream call go there:
// structured content must have the upstream tool's own shape.
const (
	ownMeta = "interlock.run/"
	// decisionMeta carries the details of a refused call.
	decisionMeta = ownMeta + "decision"
	// interruptMeta reports an interrupt that the call has fired.
	interruptMeta = ownMeta + "interrupt"
	// warningMeta is a warning, such as of a context budget that is nearly spent.
	warningMeta = ownMeta + "warning"
	// unreportedMeta is true when the result could not be reported in time.
	unreportedMeta = ownMeta + "unreported"
)

// refusal is an answer "no" that teaches: a tool result with isError, never a
// protocol error, so that the agent sees it.
type refusal struct {
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
	Problems        []problemView          `json:"problems,omitzero"`
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

	lead    string                  // first word of the text
	guards  []*enginev1.GuardResult // of Guards
	events  []*enginev1.LegalEvent  // of LegalEvents
	allowed []string                // of AllowedTools
	tools   bool                    // whether the text lists the allowed tools
	next    string                  // the advice, as a last line
}

type problemView struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// text names the place, but for the whole document, which has no name.
func (p problemView) text() string {
	if p.Pointer == "" {
		return p.Code + ": " + p.Message
	}
	return p.Pointer + ": " + p.Code + ": " + p.Message
}

func (r refusal) text() string {
	lines := []string{cmp.Or(r.lead, "Refused") + " (" + r.Code + "): " + r.Message}
	for _, g := range r.guards {
		lines = append(lines, guardText(g))
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
	if r.next != "" {
		lines = append(lines, r.next)
	}
	return strings.Join(lines, "\n")
}

func (r refusal) result() *sdk.CallToolResult {
	return &sdk.CallToolResult{
		IsError:           true,
		Content:           []sdk.Content{&sdk.TextContent{Text: r.text()}},
		StructuredContent: structure(r),
	}
}

// written returns the result as text.
func (r refusal) written() *relay.Result { return asText(r.result()) }

// resultFor returns the result for an upstream tool: clients check structured content
// against the output schema of a tool that has one.
func (r refusal) resultFor(tool *sdk.Tool) *sdk.CallToolResult {
	res := r.result()
	if tool.OutputSchema != nil {
		res.StructuredContent = nil
		res.Meta = sdk.Meta{decisionMeta: structure(r)}
	}
	return res
}

// answer returns a tool result that went well.
func answer(text string, structured any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: structure(structured)}
}

// refuseFault makes a refusal of a service's failure.
func refuseFault(err error, lead string) *refusal {
	f := fault.From(err)
	r := &refusal{Code: string(f.Reason), Message: f.Message, RetryAfter: f.RetryAfter.Seconds(), lead: lead}
	for _, v := range f.Violations {
		r.Problems = append(r.Problems, problemView{Pointer: v.Pointer, Code: v.Code, Message: v.Message})
	}
	switch f.Reason {
	case fault.Unauthenticated:
		r.next = "Interlock does not know the caller. Set a valid token: the header Authorization: Bearer TOKEN, or INTERLOCK_TOKEN for interlock mcp."
	case fault.DeadlineExceeded, fault.CommitUncertain:
		r.next = "It may or may not have been done: look with get_state before trying again."
	default:
	}
	return r
}

// refuseRejection makes a refusal of a rejected transition (S2.7).
func refuseRejection(rej *enginev1.Rejection, run *enginev1.Run) refusal {
	guards := failing(rej.GetGuards())
	r := refusal{
		Code: strings.TrimPrefix(rej.GetCode().String(), "REJECTION_CODE_"), Message: rej.GetMessage(),
		Guards: jsonview.GuardResults(guards), State: rej.GetState(), Branch: run.GetBranch(), Status: jsonview.StatusName(rej.GetStatus()),
		LegalEvents: jsonview.LegalEvents(rej.GetLegalEvents()), RunID: run.GetRunId(), RunVersion: run.GetVersion(),
		lead: "Rejected", guards: guards, events: rej.GetLegalEvents(),
	}
	if r.Message == "" {
		r.Message = "the transition was rejected; the state has not changed"
	}
	return r
}

// refuseDecision makes a refusal of a decision that was not ALLOW.
func refuseDecision(res *policyv1.CheckToolCallResponse) *refusal {
	r := &refusal{
		Decision: strings.TrimPrefix(res.GetDecision().String(), "DECISION_"),
		Code:     strings.TrimPrefix(res.GetCode().String(), "DECISION_CODE_"), Message: res.GetMessage(),
		State: res.GetState(), Branch: res.GetBranch(), ToolsRestricted: res.GetToolsRestricted(),
		AllowedTools: jsonview.ListOf(res.GetToolsRestricted(), res.GetAllowedTools()), allowed: res.GetAllowedTools(),
		LegalEvents: jsonview.LegalEvents(res.GetLegalEvents()), ApprovalID: res.GetApprovalId(), CallID: res.GetCallId(),
		RunID: res.GetRunId(), RunVersion: res.GetRunVersion(),
		Iterations: res.GetIterations(), MaxIterations: res.GetMaxIterations(),
		lead: "Denied", events: res.GetLegalEvents(), tools: res.GetState() != "",
	}
	switch res.GetDecision() {
	case policyv1.Decision_DECISION_DENY:
	case policyv1.Decision_DECISION_ASK:
		r.lead = "Not yet"
		if r.Message == "" {
			r.Message = "a human must approve this call first"
		}
	default:
		// A decision that this build does not know is no permission.
		r.Decision, r.Code = "DENY", codePolicyUnavailable
		r.Message = "the policy service returned an unknown decision, so the call was denied"
	}
	if r.Message == "" {
		r.Message = "the call is not allowed in this state"
	}
	return r
}

// refuseUndecided makes a refusal of a decision that could not be had.
func (s *Server) refuseUndecided(err error) *refusal {
	if s.cfg.Undecided != nil {
		s.cfg.Undecided(err)
	}
	r := refuseFault(err, "Denied")
	r.Decision = "DENY"
	switch fault.Reason(r.Code) {
	case fault.InvalidRequest, fault.InvalidJSON, fault.TooLarge:
		r.Code = codeInvalidInput
	case fault.Unauthenticated, fault.PermissionDenied:
	default:
		r.Message = "no decision could be made, so the call was denied: " + r.Message
		r.Code, r.next = codePolicyUnavailable, "The tool was not called. Try again."
	}
	return r
}

// isNotFound reports whether a service knows no such run or session.
func isNotFound(err error) bool { return fault.ReasonOf(err) == fault.NotFound }

package extauthz

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	extauthzv1 "github.com/interlock-run/interlock/gen/go/interlock/extauthz/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/outside"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Headers of answers.
const (
	// headerDecision of a denied request distinguishes ASK from DENY.
	headerDecision = "x-interlock-decision"
	// headerApproval of a denied request is the approval that people are asked for.
	headerApproval = "x-interlock-approval"
	// headerCall of a request that passes is the id of its call, for anyone who reports the
	// result. A client's own is overwritten.
	headerCall = "x-interlock-call"
)

// Codes of JSON-RPC errors. Those of AuthZEN's binding for MCP are used where it has one.
const (
	codeDenied    = -32001
	codeAsked     = -32003
	codeInvalid   = -32600
	codeUndecided = -32603
)

// refusal is why the messages of a request do not pass.
type refusal struct {
	code     int
	message  string
	decision *data // nil where there is none
}

// data is the part of an error for programs.
type data struct {
	jsonview.Decision
	RunID string `json:"run_id,omitzero"`
	// ApprovalURL is where people decide; the caller polls GET /v1/approvals/{id}.
	ApprovalURL string `json:"approval_url,omitzero"`
}

func (a *Authorization) denied(resp *policyv1.CheckToolCallResponse) refusal {
	out := refusal{
		code: codeDenied, message: resp.GetMessage(),
		decision: &data{Decision: jsonview.DecisionOf(resp), RunID: resp.GetRunId()},
	}
	if outside.Unbound(resp) {
		out.message = outside.NoWorkflow
		out.decision.Decision.Decision, out.decision.Code = "DENY", outside.CodeNoWorkflow
		out.decision.Message = outside.NoWorkflow
	}
	if resp.GetDecision() == policyv1.Decision_DECISION_ASK {
		out.code = codeAsked
		out.decision.ApprovalURL = brief.ApprovalLink(a.cfg.PublicURL, resp.GetApprovalId())
	}
	return out
}

// undecided returns the refusal of a call that has no decision. Only the public part of a
// fault is shown.
func undecided(callID string, err error) refusal {
	f := fault.From(err)
	out := refusal{code: codeDenied, message: f.Message, decision: &data{Decision: jsonview.Decision{
		Decision: "DENY", Code: string(f.Reason), Message: f.Message, CallID: callID, LegalEvents: []jsonview.LegalEvent{},
	}}}
	switch f.Reason {
	case fault.Unavailable, fault.CommitUncertain, fault.StoreRolledBack, fault.DeadlineExceeded, fault.Internal,
		fault.Cancelled:
		out.code, out.decision.Decision = codeUndecided, jsonview.Undecided(callID, f.Message)
		out.message = out.decision.Message
	}
	return out
}

// rpcError is a JSON-RPC response that is an error.
type rpcError struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Error   errorObject    `json:"error"`
}

type errorObject struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *data  `json:"data,omitzero"`
}

var null = jsontext.Value("null")

// refused responds to every request among messages with the same error, as its client reads it.
func (a *Authorization) refused(messages []message, batch bool, why refusal) *extauthzv1.CheckResponse {
	var errs []rpcError
	for _, m := range messages {
		if m.ID != nil {
			errs = append(errs, rpcError{"2.0", m.ID, errorObject{why.code, why.message, why.decision}})
		}
	}
	headers := map[string]string{headerDecision: "DENY"}
	if why.decision != nil {
		headers[headerDecision], headers[headerApproval] = why.decision.Decision.Decision, why.decision.ApprovalID
	}
	switch {
	case len(errs) == 0: // these need no answer
		return deny(http.StatusForbidden, rpcError{"2.0", null, errorObject{why.code, why.message, why.decision}}, headers)
	case batch:
		return deny(a.cfg.DeniedStatus, errs, headers)
	default:
		return deny(a.cfg.DeniedStatus, errs[0], headers)
	}
}

// unreadable refuses a request to an MCP server whose messages cannot be read.
func (a *Authorization) unreadable(why error) *extauthzv1.CheckResponse {
	body := rpcError{"2.0", null, errorObject{
		Code: codeInvalid, Message: "Denied, because the request cannot be judged: " + why.Error() + ".",
	}}
	return deny(http.StatusForbidden, body, map[string]string{headerDecision: "DENY"})
}

// unread refuses a request that is not for an MCP server, as far as is known.
func unread(why error) *extauthzv1.CheckResponse {
	return deny(http.StatusForbidden, map[string]string{"error": "Interlock denies this request: " + why.Error() + "."},
		map[string]string{headerDecision: "DENY"})
}

func deny(status int, body any, headers map[string]string) *extauthzv1.CheckResponse {
	text, err := json.Marshal(body)
	if err != nil { // a denial without words
		status, text = http.StatusForbidden, nil
	}
	out := []*extauthzv1.HeaderValueOption{
		header("content-type", "application/json"), header(headerDecision, headers[headerDecision]),
	}
	if id := headers[headerApproval]; id != "" {
		out = append(out, header(headerApproval, id))
	}
	return &extauthzv1.CheckResponse{
		Status: &rpcstatus.Status{Code: int32(codes.PermissionDenied)},
		HttpResponse: &extauthzv1.CheckResponse_DeniedResponse{DeniedResponse: &extauthzv1.DeniedHttpResponse{
			Status:  &extauthzv1.HttpStatus{Code: int32(status)}, //nolint:gosec // three digits
			Headers: out, Body: string(text),
		}},
	}
}

func header(name, value string) *extauthzv1.HeaderValueOption {
	return &extauthzv1.HeaderValueOption{
		Header:       &extauthzv1.HeaderValue{Key: name, Value: value},
		AppendAction: extauthzv1.HeaderValueOption_HEADER_APPEND_ACTION_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// pass lets a request through, without the parts that are for Interlock alone.
func (a *Authorization) pass(allowed []*policyv1.CheckToolCallResponse) *extauthzv1.CheckResponse {
	ok := &extauthzv1.OkHttpResponse{}
	if len(allowed) == 1 {
		ok.Headers = append(ok.Headers, header(headerCall, allowed[0].GetCallId()))
	} else {
		ok.HeadersToRemove = append(ok.HeadersToRemove, headerCall)
	}
	for _, name := range []string{a.cfg.SessionHeader, a.cfg.RunHeader, a.cfg.TokenHeader, a.cfg.ForHeader} {
		if name != "" && !strings.EqualFold(name, "authorization") {
			ok.HeadersToRemove = append(ok.HeadersToRemove, strings.ToLower(name))
		}
	}
	return &extauthzv1.CheckResponse{
		Status: &rpcstatus.Status{Code: int32(codes.OK)}, HttpResponse: &extauthzv1.CheckResponse_OkResponse{OkResponse: ok},
	}
}

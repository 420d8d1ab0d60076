package rest

import (
	"cmp"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Codes of problems that exist only over HTTP. All others are reasons of
// pkg/fault.
const (
	codeMethodNotAllowed     = "METHOD_NOT_ALLOWED"
	codeUnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE"
	codePreconditionFailed   = "PRECONDITION_FAILED"
	codeCrossOrigin          = "CROSS_ORIGIN"
	codeRequestTimeout       = "REQUEST_TIMEOUT"
	codeUpgradeRequired      = "UPGRADE_REQUIRED"
)

// contentProblem is the media type of problems (RFC 9457).
const contentProblem = "application/problem+json"

// Problem is the body of every answer that is not a success (RFC 9457).
type Problem struct {
	Type   string `json:"type" doc:"Always about:blank: code says which problem it is."`
	Title  string `json:"title" doc:"The phrase of the status."`
	Status int    `json:"status" doc:"The HTTP status."`
	Detail string `json:"detail" doc:"One sentence that says how to fix it."`
	Code   string `json:"code" doc:"UPPER_SNAKE reason, the same as over gRPC."`
	// Pointer is set when exactly one place of the body is to blame.
	Pointer *string         `json:"pointer,omitzero" doc:"JSON Pointer (RFC 6901) of the one place that is to blame."`
	Errors  []ProblemDetail `json:"errors,omitzero" doc:"Everything that is wrong with the request."`
	// CurrentVersion is the version to read after a version conflict.
	CurrentVersion int64 `json:"current_version,omitzero" doc:"Of a version conflict: the version that there is."`
	// Approval has the present status for a vote that is late or not permitted.
	Approval *RefusedVote `json:"approval,omitzero" doc:"Of a refused vote: how the approval stands."`

	header     http.Header
	retryAfter time.Duration
	cause      error // for the log, never shown
}

// ProblemDetail is one thing that is wrong with a request: in its body, or in the
// document that it would make, where Pointer says, or in the parameter that
// Parameter names.
type ProblemDetail struct {
	Pointer   *string `json:"pointer,omitzero" doc:"JSON Pointer (RFC 6901) into the request body; of code SCHEMA_VIOLATION into the document that breaks its schema."`
	Parameter string  `json:"parameter,omitzero" doc:"Name of the path, query or header parameter."`
	Code      string  `json:"code" doc:"UPPER_SNAKE, stable."`
	Message   string  `json:"message" doc:"The problem and how to fix it."`
}

// RefusedVote is why a vote on an approval was refused, and how that stands (S9.4).
type RefusedVote struct {
	ApprovalID string `json:"approval_id"`
	Code       string `json:"code" doc:"UPPER_SNAKE, e.g. APPROVER_IS_ASKER or ALREADY_DECIDED."`
	Status     string `json:"status"`
	By         string `json:"by,omitzero" doc:"Who has decided it."`
	At         string `json:"at,omitzero" doc:"When it was decided."`
}

// Error makes a Problem an error; it is for logs.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// newProblem makes a problem of a status and code that only HTTP has.
func newProblem(status int, code, detail string) *Problem {
	title := cmp.Or(http.StatusText(status), "Client Closed Request")
	return &Problem{Type: "about:blank", Title: title, Status: status, Code: code, Detail: detail}
}

// with adds a header to the answer.
func (p *Problem) with(name, value string) *Problem {
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return p
}

// at blames places of the body and sets Pointer when there is only one.
func (p *Problem) at(details ...ProblemDetail) *Problem {
	p.Errors = append(p.Errors, details...)
	p.Pointer = nil
	if len(p.Errors) == 1 {
		p.Pointer = p.Errors[0].Pointer
	}
	return p
}

// inBody returns one thing that is wrong with the body.
func inBody(pointer, code, message string) ProblemDetail {
	return ProblemDetail{Pointer: &pointer, Code: code, Message: message}
}

// badBody returns a 400 that blames places of the body.
func badBody(reason fault.Reason, details ...ProblemDetail) *Problem {
	return problemAt(http.StatusBadRequest, reason, details)
}

// problemAt returns a problem with places of the body, of which there is at least one.
func problemAt(status int, reason fault.Reason, details []ProblemDetail) *Problem {
	detail := details[0].Message
	if *details[0].Pointer != "" {
		detail = *details[0].Pointer + ": " + detail
	}
	if more := len(details) - 1; more > 0 {
		detail += " (and " + strconv.Itoa(more) + " more)"
	}
	return newProblem(status, string(reason), detail).at(details...)
}

// badParameter returns a 400 that blames a path, query or header parameter.
func badParameter(name, code, message string) *Problem {
	return newProblem(http.StatusBadRequest, string(fault.InvalidRequest), name+": "+message).
		at(ProblemDetail{Parameter: name, Code: code, Message: message})
}

// problemOf makes a problem of any error of a route. Only the public part of a fault is
// shown.
func problemOf(err error, rt *route) *Problem {
	if p, ok := err.(*Problem); ok { //nolint:errorlint // problems are never wrapped
		return p
	}
	f := fault.From(err)
	p := newProblem(f.HTTPStatus(), string(f.Reason), f.Message)
	p.cause, p.retryAfter = f, f.RetryAfter
	if f.Reason == fault.InvalidDefinition && isTextFault(f.Violations) {
		// 400 for invalid JSON, 422 for JSON that is not a workflow.
		p = newProblem(http.StatusBadRequest, string(fault.InvalidJSON), f.Message)
	}
	for _, v := range f.Violations {
		if f.Reason == fault.InvalidRequest {
			p = p.at(rt.detail(v))
		} else {
			p = p.at(inBody(v.Pointer, v.Code, v.Message))
		}
	}
	p.CurrentVersion, _ = strconv.ParseInt(f.Metadata["current_version"], 10, 64)
	if id := f.Metadata["approval_id"]; id != "" {
		p.Approval = &RefusedVote{
			ApprovalID: id, Code: f.Metadata["code"], Status: f.Metadata["status"], By: f.Metadata["by"], At: f.Metadata["at"],
		}
	}
	if f.Reason == fault.Unauthenticated {
		p = p.with("WWW-Authenticate", `Bearer realm="interlock", error="invalid_token"`)
	}
	return p
}

// isTextFault reports whether the text itself is malformed (S1.3, "the text").
func isTextFault(violations []fault.Violation) bool {
	for _, v := range violations {
		switch v.Code {
		case document.CodeJSONSyntax, document.CodeDuplicateKey, document.CodeUTF8,
			document.CodeTooDeep, document.CodeTooLarge, document.CodeNumber:
			return true
		}
	}
	return false
}

// detail turns a field of a gRPC request that a service refused into the caller's
// terms.
func (rt *route) detail(v fault.Violation) ProblemDetail {
	field, inside, nested := strings.Cut(strings.TrimPrefix(v.Pointer, "/"), "/")
	if nested {
		inside = "/" + inside
	}
	if field == "" {
		return inBody("", v.Code, v.Message)
	}
	parameter := cmp.Or(rt.fields[field], parameterOf[field], field)
	if rt.takes(parameter) {
		return ProblemDetail{Parameter: parameter, Code: v.Code, Message: v.Message}
	}
	return inBody("/"+cmp.Or(rt.fields[field], field)+inside, v.Code, v.Message)
}

// parameterOf is how parameters name fields of gRPC requests.
var parameterOf = map[string]string{
	"run_id": "id", "idempotency_key": headerIdempotency, "session": headerSession, "pointers": "pointer",
}

// writeProblem responds with a problem and logs it when the fault is ours.
func (e *edge) writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	switch p.Status {
	case http.StatusUnauthorized:
		if h.Get("WWW-Authenticate") == "" {
			h.Set("WWW-Authenticate", `Bearer realm="interlock"`)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusLocked:
		h.Set("Retry-After", retryAfter(p.retryAfter))
	}
	if p.CurrentVersion > 0 {
		h.Set("ETag", etag(p.CurrentVersion))
	}
	if p.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		e.log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", r.Method), slog.String("route", r.Pattern),
			slog.Int("status", p.Status), slog.String("code", p.Code),
			slog.String("request_id", h.Get(headerRequestID)), slog.Any("cause", p.cause))
	}
	e.writeJSON(w, r, p.Status, contentProblem, p)
}

// retryAfter returns the header's value: whole seconds, at least one.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(math.Ceil(d.Seconds()))), 10)
}

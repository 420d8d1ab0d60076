// Package fault is the one typed error of Interlock and its mapping to gRPC
// statuses, their details, and HTTP statuses.
//
// A fault is a failure. A denied tool call or a rejected transition is an answer, not a
// fault. Clients see its reason, message, violations and metadata. Its cause is for logs
// and must never reach a client.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Domain is the domain of every ErrorInfo that Interlock sends.
const Domain = "interlock"

// DefaultRetryAfter is advised with faults that pass by themselves.
const DefaultRetryAfter = time.Second

// Error is a failure with a reason that programs can act on and a message that
// people can.
type Error struct {
	Reason Reason
	// Message is one sentence for the client that says how to fix it. Clients of an
	// Internal fault see a fixed one instead.
	Message string
	// Violations describes the problem with the request, one by one.
	Violations []Violation
	// Metadata is for programs: lower_snake keys, short values.
	Metadata map[string]string
	// RetryAfter is when the same request may succeed; 0 for not known.
	RetryAfter time.Duration
	// Err is the cause. It is never shown to clients.
	Err error
}

// Violation is one thing that is wrong with a request.
type Violation struct {
	// Pointer is a JSON Pointer (RFC 6901) into the document, or the path of a
	// field of the request.
	Pointer string
	// Code is a stable UPPER_SNAKE code, e.g. one of S1.3.
	Code    string
	Message string
}

// New makes a fault. The message is shown to clients as it is.
func New(reason Reason, format string, args ...any) *Error {
	e := &Error{Reason: reason, Message: format}
	if len(args) > 0 {
		e.Message = fmt.Sprintf(format, args...)
	}
	if reason == Unavailable || reason == CommitUncertain {
		e.RetryAfter = DefaultRetryAfter
	}
	return e
}

// Wrap records the cause, for logs only, and returns e.
func (e *Error) Wrap(err error) *Error {
	e.Err = err
	return e
}

// Meta adds one piece of metadata and returns e.
func (e *Error) Meta(key, value string) *Error {
	if e.Metadata == nil {
		e.Metadata = make(map[string]string, 2)
	}
	e.Metadata[key] = value
	return e
}

// Violate adds one violation and returns e.
func (e *Error) Violate(pointer, code, message string) *Error {
	e.Violations = append(e.Violations, Violation{Pointer: pointer, Code: code, Message: message})
	return e
}

// Error returns the text for logs, which includes the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return string(e.Reason) + ": " + e.Message + ": " + e.Err.Error()
	}
	return string(e.Reason) + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is true for any fault of the same reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Reason == e.Reason
}

// HTTPStatus returns the HTTP status of the fault's reason.
func (e *Error) HTTPStatus() int { return e.Reason.HTTPStatus() }

// ReasonOf returns the reason of From(err), and empty for nil.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	return From(err).Reason
}

// find does errors.As for a *Error that is not nil.
func find(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return nil
}

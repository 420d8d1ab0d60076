package fault

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// internalMessage is all that clients see of an Internal fault.
	internalMessage = "internal error; the server's log has the cause"

	// maxMessage and maxViolations bound, in bytes, the texts in HTTP/2 trailers: clients
	// refuse long ones, Node's above 64 KiB.
	maxMessage    = 4 << 10
	maxViolations = 24 << 10

	// omittedKey is the metadata that says how many violations did not fit.
	omittedKey = "violations_omitted"
)

// GRPCStatus returns the fault as a gRPC status: ErrorInfo always, BadRequest with the
// violations, QuotaFailure when something is exhausted, RetryInfo when it is known when
// to retry. The cause is left out.
func (e *Error) GRPCStatus() *status.Status {
	if e == nil {
		return status.New(codes.OK, "")
	}
	reason, message := e.Reason, e.Message
	if _, known := mappings[reason]; !known || reason == Internal {
		reason, message = Internal, internalMessage
	}
	message = clip(message)
	info := &errdetails.ErrorInfo{Reason: string(reason), Domain: Domain, Metadata: validMetadata(e.Metadata)}
	details := []protoadapt.MessageV1{info}
	if len(e.Violations) > 0 {
		bad, omitted := badRequest(e.Violations)
		details = append(details, bad)
		if omitted > 0 {
			if info.Metadata == nil {
				info.Metadata = make(map[string]string, 1)
			}
			info.Metadata[omittedKey] = strconv.Itoa(omitted)
		}
	}
	st := status.New(reason.Code(), message)
	if st.Code() == codes.ResourceExhausted {
		details = append(details, &errdetails.QuotaFailure{
			Violations: []*errdetails.QuotaFailure_Violation{{Subject: string(reason), Description: message}},
		})
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}

// badRequest holds as many violations as fit, and says how many did not.
func badRequest(violations []Violation) (bad *errdetails.BadRequest, omitted int) {
	bad = &errdetails.BadRequest{}
	size := 0
	for i, v := range violations {
		v.Pointer, v.Code, v.Message = clip(v.Pointer), clip(v.Code), clip(v.Message)
		size += len(v.Pointer) + len(v.Code) + len(v.Message) + 16
		if size > maxViolations {
			return bad, len(violations) - i
		}
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: v.Pointer, Reason: v.Code, Description: v.Message,
		})
	}
	return bad, 0
}

// fromStatus decodes the output of GRPCStatus, or makes the best of a status that
// something else sent.
func fromStatus(st *status.Status, cause error) *Error {
	var info *errdetails.ErrorInfo
	e := &Error{Message: st.Message(), Err: cause}
	for _, detail := range st.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain {
				info = d
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e = e.Violate(v.GetField(), v.GetReason(), v.GetDescription())
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = max(d.GetRetryDelay().AsDuration(), 0)
		}
	}
	if info != nil {
		e.Reason = Reason(info.GetReason())
		if m := info.GetMetadata(); len(m) > 0 {
			e.Metadata = m
		}
		if _, known := mappings[e.Reason]; known {
			return e
		}
		// A newer peer's reason: its code still says its kind.
		e = e.Meta("peer_reason", info.GetReason())
	}
	e.Reason = reasonOfStatus(st)
	switch e.Reason {
	case Internal:
		e.Message = internalMessage
	case Unavailable:
		// A transport's own words name addresses of the inside.
		e.Message = "the service is not available; try again"
		if e.RetryAfter == 0 {
			e.RetryAfter = DefaultRetryAfter
		}
	case TooLarge:
		e.Message = "the message is larger than the service accepts; send less"
	default:
	}
	return e
}

// reasonOfStatus guesses the reason of a status that carries none.
func reasonOfStatus(st *status.Status) Reason {
	switch st.Code() {
	case codes.InvalidArgument, codes.OutOfRange:
		return InvalidRequest
	case codes.NotFound:
		return NotFound
	case codes.AlreadyExists:
		return NameTaken
	case codes.Aborted:
		return VersionConflict
	case codes.FailedPrecondition:
		return FailedPrecondition
	case codes.ResourceExhausted:
		// grpc refuses an oversized message itself, before any handler.
		if strings.Contains(st.Message(), "message larger than max") ||
			strings.Contains(st.Message(), "message after decompression larger than max") {
			return TooLarge
		}
		return LimitReached
	case codes.Unauthenticated:
		return Unauthenticated
	case codes.PermissionDenied:
		return PermissionDenied
	case codes.Unavailable:
		return Unavailable
	case codes.DeadlineExceeded:
		return DeadlineExceeded
	case codes.Canceled:
		return Cancelled
	case codes.Unimplemented:
		return Unimplemented
	default:
		return Internal
	}
}

// clip makes s valid UTF-8 of at most maxMessage bytes.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// validMetadata returns a copy of m that protobuf accepts and that fits.
func validMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	const maxEntries = 16
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make(map[string]string, len(m))
	for _, k := range keys[:min(len(keys), maxEntries)] {
		v := clip(m[k])
		if len(v) > 1024 {
			v = strings.ToValidUTF8(v[:1024], "")
		}
		out[clip(k)] = v
	}
	return out
}

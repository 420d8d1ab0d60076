package fault

import (
	"maps"
	"net/http"
	"slices"

	"google.golang.org/grpc/codes"
)

// Reason is the cause of a failure, for programs. It is UPPER_SNAKE, stable, and the same
// over gRPC (ErrorInfo.reason), REST (problem member "code") and MCP.
type Reason string

// The vocabulary. mappings says how each is shown over gRPC and HTTP.
const (
	InvalidRequest      Reason = "INVALID_REQUEST"
	InvalidJSON         Reason = "INVALID_JSON"
	InvalidDefinition   Reason = "INVALID_DEFINITION"
	InvalidSchema       Reason = "INVALID_SCHEMA"
	SchemaViolation     Reason = "SCHEMA_VIOLATION"
	PatchFailed         Reason = "PATCH_FAILED"
	NotAWriter          Reason = "NOT_A_WRITER"
	TooLarge            Reason = "TOO_LARGE"
	Unauthenticated     Reason = "UNAUTHENTICATED"
	PermissionDenied    Reason = "PERMISSION_DENIED"
	NotFound            Reason = "NOT_FOUND"
	VersionConflict     Reason = "VERSION_CONFLICT"
	IdempotencyMismatch Reason = "IDEMPOTENCY_MISMATCH"
	FailedPrecondition  Reason = "FAILED_PRECONDITION"
	RunNotActive        Reason = "RUN_NOT_ACTIVE"
	RunNotPaused        Reason = "RUN_NOT_PAUSED"
	RunHeld             Reason = "RUN_HELD"
	RunEnded            Reason = "RUN_ENDED"
	Halted              Reason = "HALTED"
	Frozen              Reason = "FROZEN"
	SessionBusy         Reason = "SESSION_BUSY"
	SessionRequired     Reason = "SESSION_REQUIRED"
	SessionEnded        Reason = "SESSION_ENDED"
	NameTaken           Reason = "NAME_TAKEN"
	EnforcementKept     Reason = "ENFORCEMENT_KEPT"
	ApprovalDecided     Reason = "APPROVAL_DECIDED"
	Locked              Reason = "LOCKED"
	Fenced              Reason = "FENCED"
	LimitReached        Reason = "LIMIT_REACHED"
	QuotaExceeded       Reason = "QUOTA_EXCEEDED"
	StoreFull           Reason = "STORE_FULL"
	Unavailable         Reason = "UNAVAILABLE"
	CommitUncertain     Reason = "COMMIT_UNCERTAIN"
	StoreRolledBack     Reason = "STORE_ROLLED_BACK"
	DeadlineExceeded    Reason = "DEADLINE_EXCEEDED"
	Cancelled           Reason = "CANCELLED"
	Unimplemented       Reason = "UNIMPLEMENTED"
	Internal            Reason = "INTERNAL"
)

// statusClientClosed is the status that HTTP servers log for a caller that went away. It
// has no name in RFC 9110 because no reader is left.
const statusClientClosed = 499

// mapping is how a reason is shown to clients.
type mapping struct {
	code codes.Code
	http int
}

// mappings is the whole table. A reason that is not in it is shown as Internal.
var mappings = map[Reason]mapping{
	InvalidRequest:      {codes.InvalidArgument, http.StatusBadRequest},
	InvalidJSON:         {codes.InvalidArgument, http.StatusBadRequest},
	InvalidDefinition:   {codes.InvalidArgument, http.StatusUnprocessableEntity},
	InvalidSchema:       {codes.InvalidArgument, http.StatusUnprocessableEntity},
	SchemaViolation:     {codes.InvalidArgument, http.StatusUnprocessableEntity},
	PatchFailed:         {codes.FailedPrecondition, http.StatusUnprocessableEntity},
	NotAWriter:          {codes.PermissionDenied, http.StatusForbidden},
	TooLarge:            {codes.ResourceExhausted, http.StatusRequestEntityTooLarge},
	Unauthenticated:     {codes.Unauthenticated, http.StatusUnauthorized},
	PermissionDenied:    {codes.PermissionDenied, http.StatusForbidden},
	NotFound:            {codes.NotFound, http.StatusNotFound},
	VersionConflict:     {codes.Aborted, http.StatusConflict},
	IdempotencyMismatch: {codes.Aborted, http.StatusConflict},
	FailedPrecondition:  {codes.FailedPrecondition, http.StatusConflict},
	RunNotActive:        {codes.FailedPrecondition, http.StatusConflict},
	RunNotPaused:        {codes.FailedPrecondition, http.StatusConflict},
	RunHeld:             {codes.FailedPrecondition, http.StatusConflict},
	Halted:              {codes.FailedPrecondition, http.StatusConflict},
	Frozen:              {codes.FailedPrecondition, http.StatusConflict},
	RunEnded:            {codes.FailedPrecondition, http.StatusConflict},
	SessionBusy:         {codes.FailedPrecondition, http.StatusConflict},
	SessionRequired:     {codes.PermissionDenied, http.StatusForbidden},
	SessionEnded:        {codes.FailedPrecondition, http.StatusConflict},
	NameTaken:           {codes.FailedPrecondition, http.StatusConflict},
	EnforcementKept:     {codes.FailedPrecondition, http.StatusConflict},
	ApprovalDecided:     {codes.FailedPrecondition, http.StatusConflict},
	Locked:              {codes.FailedPrecondition, http.StatusLocked},
	Fenced:              {codes.FailedPrecondition, http.StatusLocked},
	LimitReached:        {codes.ResourceExhausted, http.StatusTooManyRequests},
	QuotaExceeded:       {codes.ResourceExhausted, http.StatusTooManyRequests},
	StoreFull:           {codes.ResourceExhausted, http.StatusInsufficientStorage},
	Unavailable:         {codes.Unavailable, http.StatusServiceUnavailable},
	CommitUncertain:     {codes.Unavailable, http.StatusServiceUnavailable},
	StoreRolledBack:     {codes.Unavailable, http.StatusServiceUnavailable},
	DeadlineExceeded:    {codes.DeadlineExceeded, http.StatusGatewayTimeout},
	Cancelled:           {codes.Canceled, statusClientClosed},
	Unimplemented:       {codes.Unimplemented, http.StatusNotImplemented},
	Internal:            {codes.Internal, http.StatusInternalServerError},
}

// Code returns the gRPC status code of a reason.
func (r Reason) Code() codes.Code {
	if m, ok := mappings[r]; ok {
		return m.code
	}
	return codes.Internal
}

// HTTPStatus returns the HTTP status of a reason.
func (r Reason) HTTPStatus() int {
	if m, ok := mappings[r]; ok {
		return m.http
	}
	return http.StatusInternalServerError
}

// Reasons returns all reasons, in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(mappings)) }

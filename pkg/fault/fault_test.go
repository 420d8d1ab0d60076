package fault_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/fault"
)

func TestMappingsAreTheContract(t *testing.T) {
	t.Parallel()
	want := map[fault.Reason]string{
		fault.InvalidRequest: "InvalidArgument 400", fault.InvalidJSON: "InvalidArgument 400",
		fault.InvalidDefinition: "InvalidArgument 422", fault.TooLarge: "ResourceExhausted 413",
		fault.Unauthenticated: "Unauthenticated 401", fault.PermissionDenied: "PermissionDenied 403",
		fault.InvalidSchema: "InvalidArgument 422", fault.SchemaViolation: "InvalidArgument 422",
		fault.PatchFailed: "FailedPrecondition 422", fault.SessionRequired: "PermissionDenied 403",
		fault.NotAWriter:   "PermissionDenied 403",
		fault.SessionEnded: "FailedPrecondition 409",
		fault.NotFound:     "NotFound 404", fault.VersionConflict: "Aborted 409",
		fault.IdempotencyMismatch: "Aborted 409", fault.FailedPrecondition: "FailedPrecondition 409",
		fault.RunNotActive: "FailedPrecondition 409", fault.RunNotPaused: "FailedPrecondition 409",
		fault.RunHeld: "FailedPrecondition 409", fault.Halted: "FailedPrecondition 409", fault.Frozen: "FailedPrecondition 409", fault.RunEnded: "FailedPrecondition 409",
		fault.SessionBusy: "FailedPrecondition 409", fault.NameTaken: "FailedPrecondition 409",
		fault.EnforcementKept: "FailedPrecondition 409",
		fault.ApprovalDecided: "FailedPrecondition 409",
		fault.Locked:          "FailedPrecondition 423", fault.Fenced: "FailedPrecondition 423",
		fault.LimitReached: "ResourceExhausted 429", fault.QuotaExceeded: "ResourceExhausted 429", fault.StoreFull: "ResourceExhausted 507", fault.Unavailable: "Unavailable 503",
		fault.CommitUncertain: "Unavailable 503", fault.StoreRolledBack: "Unavailable 503", fault.DeadlineExceeded: "DeadlineExceeded 504",
		fault.Cancelled: "Canceled 499", fault.Unimplemented: "Unimplemented 501",
		fault.Internal: "Internal 500", "NO_SUCH_REASON": "Internal 500",
	}
	for reason, line := range want {
		if got := fmt.Sprintf("%v %d", reason.Code(), reason.HTTPStatus()); got != line {
			t.Errorf("%s is %s, want %s", reason, got, line)
		}
	}
	upperSnake := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	for _, reason := range fault.Reasons() {
		if !upperSnake.MatchString(string(reason)) {
			t.Errorf("%q is not UPPER_SNAKE", reason)
		}
		if _, known := want[reason]; !known {
			t.Errorf("%s is not in this test's table", reason)
		}
	}
}

func TestStatusRoundTrip(t *testing.T) {
	t.Parallel()
	for _, reason := range fault.Reasons() {
		sent := fault.New(reason, "fix %s", "it").Meta("current_version", "7").
			Violate("/states/a", "UNKNOWN_TARGET", "no such state").Wrap(errors.New("secret cause"))
		sent.RetryAfter = 1500 * time.Millisecond
		st := sent.GRPCStatus()
		if text := fmt.Sprint(st.Proto()); strings.Contains(text, "secret") {
			t.Errorf("%s shows its cause: %s", reason, text)
		}
		got := fault.From(fmt.Errorf("call: %w", st.Err()))
		want := *sent
		want.Err, got.Err = nil, nil
		if reason == fault.Internal {
			want.Message = got.Message
			if strings.Contains(got.Message, "fix") {
				t.Errorf("an internal fault shows its message: %q", got.Message)
			}
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", reason, diff)
		}
	}
}

func TestDetailsByCode(t *testing.T) {
	t.Parallel()
	kinds := func(e *fault.Error) (names []string) {
		for _, d := range e.GRPCStatus().Details() {
			names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", d), "*errdetails."))
		}
		return names
	}
	limit := fault.New(fault.LimitReached, "x")
	limit.RetryAfter = time.Minute
	for name, tc := range map[string]struct {
		fault *fault.Error
		want  []string
	}{
		"plain":       {fault.New(fault.NotFound, "x"), []string{"ErrorInfo"}},
		"invalid":     {fault.New(fault.InvalidRequest, "x").Violate("/a", "B", "c"), []string{"ErrorInfo", "BadRequest"}},
		"too large":   {fault.New(fault.TooLarge, "x"), []string{"ErrorInfo", "QuotaFailure"}},
		"limit":       {limit, []string{"ErrorInfo", "QuotaFailure", "RetryInfo"}},
		"unavailable": {fault.New(fault.Unavailable, "x"), []string{"ErrorInfo", "RetryInfo"}},
	} {
		if diff := cmp.Diff(tc.want, kinds(tc.fault)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestManyViolationsStillFitInTrailers(t *testing.T) {
	t.Parallel()
	e := fault.New(fault.InvalidDefinition, "%s", strings.Repeat("long ", 10_000))
	for range 5000 {
		e.Violate("/states/\xff", "CODE", strings.Repeat("x", 200))
	}
	st := e.GRPCStatus()
	if size := proto.Size(st.Proto()); size > 40<<10 {
		t.Fatalf("the status has %d bytes", size)
	}
	got := fault.From(st.Err())
	if got.Reason != fault.InvalidDefinition || len(got.Violations) < 50 {
		t.Fatalf("got %s with %d violations", got.Reason, len(got.Violations))
	}
	if want := fmt.Sprint(5000 - len(got.Violations)); got.Metadata["violations_omitted"] != want {
		t.Errorf("omitted %q, want %s", got.Metadata["violations_omitted"], want)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	typed := fault.New(fault.RunEnded, "it has ended")
	for name, tc := range map[string]struct {
		err  error
		want fault.Reason
		// text must be in the message.
		text string
	}{
		"fault":             {typed, fault.RunEnded, "it has ended"},
		"wrapped fault":     {fmt.Errorf("secret: %w", typed), fault.RunEnded, "it has ended"},
		"deadline":          {fmt.Errorf("secret: %w", context.DeadlineExceeded), fault.DeadlineExceeded, ""},
		"cancelled":         {context.Canceled, fault.Cancelled, ""},
		"anything else":     {errors.New("secret"), fault.Internal, ""},
		"foreign status":    {status.Error(codes.NotFound, "no such thing"), fault.NotFound, "no such thing"},
		"transport":         {status.Error(codes.Unavailable, "dial tcp secret:1234"), fault.Unavailable, ""},
		"raw oversize":      {status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 4)"), fault.TooLarge, ""},
		"foreign exhausted": {status.Error(codes.ResourceExhausted, "slow down"), fault.LimitReached, ""},
		"foreign internal":  {status.Error(codes.Unknown, "secret"), fault.Internal, ""},
	} {
		got := fault.From(tc.err)
		if got.Reason != tc.want || !strings.Contains(got.Message, tc.text) {
			t.Errorf("%s: got %s %q, want %s %q", name, got.Reason, got.Message, tc.want, tc.text)
		}
		if shown := fmt.Sprint(got.GRPCStatus().Proto()); strings.Contains(shown, "secret") {
			t.Errorf("%s: internals are shown: %s", name, shown)
		}
		if fault.ReasonOf(tc.err) != tc.want {
			t.Errorf("%s: ReasonOf is %s", name, fault.ReasonOf(tc.err))
		}
	}
	if fault.From(nil) != nil || fault.ReasonOf(nil) != "" {
		t.Error("no error makes a fault")
	}
}

func TestPeersReasonThatIsNotKnownKeepsItsKind(t *testing.T) {
	t.Parallel()
	st, err := status.New(codes.FailedPrecondition, "too new").WithDetails(
		&errdetails.ErrorInfo{Reason: "FROM_THE_FUTURE", Domain: fault.Domain})
	if err != nil {
		t.Fatal(err)
	}
	got := fault.From(st.Err())
	if got.Reason != fault.FailedPrecondition || got.Metadata["peer_reason"] != "FROM_THE_FUTURE" || got.Message != "too new" {
		t.Errorf("got %+v", got)
	}
}

// errCause is the cause of a fault.
var errCause = errors.New("its cause")

func TestIsComparesReasonsOnly(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("step: %w", fault.New(fault.RunEnded, "one").Wrap(errCause))
	if !errors.Is(err, fault.New(fault.RunEnded, "another")) {
		t.Error("same reason differs")
	}
	if errors.Is(err, fault.New(fault.RunHeld, "one")) {
		t.Error("another reason is the same")
	}
	if !errors.Is(err, errCause) {
		t.Error("the cause is lost")
	}
	if got := fault.From(err).Error(); !strings.Contains(got, "RUN_ENDED: one: its cause") {
		t.Errorf("for logs: %q", got)
	}
}

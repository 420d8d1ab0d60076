package fault

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// translations are of the errors of packages above this one.
var translations []func(error) *Error

// Translate adds the translation of a package's errors, which returns nil for others. It is for the
// init function of that package. Translations go before a status or a context's error that they wrap.
func Translate(translate func(error) *Error) { translations = append(translations, translate) }

// From makes a fault of any error: a fault itself, however wrapped; an error that has a
// translation, such as the store's; a gRPC status, whose details are decoded; a context's error. Anything
// else is Internal, its text kept as the cause only. From(nil) is nil; mind that
// a nil *Error in an error variable is not a nil error.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e := find(err); e != nil {
		return e
	}
	for _, translate := range translations {
		if e := translate(err); e != nil {
			return e
		}
	}
	var coded interface{ GRPCStatus() *status.Status }
	if errors.As(err, &coded) {
		if st := coded.GRPCStatus(); st != nil && st.Code() != codes.OK {
			return fromStatus(st, err)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(DeadlineExceeded, "the deadline passed before there was an answer").Wrap(err)
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "the caller went away").Wrap(err)
	}
	return New(Internal, internalMessage).Wrap(err)
}

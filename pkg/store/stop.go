package store

import "context"

type stopKey struct{}

// WithStop marks work that only stops or removes something. A store with little room, and a caller
// without any left, still have room for that.
func WithStop(ctx context.Context) context.Context { return context.WithValue(ctx, stopKey{}, true) }

// Stops returns whether work only stops or removes something.
func Stops(ctx context.Context) bool { return ctx.Value(stopKey{}) != nil }

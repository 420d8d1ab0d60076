package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// LevelVariable is the environment variable of the log level.
const LevelVariable = "INTERLOCK_LOG_LEVEL"

// ParseLevel reads debug, info, warn or error, in any case; empty is info.
func ParseLevel(s string) (slog.Level, error) {
	var level slog.Level
	if s == "" {
		return slog.LevelInfo, nil
	}
	if err := level.UnmarshalText([]byte(s)); err != nil {
		return slog.LevelInfo, fmt.Errorf("log level %q: use debug, info, warn or error", s)
	}
	return level, nil
}

// NewLogger logs JSON lines to w, with the trace_id and span_id of the context, and the ids
// that About put there.
//
// It guarantees that no payload is logged by way of a value: attributes may be
// text, numbers, booleans, times, durations, errors, lists of text, and groups
// and LogValuers of these. Anything else, like bytes, messages, structs and maps,
// is replaced by its type, and so is every value whose key names a credential.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(traced{slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: redact})})
}

// traced adds the ids of the context's span and request.
type traced struct{ slog.Handler }

// Handle logs one record.
func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	addIDs(ctx, &r)
	return h.Handler.Handle(ctx, r) // a logger's error is not read
}

// WithAttrs returns the handler with attributes.
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup returns the handler with a group.
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }

// secretKeys are parts of keys whose values are never logged.
var secretKeys = []string{"token", "authorization", "password", "secret", "credential", "cookie", "api_key", "apikey"}

func redact(_ []string, a slog.Attr) slog.Attr {
	key := strings.ToLower(a.Key)
	for _, secret := range secretKeys {
		if strings.Contains(key, secret) {
			a.Value = slog.StringValue("[redacted]")
			return a
		}
	}
	switch a.Value.Kind() {
	case slog.KindAny:
	case slog.KindDuration: // JSON would have a number of nanoseconds
		a.Value = slog.StringValue(a.Value.Duration().String())
		return a
	default:
		return a
	}
	switch v := a.Value.Any().(type) {
	case nil, error, []string, *slog.Source, slog.Level:
	default:
		a.Value = slog.StringValue(fmt.Sprintf("[redacted %T]", v))
	}
	return a
}

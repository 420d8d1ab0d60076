package telemetry

import (
	"context"
	"log/slog"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ids are the fields of requests that logs may name: the objects of a line.
var ids = [...]protoreflect.Name{"run_id", "session_id", "call_id", "approval_id", "state_id"}

// longestID is more than ids have.
const longestID = 256

type aboutKey struct{}

// About returns ctx for work on a request: lines that are logged with it have the request's
// ids of runs, sessions, calls, approvals and states.
func About(ctx context.Context, request proto.Message) context.Context {
	return context.WithValue(ctx, aboutKey{}, request)
}

// addIDs adds the ids of the objects that ctx is about, but for those that the record
// names itself.
func addIDs(ctx context.Context, r *slog.Record) {
	request, is := ctx.Value(aboutKey{}).(proto.Message)
	if !is || request == nil {
		return
	}
	message := request.ProtoReflect()
	if !message.IsValid() {
		return
	}
	named := map[string]bool{}
	r.Attrs(func(a slog.Attr) bool {
		named[a.Key] = true
		return true
	})
	for _, name := range ids {
		field := message.Descriptor().Fields().ByName(name)
		if field == nil || field.Kind() != protoreflect.StringKind || field.IsList() || named[string(name)] {
			continue
		}
		if id := message.Get(field).String(); id != "" {
			r.AddAttrs(slog.String(string(name), plainID(id)))
		}
	}
}

// plainID returns an id as logs have it: it leaves out text that is too long, or cannot
// be an id.
func plainID(id string) string {
	if len(id) > longestID {
		return "[too long]"
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return "[not an id]"
		}
	}
	return id
}

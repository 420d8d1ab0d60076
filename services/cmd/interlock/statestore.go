package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// actingFlag names the session that acts (S10.9).
type actingFlag struct {
	As string `help:"Session that acts, by id or name. With an agent's token one is needed." env:"INTERLOCK_SESSION" placeholder:"SESSION"`
}

// refusals are the faults that are an answer: the request was understood, and what
// is there does not allow it.
var refusals = []fault.Reason{
	fault.InvalidSchema, fault.InvalidDefinition, fault.SchemaViolation, fault.PatchFailed, fault.TooLarge,
	fault.VersionConflict, fault.IdempotencyMismatch, fault.FailedPrecondition, fault.Locked, fault.Fenced,
	fault.SessionBusy, fault.SessionEnded, fault.NameTaken,
}

// ask connects, asks a service for something, and closes the connection. A refusal
// is told, and ends with console.ErrNo.
func (f *clientFlags) ask(ctx context.Context, io console.Streams, do func(grpc.ClientConnInterface) error) error {
	return f.askAs(ctx, auth.Operator, io, refusals, do)
}

func (f *clientFlags) askAs(
	ctx context.Context, role auth.Role, io console.Streams, refusals []fault.Reason, do func(grpc.ClientConnInterface) error,
) error {
	conn, err := f.dial(ctx, role)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = do(conn)
	if err != nil && slices.Contains(refusals, fault.ReasonOf(err)) {
		fmt.Fprintln(io.Err, "interlock:", explain(err))
		return console.ErrNo
	}
	return err
}

// invalidFile tells what the server finds wrong with a file, one line each, when
// that is what err is about. Pointers of the answer begin with under.
func invalidFile(file, under string, err error, io console.Streams) error {
	f := fault.From(err)
	if err == nil || f.Reason != fault.InvalidSchema && f.Reason != fault.InvalidDefinition || len(f.Violations) == 0 {
		return err
	}
	for _, v := range f.Violations {
		fmt.Fprintln(io.Err, show.Problem(file, document.Problem{
			Pointer: strings.TrimPrefix(v.Pointer, under), Code: v.Code, Severity: document.SeverityError, Message: v.Message,
		}))
	}
	return console.ErrNo
}

// noLimit is for lists that are shown as a whole.
const noLimit = math.MaxInt

// collect asks for pages until there are no more, or as many as wanted.
func collect[P, V any](limit int, view func(P) V, page func(token string, size int32) ([]P, string, error)) ([]V, error) {
	all := []V{}
	for token := ""; len(all) < limit; {
		some, next, err := page(token, int32(min(1000, limit-len(all))))
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			all = append(all, view(one))
		}
		if token = next; token == "" {
			break
		}
	}
	return all, nil
}

// choice is the number of an enumeration's value by its name, 0 for an empty one.
func choice(what, name string, values map[string]int32, prefix string, names []string) (int32, error) {
	n, ok := values[prefix+strings.ToUpper(name)]
	if name != "" && (!ok || n == 0) {
		return 0, fmt.Errorf("unknown %s %q; one of %s", what, name, strings.Join(names, ", "))
	}
	return n, nil
}

package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
)

// Acting names the session that acts (S10.9).
type Acting struct {
	AsSession string `help:"Session that acts, by id or name. With an agent's token one is needed." env:"INTERLOCK_SESSION" placeholder:"SESSION"`
}

// Refusals are the faults that are an answer: the server understood the request, and the
// present state does not allow it.
var Refusals = []fault.Reason{
	fault.InvalidSchema, fault.InvalidDefinition, fault.SchemaViolation, fault.PatchFailed, fault.NotAWriter, fault.TooLarge,
	fault.VersionConflict, fault.IdempotencyMismatch, fault.FailedPrecondition, fault.Locked, fault.Fenced,
	fault.SessionBusy, fault.SessionEnded, fault.NameTaken,
}

// Refused reports an error that is an answer, one of Refusals.
func Refused(err error) bool { return err != nil && slices.Contains(Refusals, fault.ReasonOf(err)) }

// Do connects as a role, does something, and closes the connection.
func (c *Connection) Do(ctx context.Context, io console.Streams, role auth.Role, do func(grpc.ClientConnInterface) error) error {
	conn, err := c.Dial(ctx, io, role)
	if err != nil {
		return err
	}
	defer conn.Close()
	as, err := c.caller(io, role)
	if err != nil {
		return err
	}
	return c.demoted(io, role, do(&proving{conn, c, as}))
}

// Ask does something as an operator. It prints a refusal, and then returns
// console.ErrNo.
func (c *Connection) Ask(ctx context.Context, io console.Streams, do func(grpc.ClientConnInterface) error) error {
	return c.AskAs(ctx, auth.Operator, io, Refusals, do)
}

// AskAs does the work of Ask in another role; refusals are the reasons of faults that
// count as one.
func (c *Connection) AskAs(
	ctx context.Context, role auth.Role, io console.Streams, refusals []fault.Reason,
	do func(grpc.ClientConnInterface) error,
) error {
	err := c.Do(ctx, io, role, do)
	if err != nil && slices.Contains(refusals, fault.ReasonOf(err)) {
		fmt.Fprintln(io.Err, "interlock:", Explain(err))
		return console.ErrNo
	}
	return err
}

// InvalidFile prints the server's problems of a file when err is about that, and then returns console.ErrNo. The server's pointers begin
// with under.
func InvalidFile(file input.Source, under string, err error, io console.Streams) error {
	f := fault.From(err)
	if err == nil || f.Reason != fault.InvalidSchema && f.Reason != fault.InvalidDefinition || len(f.Violations) == 0 {
		return err
	}
	problems := make(document.Problems, len(f.Violations))
	for i, v := range f.Violations {
		problems[i] = document.Problem{
			Pointer: strings.TrimPrefix(v.Pointer, under), Code: v.Code, Severity: document.SeverityError, Message: v.Message,
		}
	}
	return file.Refuse(problems, io)
}

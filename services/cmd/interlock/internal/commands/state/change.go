package state

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// writeFlags of every change of a state.
type writeFlags struct {
	ExpectedVersion int64  `help:"Fail unless the state is at this version." placeholder:"N"`
	FencingToken    int64  `help:"Of the lock that is held on the state." placeholder:"N"`
	IdempotencyKey  string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

// update sends one change, whose kind is set.
func (c *oneState) update(
	ctx context.Context, io console.Streams, w writeFlags, req *statev1.UpdateStateRequest,
) error {
	req.ExpectedVersion, req.FencingToken, req.IdempotencyKey = w.ExpectedVersion, w.FencingToken, w.IdempotencyKey
	req.WithData = !c.ForPeople()
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		req.StateId, req.Session = c.StateID, c.AsSession
		resp, err := statev1.NewStateServiceClient(conn).UpdateState(ctx, req)
		if err != nil {
			return err
		}
		return printChanged(c.Printer, io, "updated", resp.GetState())
	})
}

// printChanged reports a change that was made.
func printChanged(p show.Printer, io console.Streams, verb string, state *statev1.State) error {
	view := jsonview.StateOf(state)
	return p.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, view.StateID, view.Version)
	})
}

type putCommand struct {
	oneState
	documentFlags
	writeFlags
}

func (c *putCommand) Run(ctx context.Context, io console.Streams) error {
	data, err := c.read(io)
	if err != nil {
		return err
	}
	return c.update(ctx, io, c.writeFlags, &statev1.UpdateStateRequest{
		Change: &statev1.UpdateStateRequest_Data{
			Data: data,
		},
	})
}

type patchCommand struct {
	oneState
	writeFlags
	Op    []string `sep:"none" xor:"patch" help:"Operation of a JSON Patch (RFC 6902) or a list of them, as JSON or in a file. May be repeated: all apply, or none." placeholder:"JSON|FILE"`
	Merge string   `xor:"patch" help:"JSON Merge Patch (RFC 7396) instead, as JSON or in a file." placeholder:"JSON|FILE"`
}

func (c *patchCommand) Run(ctx context.Context, io console.Streams) error {
	req := &statev1.UpdateStateRequest{}
	switch {
	case len(c.Op) > 0:
		patch, err := input.Operations("op", c.Op, io)
		if err != nil {
			return err
		}
		req.Change = &statev1.UpdateStateRequest_Patch{Patch: patch}
	case c.Merge != "":
		merge, err := input.JSON("merge", c.Merge, io)
		if err != nil {
			return err
		}
		req.Change = &statev1.UpdateStateRequest_MergePatch{MergePatch: merge}
	default:
		return console.Misusedf("give the change: --op with operations of a JSON Patch, or --merge with a JSON Merge Patch")
	}
	return c.update(ctx, io, c.writeFlags, req)
}

type migrateCommand struct {
	oneState
	writeFlags
	SchemaVersion int64    `help:"Version of the schema to move to; the live one by default." placeholder:"N"`
	Op            []string `sep:"none" help:"Operation of a JSON Patch that fits the document to it, or a list of them, as JSON or in a file. May be repeated." placeholder:"JSON|FILE"`
}

func (c *migrateCommand) Run(ctx context.Context, io console.Streams) error {
	var patch []byte
	if len(c.Op) > 0 {
		var err error
		if patch, err = input.Operations("op", c.Op, io); err != nil {
			return err
		}
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewStateServiceClient(conn).MigrateState(ctx, &statev1.MigrateStateRequest{
			StateId: c.StateID, Session: c.AsSession, SchemaVersion: c.SchemaVersion, Patch: patch,
			ExpectedVersion: c.ExpectedVersion, FencingToken: c.FencingToken, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return printChanged(c.Printer, io, fmt.Sprintf("migrated to %s version %d",
			show.Text(resp.GetState().GetSchemaName()), resp.GetState().GetSchemaVersion()), resp.GetState())
	})
}

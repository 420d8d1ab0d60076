package state

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// oneState names the state of a command.
type oneState struct {
	client.Connection
	show.Printer
	client.Acting
	StateID string `arg:"" name:"state" help:"Id of the state, or its beginning; @last for the newest."`
}

// ask does the work of Ask for a state, and knows which state is meant.
func (c *oneState) ask(ctx context.Context, io console.Streams, do func(grpc.ClientConnInterface) error) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		if c.StateID, err = client.StateID(ctx, conn, c.StateID, c.AsSession); err != nil {
			return err
		}
		return do(conn)
	})
}

// documentFlags bring a document.
type documentFlags struct {
	File  string `arg:"" optional:"" help:"The document, in JSON or YAML by its name." placeholder:"FILE"`
	Input string `help:"The document itself instead of a file; @FILE reads one." placeholder:"JSON"`
}

func (c *documentFlags) read(io console.Streams) ([]byte, error) {
	switch {
	case (c.File == "") == (c.Input == ""):
		return nil, console.Misusedf("give the document: either FILE, or --input with the JSON itself")
	case c.File != "":
		src, err := input.Document(c.File, io)
		return src.JSON, err
	default:
		return input.JSON("input", c.Input, io)
	}
}

// printState writes one state.
func printState(p show.Printer, io console.Streams, state *statev1.State) error {
	view := jsonview.StateOf(state)
	return p.Print(io.Out, view, func(w *show.Sheet) {
		t := show.Rows{W: w}
		t.Row("state", view.StateID)
		t.Row("schema", fmt.Sprintf("%s (version %d)", view.SchemaName, view.SchemaVersion))
		t.Row("root session", view.RootSessionName)
		t.Row("version", fmt.Sprint(view.Version))
		t.Row("updated", w.Time(view.UpdatedAt)+" by "+view.UpdatedBy)
		if l := view.Lock; l != nil {
			t.Row("locked", "by "+l.Holder+" until "+w.Time(l.ExpiresAt))
		}
		if view.CurrentData != nil {
			fmt.Fprintln(w, show.Indented(view.CurrentData))
		}
	})
}

type createCommand struct {
	client.Connection
	show.Printer
	client.Acting
	Schema string `arg:"" help:"Name of its schema."`
	documentFlags
	Session        string `help:"Root session, by id or name; a name that is not known makes one. By default the session that acts, or a new one." placeholder:"NAME"`
	SchemaVersion  int64  `help:"Version of the schema; the live one by default." placeholder:"N"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first state." placeholder:"KEY"`
}

func (c *createCommand) Run(ctx context.Context, io console.Streams) error {
	data, err := c.read(io)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewStateServiceClient(conn).CreateState(ctx, &statev1.CreateStateRequest{
			SchemaName: c.Schema, SchemaVersion: c.SchemaVersion, Data: data, IdempotencyKey: c.IdempotencyKey,
			Session: cmp.Or(c.Session, c.AsSession), ExistingSession: c.Session == "" && c.AsSession != "",
		})
		if err != nil {
			return err
		}
		return printState(c.Printer, io, resp.GetState())
	})
}

type getCommand struct {
	client.Connection
	show.Printer
	client.Acting
	StateID  string   `arg:"" name:"state" optional:"" help:"Id of the state, or its beginning; @last for the newest; by default that of the session."`
	Session  string   `help:"The state of this session, by id or name." placeholder:"NAME"`
	Pointers []string `name:"pointer" sep:"none" help:"JSON Pointer of a part to show instead of the whole, e.g. /tasks/0. May be repeated." placeholder:"POINTER"`
	Version  int64    `help:"The state as it was at this version." placeholder:"N"`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	if c.StateID != "" && c.Session != "" {
		return console.Misusedf("give either the state or --session, not both")
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if c.Session != "" {
			session, err := statev1.NewSessionServiceClient(conn).GetSession(ctx, &statev1.GetSessionRequest{
				SessionId: c.Session, Session: c.AsSession,
			})
			if err != nil {
				return err
			}
			if c.StateID = session.GetSession().GetWorkflowStateId(); c.StateID == "" {
				return fmt.Errorf("session %q shares no state; create one with `interlock state create SCHEMA FILE --session ROOT`",
					c.Session)
			}
		}
		var err error
		if c.StateID, err = client.StateID(ctx, conn, c.StateID, c.AsSession); err != nil {
			return err
		}
		resp, err := statev1.NewStateServiceClient(conn).GetState(ctx, &statev1.GetStateRequest{
			StateId: c.StateID, Session: c.AsSession, Pointers: c.Pointers, Version: c.Version,
		})
		switch {
		case err != nil:
			return err
		case len(c.Pointers) > 0:
			return printParts(c.Printer, io, resp)
		default:
			return printState(c.Printer, io, resp.GetState())
		}
	})
}

// partsView is the JSON of parts of a state.
type partsView struct {
	StateID string          `json:"state_id"`
	Version int64           `json:"version"`
	Parts   []jsonview.Part `json:"parts"`
}

// printParts writes the parts that were asked for.
func printParts(p show.Printer, io console.Streams, resp *statev1.GetStateResponse) error {
	state := resp.GetState()
	view := partsView{StateID: state.GetStateId(), Version: state.GetVersion(), Parts: []jsonview.Part{}}
	for _, p := range resp.GetParts() {
		view.Parts = append(view.Parts, jsonview.PartOf(p))
	}
	return p.Print(io.Out, view, func(w *show.Sheet) {
		for _, p := range view.Parts {
			value := "(nothing)"
			if p.Found {
				value = string(p.Value)
			}
			fmt.Fprintf(w, "%s\t%s\n", show.Text(cmp.Or(p.Pointer, "(all)")), show.Text(value))
		}
	})
}

type listCommand struct {
	client.Connection
	show.Printer
	client.Acting
	Root   string `help:"Only that of this root session, by id or name." placeholder:"NAME"`
	Schema string `help:"Only those of this schema." placeholder:"NAME"`
	client.Page
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		before, err := c.Term(ctx, conn, func(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error) {
			return client.StateID(ctx, conn, given, c.AsSession)
		})
		if err != nil {
			return err
		}
		states := statev1.NewStateServiceClient(conn)
		all, err := client.Collect(c.Limit, jsonview.StateOf,
			func(token string, size int32) ([]*statev1.State, string, error) {
				page, err := states.ListStates(ctx, &statev1.ListStatesRequest{
					Session: c.AsSession, PageSize: size, PageToken: token,
					Filter: listing.Filter(
						listing.Term{Key: "root_session", Value: c.Root}, listing.Term{Key: "schema", Value: c.Schema}, before,
					),
				})
				return page.GetStates(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		const columns = "STATE\tSCHEMA\tROOT SESSION\tVERSION\tUPDATED\tBY"
		return show.Table(c.Printer, io.Out, columns, all, func(s *jsonview.State) []any {
			return []any{show.ID(s.StateID), s.SchemaName, s.RootSessionName, s.Version, s.UpdatedAt, s.UpdatedBy}
		})
	})
}

type deleteCommand struct {
	oneState
	Force           bool  `help:"Also while its root session has not ended."`
	ExpectedVersion int64 `help:"Fail unless the state is at this version." placeholder:"N"`
}

func (c *deleteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		_, err := statev1.NewStateServiceClient(conn).DeleteState(ctx, &statev1.DeleteStateRequest{
			StateId: c.StateID, Session: c.AsSession, Force: c.Force, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return err
		}
		view := struct {
			StateID string `json:"state_id"`
			Deleted bool   `json:"deleted"`
		}{c.StateID, true}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "deleted\t%s\n", show.Text(c.StateID)) })
	})
}

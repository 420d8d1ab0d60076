package state

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type historyCommand struct {
	oneState
	After   int64 `help:"Only changes after this version." placeholder:"N"`
	Patches bool  `help:"Show the JSON Patch of each change in the table too."`
}

func (c *historyCommand) Run(ctx context.Context, streams console.Streams) error {
	all := []jsonview.StateVersion{}
	err := c.ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		states := statev1.NewStateServiceClient(conn)
		next := &statev1.GetStateHistoryRequest{StateId: c.StateID, Session: c.AsSession, AfterVersion: c.After, PageSize: 1000}
		for more := true; more; more = next.AfterVersion > 0 {
			page, err := states.GetStateHistory(ctx, next)
			if err != nil {
				return err
			}
			for _, v := range page.GetVersions() {
				all = append(all, jsonview.StateVersionOf(v))
			}
			next.AfterVersion = page.GetNextAfterVersion()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.Print(streams.Out, all, func(w *show.Sheet) {
		fmt.Fprintln(w, "VERSION\tTIME\tCHANGE\tSCHEMA VERSION\tSESSION\tACTOR")
		for i := range all {
			v := &all[i]
			fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\n", v.Version, w.Time(v.Time), v.Type, v.SchemaVersion,
				show.Text(v.SessionName), show.Text(v.Actor))
		}
		if c.Patches {
			for i := range all {
				fmt.Fprintf(w, "\nversion %d\n", all[i].Version)
				show.Operations(w, all[i].Patch)
			}
		}
	})
}

type diffCommand struct {
	oneState
	From int64 `arg:"" name:"from" help:"A version."`
	To   int64 `arg:"" name:"to" optional:"" help:"Another version; the latest by default."`
}

// diffView is the JSON of the differences: a JSON Patch that makes one version of the
// other.
type diffView struct {
	StateID string         `json:"state_id"`
	From    int64          `json:"from_version"`
	To      int64          `json:"to_version"`
	Patch   jsontext.Value `json:"patch"`
}

func (c *diffCommand) Run(ctx context.Context, streams console.Streams) error {
	return c.ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		states := statev1.NewStateServiceClient(conn)
		from, _, err := c.at(ctx, states, c.From)
		if err != nil {
			return err
		}
		to, version, err := c.at(ctx, states, c.To)
		if err != nil {
			return err
		}
		view := diffView{StateID: c.StateID, From: c.From, To: version, Patch: document.Diff(from, to).AppendJSON(nil)}
		return c.Print(streams.Out, view, func(w *show.Sheet) { show.Operations(w, view.Patch) })
	})
}

// at returns the document at a version.
func (c *diffCommand) at(
	ctx context.Context, states statev1.StateServiceClient, version int64,
) (document.Value, int64, error) {
	resp, err := states.GetState(ctx, &statev1.GetStateRequest{StateId: c.StateID, Session: c.AsSession, Version: version})
	if err != nil {
		return document.Value{}, 0, err
	}
	data := resp.GetState().GetData()
	v, problem := document.Parse(data, document.Limits{Bytes: len(data)})
	if problem != nil {
		return v, 0, fmt.Errorf("read version %d: %s", version, problem.Message)
	}
	return v, resp.GetState().GetVersion(), nil
}

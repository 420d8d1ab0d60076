package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type watchCommand struct {
	client.Connection
	RunID  string `arg:"" name:"run" help:"Id of the run."`
	Format string `help:"Output: table or json (one object a line)." enum:"table,json" default:"table"`
}

func (c *watchCommand) Run(ctx context.Context, streams console.Streams) error {
	return call(ctx, streams, &c.Connection, func(runs enginev1.RunServiceClient) error {
		stream, err := runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: c.RunID})
		for err == nil {
			err = c.next(stream, streams.Out)
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		return err
	})
}

func (c *watchCommand) next(stream grpc.ServerStreamingClient[enginev1.WatchRunResponse], out io.Writer) error {
	resp, err := stream.Recv()
	if err != nil {
		return err
	}
	view := jsonview.RunOf(resp.GetRun())
	if c.Format == "json" {
		return json.MarshalEncode(jsontext.NewEncoder(out), view)
	}
	_, err = fmt.Fprintf(out, "%s  version %d  %s  %s\n",
		show.Time(view.UpdatedAt), view.Version, view.Status, show.Text(whereabouts(&view)))
	return err
}

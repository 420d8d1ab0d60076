package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type watchCommand struct{ One }

func (c *watchCommand) Run(ctx context.Context, streams console.Streams) error {
	return c.call(ctx, streams, func(runs enginev1.RunServiceClient) error {
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
	return c.Next(out, view, func(s show.Style) string {
		return fmt.Sprintf("%s  version %d  %s  %s", s.Time(view.UpdatedAt), view.Version, s.Word(view.Status), show.Text(whereabouts(&view)))
	})
}

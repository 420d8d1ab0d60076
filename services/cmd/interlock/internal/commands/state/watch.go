package state

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type watchCommand struct {
	oneState
	After   int64 `help:"Begin with changes after this version; by default with future ones." default:"-1" placeholder:"N"`
	Patches bool  `help:"Show the JSON Patch of each change too."`
}

func (c *watchCommand) Run(ctx context.Context, streams console.Streams) error {
	return c.ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		stream, err := statev1.NewStateServiceClient(conn).WatchState(ctx, &statev1.WatchStateRequest{
			StateId: c.StateID, Session: c.AsSession, AfterVersion: c.After,
		})
		for err == nil {
			var resp *statev1.WatchStateResponse
			if resp, err = stream.Recv(); err == nil {
				err = c.show(resp, streams.Out)
			}
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		return err
	})
}

// watchedChange is the JSON of a change as it is watched: that of live events, and
// the patch if asked for.
type watchedChange struct {
	jsonview.StateEvent
	Patch jsontext.Value `json:"patch,omitzero"`
}

// deletedState is the JSON of the end of a state.
type deletedState struct {
	EventType string `json:"event_type"`
	StateID   string `json:"state_id"`
}

func (c *watchCommand) show(resp *statev1.WatchStateResponse, out io.Writer) error {
	change := jsonview.StateVersionOf(resp.GetChange())
	if resp.GetDeleted() {
		return c.Next(out, deletedState{jsonview.StateDeleted, resp.GetStateId()}, func(show.Style) string { return "deleted" })
	}
	event := watchedChange{StateEvent: jsonview.StateEventOf(resp.GetStateId(), resp.GetChange())}
	if c.Patches {
		event.Patch = change.Patch
	}
	by := change.SessionName
	if by == "" {
		by = change.Actor
	}
	err := c.Next(out, event, func(s show.Style) string {
		return fmt.Sprintf("%s  version %d  %s  by %s", s.Time(change.Time), change.Version, change.Type, show.Text(by))
	})
	if err == nil && c.Patches && c.ForPeople() {
		show.Operations(out, change.Patch)
	}
	return err
}

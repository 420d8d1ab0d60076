package sdk

import (
	"context"
	"encoding/json"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// UpdateState reads a state, by default the session's, replaces it by the result of
// change, and starts again when another writer was faster: change may be called several
// times, each time with the document as it is then. An error of change ends it and is
// returned as it is.
//
// Lost races are tried again until ctx ends; VERSION_CONFLICT is the answer when time is
// up. Concurrent writers should use [Client.PatchState], which no race can fail. With a
// key of the caller, a change that was made before is IDEMPOTENCY_MISMATCH, because the
// document has changed.
func (c *Client) UpdateState(ctx context.Context, id string, change func(doc json.RawMessage) (json.RawMessage, error), opts ...ChangeOption) (State, error) {
	until := deadline(ctx)
	for lost := 0; ; lost++ {
		before, err := c.ReadState(ctx, id)
		if err != nil {
			return State{}, err
		}
		data, err := change(before.Data)
		if err != nil {
			return State{}, err
		}
		after, err := c.write(ctx, &statev1.UpdateStateRequest{
			StateId: before.ID, ExpectedVersion: before.Version,
			Change: &statev1.UpdateStateRequest_Data{Data: data},
		}, keyOf(opts))
		if err == nil {
			after.Data = data
			return after, nil
		}
		wait := yield(lost)
		if Reason(err) != fault.VersionConflict || time.Now().Add(wait).After(until) {
			return State{}, err
		}
		if pause(ctx, wait) != nil {
			return State{}, contextEnded(ctx, err)
		}
	}
}

package states

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// watchInterval bounds how late a watcher learns of a change when no wake-up
// reached this process.
const watchInterval = time.Second

// Watch sends every change of a state after a version - -1 for the latest - and then
// those that come, until the state is gone, ctx is done or send fails. At the end of
// a state it sends nil.
func (ss *States) Watch(ctx context.Context, caller ports.Caller, id string, after int64, send func(stateID string, c *Change) error) error {
	st, err := ss.readable(ctx, caller, id)
	if err != nil {
		return err
	}
	id = st.Key.ID
	switch {
	case after < 0:
		after = st.Version
	case after > st.Version:
		return fault.New(fault.InvalidRequest, "state %s is at version %d: version %d is in the future", id, st.Version, after).
			Violate("/after_version", "RANGE", "must be an existing version")
	}
	changed, stop := ss.ports.Changes.Wait(st.Key)
	defer stop()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		// The rights of the caller can change at any time.
		st, err := ss.readable(ctx, caller, id)
		if fault.ReasonOf(err) == fault.NotFound {
			return send(id, nil)
		}
		if err != nil {
			return err
		}
		for after < st.Version {
			changes, err := ss.changesAfter(ctx, st.Key, after, 256)
			if err != nil {
				return err
			}
			if len(changes) == 0 {
				break
			}
			for _, c := range changes {
				if err := send(id, c); err != nil {
					return err
				}
				after = c.Version
			}
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
}

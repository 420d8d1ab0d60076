package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// watchInterval bounds how late a watcher learns of a change when no wake-up
// reached this process.
const watchInterval = time.Second

// Watch sends a run as it is now and then whenever its version has grown, until
// it has ended, ctx is done or send fails. Changes in quick succession may be
// sent as one; the history has each.
func (rd *Reads) Watch(ctx context.Context, caller ports.Caller, runID string, send func(*View) error) error {
	key := runKey(caller.Namespace, runID)
	changed, stop := rd.ports.Changed.Wait(key)
	defer stop()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	sent := int64(0)
	for {
		run, err := rd.runs.load(ctx, key)
		if err != nil {
			return err
		}
		if err := rd.mayRead(ctx, caller, run); err != nil {
			return err
		}
		if run.Version > sent {
			view, err := rd.views.of(ctx, caller.Namespace, run.At(""), "")
			if err != nil {
				return err
			}
			if err := send(view); err != nil {
				return err
			}
			sent = run.Version
		}
		if run.Status.Ended() {
			return nil
		}
		select {
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
}

// RunChanged wakes the watchers of a run.
func (rd *Reads) RunChanged(namespace, runID string) { rd.ports.Changed.Wake(runKey(namespace, runID)) }

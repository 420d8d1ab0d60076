package engine

import (
	"context"

	"github.com/interlock-run/interlock/pkg/bus"
)

// Follow returns work that wakes the watchers of this process when a run changed
// in another one, until its context ends. Without NATS they still learn of
// changes, up to a second later.
func (e *Engine) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return bus.Follow(endpoint, "interlock-engine-watch", func(namespace, _, id string) { e.app.Reads.RunChanged(namespace, id) }, "run")
}

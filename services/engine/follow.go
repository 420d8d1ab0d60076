package engine

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/bus"
)

// Follow answers work that wakes the watchers of this process when a run changed
// in another one, until its context ends. Without NATS they still learn of
// changes, up to a second later.
func (e *Engine) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return func(ctx context.Context) error {
		endpoint.Options = append(endpoint.Options, nats.RetryOnFailedConnect(true))
		conn, err := endpoint.Connect("interlock-engine-watch")
		for err != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
			conn, err = endpoint.Connect("interlock-engine-watch")
		}
		defer conn.Close()
		_, err = conn.Subscribe(bus.Subject{Entity: "run"}.Filter(), func(m *nats.Msg) {
			if s, err := bus.ParseSubject(m.Subject); err == nil {
				e.app.RunChanged(s.Namespace, s.ID)
			}
		})
		if err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
}

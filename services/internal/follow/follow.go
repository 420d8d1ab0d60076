// Package follow tells a process what has changed in others, by events. It is a
// hint and no more: whoever hears of a change reads the store.
package follow

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/bus"
)

// Events answers work that calls changed for each event about one of the entities,
// until its context ends. name is the connection's.
func Events(endpoint bus.Endpoint, name string, changed func(namespace, entity, id string), entities ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		endpoint := endpoint
		endpoint.Options = append(append([]nats.Option(nil), endpoint.Options...), nats.RetryOnFailedConnect(true))
		conn, err := endpoint.Connect(name)
		for err != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
			conn, err = endpoint.Connect(name)
		}
		defer conn.Close()
		for _, entity := range entities {
			_, err = conn.Subscribe(bus.Subject{Entity: entity}.Filter(), func(m *nats.Msg) {
				if s, err := bus.ParseSubject(m.Subject); err == nil {
					changed(s.Namespace, s.Entity, s.ID)
				}
			})
			if err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}
}

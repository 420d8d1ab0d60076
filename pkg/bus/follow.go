package bus

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Follow returns work that calls changed for each event about one of the entities. An
// event is only a hint: a process that hears of a change reads the store. It works
// until its context ends. name is the connection's.
func Follow(endpoint Endpoint, name string, changed func(namespace, entity, id string), entities ...string) func(context.Context) error {
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
			_, err = conn.Subscribe(Subject{Entity: entity}.Filter(), func(m *nats.Msg) {
				if s, err := ParseSubject(m.Subject); err == nil {
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

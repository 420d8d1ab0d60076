package engine

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
)

// streamThere waits until the relay has made the stream. It is false when ctx ends
// first.
func streamThere(ctx context.Context, js jetstream.JetStream) bool {
	for {
		if _, err := js.Stream(ctx, bus.DefaultStream); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// ConsumeEvents returns work that does what follows for runs from what other services have
// decided, until its context ends: a session's end pauses and holds its run, until
// the session is resumed; a decided approval lets a parked transition fire, or drops
// it. The events are durable, so that nothing is missed while no engine runs.
func (e *Engine) ConsumeEvents(endpoint bus.Endpoint) func(context.Context) error {
	return func(ctx context.Context) error {
		endpoint := endpoint
		endpoint.Options = append(append([]nats.Option(nil), endpoint.Options...), nats.RetryOnFailedConnect(true))
		conn, err := endpoint.Connect("interlock-engine-obey")
		for err != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
			conn, err = endpoint.Connect("interlock-engine-obey")
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		if !streamThere(ctx, js) {
			return nil
		}
		subscriptions := []bus.SubscriberConfig{e.sessions()}
		if e.app.Approvals != nil {
			subscriptions = append(subscriptions, e.approvals())
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		failed := make(chan error, len(subscriptions))
		for _, s := range subscriptions {
			go func() { failed <- bus.Subscribe(ctx, js, s) }()
		}
		for range subscriptions {
			if one := <-failed; one != nil {
				stop()
				err = errors.Join(err, one)
			}
		}
		return err
	}
}

// sessions are the events of sessions that runs obey.
func (e *Engine) sessions() bus.SubscriberConfig {
	return bus.SubscriberConfig{
		Durable: "interlock-engine-sessions",
		FilterSubjects: []string{
			bus.Subject{Entity: "session", Type: session.EventEnded}.Filter(),
			bus.Subject{Entity: "session", Type: session.EventResumed}.Filter(),
		},
		MaxInFlight: 1, // what was resumed after its end must not be held
		// Given up, a run continues under its rules, or stays held.
		Tries: 60,
		Handler: func(ctx context.Context, d *bus.Delivery) error {
			ev, err := bus.Decode(d.Payload)
			if err != nil {
				return err
			}
			obey := e.app.SessionEnded
			if ev.GetType() == session.EventResumed {
				obey = e.app.SessionResumed
			}
			return obey(ctx, ev.GetNamespace(), ev.GetId(), ev.GetEntityId(), ev.GetSessionChanged().GetName())
		},
		Log: e.log,
	}
}

// approvals are the events of approvals that runs obey.
func (e *Engine) approvals() bus.SubscriberConfig {
	var decided []string
	for _, kind := range []string{consent.EventGranted, consent.EventRejected, consent.EventExpired, consent.EventCancelled} {
		decided = append(decided, bus.Subject{Entity: "approval", Type: kind}.Filter())
	}
	return bus.SubscriberConfig{
		Durable: "interlock-engine-approvals", FilterSubjects: decided,
		// Given up, it is left to the timer.
		Handler: func(ctx context.Context, d *bus.Delivery) error {
			ev, err := bus.Decode(d.Payload)
			if err != nil {
				return err
			}
			changed := ev.GetApprovalChanged()
			if changed.GetRunId() == "" || changed.GetKind() == string(consent.ToolCall) {
				return nil // the policy enforcer's
			}
			_, _, err = e.app.SettleApproval(ctx, ev.GetNamespace(), changed.GetRunId(), ev.GetEntityId())
			if fault.ReasonOf(err) == fault.NotFound {
				return nil
			}
			return err
		},
		Log: e.log,
	}
}

// Follow returns work that wakes the watchers of this process when a run changed
// in another one, until its context ends. Without NATS they still learn of
// changes, up to a second later.
func (e *Engine) Follow(endpoint bus.Endpoint) func(context.Context) error {
	return bus.Follow(endpoint, "interlock-engine-watch", func(namespace, _, id string) { e.app.RunChanged(namespace, id) }, "run")
}

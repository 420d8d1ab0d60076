package daemon

import (
	"cmp"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
)

// EventFlags bound the retention of events. The zero value has no bounds, and lets the store
// drop events that NATS has.
type EventFlags struct {
	EventsMaxAge   time.Duration `help:"How long the NATS stream keeps an event; 0 for any time." default:"168h" env:"INTERLOCK_EVENTS_MAX_AGE"`
	EventsMaxBytes int64         `help:"Most bytes of the NATS stream; the oldest events go first. 0 leaves a stream as it is, -1 removes its bound." default:"0" env:"INTERLOCK_EVENTS_MAX_BYTES" placeholder:"BYTES"`
	EventsKeep     time.Duration `help:"How long the store keeps events that NATS has, for interlock events rebuild; 0 for as long as --grace." default:"24h" env:"INTERLOCK_EVENTS_KEEP"`
}

// Stream returns the stream with these bounds.
func (f EventFlags) Stream() bus.Stream {
	const forever = -1
	return bus.Stream{MaxAge: cmp.Or(f.EventsMaxAge, forever), MaxBytes: f.EventsMaxBytes}
}

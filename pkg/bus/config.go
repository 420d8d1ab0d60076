package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/store"
)

// Config of a relay. Only Holder is required.
type Config struct {
	// NATS is where the stream is.
	NATS Endpoint
	// Stream to publish to.
	Stream Stream
	// Holder names this process among all that relay the same store, e.g. host
	// and process id. A process that restarts under the same name takes its
	// shards back at once; two that run at the same time must differ.
	Holder string
	// LeaseTTL is how long a shard stays with a process that stopped answering,
	// default 10 s.
	LeaseTTL time.Duration
	// Grace is how long an event that NATS acknowledged stays in the outbox.
	// NATS acknowledges before it syncs, so it must be longer than the server's
	// sync_interval. The default, 150 s, suits the server's default of two
	// minutes.
	Grace time.Duration
	// Keep is how long the store keeps an event after it was decided, for Rebuild. Default
	// 0: events that the stream has had for the grace are deleted.
	Keep time.Duration
	// Window is how many publishes may be unacknowledged at once, default 256.
	Window int
	// AckTimeout is how long NATS may take to acknowledge, default 5 s.
	AckTimeout time.Duration
	// Reopen, when set, opens the files of the stream's server anew. The relay calls it
	// when the stream refuses valid messages: after one failed write a server may refuse
	// everything until its files are opened again.
	Reopen func() error
	// Witnessed is the store, when the stream keeps a mark of it; nil for none.
	Witnessed store.Witnessed
	// Tracer makes a span of each publication of an event that has a trace; nil for none.
	Tracer trace.TracerProvider
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Log, default slog.Default. Payloads are never logged.
	Log *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Holder == "" {
		return c, errors.New("relay: Holder is empty: name the process, e.g. host and process id")
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"LeaseTTL", &c.LeaseTTL, 10 * time.Second},
		{"Grace", &c.Grace, 150 * time.Second},
		{"AckTimeout", &c.AckTimeout, 5 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
		if *d.value < 0 {
			return c, fmt.Errorf("relay: %s is negative", d.name)
		}
	}
	if c.Keep < 0 {
		return c, errors.New("relay: Keep is negative")
	}
	if c.Window == 0 {
		c.Window = 256
	}
	if c.Window < 0 {
		return c, errors.New("relay: Window is negative")
	}
	c.Stream = c.Stream.withDefaults()
	if c.Stream.MaxAge > 0 && c.Stream.MaxAge < 2*c.Grace {
		return c, fmt.Errorf("relay: the stream's MaxAge %s is shorter than twice the grace %s", c.Stream.MaxAge, c.Grace)
	}
	c.Stream.Duplicates = max(c.Stream.Duplicates, 2*c.Grace)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, nil
}

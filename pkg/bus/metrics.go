package bus

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the relay.
type metrics struct {
	relayed     prometheus.Counter
	duplicates  prometheus.Counter
	republished prometheus.Counter
	rewinds     prometheus.Counter
	failures    prometheus.Counter
	refused     prometheus.Counter
	reopens     prometheus.Counter
	trimmed     prometheus.Counter
	backlog     prometheus.Gauge
	outbox      *prometheus.GaugeVec
	oldest      prometheus.Gauge
	leases      prometheus.Gauge
	connected   prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{}
	var err error
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "interlock", Subsystem: "relay", Name: name, Help: help})
		return register[prometheus.Counter](registerer, c, &err)
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "interlock", Subsystem: "relay", Name: name, Help: help})
		return register[prometheus.Gauge](registerer, g, &err)
	}
	m.relayed = counter("events_total", "Events that NATS acknowledged, without duplicates.")
	m.duplicates = counter("duplicates_total", "Publishes that NATS dropped because it had the event.")
	m.republished = counter("republished_total", "Publishes of events that had been published before.")
	m.rewinds = counter("rewinds_total", "Times that the relay restarted because the stream lost acknowledged events.")
	m.failures = counter("failures_total", "Times that a connection was given up because of an error.")
	m.refused = counter("refused_total", "Events that NATS can't take, for their size or subject.")
	m.reopens = counter("reopens_total", "Times that the embedded server's files were opened again because the stream accepted no events.")
	m.trimmed = counter("trims_total", "Shards trimmed.")
	m.backlog = gauge("backlog_events", "Events that were read from the outbox and are not acknowledged.")
	m.outbox = register(registerer, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interlock_outbox_events",
		Help: "Events that wait for NATS: in the shards that this process relays, and in those that no process relays (every process reports the same number of these).",
	}, []string{"relayed"}), &err)
	m.oldest = register(registerer, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_outbox_oldest_seconds", Help: "Age of the oldest event that waits for NATS; 0 while none does.",
	}), &err)
	m.leases = gauge("leases", "Shards that this process relays.")
	m.connected = gauge("connected", "1 while the relay has a verified connection to the stream.")
	return m, err
}

// register adds a collector, or returns the one that an earlier relay of this
// process registered.
func register[C prometheus.Collector](registerer prometheus.Registerer, c C, failed *error) C {
	if registerer == nil {
		return c
	}
	err := registerer.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if earlier, ok := already.ExistingCollector.(C); ok {
			return earlier
		}
	}
	if err != nil {
		*failed = fmt.Errorf("register relay metrics: %w", err)
	}
	return c
}

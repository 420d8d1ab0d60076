// Package presence reports which processes of a deployment serve, and how each is. Every
// process announces itself on NATS, outside of the stream of events; gateways listen. The
// announcements are for people: no decision depends on them.
package presence

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/interlock-run/interlock/pkg/bus"
)

// Subject is where processes announce themselves. The stream of events has subjects under
// bus.Root, and so none of these.
const Subject = "interlock-processes"

// Interval is how often a process announces itself.
const Interval = 5 * time.Second

// Process is the announcement of a process.
type Process struct {
	Service   string    `json:"service" doc:"Its services: engine, policy-enforcer, state-store, approval, gateway, or all of them as one."`
	Instance  string    `json:"instance" doc:"Its name among the replicas: the host, and the process on it."`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	// Ready is as old as the process's last check of its dependencies.
	Ready  bool     `json:"ready" doc:"False when calls to it would fail."`
	Down   []string `json:"down" doc:"The dependencies that it cannot reach."`
	Outbox *Outbox  `json:"outbox,omitempty" doc:"The events that wait for NATS; absent for a process that relays none."`
	Timers []Timers `json:"timers" doc:"The timers of its sweepers."`
}

// Outbox is the part of the outbox that a process carries to NATS.
type Outbox struct {
	Shards        int     `json:"shards" doc:"How many shards of the store this process relays."`
	Waiting       int64   `json:"waiting" doc:"Events of these shards that NATS does not have yet."`
	Unattended    int64   `json:"unattended" doc:"Events of shards that no process relays, as this process sees it."`
	OldestSeconds float64 `json:"oldest_seconds" doc:"Age of the oldest event that waits; 0 while none does."`
}

// Timers are the timers of one kind that a process sweeps.
type Timers struct {
	Kind          string  `json:"kind"`
	Overdue       int     `json:"overdue" doc:"Timers that should have fired and have not."`
	OldestSeconds float64 `json:"oldest_seconds" doc:"For how long the oldest of them should have fired."`
	Fired         int64   `json:"fired" doc:"Timers that it has fired since it started."`
	Failed        int64   `json:"failed" doc:"Times that a timer could not be fired."`
}

// Self announces this process. All fields are required.
type Self struct {
	Service, Version string
	// Metrics is where the rest is read from: a scrape of it reads memory alone.
	Metrics prometheus.Gatherer
	Log     *slog.Logger
}

// Announce returns work that announces the process until its context ends. While NATS is away
// it stays silent.
func (s Self) Announce(endpoint bus.Endpoint) func(context.Context) error {
	started := time.Now().UTC()
	return func(ctx context.Context) error {
		conn := connect(ctx, endpoint, s.Service+" presence")
		if conn == nil {
			return nil
		}
		defer conn.Close()
		tick := time.NewTicker(Interval)
		defer tick.Stop()
		for {
			if families, err := s.Metrics.Gather(); err == nil && conn.IsConnected() {
				if err := conn.Publish(Subject, encode(s.describe(started, families))); err != nil {
					s.Log.LogAttrs(ctx, slog.LevelDebug, "the process cannot announce itself", slog.Any("cause", err))
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// instance names this process among all of a deployment.
func instance() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

func encode(p Process) []byte {
	data, err := json.Marshal(p)
	if err != nil { // strings, numbers and times
		panic(err)
	}
	return data
}

// describe reads metrics of this process.
func (s Self) describe(started time.Time, families []*dto.MetricFamily) Process {
	p := Process{
		Service: s.Service, Instance: instance(), Version: s.Version, StartedAt: started,
		Down: []string{}, Timers: []Timers{},
	}
	timers := map[string]*Timers{}
	var kinds []string
	timer := func(m *dto.Metric) *Timers {
		kind := label(m, "kind")
		if timers[kind] == nil {
			timers[kind] = &Timers{Kind: kind}
			kinds = append(kinds, kind)
		}
		return timers[kind]
	}
	outbox := func() *Outbox {
		if p.Outbox == nil {
			p.Outbox = &Outbox{}
		}
		return p.Outbox
	}
	read := map[string]func(*dto.Metric){
		"interlock_ready": func(m *dto.Metric) { p.Ready = m.GetGauge().GetValue() == 1 },
		"interlock_dependency_up": func(m *dto.Metric) {
			if m.GetGauge().GetValue() == 0 {
				p.Down = append(p.Down, label(m, "dependency"))
			}
		},
		"interlock_relay_leases": func(m *dto.Metric) { outbox().Shards = int(m.GetGauge().GetValue()) },
		"interlock_outbox_events": func(m *dto.Metric) {
			if n := int64(m.GetGauge().GetValue()); label(m, "relayed") == "here" {
				outbox().Waiting = n
			} else {
				outbox().Unattended = n
			}
		},
		"interlock_outbox_oldest_seconds":  func(m *dto.Metric) { outbox().OldestSeconds = m.GetGauge().GetValue() },
		"interlock_timers_overdue":         func(m *dto.Metric) { timer(m).Overdue = int(m.GetGauge().GetValue()) },
		"interlock_timers_overdue_seconds": func(m *dto.Metric) { timer(m).OldestSeconds = m.GetGauge().GetValue() },
		"interlock_timers_fired_total":     func(m *dto.Metric) { timer(m).Fired = int64(m.GetCounter().GetValue()) },
		"interlock_timers_failed_total":    func(m *dto.Metric) { timer(m).Failed = int64(m.GetCounter().GetValue()) },
	}
	for _, family := range families {
		if take := read[family.GetName()]; take != nil {
			for _, m := range family.GetMetric() {
				take(m)
			}
		}
	}
	for _, kind := range kinds {
		p.Timers = append(p.Timers, *timers[kind])
	}
	return p
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// connect connects to NATS, as soon as there is one; nil when ctx ends before that.
func connect(ctx context.Context, endpoint bus.Endpoint, name string) *nats.Conn {
	// An announcement while NATS is away is out of date when it is back.
	endpoint.Options = append(append([]nats.Option(nil), endpoint.Options...), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1))
	for {
		conn, err := endpoint.Connect(name)
		if err == nil {
			return conn
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

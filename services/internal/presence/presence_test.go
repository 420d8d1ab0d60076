package presence

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/services/internal/metrics"
)

func TestProcessesAnnounceThemselves(t *testing.T) {
	t.Parallel()
	endpoint := bus.Endpoint{URL: natstest.Start(t).URL()}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var board Board
	go func() {
		if err := board.Follow(endpoint)(ctx); err != nil {
			t.Error(err)
		}
	}()
	set := metrics.New()
	checks := health.Checks{
		{Name: "store", Probe: func(context.Context) error { return nil }},
		{Name: "engine", Probe: func(context.Context) error { return context.Canceled }},
	}
	set.Health(&checks)
	go func() { _ = set.Run(ctx) }()
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "interlock_outbox_events"}, []string{"relayed"})
	set.Register(vec)
	vec.WithLabelValues("here").Set(7)
	vec.WithLabelValues("nowhere").Set(3)
	self := Self{Service: "engine", Version: "v1", Metrics: set.Gatherer(), Log: slog.New(slog.DiscardHandler)}
	// Each round announces once at its beginning: the listener may not be there at the first.
	heard := func() []Heard {
		once, end := context.WithCancel(ctx)
		defer end()
		done := make(chan struct{})
		go func() { defer close(done); _ = self.Announce(endpoint)(once) }()
		for wait := time.Now().Add(200 * time.Millisecond); time.Now().Before(wait); time.Sleep(5 * time.Millisecond) {
			if all := board.Processes(time.Now()); len(all) > 0 && len(all[0].Down) > 0 {
				break
			}
		}
		end()
		<-done
		return board.Processes(time.Now())
	}
	for range 200 {
		all := heard()
		if len(all) == 0 || len(all[0].Down) == 0 { // its first check is not done yet
			continue
		}
		p := all[0]
		if len(all) != 1 || p.Service != "engine" || p.Instance != instance() || p.Ready || p.Silent || p.Down[0] != "engine" {
			t.Errorf("heard %+v", all)
		}
		if p.Outbox == nil || p.Outbox.Waiting != 7 || p.Outbox.Unattended != 3 {
			t.Errorf("its outbox: %+v", p.Outbox)
		}
		return
	}
	t.Fatal("nothing was heard")
}

func TestTheBoardForgets(t *testing.T) {
	t.Parallel()
	var b Board
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, bad := range []string{"", "{", "[]", `{"service":"x"}`, `{"service":"x","instance":"` + strings.Repeat("y", largest) + `"}`} {
		b.hear([]byte(bad), at)
	}
	if all := b.Processes(at); len(all) != 0 {
		t.Fatalf("heard %+v", all)
	}
	b.hear([]byte(`{"service":"engine","instance":"a"}`), at)
	if all := b.Processes(at.Add(silent)); len(all) != 1 || all[0].Silent {
		t.Errorf("within three announcements: %+v", all)
	}
	if all := b.Processes(at.Add(silent + 1)); len(all) != 1 || !all[0].Silent {
		t.Errorf("after three announcements: %+v", all)
	}
	for i := range 2 * most {
		b.hear(fmt.Appendf(nil, `{"service":"engine","instance":"b%d"}`, i), at)
	}
	if all := b.Processes(at); len(all) != most {
		t.Errorf("%d are remembered", len(all))
	}
	b.hear([]byte(`{"service":"engine","instance":"c"}`), at.Add(forgotten+1))
	if all := b.Processes(at.Add(forgotten + 1)); len(all) != 1 || all[0].Instance != "c" {
		t.Errorf("those that are gone keep newer ones out: %d", len(all))
	}
}

// Where NATS lets others publish, names that were announced once do not stay reserved for long, and
// a short announcement does not become a long answer.
func TestAFloodOfNames(t *testing.T) {
	t.Parallel()
	var b Board
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2 * most {
		b.hear(fmt.Appendf(nil, `{"service":"<b>","instance":"b%d"}`, i), at)
	}
	at = at.Add(silent + 1)
	b.hear([]byte(`{"service":"engine","instance":"a"}`), at)
	if all := b.Processes(at); len(all) != 1 || all[0].Instance != "a" {
		t.Errorf("a process that speaks is not among the %d", len(all))
	}
	for _, list := range []string{"timers", "down"} {
		item := map[string]string{"timers": "{}", "down": `""`}[list]
		b.hear([]byte(`{"service":"engine","instance":"long","`+list+`":[`+item+strings.Repeat(","+item, longest)+`]}`), at)
	}
	if all := b.Processes(at); len(all) != 1 {
		t.Errorf("%d are remembered", len(all))
	}
}

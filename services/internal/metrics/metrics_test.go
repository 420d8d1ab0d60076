package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// value is that of a metric with these values of labels, in the order of their names; -1 when
// there is none. That of a histogram is how much was observed.
func value(t *testing.T, s *Set, name string, labels ...string) float64 {
	t.Helper()
	families, err := s.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name && labelsOf(m) == strings.Join(labels, ",") {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

func labelsOf(m *dto.Metric) string {
	var all []string
	for _, label := range m.GetLabel() {
		all = append(all, label.GetValue())
	}
	return strings.Join(all, ",")
}

// Values that have to be asked for are asked for by the timer, never by a scrape, and one that hangs
// holds up no other.
func TestRefreshes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New()
		quick, hanging := 0, 0
		s.Refresh(func(context.Context) { quick++ })
		s.Refresh(func(ctx context.Context) {
			hanging++
			<-ctx.Done()
		})
		for range 10 {
			value(t, s, "interlock_ready")
		}
		if quick+hanging != 0 {
			t.Errorf("a scrape refreshes %d times", quick+hanging)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		if quick < 6 || quick > 7 || hanging != quick {
			t.Errorf("in a minute refreshed %d times, and what hangs %d times", quick, hanging)
		}
	})
}

// A process without metrics needs no other code.
func TestNoMetrics(t *testing.T) {
	t.Parallel()
	var s *Set
	s.Register()
	s.Caches(snapshot.Use{})
	s.Refresh(nil)
	s.Health(nil)
	s.Bytes(nil)
	s.Settings(nil)
	s.Store().Batch(1, 1)
	s.Store().Call(t.Context(), "Get", 0, store.ErrUnavailable)
	s.FailClosed(AtGateway).Count(fault.Unavailable)
	if err := s.Run(t.Context()); err != nil || s.Timers() != nil || s.Registerer() != nil || s.Gatherer() != nil {
		t.Errorf("there is something: %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := New()
	var down error
	checks := health.Checks{
		{Name: "store", Probe: func(context.Context) error { return down }},
		{Name: "events", Optional: true, Probe: func(context.Context) error { return errors.New("down") }},
	}
	s.Health(&checks)
	if got := value(t, s, "interlock_ready"); got != 0 {
		t.Errorf("before it is known, ready is %v", got)
	}
	for _, c := range []struct {
		down error
		want float64
	}{{nil, 1}, {store.ErrUnavailable, 0}, {nil, 1}} {
		down = c.down
		s.refreshOnce(t.Context())
		ready, up := value(t, s, "interlock_ready"), value(t, s, "interlock_dependency_up", "store")
		if ready != c.want || up != c.want || value(t, s, "interlock_dependency_up", "events") != 0 {
			t.Errorf("with %v: ready %v, store up %v", c.down, ready, up)
		}
	}
}

func TestFailClosed(t *testing.T) {
	t.Parallel()
	s := New()
	const name = "interlock_fail_closed_denials_total"
	gateway := s.FailClosed(AtGateway)
	if got := value(t, s, name, AtGateway, "UNAVAILABLE"); got != 0 {
		t.Errorf("it begins with %v: the first denial would be no increase", got)
	}
	for _, reason := range []fault.Reason{fault.Unavailable, fault.InvalidRequest, fault.NotFound, fault.Unavailable, ""} {
		gateway.Count(reason)
	}
	s.FailClosed(AtEnforcer).Count(PolicyUnavailable)
	for labels, want := range map[string]float64{
		"gateway,UNAVAILABLE": 2, "gateway,NOT_FOUND": -1, "policy-enforcer,POLICY_UNAVAILABLE": 1, "policy-enforcer,UNAVAILABLE": 0,
	} {
		if got := value(t, s, name, strings.Split(labels, ",")...); got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
}

// fake is a store that knows its size and its settings, or does not.
type fake struct{ err error }

func (f *fake) Bytes(context.Context) (int64, error) { return 7, f.err }

func (f *fake) Settings(context.Context) (map[string]bool, error) {
	return map[string]bool{"appendfsync": f.err == nil}, f.err
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := New()
	f := &fake{}
	s.Bytes(f)
	s.Settings(f)
	s.refreshOnce(t.Context())
	if bytes, safe := value(t, s, "interlock_store_bytes"), value(t, s, "interlock_redis_setting_safe", "appendfsync"); bytes != 7 || safe != 1 {
		t.Errorf("%v bytes, safe %v", bytes, safe)
	}
	f.err = store.ErrUnavailable
	s.refreshOnce(t.Context())
	bytes, safe := value(t, s, "interlock_store_bytes"), value(t, s, "interlock_redis_setting_safe", "appendfsync")
	if !math.IsNaN(bytes) || safe != 1 {
		t.Errorf("of a store that is away: %v bytes, safe %v", bytes, safe)
	}
	m := s.Store()
	if s.Store() != m {
		t.Error("a store that is opened again has other metrics")
	}
	m.Batch(3, 0)
	for _, err := range []error{
		nil, &store.ConflictError{}, store.ErrNotFound, context.Canceled, fmt.Errorf("%w: %w", store.ErrUncertain, context.Canceled),
		fmt.Errorf("get: %w", store.ErrUnavailable), fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrBroken),
		fmt.Errorf("get: %w", &store.RolledBackError{}), store.ErrTurned, store.ErrUncertain,
	} {
		m.Call(t.Context(), "Get", time.Second, err)
	}
	m.Call(t.Context(), "Tail", time.Hour, store.ErrUnavailable) // it may wait
	for labels, want := range map[string]float64{
		"interlock_store_seconds Get": 10, "interlock_store_seconds Tail": -1, "interlock_store_batch_commits": 1,
		"interlock_store_errors_total unavailable": 2, "interlock_store_errors_total uncertain": 1,
		"interlock_store_errors_total broken": 1, "interlock_store_errors_total rolled_back": 1, "interlock_store_errors_total era_ended": 1,
	} {
		name := strings.Fields(labels)
		if got := value(t, s, name[0], name[1:]...); got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
}

func TestCaches(t *testing.T) {
	t.Parallel()
	s := New()
	bytes, entries := snapshot.New[int, int](1<<20), snapshot.New[int, int](1<<20)
	s.Caches(bytes.UseBytes("b"), entries.Use("e"))
	bytes.PutSized(1, 1, 100, nil)
	bytes.PutSized(2, 2, 50, nil)
	entries.Put(1, 1, nil)
	for labels, want := range map[string]float64{
		"interlock_cache_bytes b": 150, "interlock_cache_entries b": 2, "interlock_cache_bytes e": -1, "interlock_cache_entries e": 1,
	} {
		name := strings.Fields(labels)
		if got := value(t, s, name[0], name[1:]...); got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
}

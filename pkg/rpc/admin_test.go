package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_gauge"}))
	ready := func(err error) *health.Checks {
		return &health.Checks{
			{Name: "store", Probe: func(context.Context) error { return err }},
			{Name: "events", Optional: true, Probe: func(context.Context) error { return errors.New("secret") }},
		}
	}
	broken := fmt.Errorf("%w: secret", store.ErrBroken)
	all := rpc.AdminConfig{Checks: ready(nil), Gatherer: registry, Profile: true}
	for name, tc := range map[string]struct {
		cfg    rpc.AdminConfig
		method string
		path   string
		code   int
		text   string
	}{
		"healthy":         {rpc.AdminConfig{}, "GET", "/healthz", 200, "ok"},
		"ready":           {all, "GET", "/readyz", 200, "ready"},
		"never ready":     {rpc.AdminConfig{}, "GET", "/readyz", 503, "not ready"},
		"not ready":       {rpc.AdminConfig{Checks: ready(errors.New("secret"))}, "GET", "/readyz", 503, "not ready: store"},
		"all of it":       {all, "GET", "/readyz?verbose", 200, "ready\nok store\ndown events (optional)\n"},
		"alive":           {rpc.AdminConfig{Checks: ready(errors.New("secret"))}, "GET", "/healthz", 200, "ok"},
		"needs a restart": {rpc.AdminConfig{Checks: ready(broken)}, "GET", "/healthz", 503, "only a restart helps: store"},
		"metrics":         {all, "GET", "/metrics", 200, "a_gauge 0"},
		"no metrics":      {rpc.AdminConfig{}, "GET", "/metrics", 404, ""},
		"profile":         {all, "GET", "/debug/pprof/cmdline", 200, ""},
		"no profile":      {rpc.AdminConfig{Gatherer: registry}, "GET", "/debug/pprof/", 404, ""},
		"a post":          {all, "POST", "/healthz", 405, ""},
	} {
		w := httptest.NewRecorder()
		rpc.Admin(tc.cfg).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, http.NoBody))
		if got := fmt.Sprint(w.Code, w.Body); w.Code != tc.code || !strings.Contains(got, tc.text) || strings.Contains(got, "secret") {
			t.Errorf("%s: got %.100s", name, got)
		}
	}
}

func TestReadinessSaysWhyNot(t *testing.T) {
	t.Parallel()
	gone := health.Check{Name: "store", Probe: func(context.Context) error { return &store.RolledBackError{Lost: "9 writes"} }}
	admin := rpc.Admin(rpc.AdminConfig{Checks: &health.Checks{gone}})
	for _, path := range []string{"/readyz", "/readyz?verbose"} {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		want := "not ready: store (STORE_ROLLED_BACK: it has gone back in time, 9 writes)"
		if w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

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

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_gauge"}))
	ready := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	all := rpc.AdminConfig{Ready: ready(nil), Gatherer: registry, Profile: true}
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
		"not ready":       {rpc.AdminConfig{Ready: ready(fault.New(fault.Unavailable, "no store"))}, "GET", "/readyz", 503, "no store"},
		"not ready, why?": {rpc.AdminConfig{Ready: ready(errors.New("secret"))}, "GET", "/readyz", 503, "not ready"},
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
	admin := rpc.Admin(rpc.AdminConfig{Ready: func(context.Context) error { return &store.RolledBackError{Lost: "9 writes"} }})
	for path, want := range map[string]string{
		"/readyz":         "not ready: the store has gone back in time (9 writes)",
		"/readyz?verbose": "not ready: STORE_ROLLED_BACK: the store has gone back in time (9 writes)",
	} {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

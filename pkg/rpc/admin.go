package rpc

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/interlock-run/interlock/pkg/fault"
)

// AdminConfig of the admin endpoints.
type AdminConfig struct {
	// Ready returns nil when the service can do its work. Only the message of a
	// fault is shown, and with ?verbose its reason. Nil is never ready.
	Ready func(ctx context.Context) error
	// Gatherer has the metrics; /metrics is missing when it is nil.
	Gatherer prometheus.Gatherer
	// Profile adds /debug/pprof, which tells much about the process.
	Profile bool
}

// Admin is a handler of /healthz, /readyz and /metrics, and of /debug/pprof when
// asked for. It knows no callers: serve it on an address that only operators
// reach.
func Admin(cfg AdminConfig) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if cfg.Ready == nil {
			say(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		if err := cfg.Ready(r.Context()); err != nil {
			f, text := fault.From(err), "not ready: "
			if r.URL.Query().Has("verbose") {
				text += string(f.Reason) + ": "
			}
			say(w, http.StatusServiceUnavailable, text+f.Message)
			return
		}
		say(w, http.StatusOK, "ready")
	})
	if cfg.Gatherer != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Gatherer, promhttp.HandlerOpts{}))
	}
	if cfg.Profile {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// A prober that went away misses nothing.
	_, _ = io.WriteString(w, text+"\n")
}

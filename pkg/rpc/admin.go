package rpc

import (
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/interlock-run/interlock/pkg/health"
)

// AdminConfig of the admin endpoints.
type AdminConfig struct {
	// Checks are the dependencies of the service; nil is never ready.
	Checks *health.Checks
	// Gatherer has the metrics; /metrics is missing when it is nil.
	Gatherer prometheus.Gatherer
	// Profile adds /debug/pprof, which reveals much about the process.
	Profile bool
}

// Admin returns a handler of /healthz, /readyz and /metrics, and of /debug/pprof when
// asked for. It knows no callers: serve it on an address that only operators reach.
func Admin(cfg AdminConfig) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if cfg.Checks != nil {
			if report := cfg.Checks.Run(r.Context()); !report.Alive() {
				say(w, http.StatusServiceUnavailable, "only a restart helps: "+report.Down())
				return
			}
		}
		say(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if cfg.Checks == nil {
			say(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		report := cfg.Checks.Run(r.Context())
		code, text := http.StatusOK, "ready"
		if !report.Ready() {
			code, text = http.StatusServiceUnavailable, "not ready: "+report.Down()
		}
		if r.URL.Query().Has("verbose") {
			text += "\n" + strings.TrimSuffix(report.String(), "\n")
		}
		say(w, code, text)
	})
	if cfg.Gatherer != nil {
		mux.Handle("GET /metrics", Metrics(cfg.Gatherer))
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

// Metrics serves the metrics of a gatherer: in OpenMetrics, the only format with
// exemplars, to scrapers that ask for it.
func Metrics(gatherer prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// Ignored: a prober that went away.
	_, _ = io.WriteString(w, text+"\n")
}

package gateway

import (
	"net/http"
	"net/url"

	"github.com/interlock-run/interlock/services/gateway/internal/dnsrebind"
)

// publicHosts are the names that this server is called by on loopback addresses,
// beside loopback ones: that of a reverse proxy on this machine.
func publicHosts(cfg Config) []string {
	public, err := url.Parse(cfg.PublicURL)
	if err != nil || public.Hostname() == "" {
		return nil // none, or one that the parts of the edge refuse
	}
	return []string{public.Hostname()}
}

// guarded refuses pages that were rebound to this machine's loopback, where callers
// need no token; elsewhere no page has one to send.
func guarded(cfg Config, next http.Handler) http.Handler {
	if !cfg.AllowAnonymous {
		return next
	}
	hosts := publicHosts(cfg)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !dnsrebind.Served(r, hosts...) {
			http.Error(w, "this server is not known by that name; call it by its address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

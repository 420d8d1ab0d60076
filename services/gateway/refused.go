package gateway

import (
	"net/http"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// logRefused logs requests that the door does not let in, of every face over HTTP: REST, MCP, hooks
// and AuthZEN. The services log their own refusals.
func logRefused(cfg Config) func(*http.Request, *access.Refusal) {
	refusals := &rpc.Refusals{Tell: cfg.Refused}
	return func(r *http.Request, why *access.Refusal) {
		if why.Cause != nil {
			return // not the caller's fault
		}
		const most = 100
		path := r.URL.Path
		refusals.Log(r.Context(), cfg.Logger, rpc.Refusal{
			Face: "http", Method: r.Method + " " + path[:min(len(path), most)], Reason: fault.Reason(why.Code), Message: why.Message, From: r.RemoteAddr,
		})
	}
}

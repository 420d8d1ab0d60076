package gateway

import (
	"log/slog"
	"net/http"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// logRefused logs requests that the door does not let in, of every face over HTTP: REST, MCP, hooks
// and AuthZEN. The services log what they refuse themselves.
func logRefused(log *slog.Logger) func(*http.Request, *access.Refusal) {
	refusals := &rpc.Refusals{}
	return func(r *http.Request, why *access.Refusal) {
		if why.Cause != nil {
			return // nobody is to blame
		}
		const most = 100
		path := r.URL.Path
		refusals.Log(r.Context(), log, "http", fault.Reason(why.Code), slog.String("method", r.Method), slog.String("path", path[:min(len(path), most)]),
			slog.String("from", r.RemoteAddr), slog.String("error", why.Message))
	}
}

package rpc

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Refusals bounds how often refused callers are logged: once a second, with the number of those
// that were not logged since.
type Refusals struct {
	once   throttle
	silent atomic.Int64
}

// Log logs a refused caller, unless another was logged in this second. The attributes must hold no
// secrets.
func (r *Refusals) Log(ctx context.Context, log *slog.Logger, face string, reason fault.Reason, attrs ...slog.Attr) {
	if !r.once.pass(time.Now()) {
		r.silent.Add(1)
		return
	}
	attrs = append(attrs, slog.String("face", face), slog.String("reason", string(reason)))
	if n := r.silent.Swap(0); n > 0 {
		attrs = append(attrs, slog.Int64("not_logged", n))
	}
	log.LogAttrs(ctx, slog.LevelWarn, "a call was refused before a decision", attrs...)
}

// refusedBefore reports that a call came to no decision for what its caller may not do or see.
func refusedBefore(m *method, reason fault.Reason) bool {
	switch reason {
	case fault.Unauthenticated, fault.PermissionDenied:
		return true
	case fault.NotFound: // such as a session without a run
		return strings.HasPrefix(m.name, "/interlock.policy.v1.PolicyEnforcerService/")
	default:
		return false
	}
}

// logRefused logs who was refused, as far as that is known.
func (s *Server) logRefused(ctx context.Context, m *method, f *fault.Error) {
	attrs := []slog.Attr{slog.String("method", m.name), slog.String("namespace", Namespace(ctx)), slog.String("error", f.Message)}
	if p, known := auth.FromContext(ctx); known {
		attrs = append(attrs, slog.String("principal", p.Name), slog.String("role", string(p.Role)), slog.String("session", p.Session))
	}
	if from, known := peer.FromContext(ctx); known && from.Addr != nil {
		attrs = append(attrs, slog.String("from", from.Addr.String()))
	}
	s.refusals.Log(ctx, s.cfg.Logger, "grpc", f.Reason, attrs...)
}

package rpc

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Refusal is a call that was refused before there was a decision. It holds no secrets.
type Refusal struct {
	// Face is "grpc" or "http"; Method is that of gRPC, or of HTTP with its path.
	Face, Method string
	Reason       fault.Reason
	// Message is the answer to the caller.
	Message string
	// Namespace is the one of the call. The rest is empty where it is not known.
	Namespace, Principal, Role, Session, From string
	// AskedSession, AskedRun and AskedNamespace are those that the call named, if they are others than the caller's own.
	AskedSession, AskedRun, AskedNamespace string
}

// Refusals bounds how often refused callers are logged: once a second, with the number of those
// that were not logged since.
type Refusals struct {
	// It is called with every refused caller; nil for none. It must not wait.
	Tell func(Refusal)

	once   throttle
	silent atomic.Int64
}

// Log calls Tell, and logs a refused caller unless another was logged in this second.
func (r *Refusals) Log(ctx context.Context, log *slog.Logger, of Refusal) {
	if r.Tell != nil {
		r.Tell(of)
	}
	if !r.once.pass(time.Now()) {
		r.silent.Add(1)
		return
	}
	attrs := []slog.Attr{slog.String("face", of.Face), slog.String("reason", string(of.Reason)), slog.String("method", of.Method), slog.String("error", of.Message)}
	for _, known := range []slog.Attr{
		slog.String("namespace", of.Namespace), slog.String("principal", of.Principal), slog.String("role", of.Role),
		slog.String("session", of.Session), slog.String("from", of.From), slog.String("asked_session", of.AskedSession),
		slog.String("asked_run", of.AskedRun), slog.String("asked_namespace", of.AskedNamespace),
	} {
		if known.Value.String() != "" {
			attrs = append(attrs, known)
		}
	}
	if n := r.silent.Swap(0); n > 0 {
		attrs = append(attrs, slog.Int64("not_logged", n))
	}
	log.LogAttrs(ctx, slog.LevelWarn, "a call was refused before a decision", attrs...)
}

// refusedBefore reports that a call came to no decision, because of a missing right of its
// caller.
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

// dryRun reports a call that asks for a decision without effects: whether a session is judged at all, for instance.
func dryRun(ctx context.Context) bool {
	c := callOf(ctx)
	if c == nil {
		return false
	}
	of, ok := c.request.(interface{ GetDryRun() bool })
	return ok && of.GetDryRun()
}

// logRefused logs who was refused, as far as that is known.
func (s *Server) logRefused(ctx context.Context, m *method, f *fault.Error) {
	of := Refusal{Face: "grpc", Method: m.name, Reason: f.Reason, Message: f.Message, Namespace: Namespace(ctx)}
	if p, known := auth.FromContext(ctx); known {
		of.Principal, of.Role, of.Session = p.Name, string(p.Role), p.Session
	}
	if from, known := peer.FromContext(ctx); known && from.Addr != nil {
		of.From = from.Addr.String()
	}
	of.asked(ctx)
	s.refusals.Log(ctx, s.cfg.Logger, of)
}

// asked adds the session, run and namespace that a call named.
func (r *Refusal) asked(ctx context.Context) {
	if given := metadata.ValueFromIncomingContext(ctx, NamespaceKey); len(given) == 1 && ValidNamespace(given[0]) && given[0] != r.Namespace {
		r.AskedNamespace = given[0]
	}
	c := callOf(ctx)
	if c == nil {
		return
	}
	if of, ok := c.request.(interface{ GetSessionId() string }); ok && of.GetSessionId() != r.Session {
		r.AskedSession = of.GetSessionId()
	}
	if of, ok := c.request.(interface{ GetRunId() string }); ok {
		r.AskedRun = of.GetRunId()
	}
}

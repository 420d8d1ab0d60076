package rpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/internal/dial"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// Metadata keys of every call.
const (
	// NamespaceKey names the namespace; DefaultNamespace when it is missing.
	NamespaceKey = dial.NamespaceKey
	// RequestIDKey names one request through all services; made when missing.
	RequestIDKey = "interlock-request-id"

	authorizationKey = dial.AuthorizationKey
	// WitnessKey has the token of who vouches for the reports of the caller, as "Bearer
	// <token>": the caller is who acts, the witness who has seen it.
	WitnessKey = "interlock-witness"
)

// DefaultNamespace is the namespace of calls that name none.
const DefaultNamespace = "default"

type callKey struct{}

// call has the facts of a call for the chain, in one context value.
type call struct {
	namespace string
	draining  <-chan struct{}
	// request is the message of a unary call.
	request any
	// authenticator knows the tokens that the metadata of a call have besides the caller's; nil for none.
	authenticator auth.Authenticator

	// The id is made when it is asked for: few calls need one.
	once sync.Once
	id   string
}

func (s *Server) withCall(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, &call{namespace: DefaultNamespace, draining: s.draining.Done(), authenticator: s.cfg.Authenticator})
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Namespace returns the namespace of the call that ctx belongs to.
func Namespace(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.namespace
	}
	return DefaultNamespace
}

// RequestID returns the id of the call that ctx belongs to, as the caller gave it or else
// a new one; empty outside of calls.
func RequestID(ctx context.Context) string {
	c := callOf(ctx)
	if c == nil {
		return ""
	}
	c.once.Do(func() {
		if given := metadata.ValueFromIncomingContext(ctx, RequestIDKey); len(given) == 1 && validRequestID(given[0]) {
			c.id = given[0]
			return
		}
		c.id = typeid.New("req")
	})
	return c.id
}

// Draining returns a channel that is closed when the server begins to drain. The handler
// of a stream that clients feed then answers what it has received and returns, or it is
// cut off when the drain's time is over. It is nil, never closed, outside of calls.
func Draining(ctx context.Context) <-chan struct{} {
	if c := callOf(ctx); c != nil {
		return c.draining
	}
	return nil
}

// ValidNamespace reports whether s matches [a-z0-9][a-z0-9-]{0,62}.
func ValidNamespace(s string) bool { return dial.ValidNamespace(s) }

// validRequestID reports whether s has 1 to 64 of A-Z a-z 0-9 . _ -, which no log or
// header can mistake.
func validRequestID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// throttle passes once a second.
type throttle struct{ next atomic.Int64 }

func (t *throttle) pass(now time.Time) bool {
	next := t.next.Load()
	return now.UnixNano() >= next && t.next.CompareAndSwap(next, now.Add(time.Second).UnixNano())
}

package rest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// drainKey finds, in a request's context, the channel that is closed when the
// server begins to shut down.
type drainKey struct{}

// Server wraps a handler with limits against slow and greedy clients. There is
// no WriteTimeout, because it would cut event streams: handlers of this package
// bound their own writes. Shutdown ends open event streams and lets every other
// call finish. The caller sets Addr or brings a listener.
func Server(handler http.Handler) *http.Server {
	drain := make(chan struct{})
	base := context.WithValue(context.Background(), drainKey{}, (<-chan struct{})(drain))
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	srv.RegisterOnShutdown(sync.OnceFunc(func() { close(drain) }))
	return srv
}

// draining returns a channel that is closed when the server begins to shut down; nil,
// which blocks forever, when the request did not come through Server.
func draining(ctx context.Context) <-chan struct{} {
	ch, _ := ctx.Value(drainKey{}).(<-chan struct{})
	return ch
}

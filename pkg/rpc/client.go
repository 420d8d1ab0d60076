package rpc

import (
	"context"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// ClientConfig of a connection. The zero value calls without credentials and TLS, on
// loopback or a unix socket only.
type ClientConfig struct {
	// Token is sent with calls whose context brings no credentials.
	Token string
	// TokenFrom is asked for it at each call instead; nil for Token.
	TokenFrom func() string
	// Namespace is sent with calls whose context brings none.
	Namespace string
	// TLS is off unless one of its files is set or it is enabled.
	TLS ClientTLS
	// Insecure allows another target than loopback without TLS, where the
	// network itself is trusted. Tokens then travel in the clear.
	Insecure bool
	// TracerProvider makes spans; there are none when it is nil.
	TracerProvider trace.TracerProvider
}

// ClientTLS are PEM files, which are read again when they change.
type ClientTLS = dial.TLS

// Dial makes a connection, which connects when it is first used. Targets are
// gRPC's: "127.0.0.1:7421", "unix:///run/interlock.sock", and "dns:///engine:7421"
// for all replicas behind a name, or "10.0.0.1:7421,10.0.0.2:7421" for those that
// are listed: calls then go around those that say that they serve.
func Dial(target string, cfg ClientConfig) (*grpc.ClientConn, error) {
	return dial.New(target, dial.Config{Caller: cfg.caller(), TLS: cfg.TLS, Insecure: cfg.Insecure}, traced(cfg.TracerProvider)...)
}

// traced makes spans of the calls of a connection; none without a provider.
func traced(tp trace.TracerProvider) []grpc.DialOption {
	if tp == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(
		otelgrpc.WithTracerProvider(tp),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
	))}
}

func (c ClientConfig) caller() dial.Caller {
	return dial.Caller{Token: c.Token, TokenFrom: c.TokenFrom, Namespace: c.Namespace}
}

// forwarded are the headers that one service passes on to the next for its caller.
var forwarded = []string{authorizationKey, NamespaceKey, ForKey, "traceparent", "tracestate"}

// Forward makes calls with ctx go out for the caller that ctx's own call came from: with
// its credentials, namespace, request id and trace. Present headers of ctx stay. Outside
// of a call it makes no change.
func Forward(ctx context.Context) context.Context {
	in, ok := metadata.FromIncomingContext(ctx)
	if !ok {
		return ctx
	}
	out, _ := metadata.FromOutgoingContext(ctx)
	pairs := make([]string, 0, 2*len(forwarded)+2)
	for _, key := range forwarded {
		// More than one value was refused on the way in.
		if v := in[key]; len(v) == 1 && len(out[key]) == 0 {
			pairs = append(pairs, key, v[0])
		}
	}
	if id := RequestID(ctx); id != "" && len(out[RequestIDKey]) == 0 {
		pairs = append(pairs, RequestIDKey, id)
	}
	if len(pairs) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

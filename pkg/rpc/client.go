package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // clients ask replicas whether they serve
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/internal/tlsfiles"
)

// ClientConfig of a connection. The zero value calls as nobody, without TLS, on
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
type ClientTLS struct {
	// Enable uses the system's CAs when CAFile is empty.
	Enable bool
	CAFile string
	// CertFile and KeyFile are the client's own, for mTLS.
	CertFile   string
	KeyFile    string
	ServerName string
}

// maxAnswer is the largest answer that clients take, in bytes: a page of history.
const maxAnswer = 64 << 20

// Dial makes a connection, which connects when it is first used. Targets are
// gRPC's: "127.0.0.1:7421", "unix:///run/interlock.sock", and "dns:///engine:7421"
// for all replicas behind a name, or "10.0.0.1:7421,10.0.0.2:7421" for those that
// are listed: calls then go around those that say that they serve.
func Dial(target string, cfg ClientConfig) (*grpc.ClientConn, error) {
	creds, err := cfg.credentials(target)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	if cfg.Namespace != "" && !ValidNamespace(cfg.Namespace) {
		return nil, fmt.Errorf("dial %s: invalid namespace %q", target, cfg.Namespace)
	}
	options := append(clientOptions(cfg.TracerProvider), grpc.WithTransportCredentials(creds))
	if c := newCaller(cfg); c.adds() {
		options = append(options, grpc.WithUnaryInterceptor(c.unary), grpc.WithStreamInterceptor(c.stream))
	}
	several := replicas(target)
	if len(several) > 1 {
		options = append(options, grpc.WithResolvers(addressList{several}))
		target = listScheme + ":///" + several[0]
	}
	if len(several) > 1 || strings.HasPrefix(target, "dns:///") {
		options = append(options, grpc.WithDefaultServiceConfig(
			`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"`+Accepting+`"}}`))
	}
	conn, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	return conn, nil
}

func clientOptions(tp trace.TracerProvider) []grpc.DialOption {
	options := []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	}
	if tp != nil {
		options = append(options, grpc.WithStatsHandler(otelgrpc.NewClientHandler(
			otelgrpc.WithTracerProvider(tp),
			otelgrpc.WithPropagators(propagation.TraceContext{}),
			otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
		)))
	}
	return options
}

func (c ClientConfig) credentials(target string) (credentials.TransportCredentials, error) {
	t := c.TLS
	if t == (ClientTLS{}) {
		if !c.Insecure && !isLoopback(target) {
			return nil, ErrPlaintext
		}
		return insecure.NewCredentials(), nil
	}
	settings, err := tlsfiles.Client{CA: t.CAFile, Cert: t.CertFile, Key: t.KeyFile, ServerName: t.ServerName}.Follow()
	if err != nil {
		return nil, err
	}
	return newClientCredentials(settings), nil
}

// caller adds its credentials and namespace to calls that bring none.
type caller struct {
	token     func() string // nil for none
	namespace string
}

func newCaller(cfg ClientConfig) caller {
	c := caller{token: cfg.TokenFrom, namespace: cfg.Namespace}
	if c.token == nil && cfg.Token != "" {
		c.token = func() string { return cfg.Token }
	}
	return c
}

func (c caller) adds() bool { return c.token != nil || c.namespace != "" }

func (c caller) outgoing(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	if c.token != nil && len(md[authorizationKey]) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, authorizationKey, "Bearer "+c.token())
	}
	if c.namespace != "" && len(md[NamespaceKey]) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, NamespaceKey, c.namespace)
	}
	return ctx
}

func (c caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(c.outgoing(ctx), method, req, reply, cc, opts...)
}

func (c caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(c.outgoing(ctx), desc, cc, method, opts...)
}

// forwarded are what one service passes on to the next for its caller.
var forwarded = []string{authorizationKey, NamespaceKey, "traceparent", "tracestate"}

// Forward makes calls with ctx go out for the caller that ctx's own call came
// from: with its credentials, namespace, request id and trace. What ctx sends
// already stays. Outside of a call it changes nothing.
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

// Package dial connects to Interlock's services. It is all that a client needs of a connection,
// and depends on gRPC alone.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // clients ask replicas whether they serve
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/internal/tlsfiles"
)

const (
	// AuthorizationKey is the metadata of a call that has the caller's token.
	AuthorizationKey = "authorization"
	// NamespaceKey is the metadata of a call that names its namespace.
	NamespaceKey = "interlock-namespace"
	// ForKey is the metadata of a call that has the token of the person on whose behalf the caller
	// acts, as "Bearer <token>".
	ForKey = "interlock-for"
	// Accepting is the service of the health check by which clients go around a replica.
	Accepting = "interlock.accepting"
	// UnixPrefix is that of the target of a Unix socket.
	UnixPrefix = "unix:"
)

// ErrPlaintext refuses to call or to serve beyond this machine without TLS,
// unless the network itself is trusted.
var ErrPlaintext = errors.New("without TLS the token and all data would be sent in plaintext")

// Config of a connection. The zero value calls without a token, without TLS, on
// loopback or a unix socket only.
type Config struct {
	Caller
	// TLS is off unless one of its files is set or it is enabled.
	TLS TLS
	// Insecure allows another target than loopback without TLS, where the
	// network itself is trusted. Tokens then travel in the clear.
	Insecure bool
}

// TLS are PEM files, which are read again when they change.
type TLS struct {
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

// New makes a connection, which connects when it is first used. Targets are
// gRPC's: "127.0.0.1:7421", "unix:///run/interlock.sock", and "dns:///engine:7421"
// for all replicas behind a name, or "10.0.0.1:7421,10.0.0.2:7421" for those that
// are listed: calls then go around those that say that they serve.
func New(target string, cfg Config, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	creds, err := cfg.credentials(target)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	if cfg.Namespace != "" && !ValidNamespace(cfg.Namespace) {
		return nil, fmt.Errorf("dial %s: invalid namespace %q", target, cfg.Namespace)
	}
	options := append(Options(), grpc.WithTransportCredentials(creds))
	options = append(options, more...)
	if c := cfg.Caller; c.adds() {
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

// Options returns those of every connection of a client.
func Options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	}
}

func (c Config) credentials(target string) (credentials.TransportCredentials, error) {
	t := c.TLS
	if t == (TLS{}) {
		if !c.Insecure && !isLoopbackHost(target) {
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

// Caller adds its credentials and namespace to calls that bring none.
type Caller struct {
	// Token is sent with calls whose context brings no credentials.
	Token string
	// TokenFrom is asked for it at each call instead; nil for Token.
	TokenFrom func() string
	// Namespace is sent with calls whose context brings none.
	Namespace string
}

func (c Caller) adds() bool { return c.Token != "" || c.TokenFrom != nil || c.Namespace != "" }

// Outgoing returns the context of a call with the caller's metadata.
func (c Caller) Outgoing(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	if token := c.token(); token != "" && len(md[AuthorizationKey]) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, AuthorizationKey, "Bearer "+token)
	}
	if c.Namespace != "" && len(md[NamespaceKey]) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, NamespaceKey, c.Namespace)
	}
	return ctx
}

func (c Caller) token() string {
	if c.TokenFrom != nil {
		return c.TokenFrom()
	}
	return c.Token
}

func (c Caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return invoke(c.Outgoing(ctx), method, req, reply, cc, opts...)
}

func (c Caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(c.Outgoing(ctx), desc, cc, method, opts...)
}

// isLoopbackHost reports whether all traffic to the target stays on the machine.
func isLoopbackHost(target string) bool {
	return !slices.ContainsFunc(replicas(target), func(one string) bool { return !IsLoopback(one) })
}

// IsLoopback reports whether all traffic to one address stays on the machine.
func IsLoopback(address string) bool {
	if strings.HasPrefix(address, UnixPrefix) || strings.HasPrefix(address, "unix-abstract:") {
		return true
	}
	for _, scheme := range []string{"dns:///", "passthrough:///", "dns:"} {
		address = strings.TrimPrefix(address, scheme)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// ValidNamespace reports whether s matches [a-z0-9][a-z0-9-]{0,62}.
func ValidNamespace(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

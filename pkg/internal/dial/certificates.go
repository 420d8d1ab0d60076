package dial

import (
	"context"
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

// clientCredentials are TLS with the certificates of the moment of each handshake.
type clientCredentials struct {
	credentials.TransportCredentials
	settings *reread.Value[*tls.Config]
}

func newClientCredentials(settings *reread.Value[*tls.Config]) clientCredentials {
	return clientCredentials{credentials.NewTLS(settings.Get()), settings}
}

// ClientHandshake secures a connection.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.settings.Get()).ClientHandshake(ctx, authority, conn)
}

// Clone returns a copy, which shares the certificates.
func (c clientCredentials) Clone() credentials.TransportCredentials {
	return clientCredentials{c.TransportCredentials.Clone(), c.settings}
}

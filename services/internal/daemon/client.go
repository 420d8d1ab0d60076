package daemon

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// ClientFlags of a service that calls others. It calls with its own callers'
// credentials, so there is no token here.
type ClientFlags struct {
	CA         string `name:"ca" help:"CA of the other services' certificates (PEM)." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
	ClientCert string `help:"Certificate shown to the other services (PEM)." env:"INTERLOCK_CLIENT_CERT" type:"path" placeholder:"FILE"`
	ClientKey  string `help:"Key of that certificate (PEM)." env:"INTERLOCK_CLIENT_KEY" type:"path" placeholder:"FILE"`
}

// Dial connects to another service until this one stops. flag is the one that
// the target came by.
func (d *Daemon) Dial(flag, target string, f ClientFlags) (*grpc.ClientConn, error) {
	conn, err := rpc.Dial(target, rpc.ClientConfig{
		TLS:            rpc.ClientTLS{CAFile: f.CA, CertFile: f.ClientCert, KeyFile: f.ClientKey},
		Insecure:       d.flags.InsecurePlaintext,
		TracerProvider: d.Tracer,
	})
	if errors.Is(err, rpc.ErrPlaintext) {
		return nil, fmt.Errorf("--%s %s: %w; give --ca with the CA of its certificate, or --insecure-plaintext where the network itself is trusted",
			flag, target, rpc.ErrPlaintext)
	}
	if err != nil {
		return nil, err
	}
	d.OnClose(conn.Close)
	return conn, nil
}

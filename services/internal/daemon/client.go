package daemon

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// ClientFlags of a service that calls others. For a caller it calls with that
// caller's credentials, and for itself with the service's token of --tokens, so
// there is no token here.
type ClientFlags struct {
	CA         string `name:"ca" help:"CA of the other services' certificates (PEM)." env:"INTERLOCK_CA" type:"path" placeholder:"FILE"`
	ClientCert string `help:"Certificate shown to the other services (PEM)." env:"INTERLOCK_CLIENT_CERT" type:"path" placeholder:"FILE"`
	ClientKey  string `help:"Key of that certificate (PEM)." env:"INTERLOCK_CLIENT_KEY" type:"path" placeholder:"FILE"`
}

var errNoTokensFile = errors.New("there is no --tokens and no --service-token-file")

// Dial connects to another service until this one stops, for calls that are made
// for callers. flag is the one that the target came by.
func (d *Daemon) Dial(flag, target string, f ClientFlags) (*grpc.ClientConn, error) {
	return d.connect(flag, target, nil, f)
}

// DialAs connects like Dial, for calls that this service makes for itself. It presents its
// token of the role service; the target accepts it, since all services have its hash in their
// tokens files. Without authentication it needs none.
func (d *Daemon) DialAs(flag, target string, f ClientFlags) (*grpc.ClientConn, error) {
	token, err := d.serviceToken()
	if err != nil && !d.flags.AllowAnonymous {
		return nil, fmt.Errorf("--%s %s is called by this service as itself, with its own token: %w; "+
			"make one with `interlock token add service --name %s`, and give its file as --service-token-file", flag, target, err, d.Name)
	}
	return d.connect(flag, target, token, f)
}

// serviceToken returns the token of the role service, which is read again when its file has changed: that of
// --service-token-file, or else one in plain text in the tokens file.
func (d *Daemon) serviceToken() (func() string, error) {
	switch {
	case d.flags.ServiceToken != "":
		return auth.FollowPassword(d.flags.ServiceToken)
	case d.flags.Tokens != "":
		return auth.FollowToken(d.flags.Tokens, auth.Service)
	default:
		return nil, errNoTokensFile
	}
}

// OwnToken returns the token that this service calls as itself with, or nil when it has
// none.
func (d *Daemon) OwnToken() func() string {
	token, err := d.serviceToken()
	if err != nil {
		return nil
	}
	return token
}

func (d *Daemon) connect(flag, target string, token func() string, f ClientFlags) (*grpc.ClientConn, error) {
	conn, err := rpc.Dial(target, rpc.ClientConfig{
		TokenFrom:      token,
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

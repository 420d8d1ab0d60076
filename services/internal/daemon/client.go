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

var errNoTokensFile = errors.New("there is no --tokens")

// Dial connects to another service until this one stops, for calls that are made
// for callers. flag is the one that the target came by.
func (d *Daemon) Dial(flag, target string, f ClientFlags) (*grpc.ClientConn, error) {
	return d.connect(flag, target, nil, f)
}

// DialAs connects like Dial, for calls that this service makes for itself. It presents a
// token of the role service in its own tokens file; the target accepts it, since all
// services have it in theirs. Without authentication it needs none.
func (d *Daemon) DialAs(flag, target string, f ClientFlags) (*grpc.ClientConn, error) {
	var token func() string
	err := errNoTokensFile
	if d.flags.Tokens != "" {
		token, err = auth.FollowToken(d.flags.Tokens, auth.Service)
	}
	if err != nil && !d.flags.AllowAnonymous {
		return nil, fmt.Errorf("--%s %s is called by this service as itself, with its own token: %w; "+
			"give every service a tokens file that has one: "+
			`{"tokens":[{"name":%q,"role":"service","token":"<32 random bytes>"},...]}`, flag, target, err, d.Name)
	}
	return d.connect(flag, target, token, f)
}

// OwnToken returns the token that this service calls as itself with, or nil when it has
// none.
func (d *Daemon) OwnToken() func() string {
	if d.flags.Tokens == "" {
		return nil
	}
	token, err := auth.FollowToken(d.flags.Tokens, auth.Service)
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

package rpc_test

import (
	"errors"
	"net"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
)

func TestWhatMayBeServedBeyondLoopback(t *testing.T) {
	t.Parallel()
	withTLS := rpc.ServerTLS{CertFile: "c", KeyFile: "k"}
	for _, tc := range []struct {
		address  string
		exposure rpc.Exposure
		want     error
	}{
		{"127.0.0.1:0", rpc.Exposure{Anonymous: true}, nil},
		{"localhost:7421", rpc.Exposure{Anonymous: true}, nil},
		{"[::1]:0", rpc.Exposure{}, nil},
		{"unix:/run/x.sock", rpc.Exposure{Anonymous: true}, nil},
		{":7421", rpc.Exposure{}, rpc.ErrPlaintext},
		{"0.0.0.0:7421", rpc.Exposure{}, rpc.ErrPlaintext},
		{"[::]:7421", rpc.Exposure{}, rpc.ErrPlaintext},
		{"10.0.0.1:7421", rpc.Exposure{}, rpc.ErrPlaintext},
		{"gateway:7421", rpc.Exposure{}, rpc.ErrPlaintext},
		{"", rpc.Exposure{}, rpc.ErrPlaintext},
		{":7421", rpc.Exposure{Insecure: true}, nil},
		{":7421", rpc.Exposure{TLS: withTLS}, nil},
		// Neither makes operators of other callers.
		{":7421", rpc.Exposure{Anonymous: true}, rpc.ErrAnonymous},
		{":7421", rpc.Exposure{Anonymous: true, Insecure: true}, rpc.ErrAnonymous},
		{":7421", rpc.Exposure{Anonymous: true, TLS: withTLS}, rpc.ErrAnonymous},
	} {
		if err := tc.exposure.Check(tc.address); !errors.Is(err, tc.want) {
			t.Errorf("%q as %+v: %v, want %v", tc.address, tc.exposure, err, tc.want)
		}
	}
}

// A server does not open addresses that it may not serve.
func TestServersHeedTheirExposure(t *testing.T) {
	t.Parallel()
	everywhere := &announced{address: &net.TCPAddr{IP: net.IPv6unspecified, Port: 1}}
	for name, tc := range map[string]struct {
		cfg  rpc.Config
		want error
	}{
		"nobody to serve":    {rpc.Config{Listen: []string{"127.0.0.1:0"}}, rpc.ErrNoAuthenticator},
		"anonymous":          {rpc.Config{Listen: []string{"127.0.0.1:0", ":0"}, AllowAnonymous: true, Insecure: true}, rpc.ErrAnonymous},
		"plaintext":          {rpc.Config{Listen: []string{":0"}, Authenticator: &auth.Tokens{}}, rpc.ErrPlaintext},
		"anonymous listener": {rpc.Config{Listeners: []net.Listener{everywhere}, AllowAnonymous: true}, rpc.ErrAnonymous},
		"plaintext listener": {rpc.Config{Listeners: []net.Listener{everywhere}, Authenticator: &auth.Tokens{}}, rpc.ErrPlaintext},
	} {
		server, err := rpc.NewServer(tc.cfg)
		if err == nil {
			server.Close()
		}
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	local := &announced{address: &net.UnixAddr{Name: "x.sock", Net: "unix"}}
	server, err := rpc.NewServer(rpc.Config{Listeners: []net.Listener{local}, AllowAnonymous: true})
	if err != nil {
		t.Fatalf("a unix socket: %v", err)
	}
	server.Close()
}

// announced is a listener that only says where it is.
type announced struct {
	net.Listener
	address net.Addr
}

func (a *announced) Addr() net.Addr { return a.address }
func (a *announced) Close() error   { return nil }

package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/interlock-run/interlock/pkg/rpc"
)

// ServeFlags of every command that serves. They are for all of its faces, gRPC
// and HTTP alike.
type ServeFlags struct {
	Config            string `help:"YAML file with flags by their names; the command line and the environment win." env:"INTERLOCK_CONFIG" type:"path" placeholder:"FILE"`
	LogLevel          string `help:"Least that is logged: debug, info, warn or error." enum:"debug,info,warn,error" default:"info" env:"INTERLOCK_LOG_LEVEL"`
	TLSCert           string `name:"tls-cert" help:"Server certificate (PEM), for gRPC and HTTP." env:"INTERLOCK_TLS_CERT" type:"path" placeholder:"FILE"`
	TLSKey            string `name:"tls-key" help:"Key of the certificate (PEM)." env:"INTERLOCK_TLS_KEY" type:"path" placeholder:"FILE"`
	TLSClientCA       string `name:"tls-client-ca" help:"CA that clients' certificates must be signed by (PEM)." env:"INTERLOCK_TLS_CLIENT_CA" type:"path" placeholder:"FILE"`
	InsecurePlaintext bool   `help:"Serve and call other machines without TLS, where the network itself is trusted." env:"INTERLOCK_INSECURE_PLAINTEXT"`
}

// TLS returns the settings of the flags; the zero value without them.
func (f ServeFlags) TLS() rpc.ServerTLS {
	return rpc.ServerTLS{CertFile: f.TLSCert, KeyFile: f.TLSKey, ClientCAFile: f.TLSClientCA}
}

func (f ServeFlags) exposure(anonymous bool) rpc.Exposure {
	return rpc.Exposure{TLS: f.TLS(), Anonymous: anonymous, Insecure: f.InsecurePlaintext}
}

// Check refuses an address that cannot or must not be served, and names the
// flags that mend it. flag is the one that the address came by.
func (f ServeFlags) Check(flag, address string, anonymous bool) error {
	if t := f.TLS(); t != (rpc.ServerTLS{}) && (t.CertFile == "" || t.KeyFile == "") {
		return errors.New("TLS requires both --tls-cert and --tls-key")
	}
	if err := CheckAddress(flag, address); err != nil {
		return err
	}
	err := f.exposure(anonymous).Check(address)
	switch {
	case errors.Is(err, rpc.ErrAnonymous):
		return fmt.Errorf("--%s %s with --allow-anonymous: %w; listen on 127.0.0.1, or give --tokens instead", flag, address, rpc.ErrAnonymous)
	case errors.Is(err, rpc.ErrPlaintext):
		return fmt.Errorf("--%s %s: %w; give --tls-cert and --tls-key, or --insecure-plaintext where the network itself is trusted",
			flag, address, rpc.ErrPlaintext)
	default:
		return err
	}
}

// CheckAddress refuses invalid addresses for listeners. gRPC has unix sockets too.
func CheckAddress(flag, address string) error {
	if flag == "grpc" && strings.HasPrefix(address, "unix:") {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return fmt.Errorf("--%s %q: give HOST:PORT, e.g. 127.0.0.1:0 for any free port", flag, address)
	}
	return nil
}

// ListenHTTP opens the address of an HTTP face, with the same TLS as the gRPC
// one. It opens none that may not be served like that.
func ListenHTTP(address string, exposure rpc.Exposure) (net.Listener, error) {
	if err := exposure.Check(address); err != nil {
		return nil, err
	}
	cfg, err := exposure.TLS.Config()
	if err != nil {
		return nil, err
	}
	lis, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP: %w", err)
	}
	if cfg == nil {
		return lis, nil
	}
	return tls.NewListener(lis, cfg), nil
}

// ListenHTTP opens the address of the service's HTTP face. flag is the one that
// the address came by.
func (d *Daemon) ListenHTTP(flag, address string) (net.Listener, error) {
	if err := d.flags.Check(flag, address, d.flags.AllowAnonymous); err != nil {
		return nil, err
	}
	lis, err := ListenHTTP(address, d.flags.exposure(d.flags.AllowAnonymous))
	return lis, busy(flag, err)
}

// busy adds a suggested fix to the error for an address in use.
func busy(flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; stop the program that has the port, or choose another with --%s", err, flag)
	}
	return err
}

package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxDiscovery is the most that is read of an edge's answer about itself, in bytes.
const maxDiscovery = 64 << 10

// discover asks an edge where the gRPC services are. They are on the edge's own
// host, which is the one that the caller trusts with a token.
func discover(ctx context.Context, edge *url.URL, ca string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := HTTP(ca)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, edge.JoinPath(".well-known", "interlock").String(), nil)
	if err != nil {
		return "", fmt.Errorf("server %s: %w", edge.Redacted(), err)
	}
	resp, err := client.Do(req)
	if err != nil {
		if wrong := Misdirected(edge, err); wrong != nil {
			return "", wrong
		}
		return "", fmt.Errorf("the server %s cannot be reached: %w; is `interlock up` running there?", edge.Redacted(), err)
	}
	defer resp.Body.Close()
	var found struct {
		GRPC string `json:"grpc"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDiscovery)).Decode(&found); err != nil || found.GRPC == "" {
		return "", fmt.Errorf("%s answers %s, and not where its gRPC services are; "+
			"is it the edge, and is it %s://? give --server HOST:PORT of gRPC otherwise",
			edge.Redacted(), resp.Status, edge.Scheme)
	}
	return onHost(edge, found.GRPC)
}

// onHost returns the address that an edge gives, on the host that was named. An edge may
// listen on all addresses, or know itself by another name; that must not bring a token to
// another machine.
func onHost(edge *url.URL, told string) (string, error) {
	host, port, err := net.SplitHostPort(told)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return "", fmt.Errorf("%s does not say where its gRPC services are; give --server HOST:PORT of gRPC", edge.Redacted())
	}
	ip := net.ParseIP(host)
	everywhere := host == "" || ip.IsUnspecified()
	here, there := isLoopbackHost(edge.Hostname()), isLoopbackHost(host)
	switch {
	case here && there:
		return told, nil
	case !everywhere && here != there:
		return "", fmt.Errorf("%s serves gRPC on %s only, another host than the one that you named: "+
			"give --server %s where that is right", edge.Redacted(), told, told)
	default:
		return net.JoinHostPort(edge.Hostname(), port), nil
	}
}

func isLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// HTTP trusts the CA in a file, or without one the system's.
func HTTP(ca string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() // the standard library's own
	transport.DialContext = askFirst
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read the CA of --ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca: %s has no PEM certificate", ca)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

// asking is a connection that does not read until it has written. gRPC servers speak
// first, and the HTTP client would print their bytes.
type asking struct {
	net.Conn
	asked chan struct{}
	once  sync.Once
}

func askFirst(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &asking{Conn: conn, asked: make(chan struct{})}, nil
}

func (a *asking) Read(p []byte) (int, error) {
	<-a.asked
	return a.Conn.Read(p)
}

func (a *asking) Write(p []byte) (int, error) {
	defer a.once.Do(func() { close(a.asked) })
	return a.Conn.Write(p)
}

func (a *asking) Close() error {
	a.once.Do(func() { close(a.asked) })
	return a.Conn.Close()
}

// tlsAlert is how the HTTP client quotes a server that wants TLS. Others hang up.
const tlsAlert = `malformed HTTP response "\x15\x03`

// Misdirected describes why an edge did not answer, and how to fix it, when the URL names
// another protocol; nil for any other reason. The HTTP client quotes another protocol
// byte by byte, which does not help.
func Misdirected(edge *url.URL, err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	switch text := err.Error(); {
	case edge.Scheme == "http" && (errors.Is(err, io.EOF) || strings.Contains(text, tlsAlert)):
		return fmt.Errorf("%s does not answer without TLS: write https:// for the edge, "+
			"or leave out http:// when that is a gRPC port", edge.Redacted())
	case strings.Contains(text, "malformed HTTP response"):
		return fmt.Errorf("%s does not speak HTTP: when that is a gRPC port, leave out %s://", edge.Redacted(), edge.Scheme)
	case errors.As(err, &plain) || strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s does not speak TLS: write http:// for the edge, "+
			"or leave out https:// when that is a gRPC port", edge.Redacted())
	case errors.As(err, &untrusted):
		return fmt.Errorf("%s cannot be trusted: %w; give --ca with the CA of its certificate", edge.Redacted(), untrusted)
	default:
		return nil
	}
}

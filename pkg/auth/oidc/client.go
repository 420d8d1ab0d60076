package oidc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

// maxAnswer is the most that is read of an issuer's answer, in bytes.
const maxAnswer = 1 << 20

// newClient makes the client that calls the issuer. It follows no redirect, which
// could lead anywhere, and keeps no connection: it calls a few times an hour.
func newClient(caFile string) (*http.Client, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA of the issuer: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the CA of the issuer: %s has no certificate in PEM", caFile)
		}
	}
	return &http.Client{
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: cfg, DisableKeepAlives: true,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// bounded cuts answers off.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err // the client adds its request
	}
	resp.Body = cut{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

type cut struct {
	io.Reader
	io.Closer
}

package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// A refusal names the flags that lift it; no server needs to listen.
func TestAddressesThatAreServed(t *testing.T) {
	t.Parallel()
	withTLS := ServeFlags{TLSCert: "c", TLSKey: "k"}
	for _, tc := range []struct {
		flag, address string
		flags         ServeFlags
		anonymous     bool
		want          []string // words of the error; nil for none
	}{
		{"grpc", "127.0.0.1:7431", ServeFlags{}, true, nil},
		{"grpc", "unix:/run/x.sock", ServeFlags{}, true, nil},
		{"grpc", ":7431", withTLS, false, nil},
		{"http", ":7420", ServeFlags{InsecurePlaintext: true}, false, nil},
		{"grpc", ":7431", ServeFlags{}, false, []string{"--grpc :7431", "in plaintext", "--tls-cert", "--tls-key", "--insecure-plaintext"}},
		{"http", "0.0.0.0:7420", ServeFlags{}, false, []string{"--http 0.0.0.0:7420", "in plaintext", "--insecure-plaintext"}},
		{"http", ":7420", withTLS, true, []string{"--http :7420", "--allow-anonymous", "127.0.0.1", "--tokens"}},
		{"grpc", ":7431", ServeFlags{InsecurePlaintext: true}, true, []string{"--allow-anonymous", "127.0.0.1"}},
		{"http", "nonsense", ServeFlags{}, false, []string{`--http "nonsense"`, "HOST:PORT"}},
		{"http", "unix:/run/x.sock", ServeFlags{}, false, []string{"HOST:PORT"}},
		{"http", "", ServeFlags{}, false, []string{"HOST:PORT"}},
		{"grpc", "127.0.0.1:0", ServeFlags{TLSCert: "c"}, false, []string{"--tls-cert", "--tls-key"}},
		{"grpc", "127.0.0.1:0", ServeFlags{TLSClientCA: "ca"}, false, []string{"--tls-cert", "--tls-key"}},
	} {
		err := tc.flags.Check(tc.flag, tc.address, tc.anonymous)
		if (err == nil) != (tc.want == nil) {
			t.Errorf("--%s %q with %+v: %v", tc.flag, tc.address, tc.flags, err)
			continue
		}
		for _, word := range tc.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("--%s %q: no %s in %v", tc.flag, tc.address, word, err)
			}
		}
	}
}

// The HTTP face has the TLS of the gRPC one.
func TestListenHTTP(t *testing.T) {
	t.Parallel()
	certFile, keyFile := certtest.Loopback(t)
	pem, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	trusting := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	known := trusting.Clone()
	known.Certificates = []tls.Certificate{pair}
	for name, tc := range map[string]struct {
		files  rpc.ServerTLS
		client *tls.Config
		scheme string
		ok     bool
	}{
		"plain":                   {rpc.ServerTLS{}, nil, "http", true},
		"TLS":                     {rpc.ServerTLS{CertFile: certFile, KeyFile: keyFile}, trusting, "https", true},
		"plain to TLS":            {rpc.ServerTLS{CertFile: certFile, KeyFile: keyFile}, nil, "http", false},
		"TLS that is not trusted": {rpc.ServerTLS{CertFile: certFile, KeyFile: keyFile}, nil, "https", false},
		"both sides":              {rpc.ServerTLS{CertFile: certFile, KeyFile: keyFile, ClientCAFile: certFile}, known, "https", true},
		"no client certificate":   {rpc.ServerTLS{CertFile: certFile, KeyFile: keyFile, ClientCAFile: certFile}, trusting, "https", false},
	} {
		lis, err := ListenHTTP("127.0.0.1:0", rpc.Exposure{TLS: tc.files})
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{
			Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
			ErrorLog: log.New(io.Discard, "", 0),
		}
		go func() { _ = server.Serve(lis) }()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: tc.client, ForceAttemptHTTP2: true}}
		resp, err := client.Get(tc.scheme + "://" + lis.Addr().String())
		ok := err == nil && resp.StatusCode == http.StatusOK
		if ok != tc.ok {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
		if err == nil {
			resp.Body.Close()
		}
		if ok && tc.scheme == "https" && resp.ProtoMajor != 2 {
			t.Errorf("%s: spoken is %s", name, resp.Proto)
		}
		client.CloseIdleConnections()
		server.Close()
	}
	for name, tc := range map[string]struct {
		address  string
		exposure rpc.Exposure
		want     error
	}{
		"plaintext for all": {":0", rpc.Exposure{}, rpc.ErrPlaintext},
		"anybody":           {":0", rpc.Exposure{Anonymous: true, Insecure: true}, rpc.ErrAnonymous},
		"no certificate":    {"127.0.0.1:0", rpc.Exposure{TLS: rpc.ServerTLS{CertFile: "nowhere", KeyFile: "nowhere"}}, os.ErrNotExist},
	} {
		lis, err := ListenHTTP(tc.address, tc.exposure)
		if err == nil {
			lis.Close()
		}
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBusyAddressNamesItsFlag(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = (&Daemon{}).ListenHTTP("http", taken.Addr().String())
	if err == nil || strings.Count(err.Error(), "choose another with --http") != 1 {
		t.Errorf("%v", err)
	}
	if err := busy("http", io.EOF); !errors.Is(err, io.EOF) || strings.Contains(err.Error(), "--http") {
		t.Errorf("%v", err)
	}
}

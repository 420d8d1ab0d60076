package bus_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/certtest"
)

// secured starts a server that asks for a certificate, a user and the password "secret".
func secured(t *testing.T, authority *certtest.Authority) (url string) {
	t.Helper()
	certFile, keyFile := authority.Issue(t, "nats")
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(authority.CA())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, Username: "service", Password: "secret", TLSTimeout: 5,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
	})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	return srv.ClientURL()
}

func secretFile(t *testing.T, content string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLogins(t *testing.T) {
	t.Parallel()
	authority, stranger := certtest.New(t), certtest.New(t)
	url := secured(t, authority)
	cert, key := authority.Issue(t, "client")
	connect := func(l bus.Login) error {
		endpoint, err := bus.Endpoint{URL: url}.With(l)
		if err != nil {
			return err
		}
		nc, err := endpoint.Connect("test")
		if err == nil {
			nc.Close()
		}
		return err
	}
	good := bus.Login{Username: "service", PasswordFile: secretFile(t, "secret\n"), CA: authority.CA(), Cert: cert, Key: key}
	if err := connect(good); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*bus.Login)
		says   string
	}{
		"no certificate": {func(l *bus.Login) { l.Cert, l.Key = "", "" }, ""},
		"another CA":     {func(l *bus.Login) { l.CA = stranger.CA() }, "unknown authority"},
		"wrong password": {func(l *bus.Login) { l.PasswordFile = secretFile(t, "other") }, "Authorization Violation"},
		"nobody":         {func(l *bus.Login) { l.Username, l.PasswordFile = "", "" }, "Authorization Violation"},
		"no password":    {func(l *bus.Login) { l.PasswordFile = "" }, "a user needs a file"},
		"two ways":       {func(l *bus.Login) { l.Credentials = secretFile(t, "x") }, "not both"},
		"no such file":   {func(l *bus.Login) { l.PasswordFile = "nowhere" }, "nowhere"},
		"several lines":  {func(l *bus.Login) { l.PasswordFile = secretFile(t, "a\nb") }, "one line"},
		"no credentials": {func(l *bus.Login) { *l = bus.Login{Credentials: "nowhere"} }, "nowhere"},
		"half of a pair": {func(l *bus.Login) { l.Key = "" }, "needs its key"},
		"not a PEM's CA": {func(l *bus.Login) { l.CA = secretFile(t, "x") }, "no PEM certificate"},
	} {
		login := good
		tt.change(&login)
		if err := connect(login); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The files are read for each connection.
func TestNATSPasswordsAreReadAgain(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	url := secured(t, authority)
	cert, key := authority.Issue(t, "client")
	password := secretFile(t, "old")
	endpoint, err := bus.Endpoint{URL: url}.With(bus.Login{Username: "service", PasswordFile: password, CA: authority.CA(), Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := endpoint.Connect("test"); err == nil {
		nc.Close()
		t.Fatal("connected with a wrong password")
	}
	if err := os.Rename(secretFile(t, "secret"), password); err != nil {
		t.Fatal(err)
	}
	nc, err := endpoint.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

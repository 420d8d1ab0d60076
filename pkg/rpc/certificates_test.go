package rpc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// replace puts one file in the place of another.
func replace(t *testing.T, file, by string) {
	t.Helper()
	data, err := os.ReadFile(by)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// Certificates and CAs of both sides change while they run.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	before, after := certtest.New(t), certtest.New(t)
	ca := before.CA()
	serverCert, serverKey := before.Issue(t, "server")
	clientCert, clientKey := before.Issue(t, "client")
	newCA := after.CA()
	newServerCert, newServerKey := after.Issue(t, "server")
	newClientCert, newClientKey := after.Issue(t, "client")
	keep := t.TempDir()
	oldCA, oldCert, oldKey := filepath.Join(keep, "ca"), filepath.Join(keep, "cert"), filepath.Join(keep, "key")
	replace(t, oldCA, ca)
	replace(t, oldCert, clientCert)
	replace(t, oldKey, clientKey)

	h := open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.TLS = rpc.ServerTLS{CertFile: serverCert, KeyFile: serverKey, ClientCAFile: ca}
	})
	// call connects anew, by credentials that were made at the beginning or just now.
	call := func(tls rpc.ClientTLS) fault.Reason {
		t.Helper()
		conn, err := rpc.Dial(h.address, rpc.ClientConfig{Token: h.tokens[auth.Agent], TLS: tls})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		return fault.ReasonOf(err)
	}
	rotating := rpc.ClientTLS{CAFile: ca, CertFile: clientCert, KeyFile: clientKey}
	// A connection that has not connected yet uses the files of that moment.
	early, err := rpc.Dial(h.address, rpc.ClientConfig{Token: h.tokens[auth.Agent], TLS: rotating})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = early.Close() }()
	if got := call(rotating); got != "" {
		t.Fatalf("before: %s", got)
	}

	replace(t, serverCert, newServerCert) // without its key
	if got := call(rotating); got != "" {
		t.Errorf("while the certificate is without its key: %s", got)
	}
	replace(t, serverKey, newServerKey)
	replace(t, ca, newCA)
	replace(t, clientCert, newClientCert)
	replace(t, clientKey, newClientKey)
	if got := call(rotating); got != "" {
		t.Errorf("after: %s", got)
	}
	if _, err := enginev1.NewRunServiceClient(early).GetRun(within(t), &enginev1.GetRunRequest{}); err != nil {
		t.Errorf("a client of before: %v", err)
	}
	for name, tls := range map[string]rpc.ClientTLS{
		"a client's certificate of before": {CAFile: newCA, CertFile: oldCert, KeyFile: oldKey},
		"a client that trusts the old CA":  {CAFile: oldCA, CertFile: newClientCert, KeyFile: newClientKey},
	} {
		if got := call(tls); got != fault.Unavailable {
			t.Errorf("%s: got %q", name, got)
		}
	}

	// Removed files stay in use, so that a slip does not end the service.
	if err := os.Remove(serverKey); err != nil {
		t.Fatal(err)
	}
	if got := call(rotating); got != "" {
		t.Errorf("without the key's file: %s", got)
	}
}

// The time that a certificate is still valid for is that of the files as they are now.
func TestExpiryOfTheCertificate(t *testing.T) {
	t.Parallel()
	authority := certtest.New(t)
	cert, key := authority.IssueFor(t, 30*24*time.Hour, "server")
	newCert, newKey := authority.IssueFor(t, time.Hour, "renewed")
	registry := prometheus.NewRegistry()
	open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.TLS, cfg.Registerer = rpc.ServerTLS{CertFile: cert, KeyFile: key}, registry
	})
	left := func() time.Duration {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == "interlock_certificate_expiry_seconds" {
				return time.Duration(family.GetMetric()[0].GetGauge().GetValue() * float64(time.Second))
			}
		}
		t.Fatal("there is no such metric")
		return 0
	}
	if got := left(); got > 30*24*time.Hour || got < 29*24*time.Hour {
		t.Errorf("the certificate expires in %s", got)
	}
	replace(t, cert, newCert)
	replace(t, key, newKey)
	if got := left(); got > time.Hour || got < 0 {
		t.Errorf("the new one expires in %s", got)
	}
}

func TestNoExpiryWithoutTLS(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	open(t, &runs{}, func(cfg *rpc.Config) { cfg.Registerer = registry })
	families, err := registry.Gather()
	if err != nil || slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return strings.Contains(f.GetName(), "expiry") }) {
		t.Errorf("something expires, %v", err)
	}
}

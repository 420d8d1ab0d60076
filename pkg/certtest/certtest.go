// Package certtest makes certificates for tests of TLS. It must never be used
// outside of tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority whose files are in a folder of the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	a.Issue(t, "ca")
	return a
}

// CA returns the file of the authority's own certificate.
func (a *Authority) CA() string { return filepath.Join(a.dir, "ca.crt") }

// Issue makes a certificate for 127.0.0.1, and answers the files that it and its key are in.
// Servers and clients can show it. hosts are further names of it.
func (a *Authority) Issue(t testing.TB, name string, hosts ...string) (certFile, keyFile string) {
	t.Helper()
	return a.IssueFor(t, time.Hour, name, hosts...)
}

// IssueFor is Issue of a certificate that is valid for so long.
func (a *Authority) IssueFor(t testing.TB, valid time.Duration, name string, hosts ...string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: hosts, IsCA: a.cert == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(cert); err != nil {
			t.Fatal(err)
		}
		a.key = key
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(a.dir, name+".crt"), "CERTIFICATE", cert), write(t, filepath.Join(a.dir, name+".key"), "PRIVATE KEY", private)
}

// Loopback makes a certificate for 127.0.0.1, which is its own CA, and answers
// the files that it and its key are in.
func Loopback(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	a := New(t)
	return a.CA(), filepath.Join(a.dir, "ca.key")
}

func write(t testing.TB, file, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// trusting is an HTTP client that trusts one CA.
func trusting(t *testing.T, ca string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must[[]byte](t)(os.ReadFile(ca)))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// onlyTLS expects TLS at an HTTP and a gRPC address, and no answer without it.
func onlyTLS(t *testing.T, httpAddress, grpcAddress, ca string) {
	t.Helper()
	resp := must[*http.Response](t)(trusting(t, ca).Get("https://" + httpAddress + "/healthz"))
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.TLS == nil {
		t.Errorf("https answers %s", resp.Status)
	}
	if resp, err := http.Get("http://" + httpAddress + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("http answers %s", resp.Status)
		}
	}
	for _, cfg := range []rpc.ClientConfig{{TLS: rpc.ClientTLS{CAFile: ca}}, {}} {
		conn, err := rpc.Dial(grpcAddress, cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = healthpb.NewHealthClient(conn).Check(within(t), &healthpb.HealthCheckRequest{})
		conn.Close()
		if secure := cfg.TLS.CAFile != ""; (err == nil) != secure {
			t.Errorf("gRPC with TLS %t: %v", secure, err)
		}
	}
}

// TestGatewayTLS: the flags are for both faces of the gateway.
func TestGatewayTLS(t *testing.T) {
	t.Parallel()
	cert, key := certtest.Loopback(t)
	// It replies by itself before there is anything behind it.
	g := start(t, "interlock-gateway", "--allow-anonymous", "--tls-cert", cert, "--tls-key", key,
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--engine", "127.0.0.1:1", "--policy", "127.0.0.1:1", "--state", "127.0.0.1:1", "--approval", "127.0.0.1:1", "--nats-url", "nats://127.0.0.1:1")
	onlyTLS(t, g.serving(t, "http"), g.serving(t, "grpc"), cert)
}

// TestUpTLS: so it is for `interlock up`, whose own machine still needs no CA.
func TestUpTLS(t *testing.T) {
	t.Parallel()
	cert, key := certtest.Loopback(t)
	data := datadir.Dir(t.TempDir())
	p := start(t, "interlock", "up", "--data-dir", string(data), "--tls-cert", cert, "--tls-key", key,
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	var at datadir.Endpoints
	eventually(t, "interlock up says where it is", func() (err error) {
		if at, err = data.ReadEndpoints(); err == nil && at.HTTP == "" {
			err = errors.New("it has not yet")
		}
		return err
	})
	edge, ok := strings.CutPrefix(at.HTTP, "https://")
	if !ok {
		t.Fatalf("its URL is %s", at.HTTP)
	}
	onlyTLS(t, edge, at.GRPC, cert)
	token := must[string](t)(auth.FileToken(data.Local(), auth.Operator))
	for name, args := range map[string][]string{
		"in its folder":   {"--data-dir", string(data)},
		"with its CA":     {"--server", at.GRPC, "--ca", cert, "--token", token},
		"by its edge":     {"--server", at.HTTP, "--ca", cert, "--token", token},
		"as INTERLOCK_CA": {"--data-dir", string(data), "--ca", cert},
	} {
		out, err := exec.CommandContext(within(t), binary(t, "interlock"), append([]string{"run", "list"}, args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "WORKFLOW") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	out, err := exec.CommandContext(within(t), binary(t, "interlock"), "run", "list", "--server", at.HTTP, "--token", token).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--ca") {
		t.Errorf("without its CA: %v\n%s", err, out)
	}
	p.drain(t)
}

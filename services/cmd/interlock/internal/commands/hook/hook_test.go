package hook

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/certtest"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
)

// A hook asks an edge that serves TLS.
func TestHookOverTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile := certtest.Loopback(t)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	edge := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || r.URL.Path != "/v1/hook" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		_, _ = w.Write([]byte(`{"exit": 0, "stdout": "fine"}`))
	}))
	edge.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	edge.StartTLS()
	defer edge.Close()
	for _, tc := range []struct {
		hook      hookclient.Client
		want      int
		out, errs string
	}{
		{hookclient.Client{Server: edge.URL, Token: "secret", CA: certFile}, hookclient.ExitDone, "fine", ""},
		{hookclient.Client{Server: edge.URL, Token: "secret"}, hookclient.ExitBlock, "", "give --ca"},
		{hookclient.Client{Server: edge.URL, Token: "secret", CA: keyFile}, hookclient.ExitBlock, "", "has no PEM certificate"},
	} {
		var out, errs strings.Builder
		got := tc.hook.Run(strings.NewReader(`{"hook_event_name":"PreToolUse"}`), &out, &errs, OverHTTP)
		if got != tc.want || out.String() != tc.out || !strings.Contains(errs.String(), tc.errs) {
			t.Errorf("%+v: %d, %q, %q", tc.hook, got, &out, &errs)
		}
	}
}

package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	signing "github.com/interlock-run/interlock/pkg/webhook"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/webhook"
)

var secret = []byte("a secret of more than sixteen bytes")

func TestConfiguration(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  webhook.Config
		want string // of the error; empty for none
	}{
		"https":                {webhook.Config{URLs: []string{"https://hooks.example.com/a?b=c,d"}}, ""},
		"http on loopback":     {webhook.Config{URLs: []string{"http://localhost:1/", "http://127.9.9.9/", "http://[::1]:80/x"}}, ""},
		"line":                 {webhook.Config{URLs: []string{"https://hooks.example.com/a\n"}}, ""},
		"http elsewhere":       {webhook.Config{URLs: []string{"http://hooks.example.com/token"}}, "use https"},
		"http that looks near": {webhook.Config{URLs: []string{"http://localhost.example.com/"}}, "use https"},
		"http that is allowed": {webhook.Config{URLs: []string{"http://hooks.internal/"}, AllowHTTP: true}, ""},
		"other scheme":         {webhook.Config{URLs: []string{"ftp://hooks.example.com/"}, AllowHTTP: true}, "https"},
		"no URL":               {webhook.Config{URLs: []string{"hooks.example.com"}}, "must be a URL"},
		"no host":              {webhook.Config{URLs: []string{"https:///path"}}, "must be a URL"},
		"fragment":             {webhook.Config{URLs: []string{"https://hooks.example.com/#a"}}, "has no word"},
		"short secret":         {webhook.Config{URLs: []string{"https://hooks.example.com/"}, Secret: []byte("short")}, "16 bytes"},
		"public URL":           {webhook.Config{PublicURL: "https://interlock.example.com/base/"}, ""},
		"public path":          {webhook.Config{PublicURL: "/base"}, "--public-url"},
		"public query":         {webhook.Config{PublicURL: "https://interlock.example.com/?a=b"}, "--public-url"},
		"public script":        {webhook.Config{PublicURL: "javascript://x"}, "--public-url"},
	} {
		if tc.cfg.Secret == nil {
			tc.cfg.Secret = secret
		}
		r, err := webhook.New(tc.cfg)
		switch {
		case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		case err == nil && len(r.Receivers()) != len(tc.cfg.URLs):
			t.Errorf("%s: the receivers are %q", name, r.Receivers())
		case err != nil && strings.Contains(err.Error(), "token"):
			t.Errorf("%s: the error shows a path, which may be a secret: %v", name, err)
		}
	}
}

// A receiver has its name forever, however many others there are.
func TestNames(t *testing.T) {
	t.Parallel()
	names := func(urls ...string) []string {
		r, err := webhook.New(webhook.Config{URLs: urls, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		return r.Receivers()
	}
	a, b := names("https://a.example.com/"), names("https://b.example.com/", "https://a.example.com/", "https://b.example.com/")
	if !slices.Equal(b[1:], a) || len(b) != 2 || strings.Trim(a[0], "0123456789abcdef") != "" {
		t.Errorf("the names are %q and %q", a, b)
	}
}

func notice(t *testing.T) app.Notice {
	t.Helper()
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	subject, problem := document.Parse([]byte(`{"run_id":"run_1"}`), document.Limits{})
	data, problem2 := document.Parse([]byte(`{"password":"hidden"}`), document.Limits{})
	if problem != nil || problem2 != nil {
		t.Fatal(problem, problem2)
	}
	out, err := consent.Open(consent.Request{
		ID: "apr_1", Action: consent.Action{Kind: consent.ToolCall, Subject: subject, Data: data}, Asker: consent.Asker{Principal: "agent-7"},
		Message: "<script>",
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	return app.Notice{ID: "default.approval.apr_1.1.requested", Type: "requested", At: now, SentAt: now, Record: &app.Record{Approval: out.Approval, Namespace: "default"}}
}

// What is sent can be verified, and tells nothing of the data.
func TestSend(t *testing.T) {
	t.Parallel()
	n := notice(t)
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := make([]byte, req.ContentLength)
		_, _ = req.Body.Read(body)
		if err := signing.Verify(secret, req.Header, body, n.SentAt, 0); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		if text := string(body); strings.Contains(text, "hidden") || strings.Contains(text, "links") || !strings.Contains(text, `\u003cscript\u003e`) {
			t.Errorf("the message is %s", text)
		}
		asked <- req.URL.Path
		switch req.URL.Path {
		case "/moved":
			http.Redirect(w, req, "/ok", http.StatusTemporaryRedirect)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/silent":
			<-req.Context().Done()
		}
	}))
	defer server.Close()
	paths := []string{"/ok", "/moved", "/broken", "/silent"}
	urls := []string{"http://127.0.0.1:1/token"}
	for _, path := range paths {
		urls = append(urls, server.URL+path)
	}
	r, err := webhook.New(webhook.Config{URLs: urls, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, name := range r.Receivers() {
		ctx, cancel := context.WithCancel(t.Context())
		if i > 0 && paths[i-1] == "/silent" {
			go func() { <-asked; cancel() }()
		}
		err := r.Send(ctx, name, n)
		switch {
		case i == 0:
			if err == nil || strings.Contains(err.Error(), "token") {
				t.Errorf("nobody there: %v", err)
			}
		case paths[i-1] == "/silent":
			if !errors.Is(err, context.Canceled) {
				t.Errorf("silent: %v", err)
			}
		case (err == nil) != (paths[i-1] == "/ok"):
			t.Errorf("%s: %v", paths[i-1], err)
		default:
			if got := <-asked; got != paths[i-1] || len(asked) > 0 {
				t.Errorf("%s: it has asked for %s", paths[i-1], got)
			}
		}
		cancel()
	}
}

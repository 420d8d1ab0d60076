package console

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
)

const host = "127.0.0.1:7420"

// bench is a console whose API answers with what it was asked.
type bench struct {
	*console
	t   *testing.T
	now time.Time
	got *http.Request // by the API; nil for none
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	cfg := Config{
		Key: Key{1}, now: func() time.Time { return b.now }, Logger: slog.New(slog.DiscardHandler),
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.got = r; w.WriteHeader(http.StatusTeapot) }),
		Identify: func(_ context.Context, token string) (auth.Principal, error) {
			if token != "observers-token" {
				return auth.Principal{}, auth.ErrUnauthenticated
			}
			return auth.Principal{Name: "olga", Role: auth.Observer}, nil
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if b.console, err = newConsole(cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

// do sends a request as a page of the console would, but for what change does to it.
func (b *bench) do(method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	b.t.Helper()
	b.got = nil
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodGet {
		r.Header.Set("Origin", "http://"+host)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// visitor is a browser that has logged in.
type visitor struct {
	cookie *http.Cookie
	view   view
}

func (b *bench) login(body string) (visitor, *httptest.ResponseRecorder) {
	b.t.Helper()
	w := b.do(http.MethodPost, "/ui/session", body, nil)
	var v visitor
	if cookies := w.Result().Cookies(); len(cookies) == 1 {
		v.cookie = cookies[0]
	}
	_ = json.Unmarshal(w.Body.Bytes(), &v.view)
	return v, w
}

func (v visitor) sends(r *http.Request) {
	r.AddCookie(v.cookie)
	r.Header.Set("X-Interlock-CSRF", v.view.CSRF)
}

func (b *bench) link(tokens map[auth.Role]string) string {
	b.t.Helper()
	code, err := b.Key.Link(tokens, b.now)
	if err != nil {
		b.t.Fatal(err)
	}
	return `{"code":"` + code + `"}`
}

var both = map[auth.Role]string{auth.Operator: "operators-token", auth.Approver: "approvers-token"}

func TestLinkLogsInOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	code := b.link(both)
	v, w := b.login(code)
	if w.Code != http.StatusOK || !v.view.Authenticated || len(v.view.Roles) != 2 || v.view.CSRF == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if c := v.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/ui" || c.Secure || strings.Contains(c.Value, "token") {
		t.Errorf("the cookie is %s", c)
	}
	if _, w := b.login(code); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "was used before") {
		t.Errorf("a second time: %d %s", w.Code, w.Body)
	}
	late := b.link(both)
	b.now = b.now.Add(LinkLife)
	if _, w := b.login(late); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "has expired") {
		t.Errorf("late: %d %s", w.Code, w.Body)
	}
	other := newBench(t, func(c *Config) { c.Key = Key{2} })
	if _, w := other.login(b.link(both)); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "is not from this server") {
		t.Errorf("elsewhere: %d %s", w.Code, w.Body)
	}
	// What is sealed as a session is no link.
	if _, w := other.login(`{"code":"` + v.cookie.Value + `"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("a cookie as a code: %d", w.Code)
	}
}

func TestTokensLogIn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	v, w := b.login(`{"token":" observers-token ","namespace":"team-a"}`)
	if w.Code != http.StatusOK || v.view.Name != "olga" || v.view.Roles[0] != auth.Observer || v.view.Namespace != "team-a" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	b.do(http.MethodGet, "/ui/api/v1/runs?status=RUNNING", "", v.sends)
	if b.got == nil || b.got.URL.String() != "/v1/runs?status=RUNNING" || b.got.Header.Get("Authorization") != "Bearer observers-token" ||
		b.got.Header.Get("X-Interlock-Namespace") != "team-a" || b.got.Header.Get("Cookie") != "" {
		t.Errorf("the API got %+v", b.got)
	}
	for body, want := range map[string]int{
		`{"token":"nobodys"}`: 401, `{"token":"with blanks"}`: 401, `{}`: 401, `{"anonymous":true}`: 401, `{"code":"x"}`: 401,
		`{"token":"observers-token","namespace":"Not Valid"}`: 400, `{"tokn":"x"}`: 400, `not json`: 400,
	} {
		if _, w := b.login(body); w.Code != want || w.Result().Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	open := newBench(t, func(c *Config) { c.AllowAnonymous = true })
	if v, w := open.login(`{"anonymous":true}`); w.Code != http.StatusOK || !v.view.Authenticated {
		t.Errorf("anonymous: %d %s", w.Code, w.Body)
	}
}

// The approver decides, and the operator does all else.
func TestWhichToken(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	v, _ := b.login(b.link(both))
	for call, want := range map[[2]string]string{
		{"GET", "/ui/api/v1/approvals/a"}: "approvers-token", {"GET", "/ui/api/v1/approvals"}: "approvers-token", {"POST", "/ui/api/v1/approvals/a/approve"}: "approvers-token",
		{"POST", "/ui/api/v1/runs/r/pause"}: "operators-token",
	} {
		b.do(call[0], call[1], "", v.sends)
		if b.got == nil || b.got.Header.Get("Authorization") != "Bearer "+want {
			t.Errorf("%v: %+v", call, b.got)
		}
	}
}

// What is not from a page of the console, or not of a session, does not get through.
func TestForgedCallsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	v, _ := b.login(b.link(both))
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { v.sends(r); r.Header.Set(name, value) }
	}
	tampered := *v.cookie
	tampered.Value = "A" + tampered.Value[1:]
	for name, c := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"no cookie":           {"GET", "/ui/api/v1/runs", nil, 401},
		"a tampered cookie":   {"GET", "/ui/api/v1/runs", func(r *http.Request) { r.AddCookie(&tampered) }, 401},
		"two that are forged": {"GET", "/ui/api/v1/runs", func(r *http.Request) { r.AddCookie(&tampered); r.AddCookie(&tampered) }, 401},
		"another site":        {"GET", "/ui/api/v1/runs", header("Sec-Fetch-Site", "cross-site"), 403},
		"another port":        {"GET", "/ui/api/v1/runs", header("Sec-Fetch-Site", "same-site"), 403},
		"another origin":      {"POST", "/ui/api/v1/runs/r/cancel", header("Origin", "https://evil.example"), 403},
		"no origin (null)":    {"POST", "/ui/api/v1/runs/r/cancel", header("Origin", "null"), 403},
		"the cookie alone":    {"GET", "/ui/api/v1/runs", func(r *http.Request) { r.AddCookie(v.cookie) }, 401},
		"... for a change":    {"POST", "/ui/api/v1/runs/r/cancel", func(r *http.Request) { r.AddCookie(v.cookie) }, 401},
		"another code":        {"DELETE", "/ui/api/v1/policies/p", header("X-Interlock-CSRF", "guess"), 401},
		"a token of its own":  {"GET", "/ui/api/v1/runs", header("Authorization", "Bearer x"), 400},
		"a socket":            {"GET", "/ui/api/v1/ws", v.sends, 404},
		"a logout by another": {"DELETE", "/ui/session", header("Sec-Fetch-Site", "same-site"), 403},
		"a login by another":  {"POST", "/ui/session", header("Sec-Fetch-Site", "cross-site"), 403},
		"a form":              {"POST", "/ui/session", header("Content-Type", "text/plain"), 400},
		"a change of a page":  {"POST", "/ui/", v.sends, 404},
		"an odd method":       {"PUT", "/ui/session", v.sends, 405},
	} {
		w := b.do(c.method, c.path, "", c.change)
		if w.Code != c.want || b.got != nil || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/problem+json") {
			t.Errorf("%s: %d %s, and the API got %v", name, w.Code, w.Body, b.got)
		}
	}
	if w := b.do("POST", "/ui/api/v1/runs/r/cancel", "", v.sends); w.Code != http.StatusTeapot {
		t.Errorf("and a good one: %d", w.Code)
	}
	// Who has got the cookie, as programs on other ports can, does not learn the code by it.
	if w := b.do("GET", "/ui/session", "", func(r *http.Request) { r.AddCookie(v.cookie) }); strings.Contains(w.Body.String(), v.view.CSRF) ||
		strings.Contains(w.Body.String(), `"authenticated":true`) {
		t.Errorf("the cookie alone learns %s", w.Body)
	}
	// Whose page it is is told to pages of this origin alone.
	if w := b.do("GET", "/ui/session", "", header("Sec-Fetch-Site", "same-site")); strings.Contains(w.Body.String(), v.view.CSRF) {
		t.Errorf("another port learns %s", w.Body)
	}
}

// A session is in its cookie: restarts and replicas with the same key know it, until it ends.
func TestSessionsNeedNoMemory(t *testing.T) {
	t.Parallel()
	b, replica := newBench(t, nil), newBench(t, nil)
	v, _ := b.login(b.link(both))
	if w := replica.do("GET", "/ui/api/v1/runs", "", v.sends); w.Code != http.StatusTeapot {
		t.Errorf("a replica: %d", w.Code)
	}
	replica.now = replica.now.Add(maxAge)
	if w := replica.do("GET", "/ui/api/v1/runs", "", v.sends); w.Code != http.StatusUnauthorized {
		t.Errorf("after its end: %d", w.Code)
	}
	w := b.do("DELETE", "/ui/session", "", v.sends)
	if c := w.Result().Cookies(); w.Code != http.StatusOK || len(c) != 1 || c[0].MaxAge >= 0 {
		t.Errorf("logout: %d %v", w.Code, c)
	}
}

// Cookies that other programs on the host set, for any path, keep nobody out.
func TestSessionsAmongOtherCookies(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	v, _ := b.login(b.link(both))
	other, _ := b.login(`{"token":"observers-token"}`)
	foreign, _ := newBench(t, func(c *Config) { c.Key = Key{2} }).login(`{"token":"observers-token"}`)
	for name, values := range map[string][]string{
		"junk": {"x"}, "empty": {""}, "several": {"x", "y", "z"}, "another session": {other.cookie.Value}, "another server's": {foreign.cookie.Value},
		"many": slices.Repeat([]string{"x"}, 180),
	} {
		for _, first := range []bool{true, false} {
			w := b.do("GET", "/ui/api/v1/runs", "", func(r *http.Request) {
				if !first {
					v.sends(r)
				}
				for _, value := range values {
					r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
				}
				if first {
					v.sends(r)
				}
			})
			if w.Code != http.StatusTeapot || b.got.Header.Get("Authorization") != "Bearer operators-token" {
				t.Errorf("%s, first %v: %d %s", name, first, w.Code, w.Body)
			}
		}
	}
}

// Logging out ends the session on the server: its cookie and code are worth nothing then, and its
// streams end. Another session continues.
func TestLogoutEndsTheSession(t *testing.T) {
	t.Parallel()
	opened := make(chan struct{}, 2)
	b := newBench(t, func(c *Config) {
		c.API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			opened <- struct{}{}
			<-r.Context().Done()
		})
	})
	v, _ := b.login(b.link(both))
	other, _ := b.login(`{"token":"observers-token"}`)
	streams := make(chan string, 2)
	stop, cancel := context.WithCancel(t.Context())
	for name, who := range map[string]visitor{"ended": v, "other": other} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/ui/api/v1/events", nil).WithContext(stop)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		who.sends(r)
		go func() { b.ServeHTTP(httptest.NewRecorder(), r); streams <- name }()
		<-opened
	}
	// The cookie alone ends nothing, and neither does another code.
	for _, code := range []string{"", "guess", other.view.CSRF} {
		w := b.do("DELETE", "/ui/session", "", func(r *http.Request) { r.AddCookie(v.cookie); r.Header.Set("X-Interlock-CSRF", code) })
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), codeMissing) || !strings.Contains(w.Body.String(), "was not ended") {
			t.Errorf("a log-out with the code %q: %d %s", code, w.Code, w.Body)
		}
	}
	if len(streams) > 0 || b.ended.has(sessionID{}) {
		t.Error("the cookie alone ends the session")
	}
	b.do("DELETE", "/ui/session", "", v.sends)
	if got := <-streams; got != "ended" {
		t.Errorf("the stream of the %s session has ended", got)
	}
	for _, path := range []string{"/ui/api/v1/runs", "/ui/api/v1/events"} {
		if w := b.do("GET", path, "", v.sends); w.Code != http.StatusUnauthorized {
			t.Errorf("%s after the log-out: %d", path, w.Code)
		}
	}
	if w := b.do("GET", "/ui/session", "", v.sends); strings.Contains(w.Body.String(), `"authenticated":true`) {
		t.Errorf("after the log-out: %s", w.Body)
	}
	// What has ended already, and what is no session of this server, is logged out.
	foreign, _ := newBench(t, func(c *Config) { c.Key = Key{2} }).login(`{"token":"observers-token"}`)
	for name, cookie := range map[string]*http.Cookie{"ended": v.cookie, "another server's": foreign.cookie, "junk": {Name: cookieName, Value: "x"}} {
		if w := b.do("DELETE", "/ui/session", "", func(r *http.Request) { r.AddCookie(cookie) }); w.Code != http.StatusOK {
			t.Errorf("a log-out of %s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := b.do("GET", "/ui/session", "", other.sends); !strings.Contains(w.Body.String(), `"authenticated":true`) {
		t.Errorf("the other session: %s", w.Body)
	}
	cancel()
	<-streams
	if len(b.ended.calls) != 0 {
		t.Errorf("calls that are over are remembered: %v", b.ended.calls)
	}
	// It is forgotten when the cookie would be worth nothing.
	b.now = b.now.Add(maxAge)
	b.ended.end(other.session(t, b).id(), b.now.Add(maxAge), b.now)
	if len(b.ended.until) != 1 {
		t.Errorf("%d ended sessions are remembered", len(b.ended.until))
	}
}

// session is what is in a visitor's cookie.
func (v visitor) session(t *testing.T, b *bench) (s session) {
	t.Helper()
	if _, err := b.Key.open(useOfCookies, v.cookie.Value, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Streams end when the session does.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	e := newEndedSessions()
	ctx, release := e.follow(t.Context(), sessionID{1}, 0)
	defer release()
	<-ctx.Done()
	e.end(sessionID{2}, time.Now().Add(time.Hour), time.Now())
	late, releaseLate := e.follow(t.Context(), sessionID{2}, time.Hour)
	defer releaseLate()
	<-late.Done() // it was ended between the check and the call
}

// A link does not replace a session unless its person says so, and is not used up by the question.
func TestLinksAskBeforeTheyReplaceASession(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	v, _ := b.login(`{"token":"observers-token"}`)
	link := b.link(both)
	w := b.do("POST", "/ui/session", link, v.sends)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `"SIGNED_IN"`) || !strings.Contains(w.Body.String(), "olga") || len(w.Result().Cookies()) > 0 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := b.do("GET", "/ui/api/v1/runs", "", v.sends); w.Code != http.StatusTeapot {
		t.Errorf("the session is gone: %d", w.Code)
	}
	w = b.do("POST", "/ui/session", strings.TrimSuffix(link, "}")+`,"replace":true}`, v.sends)
	if w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 {
		t.Fatalf("with consent: %d %s", w.Code, w.Body)
	}
	if w := b.do("GET", "/ui/api/v1/runs", "", v.sends); w.Code != http.StatusUnauthorized {
		t.Errorf("the session before continues: %d", w.Code)
	}
}

// Log-ins that fail are limited, and never those that are right.
func TestWrongLogins(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	codes := map[int]int{}
	for i := range 300 {
		body := []string{`{"token":"nobodys"}`, `{"code":"x"}`, `{}`}[i%3]
		_, w := b.login(body)
		codes[w.Code]++
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Fatal("it is not said when to try again")
		}
	}
	if codes[401] != maxWrong || codes[429] != 300-maxWrong {
		t.Errorf("the answers are %v", codes)
	}
	if _, w := b.login(`{"token":"observers-token"}`); w.Code != http.StatusOK {
		t.Errorf("the right token: %d", w.Code)
	}
	if w := b.do("POST", "/ui/session", `{"token":"nobodys"}`, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }); w.Code != http.StatusUnauthorized {
		t.Errorf("another address: %d", w.Code)
	}
	b.now = b.now.Add(wrongWindow)
	if _, w := b.login(`{"token":"nobodys"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("a minute later: %d", w.Code)
	}
}

// TestNotice: people who are logged in see the notice of the server, and others do not.
func TestNotice(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.Notice = "Commands run without a jail." })
	if w := b.do("GET", "/ui/session", "", nil); strings.Contains(w.Body.String(), "jail") {
		t.Errorf("before the login: %s", w.Body)
	}
	if v, _ := b.login(b.link(both)); v.view.Notice != "Commands run without a jail." {
		t.Errorf("%+v", v.view)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.ReadOnly = true })
	v, _ := b.login(b.link(both))
	if w := b.do("POST", "/ui/api/v1/approvals/a/approve", "", v.sends); w.Code != http.StatusForbidden || b.got != nil ||
		!strings.Contains(w.Body.String(), "--console-read-only") || !v.view.ReadOnly {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, question := range []string{
		"/v1/workflows/validate", "/v1/simulate", "/v1/workflows/a/replay", "/v1/workflows/a%2Fb/migration-plans", "/v1/workflows/%5Ba*/replay",
	} {
		if w := b.do("POST", "/ui/api"+question, "{}", v.sends); w.Code != http.StatusTeapot {
			t.Errorf("the question %s: %d", question, w.Code)
		}
	}
	b.got = nil
	for _, change := range []string{
		"/v1/workflows", "/v1/workflows/a/b/replay", "/v1/workflows/replay", "/v1%2Fworkflows/a/replay", "/v1/runs/a/replay",
		"/v1/workflows/a%2Freplay", "/v1/runs/a/migrate",
	} {
		if w := b.do("POST", "/ui/api"+change, "{}", v.sends); w.Code != http.StatusForbidden || b.got != nil {
			t.Errorf("the change %s: %d", change, w.Code)
		}
	}
	if w := b.do("PUT", "/ui/api/v1/workflows/a/replay", "{}", v.sends); w.Code != http.StatusForbidden {
		t.Errorf("what is no question: %d", w.Code)
	}
}

func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *Config) { c.PublicURL = "https://gate.example" })
	w := b.do("POST", "/ui/session", b.link(both), func(r *http.Request) { r.Header.Set("Origin", "https://gate.example") })
	if c := w.Result().Cookies(); w.Code != http.StatusOK || !c[0].Secure {
		t.Errorf("%d %v", w.Code, c)
	}
	if _, err := newConsole(Config{Key: Key{1}, API: http.NotFoundHandler(), PublicURL: "gate"}); err == nil {
		t.Error("a public URL without a scheme is taken")
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	index := b.do("GET", "/ui/", "", nil)
	if index.Code != http.StatusOK || index.Header().Get("Content-Type") != "text/html; charset=utf-8" || index.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", index.Code, index.Header())
	}
	for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if got := index.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if strings.Contains(index.Body.String(), "<style") || strings.Contains(index.Body.String(), "style=") || strings.Contains(index.Body.String(), "<script>") {
		t.Error("the page has scripts or styles that its policy refuses")
	}
	for path, want := range map[string]int{
		"/ui/runs/run_1": 200, "/ui/assets/none.js": 404, "/ui/assets/../../../gateway.go": 404, "/ui/assets": 200, "/ui/../gateway.go": 307,
	} {
		if w := b.do("GET", path, "", nil); w.Code != want && (want != 404 || w.Body.String() != index.Body.String()) && w.Code/100 != 3 {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	entries, err := dist.ReadDir("dist/assets")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		w := b.do("GET", "/ui/assets/"+entry.Name(), "", nil)
		if w.Code != http.StatusOK || filepath.Ext(entry.Name()) == ".js" && w.Header().Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %d %v", entry.Name(), w.Code, w.Header())
		}
	}
}

func TestKeyOfReplicas(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token.key")
	if err := sessiontoken.CreateKey(file); err != nil {
		t.Fatal(err)
	}
	one, err := ReadKey(file)
	other, errOther := ReadKey(file)
	if err != nil || errOther != nil || one == (Key{}) || one != other {
		t.Errorf("replicas have different keys, or none: %v %v", err, errOther)
	}
	if _, err := ReadKey(file + ".none"); err == nil {
		t.Error("no key is a key")
	}
}

func TestPagesAreCompressed(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	plain := b.do("GET", "/ui/", "", nil).Body.String()
	for accept, want := range map[string]string{"gzip, deflate, br": "gzip", "br;q=1.0, gzip;q=0.8": "gzip", "gzip;q=0": "", "br": "", "": ""} {
		for range 2 { // the second time from memory
			w := b.do("GET", "/ui/", "", func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
			var text io.Reader = w.Body
			if want == "gzip" {
				unpacked, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatalf("%q: %v", accept, err)
				}
				text = unpacked
			}
			got, err := io.ReadAll(text)
			if err != nil || string(got) != plain || w.Header().Get("Content-Encoding") != want || w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q: %v, %v", accept, w.Header(), err)
			}
		}
	}
}

package approvalpage

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestNoEntry: a token that is not good for anything here opens nothing.
func TestNoEntry(t *testing.T) {
	t.Parallel()
	down := func(c *Config) {
		c.Identify = func(context.Context, string) (auth.Principal, error) { return auth.Principal{}, errors.New("secret") }
	}
	for name, tc := range map[string]struct {
		form   url.Values
		change func(*Config)
		fail   error
		status int
		shows  string
	}{
		"unknown":            {form: url.Values{"token": {"guess"}}, status: 401, shows: "not known here"},
		"none":               {form: url.Values{}, status: 401, shows: "not known here"},
		"no token":           {form: url.Values{"token": {"a b"}}, status: 401, shows: "not known here"},
		"endless":            {form: url.Values{"token": {strings.Repeat("a", 4097)}}, status: 401, shows: "not known here"},
		"an agent's":         {form: url.Values{"token": {"agent"}}, status: 403, shows: "agents decide nothing"},
		"not to be told":     {form: url.Values{"token": {"s3cret"}}, change: down, status: 503, shows: "try again"},
		"services refuse":    {form: url.Values{"token": {"s3cret"}}, fail: fault.New(fault.Unauthenticated, "unknown token"), status: 401, shows: "unknown token"},
		"no namespace":       {form: url.Values{"token": {"s3cret"}, "namespace": {"A b"}}, status: 400, shows: "That is not a valid namespace"},
		"a form of too much": {form: url.Values{"token": {strings.Repeat("a", maxLogin)}}, status: 400, shows: "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tc.change
			if change == nil {
				change = func(*Config) {}
			}
			o := newOffice(t, change)
			o.errs["List"] = tc.fail
			got := o.post("/approvals/login", tc.form)
			o.is(got, tc.status, tc.shows)
			if got.Header.Get("Set-Cookie") != "" || strings.Contains(got.body, "secret") || strings.Contains(got.body, "s3cret") {
				t.Errorf("answers %v %s", got.Header, got.body)
			}
			o.leads(o.get("/approvals"), "/approvals/login")
		})
	}
}

// TestTokenInURL: a token in a URL is no login.
func TestTokenInURL(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.is(o.get("/approvals/login?token=s3cret"), 200, "<h1><bdi>Log in</bdi></h1>")
	o.is(o.post("/approvals/login?token=s3cret", url.Values{}), 401)
	o.leads(o.get("/approvals?token=s3cret", "Authorization", "Bearer s3cret"), "/approvals/login")
}

// TestAnonymous: without tokens the services decide.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.AllowAnonymous, c.Identify = true, nil })
	login := o.get("/approvals/login")
	o.is(login, 200, "may be empty here")
	o.leads(o.post("/approvals/login", login.form("token", "")), "/approvals")
	o.is(o.get("/approvals"), 200, "You are logged in")
	if len(o.meta.Get("authorization")) != 0 {
		t.Errorf("metadata %v", o.meta)
	}
}

// TestNothingOpen: where the link leads to after the login is on this page alone.
func TestNothingOpen(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"//evil.example", "https://evil.example", "../../x", `\\evil`, "?x=1#y"} {
		o := newOffice(t)
		got := o.post("/approvals/login", url.Values{"token": {"s3cret"}, "id": {id}})
		if at := got.Header.Get("Location"); got.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/approvals/") || strings.Count(at, "/") != 2 {
			t.Errorf("%q leads to %q", id, at)
		}
	}
}

// TestTime: a session ends when it is idle, and when it is old.
func TestTime(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.logIn()
		o.clock = o.clock.Add(maxIdle - 1)
		o.is(o.get("/approvals"), 200)
		o.clock = o.clock.Add(maxIdle)
		o.leads(o.get("/approvals"), "/approvals/login")
		if n := len(o.page.sessions.open); n != 0 {
			t.Errorf("%d sessions are kept", n)
		}
	})
	t.Run("old", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		o.logIn()
		for end := o.clock.Add(maxAge); o.clock.Before(end); o.clock = o.clock.Add(maxIdle / 2) {
			o.is(o.get("/approvals"), 200)
		}
		o.leads(o.get("/approvals"), "/approvals/login")
	})
}

// TestWithdrawn: a token that is no longer valid ends its session.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	form := o.get("/approvals/apr_01").form()
	o.errs["Decide"] = fault.New(fault.Unauthenticated, "unknown token")
	o.is(o.post("/approvals/apr_01/approve", form), 401, "no longer valid", `name="id" value="apr_01"`)
	delete(o.errs, "Decide")
	o.is(o.post("/approvals/apr_01/approve", form), 401, "You are not logged in")
	o.leads(o.get("/approvals/apr_01"), "/approvals/login?id=apr_01")
}

// TestNewLogin: a login ends the session that the browser had.
func TestNewLogin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	first, err := url.Parse(o.server.URL + "/approvals")
	if err != nil {
		t.Fatal(err)
	}
	old := o.browser.Jar.Cookies(first)[0].Value
	o.logIn()
	if now := o.browser.Jar.Cookies(first)[0].Value; now == old || len(o.page.sessions.open) != 1 {
		t.Errorf("the same id, or %d sessions", len(o.page.sessions.open))
	}
	o.leads(o.send(o.newBrowser(), "/approvals", nil, "Cookie", cookieName+"="+old), "/approvals/login")
}

// TestRoom: there is always room for one more, and those in use stay.
func TestRoom(t *testing.T) {
	t.Parallel()
	now := noon
	s := newSessions(func() time.Time { return now })
	first := s.begin(session{})
	now = now.Add(time.Minute)
	second := s.begin(session{})
	for len(s.open) < maxSessions {
		s.begin(session{})
	}
	now = now.Add(time.Minute)
	s.find(first)
	s.begin(session{})
	if _, ok := s.find(first); !ok || len(s.open) != maxSessions {
		t.Errorf("the one in use is gone, or there are %d", len(s.open))
	}
	now = now.Add(maxIdle - time.Minute) // all but the first and the last are over
	last := s.begin(session{})
	for name, id := range map[string]string{"first": first, "last": last} {
		if _, ok := s.find(id); !ok {
			t.Errorf("the %s is gone", name)
		}
	}
	if _, ok := s.find(second); ok || len(s.open) != 3 {
		t.Errorf("there are %d", len(s.open))
	}
}

// TestSecure: the cookie stays on HTTPS where browsers come by that.
func TestSecure(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.PublicURL = "https://interlock.example" })
	got := o.post("/approvals/login", url.Values{"token": {"s3cret"}})
	if cookie := got.Header.Get("Set-Cookie"); !strings.Contains(cookie, "; Secure") {
		t.Errorf("the cookie is %q", cookie)
	}
	tls := httptest.NewTLSServer(newOffice(t).page)
	defer tls.Close()
	resp, err := (&http.Client{Transport: tls.Client().Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).
		PostForm(tls.URL+"/approvals/login", url.Values{"token": {"s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if cookie := resp.Header.Get("Set-Cookie"); !strings.Contains(cookie, "; Secure") {
		t.Errorf("over TLS the cookie is %q", cookie)
	}
}

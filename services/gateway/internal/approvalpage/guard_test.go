package approvalpage

import (
	"net/url"
	"testing"
)

// TestForgedForms: a form that is not of the session's own pages does nothing.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		form    []string
		headers []string
		shows   string
	}{
		"no token":                 {form: []string{"csrf", ""}, shows: "does not belong to your session"},
		"a guess":                  {form: []string{"csrf", "AAAAAAAAAAAAAAAAAAAAAAAAAA"}, shows: "does not belong to your session"},
		"another site":             {headers: []string{"Sec-Fetch-Site", "cross-site"}, shows: "another site"},
		"another port":             {headers: []string{"Sec-Fetch-Site", "same-site"}, shows: "another site"},
		"another origin":           {headers: []string{"Origin", "https://evil.example"}, shows: "another site"},
		"an origin that is hidden": {headers: []string{"Origin", "null"}, shows: "another site"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.logIn()
			form := o.get("/approvals/apr_01").form(tc.form...)
			for _, path := range []string{"/approvals/apr_01/approve", "/approvals/apr_01/reject", "/approvals/logout"} {
				o.is(o.post(path, form, tc.headers...), 403, tc.shows)
			}
			if len(o.votes) != 0 {
				t.Errorf("voted %v", o.votes)
			}
			o.is(o.get("/approvals"), 200) // and is still logged in
		})
	}
}

// TestOwnForms: a browser tells that its form is of this page.
func TestOwnForms(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	form := o.get("/approvals/apr_01").form()
	o.leads(o.post("/approvals/apr_01/approve", form, "Sec-Fetch-Site", "same-origin", "Origin", "null"), "/approvals/apr_01")
}

// TestOthersForm: the form of one session is worth nothing in another.
func TestOthersForm(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	form := o.get("/approvals/apr_01").form()
	other := o.newBrowser()
	o.send(other, "/approvals/login", url.Values{"token": {"other"}})
	o.is(o.send(other, "/approvals/apr_01/approve", form), 403, "does not belong to your session")
	form.Del("csrf")
	o.is(o.post("/approvals/apr_01/approve?csrf="+o.get("/approvals/apr_01").form().Get("csrf"), form), 403, "does not belong to your session")
	if len(o.votes) != 0 {
		t.Errorf("voted %v", o.votes)
	}
}

// TestForgedLogin: another site logs nobody in.
func TestForgedLogin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	got := o.post("/approvals/login", url.Values{"token": {"s3cret"}}, "Sec-Fetch-Site", "cross-site")
	o.is(got, 403)
	if got.Header.Get("Set-Cookie") != "" {
		t.Error("a session was opened")
	}
}

// TestLinks: a link from another site comes without the cookie; the page leads to
// itself once.
func TestLinks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.logIn()
	stranger := o.newBrowser()
	o.is(o.send(stranger, "/approvals/apr_01", nil, "Sec-Fetch-Site", "cross-site"), 200,
		`<meta http-equiv="refresh" content="0; url=/approvals/apr_01?onward=1">`, `<a href="/approvals/apr_01?onward=1">`)
	o.is(o.get("/approvals/apr_01?onward=1", "Sec-Fetch-Site", "same-origin"), 200, "Deploy it?")
	o.leads(o.send(stranger, "/approvals/apr_01?onward=1", nil, "Sec-Fetch-Site", "cross-site"), "/approvals/login?id=apr_01")
}

// TestHost: a name that leads a browser here by a trick is refused.
func TestHost(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.is(o.get("/approvals/login", "Host", "evil.example"), 403, "does not accept that host name")
	o.is(o.get("/approvals/login", "Host", "evil.example:7420"), 403)
	for _, host := range []string{"localhost:7420", "LOCALHOST", "127.0.0.1", "[::1]:7420", "127.1.2.3:1"} {
		o.is(o.get("/approvals/login", "Host", host), 200)
	}
	public := newOffice(t, func(c *Config) { c.PublicURL = "https://interlock.example:8443/x" })
	public.is(public.get("/approvals/login", "Host", "Interlock.example"), 200)
	public.is(public.get("/approvals/login", "Host", "evil.example"), 403)
	got := public.post("/approvals/login", url.Values{"token": {"s3cret"}}, "Origin", "https://interlock.example:8443")
	public.leads(got, "/approvals")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	full := newOffice(t).page.Config
	if h, err := New(full); err != nil || h == nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"without Approvals": func(c *Config) { c.Approvals = nil }, "without Runs": func(c *Config) { c.Runs = nil },
		"at no URL": func(c *Config) { c.PublicURL = "interlock.example" }, "at a file": func(c *Config) { c.PublicURL = "file:///x" },
		"at a bad URL": func(c *Config) { c.PublicURL = "https://%" },
	} {
		cfg := full
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("a page %s was made", name)
		}
	}
}

package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/oidc"
)

// issuer signs in browsers that come back with the code "good".
type issuer struct {
	tokens []oidc.Token
	err    error
}

func (i issuer) Begin(context.Context) (string, oidc.Attempt, error) {
	return "https://id.example/authorize?state=st", oidc.Attempt{State: "st", Nonce: "no", Verifier: "ve"}, i.err
}

func (i issuer) Finish(_ context.Context, a oidc.Attempt, state, code string) ([]oidc.Token, error) {
	if a.Verifier != "ve" || state != a.State || code != "good" {
		return nil, auth.Refused("it was begun elsewhere")
	}
	return i.tokens, i.err
}

func newSignIn(t *testing.T, i issuer) *bench {
	return newBench(t, func(c *Config) { c.Issuer = i })
}

// away begins to sign in, and returns the browser's cookie of it.
func (b *bench) away(to string) *http.Cookie {
	b.t.Helper()
	w := b.do(http.MethodGet, Path+"/oidc/login?to="+url.QueryEscape(to), "", nil)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusFound || !strings.HasPrefix(w.Header().Get("Location"), "https://id.example/") || len(cookies) != 1 {
		b.t.Fatalf("the sign-in answered %d to %q with %d cookies", w.Code, w.Header().Get("Location"), len(cookies))
	}
	return cookies[0]
}

// back is the browser that returns from the issuer's site.
func (b *bench) back(query string, cookies ...*http.Cookie) *url.URL {
	b.t.Helper()
	w := b.do(http.MethodGet, CallbackPath+"?"+query, "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		for _, c := range cookies {
			r.AddCookie(c)
		}
	})
	to, err := url.Parse(w.Header().Get("Location"))
	if w.Code != http.StatusFound || err != nil || to.Host != "" {
		b.t.Fatalf("the callback answered %d to %q", w.Code, w.Header().Get("Location"))
	}
	return to
}

func problemOf(to *url.URL) string {
	fragment, _ := url.ParseQuery(to.EscapedFragment())
	return fragment.Get("problem")
}

func TestPeopleSignInAtAnIssuer(t *testing.T) {
	b := newSignIn(t, issuer{})
	b.Issuer = issuer{tokens: []oidc.Token{{Text: "not-for-this-installation"}, {Text: "observers-token", Expires: b.now.Add(time.Hour)}}}
	cookie := b.away("/runs?status=PAUSED")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != Path+"/oidc" {
		t.Errorf("the cookie is %v", cookie)
	}
	to := b.back("state=st&code=good", cookie)
	fragment, _ := url.ParseQuery(to.EscapedFragment())
	if to.Path != Path+"/runs" || to.RawQuery != "status=PAUSED" || fragment.Get("code") == "" {
		t.Fatalf("the browser is sent to %q", to)
	}
	body, _ := json.Marshal(credentials{Code: fragment.Get("code")})
	v, w := b.login(string(body))
	if w.Code != http.StatusOK || v.view.Name != "olga" || !slices.Equal(v.view.Roles, []auth.Role{auth.Observer}) {
		t.Fatalf("the page's log-in answered %d %s", w.Code, w.Body)
	}
	if !v.view.ExpiresAt.Equal(b.now.Add(time.Hour)) {
		t.Errorf("the session ends %v, its token an hour from %v", v.view.ExpiresAt, b.now)
	}
	if _, again := b.login(string(body)); again.Code != http.StatusUnauthorized {
		t.Errorf("the same code logged in again: %d", again.Code)
	}
}

func TestSignInsThatAreRefused(t *testing.T) {
	good := issuer{tokens: []oidc.Token{{Text: "observers-token"}}}
	for name, test := range map[string]struct {
		issuer issuer
		query  string
		change func(b *bench, c *http.Cookie) []*http.Cookie
		says   string
	}{
		"without the cookie": {good, "state=st&code=good", func(*bench, *http.Cookie) []*http.Cookie { return nil }, "not-begun"},
		"junk cookies": {good, "state=st&code=good", func(*bench, *http.Cookie) []*http.Cookie {
			return []*http.Cookie{{Name: attemptCookie, Value: "x"}, {Name: attemptCookie, Value: ""}}
		}, "not-begun"},
		"another state":                   {good, "state=other&code=good", nil, "not-begun"},
		"no state":                        {good, "code=good", nil, "not-begun"},
		"no code":                         {good, "state=st", nil, "not-allowed"},
		"the issuer refuses":              {good, "state=st&error=access_denied", nil, "refused"},
		"a refusal with words of its own": {good, "state=st&error=Call+0900+123&error_description=Call", nil, "refused"},
		"too late": {good, "state=st&code=good", func(b *bench, c *http.Cookie) []*http.Cookie {
			b.now = b.now.Add(attemptLife)
			return []*http.Cookie{c}
		}, "too-late"},
		"a session's cookie": {good, "state=st&code=good", func(b *bench, c *http.Cookie) []*http.Cookie {
			v, _ := b.login(`{"token":"observers-token"}`)
			return []*http.Cookie{{Name: attemptCookie, Value: v.cookie.Value}}
		}, "not-begun"},
		"nobody here": {issuer{tokens: []oidc.Token{{Text: "a-strangers-token"}}}, "state=st&code=good", nil, "not-for-here"},
		"no token":    {issuer{}, "state=st&code=good", nil, "not-for-here"},
		"down":        {issuer{err: errors.New("dial tcp: refused")}, "state=st&code=good", nil, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSignIn(t, good)
			cookies := []*http.Cookie{b.away("/")}
			b.Issuer = test.issuer
			if test.change != nil {
				cookies = test.change(b, cookies[0])
			}
			if got := problemOf(b.back(test.query, cookies...)); got != test.says {
				t.Errorf("the page is told %q, not that it is %q", got, test.says)
			}
		})
	}
}

func TestSignInLeadsNowhereElse(t *testing.T) {
	b := newSignIn(t, issuer{})
	b.Issuer = issuer{tokens: []oidc.Token{{Text: "observers-token"}}}
	for _, to := range []string{
		"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", "runs", "", "/#code=x", "///evil.example",
		"/../v1/runs", "/..", "/../", "/runs/../../v1/runs", "/%2e%2e/v1/runs", "/%2E./v1", "/.%2e/v1", "/./../v1", "/runs/..%2f..%2fv1", "/..%5cv1",
		"/%5cevil.example", "/runs//..//../v1", "/runs/%00", "/runs/\t..", "/%09/evil.example", "/oidc/login?to=/", "/oidc/callback", "/session", "/api/v1/runs",
		"/assets/x.js", "@evil.example", ".evil.example", "?x", "https:evil.example", "/%2e%2e%2fv1", "//", "/ui:8080@evil.example/../..",
	} {
		if at := b.back("state=st&code=good", b.away(to)); at.Path != Path+"/" {
			t.Errorf("to=%q leads to %q", to, at)
		}
	}
}

// What other programs on the host put next to the cookie does not keep anybody out, and does not
// sign anybody in.
func TestSignInAmongOtherCookies(t *testing.T) {
	good := issuer{tokens: []oidc.Token{{Text: "observers-token"}}}
	b := newSignIn(t, good)
	own := b.away("/runs")
	old, err := b.Key.sealed(useOfAttempts, attempt{Attempt: oidc.Attempt{State: "st"}, To: "/", Until: b.now})
	other, errOther := b.Key.sealed(useOfAttempts, attempt{Attempt: oidc.Attempt{State: "theirs", Verifier: "x"}, To: "/", Until: b.now.Add(time.Hour)})
	if err != nil || errOther != nil {
		t.Fatal(err, errOther)
	}
	cookie := func(value string) *http.Cookie { return &http.Cookie{Name: attemptCookie, Value: value} }
	for name, cookies := range map[string][]*http.Cookie{
		"before": {cookie("junk"), own}, "after": {own, cookie("")}, "twice": {own, own}, "old": {cookie(old), own}, "another attempt": {cookie(other), own},
	} {
		if at := b.back("state=st&code=good", cookies...); at.Path != Path+"/runs" {
			t.Errorf("%s: the browser is sent to %s", name, at)
		}
	}
	if got := problemOf(b.back("state=st&code=good", cookie(other))); got != problemNotBegun {
		t.Errorf("another attempt alone: %q", got)
	}
}

func TestSignInIsOfferedWhereThereIsAnIssuer(t *testing.T) {
	for _, offered := range []bool{true, false} {
		b := newBench(t, func(c *Config) {
			if offered {
				c.Issuer = issuer{err: errors.New("down")}
			}
		})
		var v view
		if err := json.Unmarshal(b.do(http.MethodGet, Path+"/session", "", nil).Body.Bytes(), &v); err != nil || v.Login.Issuer != offered {
			t.Errorf("offered is %v, want %v (%v)", v.Login.Issuer, offered, err)
		}
		if w := b.do(http.MethodGet, Path+"/oidc/login", "", nil); offered && !strings.HasSuffix(w.Header().Get("Location"), "#problem=unreachable") {
			t.Errorf("an issuer that is down leads to %q", w.Header().Get("Location"))
		}
	}
	if _, err := New(Config{Key: Key{1}, API: http.NotFoundHandler(), Issuer: issuer{}}); err == nil {
		t.Error("an issuer without Identify was taken")
	}
}

package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"iter"
	"net/http"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	cookieName = "interlock_console"
	// maxAge ends a session.
	maxAge       = 8 * time.Hour
	useOfCookies = "session"
)

// session is a logged-in person. All of it is in the cookie.
type session struct {
	// Tokens of the person, by role; "" is the role of a token whose role is not known
	// here. None for an anonymous session.
	Tokens    map[auth.Role]string `json:"t,omitempty"`
	Name      string               `json:"n,omitempty"`
	Namespace string               `json:"s,omitempty"`
	// CSRF is a secret that every call must repeat in a header. Only the page that has logged
	// in learns it, and keeps it where only pages of this origin can read it: a cookie alone
	// is worthless. Browsers send cookies to every port of a host, so another program that
	// listens on this machine, such as one that an agent has started, can get it.
	CSRF  string    `json:"c"`
	Until time.Time `json:"u"`
	// Expires is when a person's tokens end, which are renewed until then; zero for others.
	Expires time.Time `json:"e,omitzero"`
}

// maxCookies is how many cookies of one name are tried: more than a browser keeps for a host.
const maxCookies = 256

// cookiesOf returns the cookies of a name. Other programs on the host, on any port, can add some,
// of any path, and browsers send those of longer paths first: each is tried.
func cookiesOf(r *http.Request, name string) []*http.Cookie {
	cookies := r.CookiesNamed(name)
	return cookies[:min(len(cookies), maxCookies)]
}

// sessionOf returns the session of a request, by a cookie and the session's code.
func (c *console) sessionOf(r *http.Request) (session, bool) {
	given := []byte(r.Header.Get("X-Interlock-CSRF"))
	for s := range c.continuing(r) {
		if s.CSRF != "" && subtle.ConstantTimeCompare(given, []byte(s.CSRF)) == 1 {
			return s, true
		}
	}
	return session{}, false
}

// continuing yields the sessions of a request's cookies that have not ended, without regard to
// their codes.
func (c *console) continuing(r *http.Request) iter.Seq[session] {
	return func(yield func(session) bool) {
		for _, cookie := range cookiesOf(r, cookieName) {
			var s session
			if _, err := c.Key.open(useOfCookies, cookie.Value, &s); err != nil || !c.now().Before(s.ends()) || c.ended.has(s.id()) {
				continue
			}
			if !yield(s) {
				return
			}
		}
	}
}

// ends returns when the session ends, unless it is renewed.
func (s session) ends() time.Time {
	if !s.Expires.IsZero() && s.Expires.Before(s.Until) {
		return s.Expires
	}
	return s.Until
}

// maxCookie is the longest cookie that every browser keeps, name and value.
const maxCookie = 4096

// id names a session without giving away its code.
func (s session) id() sessionID { return sha256.Sum256([]byte(s.CSRF)) }

// keep gives a session to the browser.
func (c *console) keep(w http.ResponseWriter, r *http.Request, s session) error {
	value, err := c.Key.sealed(useOfCookies, s)
	if err != nil {
		return err
	}
	if len(cookieName)+len(value) > maxCookie && !s.Expires.IsZero() {
		return fault.New(fault.FailedPrecondition, "your tokens are too long for a cookie; an operator gives you fewer groups and attributes, "+
			"or you use `interlock login`")
	}
	c.setCookie(w, r, value, int(s.ends().Sub(c.now()).Seconds()))
	return nil
}

func (c *console) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: Path, MaxAge: age,
		HttpOnly: true, Secure: c.secure || r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// has reports whether a session has a token of a role. Without a role it has.
func (s session) has(role auth.Role) bool { return role == "" || s.Tokens[role] != "" }

// token returns the one for a request: for approvals, the approver's.
func (s session) token(deciding bool) string {
	order := []auth.Role{auth.Operator, auth.Observer, auth.Approver, auth.Runtime, auth.Agent, auth.Root, ""}
	if deciding {
		order = []auth.Role{auth.Approver, auth.Operator, auth.Observer, auth.Runtime, auth.Agent, auth.Root, ""}
	}
	for _, role := range order {
		if token := s.Tokens[role]; token != "" {
			return token
		}
	}
	return ""
}

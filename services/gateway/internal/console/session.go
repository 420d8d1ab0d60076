package console

import (
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	cookieName = "interlock_console"
	// maxAge ends a session.
	maxAge       = 8 * time.Hour
	useOfCookies = "session"
)

// session is somebody who has logged in. All of it is in the cookie.
type session struct {
	// Tokens of the person, by role; "" is the role of a token whose role is not known
	// here. None for an anonymous session.
	Tokens    map[auth.Role]string `json:"t,omitempty"`
	Name      string               `json:"n,omitempty"`
	Namespace string               `json:"s,omitempty"`
	// CSRF is what every call must repeat in a header. Only the page that has logged in
	// learns it, and keeps it where only pages of this origin can read it: a cookie alone
	// is worth nothing. Browsers send cookies to every port of a host, so another
	// program that listens on this machine, such as one that an agent has started, can get it.
	CSRF  string    `json:"c"`
	Until time.Time `json:"u"`
}

// sessionOf is the session of a request, by its cookie and the session's code.
func (c *console) sessionOf(r *http.Request) (session, bool) {
	cookies := r.CookiesNamed(cookieName)
	if len(cookies) != 1 {
		return session{}, false
	}
	var s session
	if _, err := c.Key.open(useOfCookies, cookies[0].Value, &s); err != nil || !c.now().Before(s.Until) {
		return session{}, false
	}
	given := []byte(r.Header.Get("X-Interlock-CSRF"))
	if s.CSRF == "" || subtle.ConstantTimeCompare(given, []byte(s.CSRF)) != 1 {
		return session{}, false
	}
	return s, true
}

// keep gives a session to the browser.
func (c *console) keep(w http.ResponseWriter, r *http.Request, s session) error {
	value, err := c.Key.sealed(useOfCookies, s)
	if err != nil {
		return err
	}
	c.setCookie(w, r, value, int(s.Until.Sub(c.now()).Seconds()))
	return nil
}

func (c *console) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: Path, MaxAge: age,
		HttpOnly: true, Secure: c.secure || r.TLS != nil, SameSite: http.SameSiteStrictMode,
	})
}

// token is the one for a request: to decide approvals, the approver's.
func (s session) token(deciding bool) string {
	order := []auth.Role{auth.Operator, auth.Observer, auth.Approver, auth.Runtime, auth.Agent, ""}
	if deciding {
		order = []auth.Role{auth.Approver, auth.Operator, auth.Observer, auth.Runtime, auth.Agent, ""}
	}
	for _, role := range order {
		if token := s.Tokens[role]; token != "" {
			return token
		}
	}
	return ""
}

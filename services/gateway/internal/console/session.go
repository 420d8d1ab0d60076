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
	// CSRF is what every change must repeat in a header.
	CSRF  string    `json:"c"`
	Until time.Time `json:"u"`
}

// sessionOf is the session of a request, by its cookie.
func (c *console) sessionOf(r *http.Request) (session, bool) {
	cookies := r.CookiesNamed(cookieName)
	if len(cookies) != 1 {
		return session{}, false
	}
	var s session
	if _, err := c.Key.open(useOfCookies, cookies[0].Value, &s); err != nil || !c.now().Before(s.Until) {
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
	order := []auth.Role{auth.Operator, auth.Observer, auth.Approver, auth.Agent, ""}
	if deciding {
		order = []auth.Role{auth.Approver, auth.Operator, auth.Observer, auth.Agent, ""}
	}
	for _, role := range order {
		if token := s.Tokens[role]; token != "" {
			return token
		}
	}
	return ""
}

// meant reports whether a change comes from a page that knows the session.
func (s session) meant(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Interlock-CSRF")), []byte(s.CSRF)) == 1
}

package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/oidc"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Issuer signs people in with a browser.
type Issuer interface {
	Begin(ctx context.Context) (string, oidc.Attempt, error)
	Finish(ctx context.Context, a oidc.Attempt, state, code string) ([]oidc.Token, error)
}

// CallbackPath is where the issuer sends browsers back to.
const CallbackPath = Path + "/oidc/callback"

const (
	attemptCookie = "interlock_signin"
	attemptPath   = Path + "/oidc"
	useOfAttempts = "signin"
	// attemptLife is how long somebody may take to sign in.
	attemptLife = 10 * time.Minute
	// returnLife is how long a page may take to use what it comes back with.
	returnLife = time.Minute
)

// attempt is somebody who is at the issuer. It is in a cookie, sealed.
type attempt struct {
	oidc.Attempt
	To        string    `json:"to"`
	Namespace string    `json:"ns,omitempty"`
	Until     time.Time `json:"u"`
}

// signIn sends a browser to the issuer.
func (c *console) signIn(w http.ResponseWriter, r *http.Request) {
	namespace := strings.TrimSpace(r.URL.Query().Get("namespace"))
	if namespace != "" && !rpc.ValidNamespace(namespace) {
		c.failed(w, r, "that is not a valid namespace: write 1 to 63 lower-case letters, digits and hyphens")
		return
	}
	to, begun, err := c.Issuer.Begin(r.Context())
	if err != nil {
		c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign in to the console", slog.Any("error", err))
		c.failed(w, r, "the identity provider cannot be reached; try again")
		return
	}
	sealed, err := c.Key.sealed(useOfAttempts, attempt{
		Attempt: begun, To: pageOf(r.URL.Query().Get("to")), Namespace: namespace, Until: c.now().Add(attemptLife),
	})
	if err != nil {
		c.failed(w, r, "signing in does not work here; an operator finds the reason in the log")
		return
	}
	c.setAttempt(w, r, sealed, int(attemptLife.Seconds()))
	http.Redirect(w, r, to, http.StatusFound)
}

// signedIn takes a browser that comes back. Its page gets a link's code, and begins a session
// with it: what the session's calls must repeat is told to pages alone.
func (c *console) signedIn(w http.ResponseWriter, r *http.Request) {
	c.setAttempt(w, r, "", -1)
	var begun attempt
	cookies := r.CookiesNamed(attemptCookie)
	if len(cookies) != 1 {
		c.failed(w, r, "signing in was not begun in this browser, or took too long; try again")
		return
	}
	if _, err := c.Key.open(useOfAttempts, cookies[0].Value, &begun); err != nil || !c.now().Before(begun.Until) {
		c.failed(w, r, "signing in took too long; try again")
		return
	}
	query := r.URL.Query()
	if refused := query.Get("error"); refused != "" {
		c.failed(w, r, "the identity provider says: "+refused)
		return
	}
	tokens, err := c.Issuer.Finish(r.Context(), begun.Attempt, query.Get("state"), query.Get("code"))
	if err == nil {
		var code string
		if code, err = c.invite(r.Context(), tokens, begun.Namespace); err == nil {
			http.Redirect(w, r, Path+begun.To+"#code="+code, http.StatusFound)
			return
		}
	}
	c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign in to the console", slog.Any("error", err))
	var why *auth.Refusal
	switch {
	case errors.As(err, &why):
		c.failed(w, r, "you may not log in here: "+why.Why)
	case errors.Is(err, auth.ErrUnauthenticated):
		c.failed(w, r, "you may not log in here: your token is not for this installation")
	default:
		c.failed(w, r, "the identity provider cannot be reached; try again")
	}
}

// invite makes the code of a link from the first token that counts here.
func (c *console) invite(ctx context.Context, tokens []oidc.Token, namespace string) (string, error) {
	err := auth.ErrUnauthenticated
	for _, token := range tokens {
		var who auth.Principal
		if who, err = c.Identify(ctx, token.Text); err == nil {
			now := c.now()
			return c.Key.sealed(useOfLinks, invitation{
				Tokens: map[auth.Role]string{who.Role: token.Text}, Name: who.Name, Namespace: namespace,
				Until: now.Add(returnLife), Ends: token.Expires,
			})
		}
	}
	return "", err
}

// failed shows a page that says why nobody was logged in.
func (c *console) failed(w http.ResponseWriter, r *http.Request, why string) {
	http.Redirect(w, r, Path+"/#problem="+url.QueryEscape(why), http.StatusFound)
}

func (c *console) setAttempt(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: attemptCookie, Value: value, Path: attemptPath, MaxAge: age,
		// The issuer's page leads back, so that it is another site's.
		HttpOnly: true, Secure: c.secure || r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}

// pageOf is a page of the console to return to: a path below Path, and no other address.
func pageOf(to string) string {
	page, err := url.Parse(to)
	if err != nil || page.Scheme != "" || page.Host != "" || page.User != nil || page.Fragment != "" ||
		!strings.HasPrefix(page.Path, "/") || strings.HasPrefix(page.Path, "//") || strings.Contains(to, `\`) {
		return "/"
	}
	return page.String()
}

package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
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
	// attemptLife is how long a person may take to sign in.
	attemptLife = 10 * time.Minute
	// returnLife is how long a page may take to use the returned parameters.
	returnLife = time.Minute
)

// attempt is a person at the issuer. It is in a cookie, sealed.
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
		c.failed(w, r, problemNamespace)
		return
	}
	to, begun, err := c.Issuer.Begin(r.Context())
	if err != nil {
		c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign in to the console", slog.Any("error", err))
		c.failed(w, r, problemUnreachable)
		return
	}
	sealed, err := c.Key.sealed(useOfAttempts, attempt{
		Attempt: begun, To: pageOf(r.URL.Query().Get("to")), Namespace: namespace, Until: c.now().Add(attemptLife),
	})
	if err != nil {
		c.failed(w, r, problemBroken)
		return
	}
	c.setAttempt(w, r, sealed, int(attemptLife.Seconds()))
	http.Redirect(w, r, to, http.StatusFound)
}

// signedIn takes a browser that comes back. Its page gets a link's code, and begins a session
// with it: the secret that the session's calls must repeat is given to pages alone.
func (c *console) signedIn(w http.ResponseWriter, r *http.Request) {
	c.setAttempt(w, r, "", -1)
	query := r.URL.Query()
	begun, why := c.attemptOf(r, query.Get("state"))
	if why != "" {
		c.failed(w, r, why)
		return
	}
	if refused := query.Get("error"); refused != "" {
		c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "sign in to the console", slog.String("issuer_says", refused))
		c.failed(w, r, problemRefused)
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
	var refusal *auth.Refusal
	switch {
	case errors.As(err, &refusal):
		c.failed(w, r, problemNotAllowed)
	case errors.Is(err, auth.ErrUnauthenticated):
		c.failed(w, r, problemNotForHere)
	default:
		c.failed(w, r, problemUnreachable)
	}
}

// attemptOf returns the attempt that a browser comes back from: of its cookies, the one that this
// server sealed and whose state came back. Without one, it returns the problem.
func (c *console) attemptOf(r *http.Request, state string) (found attempt, problem string) {
	problem = problemNotBegun
	for _, cookie := range cookiesOf(r, attemptCookie) {
		var begun attempt
		_, err := c.Key.open(useOfAttempts, cookie.Value, &begun)
		switch {
		case err != nil:
		case !c.now().Before(begun.Until):
			problem = problemTooLate
		case begun.State == state:
			return begun, ""
		}
	}
	return attempt{}, problem
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

// Problems of signing in, as codes: the page has their texts. It shows no text of its address,
// which anyone can write who makes a link.
const (
	problemNamespace   = "namespace"
	problemUnreachable = "unreachable"
	problemBroken      = "broken"
	problemNotBegun    = "not-begun"
	problemTooLate     = "too-late"
	problemRefused     = "refused"
	problemNotAllowed  = "not-allowed"
	problemNotForHere  = "not-for-here"
)

// failed shows a page that says why the login failed.
func (c *console) failed(w http.ResponseWriter, r *http.Request, problem string) {
	http.Redirect(w, r, Path+"/#problem="+problem, http.StatusFound)
}

func (c *console) setAttempt(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: attemptCookie, Value: value, Path: attemptPath, MaxAge: age,
		// The issuer's page leads back, so that it is another site's.
		HttpOnly: true, Secure: c.secure || r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}

// pageOf returns the page of the console to return to: a plain path below Path, and no other
// address. Other paths below Path must not get the log-in code, which is in the fragment:
// browsers keep that over redirects.
func pageOf(to string) string {
	page, err := url.Parse(to)
	if err != nil || page.Scheme != "" || page.Host != "" || page.User != nil || page.Fragment != "" || !strings.HasPrefix(page.Path, "/") ||
		strings.ContainsFunc(page.Path+to, func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }) {
		return "/"
	}
	parts := strings.Split(page.Path, "/")[1:]
	for i, part := range parts {
		if part == "." || part == ".." || part == "" && i < len(parts)-1 {
			return "/"
		}
	}
	if slices.Contains([]string{"api", "session", "oidc", "assets"}, parts[0]) {
		return "/"
	}
	return page.String()
}

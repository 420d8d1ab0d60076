package console

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// codeSignedIn refuses a link that would replace a session.
const codeSignedIn = "SIGNED_IN"

// codeCrossOrigin refuses pages of other sites.
const (
	codeCrossOrigin = "CROSS_ORIGIN"
	crossOrigin     = "a page of another site sent this, and no change was made; open the console itself"
)

// maxLogin is the longest body of a login, in bytes.
const maxLogin = 64 << 10

// view has the session's facts for pages.
type view struct {
	Authenticated bool        `json:"authenticated"`
	Name          string      `json:"name,omitempty"`
	Roles         []auth.Role `json:"roles,omitempty"`
	Namespace     string      `json:"namespace,omitempty"`
	CSRF          string      `json:"csrf,omitempty"`
	ExpiresAt     *time.Time  `json:"expires_at,omitempty"`
	// Renews is true for a person: a page that is open asks every minute, so that the session goes on.
	Renews   bool   `json:"renews,omitempty"`
	ReadOnly bool   `json:"read_only"`
	Notice   string `json:"notice,omitempty"`
	// Login is how one can log in.
	Login ways `json:"login"`
}

type ways struct {
	Token     bool `json:"token"`
	Anonymous bool `json:"anonymous"`
	// Issuer is true where people sign in at an identity provider.
	Issuer bool `json:"issuer"`
	// People is true where people log in with their own keys, and Origins are where the pages may
	// ask for passkeys.
	People  bool     `json:"people"`
	Origins []string `json:"origins,omitempty"`
}

// credentials are the body of a login: one of a link's code, a token, a person's proof or
// registration, or none.
type credentials struct {
	Code      string `json:"code"`
	Token     string `json:"token"`
	Anonymous bool   `json:"anonymous"`
	Namespace string `json:"namespace"`
	// Person and Passphrase are a person's.
	Person     string        `json:"person"`
	Passphrase string        `json:"passphrase"`
	Passkey    *assertion    `json:"passkey"`
	Register   *registration `json:"register"`
	// Replace lets a link take the place of a session that continues.
	Replace bool `json:"replace"`
}

// about serves the session's facts to a page.
func (c *console) about(w http.ResponseWriter, r *http.Request) {
	s, ok := c.sessionOf(r)
	if !ok || !c.ours(r) {
		c.show(w, r, nil)
		return
	}
	if s, ok = c.renewed(w, r, s); !ok {
		c.show(w, r, nil)
		return
	}
	c.show(w, r, &s)
}

func (c *console) show(w http.ResponseWriter, r *http.Request, s *session) {
	v := view{ReadOnly: c.ReadOnly, Login: ways{Token: true, Anonymous: c.AllowAnonymous, Issuer: c.Issuer != nil}}
	if s != nil {
		v.Authenticated, v.Name, v.Namespace, v.CSRF, v.ExpiresAt, v.Notice = true, s.Name, s.Namespace, s.CSRF, &s.Until, c.Notice
		for role := range s.Tokens {
			if role != "" {
				v.Roles = append(v.Roles, role)
			}
		}
		slices.Sort(v.Roles)
		v.Renews = !s.Expires.IsZero()
	} else {
		v.Login.People, v.Login.Origins = c.peopleHere(r.Context())
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away: no reader is left
}

// login begins a session.
func (c *console) login(w http.ResponseWriter, r *http.Request) {
	if !c.ours(r) {
		refuse(w, http.StatusForbidden, codeCrossOrigin, crossOrigin)
		return
	}
	var given credentials
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLogin))
	body.DisallowUnknownFields()
	// Forms of other sites cannot send this type.
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind != "application/json" || body.Decode(&given) != nil {
		refuse(w, http.StatusBadRequest, string(fault.InvalidRequest), `send JSON: {"code": ...}, {"token": ...} or {"anonymous": true}`)
		return
	}
	current, signedIn := c.sessionOf(r)
	if signedIn && (given.Code != "" || given.Register != nil) && !given.Replace {
		// Anyone can send a link to a person, who would act in the name of another person then.
		refuse(w, http.StatusConflict, codeSignedIn, fmt.Sprintf("you are logged in as %s; this link would end that and log you in "+
			"in its own name: use it only if you asked for it", cmp.Or(current.Name, "a person of this server")))
		return
	}
	s, err := c.begin(r, given)
	if err == nil {
		err = c.keep(w, r, s)
	}
	if err == nil && signedIn {
		c.ended.end(current.id(), current.Until, c.now())
	}
	if err != nil {
		f := fault.From(err)
		if f.Reason == fault.Unauthenticated && c.wrong.tooMany(r.RemoteAddr, c.now()) {
			w.Header().Set("Retry-After", retryAfter)
			refuse(w, http.StatusTooManyRequests, string(fault.LimitReached), "too many log-ins from your address have failed; "+
				"one with the right token or link works at any time")
			return
		}
		if f.HTTPStatus() >= http.StatusInternalServerError {
			c.Logger.LogAttrs(r.Context(), slog.LevelWarn, "login to the console", slog.Any("error", err))
		}
		refuse(w, f.HTTPStatus(), string(f.Reason), f.Message)
		return
	}
	c.show(w, r, &s)
}

// begin makes the session of credentials that are good.
func (c *console) begin(r *http.Request, given credentials) (session, error) {
	s := session{Namespace: strings.TrimSpace(given.Namespace), CSRF: rand.Text(), Until: c.now().Add(maxAge)}
	if s.Namespace != "" && !rpc.ValidNamespace(s.Namespace) {
		return s, fault.New(fault.InvalidRequest, "that is not a valid namespace: write 1 to 63 lower-case letters, digits and hyphens")
	}
	switch token := strings.TrimSpace(given.Token); {
	case given.Code != "":
		return s, c.accept(&s, given.Code)
	case given.Register != nil || given.Passkey != nil || given.Person != "":
		return s, c.enter(r.Context(), &s, given)
	case token != "":
		who, err := c.identify(r, token)
		s.Tokens, s.Name = map[auth.Role]string{who.Role: token}, who.Name
		return s, err
	case given.Anonymous && c.AllowAnonymous:
		return s, nil
	}
	return s, fault.New(fault.Unauthenticated, "give a token, or open a link: `interlock console` prints one")
}

// accept makes a session of a link.
func (c *console) accept(s *session, code string) error {
	var given invitation
	link, err := c.Key.open(useOfLinks, code, &given)
	now := c.now()
	switch {
	case err != nil:
		return fault.New(fault.Unauthenticated, "this link is not from this server; `interlock console` prints another")
	case !now.Before(given.Until):
		return fault.New(fault.Unauthenticated, "this link has expired; `interlock console` prints another")
	case !c.used.use(link, given.Until, now):
		return fault.New(fault.Unauthenticated, "this link was used before; `interlock console` prints another")
	}
	s.Tokens, s.Name = given.Tokens, given.Name
	s.Namespace = cmp.Or(given.Namespace, s.Namespace)
	if !given.Ends.IsZero() && given.Ends.Before(s.Until) {
		s.Until = given.Ends
	}
	return nil
}

// identify describes whose a token is, as far as that is known here.
func (c *console) identify(r *http.Request, token string) (auth.Principal, error) {
	unknown := fault.New(fault.Unauthenticated, "that token is not known here")
	if !access.ValidToken(token) {
		return auth.Principal{}, unknown
	}
	if c.Identify == nil {
		return auth.Principal{}, nil
	}
	who, err := c.Identify(r.Context(), token)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return who, unknown
	case err != nil:
		return who, fault.New(fault.Unavailable, "the token cannot be checked now; try again").Wrap(err)
	}
	return who, nil
}

// codeMissing refuses a log-out that does not have the code of its session.
const codeMissing = "SESSION_CODE_MISSING"

// logout ends the session, here and in the browser. The cookie alone ends it in the browser only.
func (c *console) logout(w http.ResponseWriter, r *http.Request) {
	if !c.ours(r) {
		refuse(w, http.StatusForbidden, codeCrossOrigin, crossOrigin)
		return
	}
	if s, ok := c.sessionOf(r); ok {
		c.ended.end(s.id(), s.Until, c.now())
		c.setCookie(w, r, "", -1)
		c.show(w, r, nil)
		return
	}
	c.setCookie(w, r, "", -1)
	for s := range c.continuing(r) {
		refuse(w, http.StatusForbidden, codeMissing, fmt.Sprintf("this browser is logged out, but your session was not ended on the server, because "+
			"the request does not have the session's code. A copy of its cookie and code works until %s; a new key of "+
			"session tokens (`--token-key`) ends all sessions", s.Until.UTC().Format("15:04 MST")))
		return
	}
	c.show(w, r, nil)
}

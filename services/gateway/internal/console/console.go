// Package console serves the console, the pages where people see, decide and understand,
// and lets their browsers call the REST API with a cookie instead of a token.
//
// Everything is below /ui, and so is the cookie: a browser sends it nowhere else. The
// pages call /ui/api/PATH, which is PATH of the REST API in the name of who has logged in.
// The console holds no rule. A session is in its cookie, sealed, so that it survives restarts and
// every replica with the same key knows it. A process remembers only links that were used,
// sessions that were ended and log-ins that failed.
package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Path is the root of all paths of the console.
const Path = "/ui"

// Config has the parts and settings of the console. Key and API are required.
type Config struct {
	// Key seals sessions and links; replicas share it.
	Key Key
	// API is the REST API behind its door.
	API http.Handler
	// Identify returns the principal of a token: an error that is auth.ErrUnauthenticated
	// means an unknown token. Nil leaves it to the services.
	Identify func(ctx context.Context, token string) (auth.Principal, error)
	// AllowAnonymous lets people in without a token, where the services do.
	AllowAnonymous bool
	// Issuer lets people sign in at an identity provider; nil for none. It needs Identify.
	Issuer Issuer
	// People is the service that lets people in with their own keys; nil for none.
	People identityv1.LoginServiceClient
	// ReadOnly refuses every change.
	ReadOnly bool
	// Notice is shown on every page to people who are logged in; empty for none.
	Notice string
	// PublicURL is this server's address for browsers; empty when that is its own address.
	PublicURL string
	// Logger gets failures; nil means slog.Default.
	Logger *slog.Logger

	now func() time.Time
}

type console struct {
	Config
	secure bool // browsers come by HTTPS, even if this server sees HTTP
	public string
	used   *usedLinks
	ended  *endedSessions
	wrong  *wrongLogins
	pages  *http.ServeMux
}

// New makes the handler of /ui and all paths below.
func New(cfg Config) (access.Part, error) { return newConsole(cfg) }

func newConsole(cfg Config) (*console, error) {
	if cfg.Key == (Key{}) || cfg.API == nil {
		return nil, errors.New("console: a key and the API are required")
	}
	if cfg.Issuer != nil && cfg.Identify == nil {
		return nil, errors.New("console: an issuer needs Identify, which returns the owner of a token")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.now == nil {
		cfg.now = time.Now
	}
	c := &console{Config: cfg, used: &usedLinks{until: map[[nonceSize]byte]time.Time{}}, ended: newEndedSessions(), wrong: newWrongLogins()}
	if cfg.PublicURL != "" {
		public, err := url.Parse(cfg.PublicURL)
		if err != nil || public.Host == "" || public.Scheme != "https" && public.Scheme != "http" {
			return nil, fmt.Errorf("console: the public URL %q is not valid; write https://HOST", cfg.PublicURL)
		}
		c.secure, c.public = public.Scheme == "https", public.Host
	}
	c.pages = c.routes()
	return c, nil
}

func (c *console) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"/session", c.about)
	mux.HandleFunc("POST "+Path+"/session", c.login)
	mux.HandleFunc("DELETE "+Path+"/session", c.logout)
	mux.HandleFunc(Path+"/session", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "GET, HEAD, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "a session is read, begun and ended: send GET, POST or DELETE")
	})
	mux.HandleFunc(Path+apiPrefix, c.call)
	if c.People != nil {
		mux.HandleFunc("POST "+Path+"/session/challenge", c.challenge)
	}
	if c.Issuer != nil {
		mux.HandleFunc("GET "+attemptPath+"/login", c.signIn)
		mux.HandleFunc("GET "+CallbackPath, c.signedIn)
	}
	mux.HandleFunc(Path+"/", serveFile)
	mux.Handle(Path, http.RedirectHandler(Path+"/", http.StatusFound))
	return mux
}

// ServeHTTP serves the console.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w)
	c.pages.ServeHTTP(w, r)
}

// Refuse implements access.Part.
func (c *console) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	protect(w)
	refuse(w, why.Status, why.Code, why.Message)
}

// policy lets pages run and show only files of this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

// protect sets the headers that keep browsers from doing more than the console means.
func protect(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// ours reports whether a request is from a page of the console: of this server's origin,
// as far as the browser says.
func (c *console) ours(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	from, err := url.Parse(origin)
	return err == nil && from.Host != "" && (strings.EqualFold(from.Host, r.Host) || strings.EqualFold(from.Host, c.public))
}

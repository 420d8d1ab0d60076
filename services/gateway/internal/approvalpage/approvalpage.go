// Package approvalpage is the page where people decide approvals (S9), for any
// browser, without scripts. It asks the services in the name of the user who has
// logged in, and shows their answers.
//
// It must never decide who may do what, change anything on GET, take a token from a
// URL, or show what an agent has written as anything but data.
package approvalpage

import (
	"cmp"
	"context"
	_ "embed" // for the style sheet
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Config is what the page stands on. Approvals and Runs are required.
type Config struct {
	Approvals approvalv1.ApprovalServiceClient
	Runs      enginev1.RunServiceClient
	// Identify tells whose a token is, before anything is asked with it: an error
	// that is auth.ErrUnauthenticated means nobody. nil leaves it to the services.
	Identify func(ctx context.Context, token string) (auth.Principal, error)
	// AllowAnonymous lets people log in without a token, where the services do.
	AllowAnonymous bool
	// PublicURL is what browsers reach this server by, such as
	// https://interlock.example; empty when that is its own address.
	PublicURL string
	// Logger gets failures of the page; nil means slog.Default.
	Logger *slog.Logger

	now func() time.Time
}

// page serves the pages.
type page struct {
	Config
	sessions *sessions
	secure   bool // browsers come by HTTPS, whatever this server sees
	origin   *http.CrossOriginProtection
	pages    http.Handler
}

// Path is the path that all pages are below, and the cookie is for.
const Path = "/approvals"

//go:embed style.css
var style []byte

// New makes the handler of /approvals and all paths below.
func New(cfg Config) (access.Part, error) { return newPage(cfg) }

func newPage(cfg Config) (*page, error) {
	if cfg.Approvals == nil || cfg.Runs == nil {
		return nil, errors.New("approvalpage: the clients Approvals and Runs are required")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.now == nil {
		cfg.now = time.Now
	}
	p := &page{Config: cfg, sessions: newSessions(cfg.now), origin: http.NewCrossOriginProtection()}
	if cfg.PublicURL != "" {
		public, err := url.Parse(cfg.PublicURL)
		if err != nil || public.Host == "" || public.Scheme != "https" && public.Scheme != "http" {
			return nil, fmt.Errorf("approvalpage: the public URL %q is not valid; write https://HOST", cfg.PublicURL)
		}
		p.secure = public.Scheme == "https"
		if err := p.origin.AddTrustedOrigin(public.Scheme + "://" + public.Host); err != nil {
			return nil, fmt.Errorf("approvalpage: the public URL %q: %w", cfg.PublicURL, err)
		}
	}
	p.pages = p.sameOrigin(p.routes())
	return p, nil
}

func (p *page) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, p.visited(p.list))
	mux.Handle("GET "+Path+"/{$}", http.RedirectHandler(Path, http.StatusSeeOther))
	mux.HandleFunc("GET "+Path+"/login", p.askToken)
	mux.HandleFunc("POST "+Path+"/login", p.login)
	mux.HandleFunc("POST "+Path+"/logout", p.visited(p.logout))
	mux.HandleFunc("GET "+Path+"/style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(style) // the client went away: nobody to tell
	})
	mux.HandleFunc("GET "+Path+"/{id}", p.visited(p.approval))
	mux.HandleFunc("POST "+Path+"/{id}/approve", p.visited(p.approve))
	mux.HandleFunc("POST "+Path+"/{id}/reject", p.visited(p.reject))
	return mux
}

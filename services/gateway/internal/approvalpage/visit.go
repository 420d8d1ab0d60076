package approvalpage

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

const (
	// callTimeout bounds the calls of one page to the services.
	callTimeout = 15 * time.Second
	// maxForm is the longest form in bytes: edited data of 1 MiB, encoded.
	maxForm = 3<<20 + 64<<10
)

// visit is one request of somebody who has logged in.
type visit struct {
	w http.ResponseWriter
	r *http.Request
	session
	// ctx makes calls in that person's name.
	ctx context.Context
}

// visited serves who has logged in, and asks others for a token. A form must be one
// of the session's own pages.
func (p *page) visited(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		open, ok := p.sessionOf(r)
		if !ok {
			p.toLogin(w, r)
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				p.fail(w, http.StatusBadRequest, "The form could not be read, and nothing was done; it may be too large.")
				return
			}
			if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("csrf")), []byte(open.csrf)) != 1 {
				p.fail(w, http.StatusForbidden, "This form does not belong to your session, and nothing was done. Open the page again.")
				return
			}
		}
		ctx, cancel := context.WithTimeout(open.outgoing(r.Context()), callTimeout)
		defer cancel()
		if err := serve(&visit{w: w, r: r, session: open, ctx: ctx}); err != nil {
			p.answerFault(w, r, fault.From(err))
		}
	}
}

// answerFault shows why a page cannot be served. A token that is not known any
// more ends the session.
func (p *page) answerFault(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	if f.Reason == fault.Unauthenticated {
		p.leave(w, r)
		p.loginForm(w, http.StatusUnauthorized, loginView{ID: r.PathValue("id")}, "Your token is no longer valid. Log in again.")
		return
	}
	if f.HTTPStatus() >= http.StatusInternalServerError && r.Context().Err() == nil {
		p.Logger.ErrorContext(r.Context(), "approval page failed", "route", r.Pattern, "cause", f)
	}
	p.fail(w, f.HTTPStatus(), f.Message)
}

// outgoing is ctx for calls in the name of the session's person.
func (s *session) outgoing(ctx context.Context) context.Context {
	md := metadata.MD{}
	if s.token != "" {
		md.Set("authorization", "Bearer "+s.token)
	}
	if s.namespace != "" {
		md.Set(rpc.NamespaceKey, s.namespace)
	}
	md.Set(rpc.RequestIDKey, rand.Text())
	return metadata.NewOutgoingContext(ctx, md)
}

package approvalpage

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/visible"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// maxLogin is the longest login form, in bytes.
const maxLogin = 64 << 10

// loginView is the form that asks for a token.
type loginView struct {
	frame
	// ID is the approval to show after the login; empty for the list.
	ID        string
	Namespace string
	Anonymous bool
}

// askToken serves the form.
func (p *page) askToken(w http.ResponseWriter, r *http.Request) {
	p.loginForm(w, http.StatusOK, loginView{ID: r.URL.Query().Get("id")}, "")
}

func (p *page) loginForm(w http.ResponseWriter, status int, view loginView, notice string) {
	view.frame = frame{Title: "Log in", Notice: visible.Text(notice, false)}
	view.Anonymous = p.AllowAnonymous
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="interlock"`)
	}
	p.render(w, status, "login", view)
}

// login takes a token, asks the services whether it is good for anything here, and
// opens a session.
func (p *page) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := r.ParseForm(); err != nil {
		p.fail(w, http.StatusBadRequest, "The form could not be read; send it again.")
		return
	}
	view := loginView{ID: r.PostForm.Get("id"), Namespace: r.PostForm.Get("namespace")}
	opened := session{token: strings.TrimSpace(r.PostForm.Get("token")), namespace: strings.TrimSpace(view.Namespace)}
	if opened.namespace != "" && !rpc.ValidNamespace(opened.namespace) {
		p.loginForm(w, http.StatusBadRequest, view, "That is not a valid namespace: write 1 to 63 lower-case letters, digits and hyphens.")
		return
	}
	who, err := p.identify(r.Context(), opened.token)
	if err == nil {
		opened.who = who
		err = p.mayRead(opened.outgoing(r.Context()))
	}
	if err != nil {
		f := fault.From(err)
		p.loginForm(w, f.HTTPStatus(), view, f.Message)
		return
	}
	p.endSessionOf(r)
	p.setCookie(w, r, p.sessions.begin(opened), 0)
	http.Redirect(w, r, pathOf(view.ID), http.StatusSeeOther)
}

// identify tells whose a token is, as far as that is known here.
func (p *page) identify(ctx context.Context, token string) (auth.Principal, error) {
	unknown := fault.New(fault.Unauthenticated, "That token is not known here.")
	switch {
	case token == "" && p.AllowAnonymous:
		return auth.Principal{}, nil
	case !access.ValidToken(token):
		return auth.Principal{}, unknown
	case p.Identify == nil:
		return auth.Principal{}, nil
	}
	who, err := p.Identify(ctx, token)
	switch {
	case errors.Is(err, auth.ErrUnauthenticated):
		return who, unknown
	case err != nil:
		return who, fault.New(fault.Unavailable, "The token cannot be checked now; try again.").Wrap(err)
	}
	return who, nil
}

// mayRead asks the approval service for as little as there is.
func (p *page) mayRead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := p.Approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{PageSize: 1})
	return err
}

func (p *page) logout(v *visit) error {
	p.leave(v.w, v.r)
	http.Redirect(v.w, v.r, Path+"/login", http.StatusSeeOther)
	return nil
}

// toLogin asks who comes without a session for a token. A browser sends no cookie
// when a page of another site leads here, such as a chat's: then the page leads to
// itself, and the cookie comes along.
func (p *page) toLogin(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		p.loginForm(w, http.StatusUnauthorized, loginView{ID: id}, "You are not logged in, or your session has expired. Nothing was done.")
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && !r.URL.Query().Has("onward"):
		p.render(w, http.StatusOK, "onward", frame{Title: "Approvals", Onward: pathOf(id) + "?onward=1"})
	default:
		target := Path + "/login"
		if id != "" {
			target += "?id=" + url.QueryEscape(id)
		}
		http.Redirect(w, r, target, http.StatusSeeOther)
	}
}

// pathOf is the path of an approval's page, and of the list for none.
func pathOf(id string) string {
	if id == "" {
		return Path
	}
	return Path + "/" + url.PathEscape(id)
}

package approvalpage

import (
	"net/http"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// policy allows the style sheet and the forms of this server, and nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP serves the pages.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin(w)
	p.pages.ServeHTTP(w, r)
}

// Refuse implements access.Part.
func (p *page) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	begin(w)
	message := why.Message
	if why.Code == access.UnknownHost {
		message = "This server does not accept that host name; open it by its address, or set its public URL."
	}
	p.fail(w, why.Status, message)
}

// begin sets the headers that keep browsers from doing more than the page means.
func begin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// sameOrigin refuses what other sites have sent.
func (p *page) sameOrigin(next http.Handler) http.Handler {
	p.origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.fail(w, http.StatusForbidden, "This form was sent by a page of another site, and nothing was done. "+
			"If it was not, open this page over HTTPS: otherwise browsers do not send the origin of a form.")
	}))
	return p.origin.Handler(next)
}

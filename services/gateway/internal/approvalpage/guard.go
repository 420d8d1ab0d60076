package approvalpage

import (
	"net/http"

	"github.com/interlock-run/interlock/services/gateway/internal/dnsrebind"
)

// policy allows the style sheet and the forms of this server, and nothing else.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guard does what comes before every page: the headers that keep browsers from
// doing more than the page means, and the refusal of what other sites have sent.
func (p *page) guard(next http.Handler) http.Handler {
	p.origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.fail(w, http.StatusForbidden, "This form was sent by a page of another site, and nothing was done. "+
			"If it was not, open this page over HTTPS: browsers do not say where a form is from otherwise.")
	}))
	guarded := p.origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !dnsrebind.Served(r, p.host) {
			p.fail(w, http.StatusForbidden, "This server is not known by that name; open it by its address, or set its public URL.")
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

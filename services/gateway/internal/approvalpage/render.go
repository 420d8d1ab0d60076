package approvalpage

import (
	"bytes"
	"cmp"
	_ "embed" // for the templates
	"html/template"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/visible"
)

// writeTimeout bounds the writing of one page, so that a browser that does not read
// holds nothing for long.
const writeTimeout = 30 * time.Second

//go:embed page.html
var pages string

// templates escape what they are given. That it can be seen for what it is, is for
// the views.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("").Parse(pages)) })

// frame is what all pages share.
type frame struct {
	Title string
	// Who has logged in, as far as that is known, and for which namespace.
	Who, Namespace string
	// CSRF is the session's, for its forms; empty for nobody.
	CSRF string
	// Notice is what was refused, and why.
	Notice string
	// Onward is the path that the page leads to by itself; empty for none.
	Onward string
	// Listing is true for a page that shows what is new by itself.
	Listing bool
}

// frame is that of a page for this person.
func (v *visit) frame(title string) frame {
	f := frame{Title: title, CSRF: v.csrf, Namespace: v.namespace}
	if v.who.Name != "" {
		f.Who = visible.Text(v.who.Name, false) + " (" + string(v.who.Role) + ")"
	}
	return f
}

// render responds with a page, whole or not at all.
func (p *page) render(w http.ResponseWriter, status int, name string, view any) {
	var page bytes.Buffer
	if err := templates().ExecuteTemplate(&page, name, view); err != nil {
		p.Logger.Error("an approval page could not be made", "page", name, "cause", err)
		http.Error(w, "internal error; the server's log has the cause", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer can
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the client went away: nobody to tell
}

// fail responds with what has gone wrong.
func (p *page) fail(w http.ResponseWriter, status int, message string) {
	title := cmp.Or(http.StatusText(status), "Failed")
	p.render(w, status, "failure", frame{Title: title, Notice: visible.Text(message, false)})
}

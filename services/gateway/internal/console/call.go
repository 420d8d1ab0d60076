package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// apiPrefix is the REST API for pages of the console, below Path.
const apiPrefix = "/api/"

// headerRole names the role of the session that a page wants for one call.
const headerRole = "X-Interlock-Role"

// call passes a call of a page on to the REST API, in the name of its session.
func (c *console) call(w http.ResponseWriter, r *http.Request) {
	s, ok := c.sessionOf(r)
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	path := "/" + strings.TrimPrefix(r.URL.Path, Path+apiPrefix)
	switch {
	case !c.ours(r):
		refuse(w, http.StatusForbidden, "CROSS_ORIGIN", "only pages of the console may call this; others send a token to the API itself")
	case r.Header.Get("Authorization") != "":
		refuse(w, http.StatusBadRequest, string(fault.InvalidRequest), "this is for the console's cookie; send tokens to "+path)
	case !ok:
		refuse(w, http.StatusUnauthorized, string(fault.Unauthenticated), "you are not logged in, or your session has ended; no change was made")
	case path == access.SocketPath:
		refuse(w, http.StatusNotFound, string(fault.NotFound), "pages of the console follow /v1/events")
	case change && c.ReadOnly && !asks(r):
		refuse(w, http.StatusForbidden, string(fault.PermissionDenied), "this console is read-only (--console-read-only); no change was made")
	default:
		if s, ok = c.renewed(w, r, s); !ok {
			refuse(w, http.StatusUnauthorized, string(fault.Unauthenticated), "your log-in was ended, and no change was made; log in again")
			return
		}
		if role := auth.Role(r.Header.Get(headerRole)); !s.has(role) {
			refuse(w, http.StatusForbidden, string(fault.PermissionDenied), "your session does not have the role "+string(role)+", which this needs; no change was made")
			return
		}
		ctx, release := c.ended.follow(r.Context(), s.id(), s.ends().Sub(c.now()))
		defer release()
		c.API.ServeHTTP(w, forwarded(r.WithContext(ctx), s, path))
	}
}

// questions are the POSTs that only ask. A * is a name, percent-encoded.
var questions = []string{
	"/v1/workflows/validate", "/v1/workflows/graph", "/v1/policies/simulate", "/v1/simulate", "/v1/verify",
	"/v1/workflows/*/migration-plans", "/v1/workflows/*/replay",
}

// asks reports whether a call only asks. It looks at the path as it is routed: with a name that
// holds a slash, another one can look like a question.
func asks(r *http.Request) bool {
	asked := "/" + strings.TrimPrefix(r.URL.EscapedPath(), Path+apiPrefix)
	return r.Method == http.MethodPost && slices.ContainsFunc(questions, func(question string) bool {
		same, err := path.Match(question, asked)
		return err == nil && same
	})
}

// forwarded returns the request to the API.
func forwarded(r *http.Request, s session, path string) *http.Request {
	to := r.Clone(r.Context())
	to.URL = &url.URL{Path: path, RawPath: "/" + strings.TrimPrefix(r.URL.EscapedPath(), Path+apiPrefix), RawQuery: r.URL.RawQuery}
	to.RequestURI = to.URL.RequestURI()
	for _, name := range []string{"Cookie", "X-Interlock-Csrf", headerRole} {
		to.Header.Del(name)
	}
	// Approvals are read by who decides them, too: they say whether their reader may.
	deciding := path == "/v1/approvals" || strings.HasPrefix(path, "/v1/approvals/")
	token := s.Tokens[auth.Role(r.Header.Get(headerRole))]
	if token == "" {
		token = s.token(deciding)
	}
	if token != "" {
		to.Header.Set("Authorization", "Bearer "+token)
	}
	if s.Namespace != "" && to.Header.Get("X-Interlock-Namespace") == "" {
		to.Header.Set("X-Interlock-Namespace", s.Namespace)
	}
	return to
}

// refuse writes an error in the REST API's form (RFC 9457).
func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client went away: no reader is left
		"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code, "detail": detail,
	})
}

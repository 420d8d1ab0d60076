package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Headers that travel on as gRPC metadata.
const (
	headerRequestID = "X-Request-Id"
	headerNamespace = "X-Interlock-Namespace"

	metaAuthorization = "authorization"
)

var requestIDPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]{1,128}$`) })

// sources are the prefixes of routes in the source documents, and what this API calls them.
var sources = []struct{ from, to string }{
	{"/sessions", "/v1/sessions"},
	{"/workflow-schemas", "/v1/schemas"},
	{"/workflow-states", "/v1/states"},
	{"/workflow-state/", "/v1/states/"},
	{"/workflow-state", "/v1/state"},
}

// rooted returns a URL with the path that this API has for it.
func rooted(u *url.URL) *url.URL {
	for _, prefix := range sources {
		rest, found := strings.CutPrefix(u.Path, prefix.from)
		raw, written := strings.CutPrefix(u.RawPath, prefix.from)
		whole := rest == "" || rest[0] == '/' || strings.HasSuffix(prefix.from, "/")
		if !found || !whole || !written && u.RawPath != "" {
			continue
		}
		if prefix.from == "/sessions" && ofSession(cmp.Or(raw, rest), "/workflow-state") {
			rest, raw = strings.TrimSuffix(rest, "/workflow-state")+"/state", strings.TrimSuffix(raw, "/workflow-state")+"/state"
		}
		to := *u
		to.Path = prefix.to + rest
		if written {
			to.RawPath = prefix.to + raw
		}
		return &to
	}
	return u
}

// ofSession reports that a path is one ID and a part of its session.
func ofSession(path, part string) bool {
	id, found := strings.CutSuffix(path, part)
	return found && strings.LastIndexByte(id, '/') == 0 && id != "/"
}

// ServeHTTP serves a request that was let in.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.begin(w, r)
	r.URL = rooted(r.URL)
	defer e.recover(w, r)
	e.routed.ServeHTTP(w, r)
}

// Refuse implements access.Part.
func (e *edge) Refuse(w http.ResponseWriter, r *http.Request, why *access.Refusal) {
	e.begin(w, r)
	p := newProblem(why.Status, why.Code, why.Message)
	p.cause = why.Cause
	if why.Challenge != "" {
		p = p.with("WWW-Authenticate", why.Challenge)
	}
	e.writeProblem(w, r, p)
}

// refuseOrigin refuses changes that another site's page sends.
func (e *edge) refuseOrigin(w http.ResponseWriter, r *http.Request) {
	e.writeProblem(w, r, newProblem(http.StatusForbidden, codeCrossOrigin,
		"changes from pages of another origin are refused"))
}

// begin sets the headers of every answer.
func (e *edge) begin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	id := r.Header.Get(headerRequestID)
	if !requestIDPattern().MatchString(id) {
		id = rand.Text()
	}
	h.Set(headerRequestID, id)
}

// recover responds with 500 for a panic, which is a bug, and keeps serving.
func (e *edge) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // the sentinel itself, by contract
		panic(v)
	}
	e.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("route", r.Pattern),
		slog.String("value", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
	e.writeProblem(w, r, newProblem(http.StatusInternalServerError, string(fault.Internal),
		"internal error; the server's log has the cause"))
}

// route finds the route. The router's own answers in plain text, not found and method not
// allowed, become a problem document.
func (e *edge) route(w http.ResponseWriter, r *http.Request) {
	found, pattern := e.mux.Handler(r)
	// The router would redirect a path like /v1//runs; here it is just unknown.
	if p := r.URL.EscapedPath(); pattern != "" && path.Clean(p) == p {
		e.mux.ServeHTTP(w, r)
		return
	}
	plain := &discard{header: http.Header{}}
	found.ServeHTTP(plain, r)
	if allow := plain.header.Get("Allow"); plain.status == http.StatusMethodNotAllowed && allow != "" {
		e.writeProblem(w, r, newProblem(http.StatusMethodNotAllowed, codeMethodNotAllowed,
			r.Method+" is not for this path; it takes "+allow).with("Allow", allow))
		return
	}
	e.writeProblem(w, r, newProblem(http.StatusNotFound, string(fault.NotFound),
		"there is no such path; GET / and /openapi.json list the paths"))
}

// discard keeps the status and header of an answer and drops its body.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// outgoing returns the request's context with the caller's metadata for the services,
// whom package access has let in.
func outgoing(r *http.Request, requestID string) (context.Context, error) {
	if access.Public(r.URL.Path) {
		return r.Context(), nil
	}
	md := metadata.MD{}
	if token := access.CallerOf(r.Context()).Token; token != "" {
		md.Set(metaAuthorization, "Bearer "+token)
	}
	if witness := r.Header.Get(hookwire.WitnessHeader); witness != "" {
		md.Set(rpc.WitnessKey, witness)
	}
	if behalf := r.Header.Get(access.ForHeader); behalf != "" {
		md.Set(rpc.ForKey, behalf)
	}
	if namespace := r.Header.Get(headerNamespace); namespace != "" {
		if len(r.Header.Values(headerNamespace)) > 1 || !rpc.ValidNamespace(namespace) {
			return nil, badNamespace(headerNamespace)
		}
		md.Set(rpc.NamespaceKey, namespace)
	}
	md.Set(rpc.RequestIDKey, requestID)
	return metadata.NewOutgoingContext(r.Context(), md), nil
}

// badNamespace returns a 400 that blames the parameter that names a namespace.
func badNamespace(parameter string) *Problem {
	return badParameter(parameter, document.CodeName,
		"must be one name of 1 to 63 lower-case letters, digits and hyphens that does not begin with a hyphen")
}

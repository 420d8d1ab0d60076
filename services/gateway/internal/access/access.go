// Package access is the one door of the edge. Before any part of it sees a request, and
// before any part of a body is read, it refuses hosts that are not served here and
// callers without a good token. It does not look at the request itself; the services
// judge the rights of callers.
package access

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// public are the paths that need no token. The console needs none either: people log in
// there and bring a cookie. Every other path needs a token, whether it exists or not.
var public = map[string]bool{
	"/": true, "/docs": true, "/openapi.json": true, "/asyncapi.json": true, "/workflow-schema.json": true,
	"/policy-schema.json": true, "/process-schema.json": true, "/component-schema.json": true, "/scenario-schema.json": true,
	"/healthz": true, "/readyz": true, "/.well-known/interlock": true, hookwire.ProofPath: true,
	"/.well-known/authzen-configuration": true,
	"/v1/login":                          true, "/v1/login/answer": true, "/v1/login/invitation": true, "/v1/login/register": true,
}

const console = "/ui"

// Public reports whether a path needs no token.
func Public(path string) bool {
	return public[path] || path == console || strings.HasPrefix(path, console+"/")
}

// SocketPath is where browsers send their token as a subprotocol: they can set no
// header, and a token in a URL would end up in logs.
const SocketPath = "/v1/ws"

// MaxToken is the longest token in bytes.
const MaxToken = 16 << 10

// UnknownHost is the code of a Refusal for the host. Others are those of faults.
const UnknownHost = "UNKNOWN_HOST"

// Refusal is why a request is not let in.
type Refusal struct {
	Status        int
	Code, Message string
	// Challenge is for the header WWW-Authenticate of a 401.
	Challenge string
	// Cause is for logs; nil where the caller is to blame.
	Cause error
}

// Part is a part of the edge, which says in its own form why a request is refused.
type Part interface {
	http.Handler
	Refuse(w http.ResponseWriter, r *http.Request, why *Refusal)
}

// Caller is who has been let in.
type Caller struct {
	// Token goes along to the services; empty for none.
	Token string
	// Principal is whose token it is, where that is known here.
	Principal auth.Principal
}

type callerKey struct{}

// CallerOf returns the caller of a request that was let in, by its context.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Guard has the settings of the door.
type Guard struct {
	// Identify returns the principal of a token: an error that is auth.ErrUnauthenticated
	// means an unknown token, any other that the check failed. Nil leaves it to the
	// services.
	Identify func(ctx context.Context, token string) (auth.Principal, error)
	// AllowAnonymous lets callers without a token in, and leaves tokens to the
	// services.
	AllowAnonymous bool
	// Hosts are names, without port, that this server may be called by on loopback
	// addresses, in addition to loopback names: those of a reverse proxy on this
	// machine.
	Hosts []string
	// Refused is notified of each request that is not let in; nil if there is none.
	Refused func(r *http.Request, why *Refusal)
}

// Protect returns next behind the door. Requests that are not let in go to refuse.
func (g Guard) Protect(next http.Handler, refuse func(http.ResponseWriter, *http.Request, *Refusal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, refusal := g.admit(r)
		if refusal != nil {
			if g.Refused != nil {
				g.Refused(r, refusal)
			}
			refuse(w, r, refusal)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

func (g Guard) admit(r *http.Request) (Caller, *Refusal) {
	if !served(r, g.Hosts...) {
		return Caller{}, &Refusal{
			Status: http.StatusForbidden, Code: UnknownHost,
			Message: "this server is not known by that Host; call it by its address, or by the host of its public URL",
		}
	}
	if Public(r.URL.Path) {
		return Caller{}, nil
	}
	token, ok := tokenOf(r)
	switch {
	case !ok:
		return Caller{}, unauthenticated("send one token: Authorization: Bearer TOKEN", "invalid_request")
	case token == "" && !g.AllowAnonymous:
		return Caller{}, unauthenticated("send a token: Authorization: Bearer TOKEN", "")
	case token == "" || g.AllowAnonymous || g.Identify == nil:
		return Caller{Token: token}, nil
	}
	p, err := g.Identify(r.Context(), token)
	if err == nil {
		return Caller{Token: token, Principal: p}, nil
	}
	f := fault.From(rpc.Unauthenticated(err))
	if f.Reason == fault.Unauthenticated {
		return Caller{}, unauthenticated(f.Message, "invalid_token")
	}
	return Caller{}, &Refusal{Status: f.HTTPStatus(), Code: string(f.Reason), Message: f.Message, Cause: f}
}

func unauthenticated(message, problem string) *Refusal {
	challenge := `Bearer realm="interlock"`
	if problem != "" {
		challenge += `, error="` + problem + `"`
	}
	return &Refusal{
		Status: http.StatusUnauthorized, Code: string(fault.Unauthenticated), Message: message, Challenge: challenge,
	}
}

var (
	// bearer is the header of RFC 6750, section 2.1.
	bearer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:bearer) +(\S+) *$`) })
	// visible is any token that pkg/auth takes.
	visible = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[!-~]+$`) })
)

// ValidToken reports whether a text can be a token.
func ValidToken(text string) bool { return len(text) <= MaxToken && visible().MatchString(text) }

// Bearer returns the token of an Authorization header, empty where there is none. It is
// not ok with more than one header, or another than a bearer token.
func Bearer(h http.Header) (token string, ok bool) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", true
	}
	m := bearer().FindStringSubmatch(strings.TrimSpace(values[0]))
	if len(values) > 1 || m == nil || !ValidToken(m[1]) {
		return "", false
	}
	return m[1], true
}

// tokenOf returns the one token of a request: of its header, or of a subprotocol.
func tokenOf(r *http.Request) (token string, ok bool) {
	token, ok = Bearer(r.Header)
	if !ok || r.URL.Path != SocketPath {
		return token, ok
	}
	for offered := range strings.SplitSeq(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		given, isToken := strings.CutPrefix(strings.TrimSpace(offered), "bearer.")
		if !isToken {
			continue
		}
		if token != "" || !ValidToken(given) {
			return "", false
		}
		token = given
	}
	return token, true
}

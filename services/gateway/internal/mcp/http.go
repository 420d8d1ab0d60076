package mcp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
)

const (
	protocolHeader   = "Mcp-Protocol-Version"
	mcpSessionHeader = "Mcp-Session-Id"
)

// Paths that the endpoints are served at, with those below.
const (
	Path        = "/mcp"
	ProcessPath = "/mcp/process"
)

// HTTPHandler returns the handler of Path, for callers that package access has let in. It is the
// same one each time: the sessions of older clients live in it.
func (s *Server) HTTPHandler() access.Part { return s.http.all }

// ProcessHandler returns the handler of ProcessPath, where a session has the tools of its process
// and no others (S7.8). It is the same one each time.
func (s *Server) ProcessHandler() access.Part { return s.http.process }

// part is the handler of an endpoint, with its form of refusals.
type part struct{ http.Handler }

// Refuse implements access.Part.
func (part) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	if why.Challenge != "" {
		w.Header().Set("WWW-Authenticate", why.Challenge)
	}
	wire.Refuse(w, why.Status, why.Message)
}

// doors are the handlers of both endpoints.
type doors struct {
	all, process access.Part
	versions     *sdk.Server // names the protocol versions; never serves
}

func (s *Server) newDoors() *doors {
	d := &doors{versions: s.newSDKServer(face{})}
	d.all, d.process = s.newHandler(Path, face{}, d.versions), s.newHandler(ProcessPath, face{process: true}, d.versions)
	return d
}

// newHandler makes the handler of an endpoint. Requests of the stateless protocol and of
// older ones are distinguished by their protocol-version header.
func (s *Server) newHandler(base string, face face, versions *sdk.Server) access.Part {
	options := sdk.StreamableHTTPOptions{
		MaxRequestBodyBytes:        wire.MaxBody,
		DisableLocalhostProtection: true, // package access does it
	}
	stateless := options
	stateless.Stateless = true
	stateless.PropagateRequestCancellation = true
	shared := s.newSDKServer(face)
	s.sessions.Listen(shared)
	s.headers.Add(shared)
	newer := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return shared }, &stateless)

	stateful := options
	stateful.SessionTimeout = s.cfg.SessionIdle
	stateful.EventStore = sdk.NewMemoryEventStore(nil) // 10 MiB, so that clients fetch messages that they missed
	older := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get(mcpSessionHeader) != "" {
			return versions
		}
		return s.newSDKServer(face)
	}, &stateful)

	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(protocolHeader) >= wire.ProtocolStateless {
			newer.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get(mcpSessionHeader) == "" {
			if full := s.whyFull(r); full != "" {
				w.Header().Set("Retry-After", "5")
				wire.Refuse(w, http.StatusTooManyRequests, string(fault.QuotaExceeded)+": "+full+"; close one, or use protocol "+wire.ProtocolStateless)
				return
			}
		}
		older.ServeHTTP(&wire.Unknown{ResponseWriter: w}, r)
	})

	origins := http.NewCrossOriginProtection()
	for _, origin := range s.cfg.AllowedOrigins {
		if err := origins.AddTrustedOrigin(origin); err != nil {
			s.log.Error("mcp: an allowed origin is ignored", "origin", origin, "error", err)
		}
	}
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		wire.Refuse(w, http.StatusForbidden, "cross-origin request refused; the origin is not allowed")
	}))
	return part{origins.Handler(s.admit(base, wire.RequireJSONRPC(route)))}
}

// whyFull describes why a caller gets no session of the older protocols; empty when it does.
func (s *Server) whyFull(r *http.Request) string {
	who := access.CallerOf(r.Context())
	all, own := s.sessions.Count(caller.FromHeader(r.Header).Token)
	switch {
	case own >= s.cfg.SessionsEach:
		return fmt.Sprintf("you have %d sessions open, which is the limit for one token (--mcp-sessions-per-token)", own)
	case all >= access.Room(s.cfg.MaxSessions, who.Principal):
		return fmt.Sprintf("too many open sessions: %d", all)
	default:
		return ""
	}
}

// endWithDrain ends requests that only listen when the server drains.
func (s *Server) endWithDrain(r *http.Request) (*http.Request, func()) {
	if r.Method != http.MethodGet && r.Header.Get("Mcp-Method") != "subscriptions/listen" {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.life.streams, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
}

// admit does everything that comes before the protocol: the size and the binding.
func (s *Server) admit(base string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > wire.MaxBody {
			wire.Refuse(w, http.StatusRequestEntityTooLarge, wire.TooBig)
			return
		}
		if s.life.streams.Err() != nil {
			w.Header().Set("Retry-After", "1")
			wire.Refuse(w, http.StatusServiceUnavailable, "shutting down; try again")
			return
		}
		listening, done := s.endWithDrain(r)
		defer done()
		r2 := *listening
		r2.Header = r.Header.Clone()
		if err := caller.BindRequest(&r2, base); err != nil {
			wire.Refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		c := caller.FromHeader(r2.Header)
		if session := access.CallerOf(r.Context()).Principal.Session; session != "" && c.SessionID == caller.TokenSession(c.Token) {
			// The token says which session it is for, and the client named none.
			r2.Header.Set(caller.SessionHeader, session)
		}
		if c.Token == "" {
			next.ServeHTTP(w, &r2)
			return
		}
		ownSession(next).ServeHTTP(w, &r2)
	})
}

// ownSession ties an MCP session to the token that opened it, so that no other token
// reads its stream or ends it. It gives no rights.
func ownSession(next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: caller.TokenDigest(token)}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

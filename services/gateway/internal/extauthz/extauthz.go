// Package extauthz lets Envoy, and other clients of its ext_authz protocol, ask Interlock
// whether a request to an MCP server may pass. It reads the calls of tools out of a request
// and asks CheckToolCall for each; it holds no rules. A request that it cannot read or have
// decided does not pass.
package extauthz

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	extauthzv1 "github.com/interlock-run/interlock/gen/go/interlock/extauthz/v1"
	"google.golang.org/grpc/metadata"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/outside"
)

// checkTimeout bounds the decisions on one request. Proxies wait less by default.
const checkTimeout = 5 * time.Second

// Server is an MCP server behind a proxy: requests at Path and below it are for it.
type Server struct{ Name, Path string }

// Config has the parts and settings of the service. Policy is required.
type Config struct {
	Policy policyv1.PolicyEnforcerServiceClient
	// Servers are those that paths show. A proxy may name the server of a route itself.
	Servers []Server
	// Pass are the methods that pass without a decision: of MCP, where a trailing * stands
	// for any rest, and those of HTTP that have no body. response stands for answers to
	// questions of servers.
	Pass []string
	// AllowOther lets requests pass that are for no MCP server.
	AllowOther bool
	// AllowUnbound takes the word of policies for calls of sessions that drive no run.
	AllowUnbound bool
	// SessionHeader and RunHeader are where a request names its session and its run, TokenHeader
	// where it has its agent's own token; empty for nowhere.
	SessionHeader, RunHeader, TokenHeader string
	// ForHeader is where a request has the token of the person on whose behalf it is made; empty for nowhere.
	ForHeader string
	// DeniedStatus is the HTTP status of denied messages; 200 by default, so that clients
	// read the error.
	DeniedStatus int
	// PublicURL is where people reach the gateway; empty for no links to approvals.
	PublicURL string
	// Undecided is notified of each call that was denied because it could not be decided;
	// nil if there is none.
	Undecided func(error)
	Logger    *slog.Logger // default slog.Default()
}

// Authorization serves envoy.service.auth.v3.Authorization.
type Authorization struct {
	cfg Config
}

// New makes the service. The error says which setting is not one.
func New(cfg Config) (*Authorization, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.DeniedStatus = cmp.Or(cfg.DeniedStatus, http.StatusOK)
	for _, s := range cfg.Servers {
		if !outside.ValidServer(s.Name) || !strings.HasPrefix(s.Path, "/") {
			return nil, fmt.Errorf("--ext-authz-server %s=%s: write NAME=/PATH; "+
				"a name has letters, digits, hyphens, dots and single underscores", s.Name, s.Path)
		}
	}
	// The longest path that a request is below decides.
	cfg.Servers = slices.Clone(cfg.Servers)
	slices.SortStableFunc(cfg.Servers, func(a, b Server) int { return len(b.Path) - len(a.Path) })
	return &Authorization{cfg: cfg}, nil
}

// Check implements envoy.service.auth.v3.Authorization. A denial is an OK response: a
// failure could be taken for leave to pass.
func (a *Authorization) Check(ctx context.Context, check *extauthzv1.CheckRequest) (*extauthzv1.CheckResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, err := requestOf(check)
	if err != nil {
		return unread(err), nil
	}
	server, err := a.server(r)
	switch {
	case err != nil:
		return unread(err), nil
	case server == "" && a.cfg.AllowOther:
		return a.pass(nil), nil
	case server == "":
		return unread(errors.New("it is for no MCP server that is known here")), nil
	case r.http.GetMethod() != http.MethodPost:
		return a.withoutBody(r), nil
	}
	messages, batch, err := read(r)
	if err != nil {
		return a.unreadable(err), nil
	}
	return a.decide(ctx, r, server, messages, batch), nil
}

// read returns the messages of a request.
func read(r *request) ([]message, bool, error) {
	body, err := r.body()
	if err != nil {
		return nil, false, err
	}
	messages, batch, err := parse(body)
	if err == nil {
		err = r.agrees(messages)
	}
	return messages, batch, err
}

// server returns the MCP server that a request is for, by the route's word or else by the
// path; empty for none.
func (a *Authorization) server(r *request) (string, error) {
	if name, said := r.route[routeServer]; said {
		if !outside.ValidServer(name) {
			return "", errors.New("its route names a server that cannot be one")
		}
		return name, nil
	}
	written, plain := r.plainPath()
	if !plain {
		return "", errors.New("its path can be read in two ways")
	}
	for _, s := range a.cfg.Servers {
		if below(written, s.Path) {
			return s.Name, nil
		}
	}
	return "", nil
}

// withoutBody judges requests that carry no message: to listen, and to end a session.
func (a *Authorization) withoutBody(r *request) *extauthzv1.CheckResponse {
	_, upgrade := r.headers["upgrade"]
	body := r.http.GetBody() != "" || len(r.http.GetRawBody()) > 0
	if upgrade || body || !slices.Contains(a.cfg.Pass, r.http.GetMethod()) {
		return unread(fmt.Errorf("%.32q requests do not pass", r.http.GetMethod()))
	}
	return a.pass(nil)
}

// passes reports that a method needs no decision.
func (a *Authorization) passes(method string) bool {
	return method != methodCallTool && slices.ContainsFunc(a.cfg.Pass, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == method || open && strings.HasPrefix(method, prefix)
	})
}

// decide asks for each call of a request, in order. One that may not be made keeps the
// others of its batch from being made: earlier allowed calls are reported as failed.
func (a *Authorization) decide(
	ctx context.Context, r *request, server string, messages []message, batch bool,
) *extauthzv1.CheckResponse {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return a.refused(messages, batch, refusal{code: codeDenied, message: "Denied: " + err.Error()})
	}
	var allowed []*policyv1.CheckToolCallResponse
	var tools []string
	for i, m := range messages {
		if a.passes(m.Method) {
			continue
		}
		if m.Method != methodCallTool {
			a.unmake(caller, tools, allowed)
			return a.refused(messages, batch, refusal{
				code: codeDenied, message: fmt.Sprintf("Denied: the method %.64q does not pass here.", m.Method),
			})
		}
		call := &policyv1.CheckToolCallRequest{
			RunId: caller.run, SessionId: caller.session, Tool: "mcp__" + server + "__" + m.Tool, Input: m.Input,
			CallId: callID(r, caller, i, m), Human: r.human(),
		}
		resp, err := a.cfg.Policy.CheckToolCall(caller.ctx, call)
		if err != nil && a.cfg.Undecided != nil {
			a.cfg.Undecided(err)
		}
		permitted := resp.GetDecision() == policyv1.Decision_DECISION_ALLOW && (a.cfg.AllowUnbound || !outside.Unbound(resp))
		if err == nil && permitted {
			allowed, tools = append(allowed, resp), append(tools, call.GetTool())
			continue
		}
		a.unmake(caller, tools, allowed)
		if err != nil {
			return a.refused(messages, batch, undecided(call.GetCallId(), err))
		}
		return a.refused(messages, batch, a.denied(resp))
	}
	return a.pass(allowed)
}

// caller is in whose name, and where, calls are judged.
type caller struct {
	ctx          context.Context
	session, run string
}

// caller returns who asks: the proxy, or the agent where the request has its token. The
// session and the run come from the proxy, or else from the request's headers.
func (a *Authorization) caller(ctx context.Context, r *request) (caller, error) {
	c := caller{session: r.route[routeSession], run: r.route[routeRun]}
	var err error
	if c.session == "" && c.run == "" {
		if c.session, err = r.named(a.cfg.SessionHeader); err != nil {
			return c, err
		}
		if c.run, err = r.named(a.cfg.RunHeader); err != nil {
			return c, err
		}
	}
	if c.run != "" {
		c.session = ""
	}
	if a.cfg.TokenHeader != "" {
		token, err := r.named(a.cfg.TokenHeader)
		if err != nil {
			return c, err
		}
		if scheme, rest, found := strings.Cut(token, " "); found && strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(rest)
		}
		if !access.ValidToken(token) {
			return c, fmt.Errorf("the header %s must be the agent's token", a.cfg.TokenHeader)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	if a.cfg.ForHeader != "" {
		if ctx, err = r.behalf(ctx, a.cfg.ForHeader); err != nil {
			return c, err
		}
	}
	c.ctx = rpc.Forward(ctx)
	return c, nil
}

// named returns the one value of a header that is named, empty for no name.
func (r *request) named(header string) (string, error) {
	if header == "" {
		return "", nil
	}
	return r.header(header)
}

// callID makes a repeat of the same check the same call: proxies try checks again. That of
// the message alone would not do, because clients count anew on each connection, and one
// that repeats a number would make many calls that are counted once. So the proxy's own id
// of the request is part of it. Without one every check is a call of its own.
func callID(r *request, c caller, index int, m message) string {
	if r.http.GetId() == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{
		c.run, c.session, r.headers["mcp-session-id"], string(m.ID), m.Tool, string(m.Input), r.http.GetId(),
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(index)))
	return "extauthz-" + hex.EncodeToString(h.Sum(nil)[:20])
}

// unmake reports calls that were allowed and are not made after all.
func (a *Authorization) unmake(c caller, tools []string, allowed []*policyv1.CheckToolCallResponse) {
	for i, call := range allowed {
		_, err := a.cfg.Policy.ReportToolCall(c.ctx, &policyv1.ReportToolCallRequest{
			RunId: c.run, SessionId: c.session, CallId: call.GetCallId(), Tool: tools[i],
		})
		if err != nil {
			a.cfg.Logger.LogAttrs(c.ctx, slog.LevelWarn, "a call that is not made could not be reported",
				slog.String("call_id", call.GetCallId()), slog.String("reason", string(fault.ReasonOf(err))))
		}
	}
}

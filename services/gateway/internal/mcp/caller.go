package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Request headers that name the actor and its object.
const (
	SessionHeader   = "X-Interlock-Session"
	RunHeader       = "X-Interlock-Run"
	NamespaceHeader = "X-Interlock-Namespace"
	WorkspaceHeader = "X-Interlock-Workspace"
	// StateHeader names a shared state. It is a name and no right to it: the session
	// must be one that may use it.
	StateHeader = "X-Workflow-State-Id"
)

// gRPC metadata that the services read.
const (
	authorizationKey = "authorization"
	namespaceKey     = rpc.NamespaceKey
)

// Limits of ids, as the contracts have them.
const (
	maxRunID     = 128
	maxSessionID = 256
	maxStateID   = 128
	maxNamespace = 128
	maxWorkspace = 4096
)

// Binding says which run a connection works on: one run by its id, or the run that a
// session drives. A run id wins. The zero Binding is unbound.
type Binding struct {
	RunID     string
	SessionID string
}

// Bound reports whether there is anything to judge calls by.
func (b Binding) Bound() bool { return b.RunID != "" || b.SessionID != "" }

// BindingFromEnv returns the binding of a stdio server: INTERLOCK_RUN, or else
// INTERLOCK_SESSION, or else a new session for this process.
func BindingFromEnv(getenv func(string) string) (Binding, error) {
	b := Binding{RunID: getenv("INTERLOCK_RUN"), SessionID: getenv("INTERLOCK_SESSION")}
	if err := b.validate(); err != nil {
		return b, err
	}
	if b.Bound() {
		return b, nil
	}
	// Not the bare id: only the state-store names sessions so.
	return Binding{SessionID: "stdio-" + typeid.New(typeid.Session)}, nil
}

func (b Binding) validate() error {
	if len(b.RunID) > maxRunID || !printable(b.RunID) {
		return fmt.Errorf("the run id must be at most %d printable ASCII characters", maxRunID)
	}
	if len(b.SessionID) > maxSessionID || !printable(b.SessionID) {
		return fmt.Errorf("the session must be at most %d printable ASCII characters", maxSessionID)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// caller is who sent a request.
type caller struct {
	Identity
	// alone callers have the upstream servers to themselves: no other session calls
	// them. See environment.go.
	alone bool
	// peer is whom servers may ask on this connection; nil if there is none.
	peer *upstream.Peer
	// call is the call of a tool that is being answered; nil otherwise.
	call *sdk.CallToolRequest
}

// outgoing returns ctx for a call to a service on behalf of the caller.
func (c caller) outgoing(ctx context.Context) context.Context {
	var pairs []string
	if c.Token != "" {
		pairs = append(pairs, authorizationKey, "Bearer "+c.Token)
	}
	if c.Namespace != "" {
		pairs = append(pairs, namespaceKey, c.Namespace)
	}
	if len(pairs) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// callerOf reads the caller from headers that bindRequest has put in order.
func callerOf(h http.Header) caller {
	token, _ := access.Bearer(h)
	return caller{Identity: Identity{
		Binding:   Binding{RunID: h.Get(RunHeader), SessionID: h.Get(SessionHeader)},
		Token:     token,
		Namespace: h.Get(NamespaceHeader),
		Workspace: h.Get(WorkspaceHeader),
		StateID:   h.Get(StateHeader),
	}}
}

// tokenDigest distinguishes tokens without keeping them.
func tokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokenSession returns the session of clients that name none: one for each token.
func tokenSession(token string) string { return "token-" + tokenDigest(token)[:16] }

// bindRequest writes the binding of a request's URL into its headers, where the
// handlers of a session find it with each request: the binding is never that of
// the MCP session. URL and headers must not contradict each other; a request that
// names neither run nor session is bound to the session of its token. base is the
// path that the endpoint is served at.
func bindRequest(r *http.Request, base string) error {
	fromURL, err := urlBinding(r.URL, base)
	if err != nil {
		return err
	}
	if workspace := r.URL.Query().Get("workspace"); workspace != "" {
		r.Header.Set(WorkspaceHeader, workspace)
	}
	for _, part := range []struct{ header, value, what string }{
		{RunHeader, fromURL.RunID, "run"}, {SessionHeader, fromURL.SessionID, "session"},
	} {
		values := r.Header.Values(part.header)
		if len(values) > 1 {
			return fmt.Errorf("the header %s occurs %d times; send it once", part.header, len(values))
		}
		if part.value == "" {
			continue
		}
		if len(values) == 1 && values[0] != part.value {
			return fmt.Errorf("the URL and the header %s name different %ss; keep one", part.header, part.what)
		}
		r.Header.Set(part.header, part.value)
	}
	c := callerOf(r.Header)
	if c.RunID != "" && c.SessionID != "" {
		return fmt.Errorf("name a run or a session, not both")
	}
	if !c.Bound() && c.Token != "" {
		// The token is all that this client says of itself, so that is its session.
		c.SessionID = tokenSession(c.Token)
		r.Header.Set(SessionHeader, c.SessionID)
	}
	if len(c.Namespace) > maxNamespace || !printable(c.Namespace) {
		return fmt.Errorf("the header %s must be at most %d printable ASCII characters", NamespaceHeader, maxNamespace)
	}
	if len(r.Header.Values(StateHeader)) > 1 {
		return fmt.Errorf("the header %s occurs more than once; send it once", StateHeader)
	}
	if len(c.Workspace) > maxWorkspace || strings.ContainsFunc(c.Workspace, unicode.IsControl) {
		return fmt.Errorf("the workspace must be at most %d bytes without control characters", maxWorkspace)
	}
	return c.validate()
}

// urlBinding reads /mcp?run=R, /mcp?session=S, /mcp/runs/R and /mcp/sessions/S, and
// the same below another base.
func urlBinding(u *url.URL, base string) (Binding, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Binding{}, fmt.Errorf("the query of the URL is malformed")
	}
	var b Binding
	for key, values := range query {
		if len(values) != 1 || values[0] == "" {
			return b, fmt.Errorf("the query parameter %q must have one value", key)
		}
		switch key {
		case "run":
			b.RunID = values[0]
		case "session":
			b.SessionID = values[0]
		case "workspace": // no part of the binding
		default:
			return b, fmt.Errorf("unknown query parameter %q; there are run, session and workspace", key)
		}
	}
	rest := strings.Trim(strings.TrimPrefix(u.Path, base), "/")
	if rest == "" {
		return b, nil
	}
	kind, id, _ := strings.Cut(rest, "/")
	if b.Bound() || id == "" || kind != "runs" && kind != "sessions" {
		return b, fmt.Errorf("no such endpoint; use %[1]s?session=NAME, %[1]s?run=ID, %[1]s/sessions/NAME or %[1]s/runs/ID", base)
	}
	if kind == "runs" {
		return Binding{RunID: id}, nil
	}
	return Binding{SessionID: id}, nil
}

package caller

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

	"github.com/interlock-run/interlock/services/gateway/internal/access"
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

// FromHeader reads the caller from headers into which BindRequest has written the binding.
func FromHeader(h http.Header) Caller {
	token, _ := access.Bearer(h)
	return Caller{Identity: Identity{
		Binding:   Binding{RunID: h.Get(RunHeader), SessionID: h.Get(SessionHeader)},
		Token:     token,
		For:       h.Get(access.ForHeader),
		Namespace: h.Get(NamespaceHeader),
		Workspace: h.Get(WorkspaceHeader),
		StateID:   h.Get(StateHeader),
	}}
}

// TokenDigest distinguishes tokens without keeping them.
func TokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// TokenSession returns the session of clients that name none: one for each token.
func TokenSession(token string) string { return "token-" + TokenDigest(token)[:16] }

// BindRequest writes the binding of a request's URL into its headers, where the
// handlers of a session find it with each request: the binding is never that of
// the MCP session. URL and headers must not contradict each other; a request that
// names neither run nor session is bound to the session of its token. base is the
// path that the endpoint is served at.
func BindRequest(r *http.Request, base string) error {
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
	c := FromHeader(r.Header)
	if c.RunID != "" && c.SessionID != "" {
		return fmt.Errorf("name a run or a session, not both")
	}
	if !c.Bound() && c.Token != "" {
		// The token is all that this client says of itself, so that is its session.
		c.SessionID = TokenSession(c.Token)
		r.Header.Set(SessionHeader, c.SessionID)
	}
	if len(c.Namespace) > maxNamespace || !printable(c.Namespace) {
		return fmt.Errorf("the header %s must be at most %d printable ASCII characters", NamespaceHeader, maxNamespace)
	}
	if len(r.Header.Values(StateHeader)) > 1 {
		return fmt.Errorf("the header %s occurs more than once; send it once", StateHeader)
	}
	if len(c.Workspace) > MaxWorkspace || strings.ContainsFunc(c.Workspace, unicode.IsControl) {
		return fmt.Errorf("the workspace must be at most %d bytes without control characters", MaxWorkspace)
	}
	return c.Validate()
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

// Of returns the sender of req: by its own headers, never by its session. fixed is the sender
// on transports without headers; nil elsewhere.
func Of(req sdk.Request, fixed *Caller) Caller {
	c := sender(req, fixed)
	c.Call, _ = req.(*sdk.CallToolRequest)
	return c
}

func sender(req sdk.Request, fixed *Caller) Caller {
	if fixed != nil {
		return *fixed
	}
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		return FromHeader(extra.Header)
	}
	return FromHeader(http.Header{})
}

// inContext is the key of the caller in a context.
type inContext struct{}

// With returns ctx with the caller of a request; From reads it.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, inContext{}, c)
}

// From returns the caller that ctx has.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(inContext{}).(Caller)
	return c
}

package mcp

import (
	"encoding/json"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// protect finds out whether a call would reach Interlock itself (S13). Files of a client on
// stdio are this machine's, and there a name counts by where links lead too.
func (s *Server) protect(g *gated) {
	call := toolcall.Call{Tool: g.name, Input: g.input, Places: s.cfg.Places}
	call.Places.Folder = g.caller.Workspace
	_, g.protected = toolcall.Protected(nil, nil, call)
	if g.protected == "" && s.local(g) {
		call.Places.Real = realpath.Of
		_, g.protected = toolcall.Protected(nil, nil, call)
		g.linked = g.protected != ""
	}
}

func (s *Server) local(g *gated) bool {
	return s.cfg.Stdio.Workspace != "" && g.caller.Workspace == s.cfg.Stdio.Workspace
}

// refuseProtected returns the refusal of a call for which only S13 holds.
func refuseProtected(g *gated) *reply.Refusal {
	return &reply.Refusal{
		Decision: "DENY", Code: string(toolcall.CodeSelfProtected), Lead: "Denied", Message: toolcall.ProtectedMessage(g.name, g.protected),
	}
}

// judgedInput returns the input to judge a call by: where only links show that S13
// forbids it, with the names of files as they are without links, so that the service that
// records the denial sees why.
func (s *Server) judgedInput(g *gated) json.RawMessage {
	var input any
	if !g.linked || json.Unmarshal(g.input, &input) != nil {
		return g.input
	}
	if followed, err := json.Marshal(follow(g.caller.Workspace, input)); err == nil {
		return followed
	}
	return g.input
}

// follow returns a value in which texts that name files are their real names.
func follow(workspace string, value any) any {
	switch v := value.(type) {
	case string:
		if real, ok := toolcall.RealName(workspace, v, realpath.Of); ok {
			return real
		}
	case []any:
		for i := range v {
			v[i] = follow(workspace, v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = follow(workspace, v[key])
		}
	}
	return value
}

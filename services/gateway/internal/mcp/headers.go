package mcp

import (
	"bytes"
	"encoding/json"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Requests of the stateless protocol repeat arguments in headers, where a tool's schema says
// so (x-mcp-header), for proxies between a client and its server that do not read bodies. A
// request whose headers differ from its body must be refused. The SDK does that for tools
// that it has: it gets those of the servers behind the gate, and never calls them.
type headerTools struct {
	mu    sync.Mutex
	on    []*sdk.Server
	names []string
}

// add has a server of the stateless protocol check headers.
func (h *headerTools) add(srv *sdk.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = append(h.on, srv)
}

// syncHeaders takes over the tools of a catalogue.
func (s *Server) syncHeaders(catalogue *upstream.Catalogue) {
	s.headers.mu.Lock()
	defer s.headers.mu.Unlock()
	for _, srv := range s.headers.on {
		srv.RemoveTools(s.headers.names...)
	}
	s.headers.names = nil
	for _, tool := range catalogue.List {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
			continue
		}
		s.headers.names = append(s.headers.names, tool.Name)
		for _, srv := range s.headers.on {
			s.addChecked(srv, tool)
		}
	}
}

// addChecked adds a tool whose schema the SDK may not like: it panics then, and the headers
// of its calls are not checked.
func (s *Server) addChecked(srv *sdk.Server, tool *sdk.Tool) {
	defer func() {
		if why := recover(); why != nil {
			s.log.Warn("mcp: headers of a tool's calls are not checked, because its schema is not good", "tool", tool.Name, "error", why)
		}
	}()
	srv.AddTool(tool, nil)
}

package clients

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Headers compares the headers of requests with their bodies. Requests of the stateless protocol repeat arguments in headers, where a tool's schema says
// so (x-mcp-header), for proxies between a client and its server that do not read bodies. A
// request whose headers differ from its body must be refused. The SDK does that for tools
// that it has: it gets those of the servers behind the gate, and never calls them.
type Headers struct {
	log   *slog.Logger
	mu    sync.Mutex
	on    []*sdk.Server
	names []string
}

// NewHeaders returns one whose warnings go to a log.
func NewHeaders(log *slog.Logger) *Headers { return &Headers{log: log} }

// Add has a server of the stateless protocol check headers.
func (h *Headers) Add(srv *sdk.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = append(h.on, srv)
}

// Sync takes over the tools of a catalogue.
func (h *Headers) Sync(catalogue *upstream.Catalogue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, srv := range h.on {
		srv.RemoveTools(h.names...)
	}
	h.names = nil
	for _, tool := range catalogue.List {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || !bytes.Contains(schema, []byte(`"x-mcp-header"`)) {
			continue
		}
		h.names = append(h.names, tool.Name)
		for _, srv := range h.on {
			h.addChecked(srv, tool)
		}
	}
}

// addChecked adds a tool whose schema the SDK may not like: it panics then, and the headers
// of its calls are not checked.
func (h *Headers) addChecked(srv *sdk.Server, tool *sdk.Tool) {
	defer func() {
		if why := recover(); why != nil {
			h.log.Warn("mcp: headers of a tool's calls are not checked, because its schema is not good", "tool", tool.Name, "error", why)
		}
	}()
	srv.AddTool(tool, nil)
}

package extauthz

import (
	"maps"
	"testing"

	extauthzv1 "github.com/interlock-run/interlock/gen/go/interlock/extauthz/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// posted is the request of a client that posts a message, with what is changed about it.
func posted(change func(*extauthzv1.AttributeContext_HttpRequest)) *extauthzv1.CheckRequest {
	h := &extauthzv1.AttributeContext_HttpRequest{
		Id: "1", Method: "POST", Path: "/mcp/github", Body: ping, Size: int64(len(ping)),
		Headers: map[string]string{"content-type": "application/json", "content-length": "40", "x-envoy-auth-partial-body": "false"},
	}
	if change != nil {
		change(h)
	}
	return &extauthzv1.CheckRequest{Attributes: &extauthzv1.AttributeContext{Request: &extauthzv1.AttributeContext_Request{Http: h}}}
}

type httpRequest = extauthzv1.AttributeContext_HttpRequest

func TestBody(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		change func(*httpRequest)
		ok     bool
	}{
		"as it is":           {nil, true},
		"as bytes":           {func(h *httpRequest) { h.Body, h.RawBody = "", []byte(ping) }, true},
		"with a charset":     {func(h *httpRequest) { h.Headers["content-type"] = "application/json; charset=UTF-8" }, true},
		"chunked":            {func(h *httpRequest) { delete(h.Headers, "content-length") }, true},
		"of an unknown size": {func(h *httpRequest) { h.Size = -1 }, true},
		"size left out":      {func(h *httpRequest) { h.Size = 0 }, true},
		"not compressed":     {func(h *httpRequest) { h.Headers["content-encoding"] = "identity" }, true},

		"none":                    {func(h *httpRequest) { h.Body = "" }, false},
		"twice":                   {func(h *httpRequest) { h.RawBody = []byte(ping) }, false},
		"partial":                 {func(h *httpRequest) { h.Headers["x-envoy-auth-partial-body"] = "true" }, false},
		"shorter than stated":     {func(h *httpRequest) { h.Headers["content-length"] = "41" }, false},
		"shorter than its size":   {func(h *httpRequest) { h.Size = 41 }, false},
		"longer than its size":    {func(h *httpRequest) { h.Size = 39 }, false}, // bytes were replaced
		"chunked, of any size":    {func(h *httpRequest) { delete(h.Headers, "content-length"); h.Size = -1 }, false},
		"a length that is a list": {func(h *httpRequest) { h.Headers["content-length"] = "40,40" }, false},
		"compressed":              {func(h *httpRequest) { h.Headers["content-encoding"] = "gzip" }, false},
		"UTF-16":                  {func(h *httpRequest) { h.Headers["content-type"] = "application/json; charset=utf-16" }, false},
		"a form":                  {func(h *httpRequest) { h.Headers["content-type"] = "application/x-www-form-urlencoded" }, false},
		"no type":                 {func(h *httpRequest) { delete(h.Headers, "content-type") }, false},
	} {
		r, err := requestOf(posted(row.change))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := r.body(); (err == nil) != row.ok || err == nil && string(body) != ping {
			t.Errorf("%s: %s, %v", what, body, err)
		}
	}
}

func TestHeadersThatRepeatTheMessage(t *testing.T) {
	t.Parallel()
	call := []message{{Method: "tools/call", Tool: "größe"}}
	for what, row := range map[string]struct {
		headers  map[string]string
		messages []message
		ok       bool
	}{
		"none":              {nil, call, true},
		"the same":          {map[string]string{"mcp-method": "tools/call", "mcp-name": "größe"}, call, true},
		"in base64":         {map[string]string{"mcp-name": "=?base64?Z3LDtsOfZQ==?="}, call, true},
		"of another method": {map[string]string{"mcp-method": "ping"}, call, false},
		"of another tool":   {map[string]string{"mcp-name": "safe"}, call, false},
		"of a batch":        {map[string]string{"mcp-name": "größe"}, append(call, call...), false},
		"not base64":        {map[string]string{"mcp-name": "=?base64?*?="}, call, false},
		"of a resource":     {map[string]string{"mcp-name": "file:///x"}, []message{{Method: "resources/read"}}, true},
	} {
		r, err := requestOf(posted(func(h *httpRequest) { maps.Copy(h.Headers, row.headers) }))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.agrees(row.messages); (err == nil) != row.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A path that servers may read in two ways is for no server that is known, and does not pass
// as one that is for another.
func TestServerOfPath(t *testing.T) {
	t.Parallel()
	a, err := New(Config{AllowOther: true, Servers: []Server{{"all", "/mcp"}, {"github", "/mcp/github"}, {"files", "/files/"}}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/mcp": "all", "/mcp/": "all", "/mcp?x=/mcp/github": "all", "/mcp/other": "all", "/mcp/github": "github", "/mcp/github/sse?x": "github",
		"/mcp/githubs": "all", "/mcps": "", "/": "", "/files": "files", "/files/a": "files", "/MCP": "",
		"//mcp/github": "refused", "/x/../mcp/github": "refused", "/./mcp": "refused", "/mcp%2fgithub": "refused", `/mcp\github`: "refused",
		"/mcp;x=1/github": "refused", "/mcp#x": "refused", "": "refused", "mcp": "refused",
	} {
		r, err := requestOf(posted(func(h *httpRequest) { h.Path = path }))
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.server(r)
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%v)", path, got, want, err)
		}
	}
	for _, bad := range []Server{{"", "/x"}, {"a__b", "/x"}, {"_a", "/x"}, {"a_", "/x"}, {"a b", "/x"}, {"a", "x"}, {"a", ""}} {
		if _, err := New(Config{Servers: []Server{bad}}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// What the proxy says itself counts, and nothing that a client can send.
func TestRouteOfRequest(t *testing.T) {
	t.Parallel()
	a, err := New(Config{Servers: []Server{{"github", "/mcp/github"}}, SessionHeader: "X-Session", RunHeader: "X-Run"})
	if err != nil {
		t.Fatal(err)
	}
	metadata, err := structpb.NewStruct(map[string]any{"session": "by-filter", "server": "files"})
	if err != nil {
		t.Fatal(err)
	}
	check := posted(func(h *httpRequest) {
		h.Headers["x-session"], h.Headers["x-run"] = "by-client", "run_of_client"
	})
	for what, row := range map[string]struct {
		extensions           map[string]string
		filtered             bool
		server, session, run string
	}{
		"nothing":         {nil, false, "github", "", "run_of_client"},
		"a route":         {map[string]string{"interlock.session": "by-route", "interlock.server": "shell"}, true, "shell", "by-route", ""},
		"a filter":        {nil, true, "files", "by-filter", ""},
		"others' context": {map[string]string{"session": "other", "server": "other"}, false, "github", "", "run_of_client"},
	} {
		check.Attributes.ContextExtensions = row.extensions
		check.Attributes.MetadataContext = nil
		if row.filtered {
			check.Attributes.MetadataContext = &extauthzv1.Metadata{FilterMetadata: map[string]*structpb.Struct{"interlock": metadata, "other": nil}}
		}
		r, err := requestOf(check)
		if err != nil {
			t.Fatal(err)
		}
		server, err := a.server(r)
		if err != nil || server != row.server {
			t.Errorf("%s: server %q, %v", what, server, err)
		}
		if c, err := a.caller(t.Context(), r); err != nil || c.session != row.session || c.run != row.run {
			t.Errorf("%s: session %q, run %q, %v", what, c.session, c.run, err)
		}
	}
	check.Attributes.ContextExtensions = nil
	check.Attributes.MetadataContext = nil
	check.Attributes.Request.Http.Headers["x-session"] = "a,b"
	r, err := requestOf(check)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := a.caller(t.Context(), r); err == nil {
		t.Errorf("two sessions are taken as %q", c.session)
	}
}

// A repeat of a check is the same call, and a repeat of a message is another: clients count
// anew on every connection, and one that says the same number again makes another call.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	id := func(request string, change func(*httpRequest), c caller, m message, index int) string {
		r, err := requestOf(posted(func(h *httpRequest) {
			h.Id = request
			if change != nil {
				change(h)
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		return callID(r, c, index, m)
	}
	m := message{ID: []byte("7")}
	first := id("r1", nil, caller{session: "s"}, m, 0)
	if again := id("r1", nil, caller{session: "s"}, m, 0); again != first || len(first) > 64 {
		t.Errorf("a repeat has another id: %q, %q", first, again)
	}
	seen := map[string]bool{first: true}
	for _, other := range []string{
		id("r2", nil, caller{session: "s"}, m, 0),
		id("r1", nil, caller{session: "t"}, m, 0),
		id("r1", nil, caller{run: "s"}, m, 0),
		id("r1", nil, caller{session: "s"}, message{ID: []byte(`"7"`)}, 0),
		id("r1", nil, caller{session: "s"}, m, 1),
		id("r1", func(h *httpRequest) { h.Headers["mcp-session-id"] = "x" }, caller{session: "s"}, m, 0),
	} {
		if seen[other] {
			t.Errorf("two calls have the id %q", other)
		}
		seen[other] = true
	}
	if minted := id("", nil, caller{session: "s"}, m, 0); minted != "" {
		t.Errorf("a request without an id of its own has the call %q", minted)
	}
}

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// lineClient is a client that reads lines as they were written.
type lineClient struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Reader
	notes []string // notifications, in their order
	id    int
}

func lineClientOf(t *testing.T, s *Server) *lineClient {
	t.Helper()
	in, send := io.Pipe()
	out, answers := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(t.Context(), in, answers) }()
	c := &lineClient{t: t, in: send, out: bufio.NewReader(out)}
	c.say(initialize)
	c.hear()
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	t.Cleanup(func() {
		send.Close()
		out.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *lineClient) say(line string) {
	go io.WriteString(c.in, line+"\n")
}

// hear returns the next response.
func (c *lineClient) hear() string {
	c.t.Helper()
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if !strings.Contains(line, `"method":"notifications/`) {
			return line
		}
		c.notes = append(c.notes, line)
	}
}

// ask returns the response to a request, without its envelope.
func (c *lineClient) ask(method, params string) string {
	c.t.Helper()
	c.id++
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":%s}`, c.id, method, params))
	line := c.hear()
	begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d",`, c.id)
	rest, ok := strings.CutPrefix(line, begin)
	if !ok {
		c.t.Fatalf("%s %s: %s", method, params, line)
	}
	return strings.TrimSuffix(rest, "}")
}

func (c *lineClient) call(tool string) string {
	c.t.Helper()
	return c.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{}}`, tool))
}

const schemaOfAny = `"inputSchema":{"type":"object"}`

// toolsOf is a list of tools by their names.
func toolsOf(names ...string) string {
	var tools []string
	for _, name := range names {
		tools = append(tools, fmt.Sprintf(`{"name":%q,%s}`, name, schemaOfAny))
	}
	return `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + strings.Join(tools, ",") + `]}}`
}

// onBoth runs a test with the scripted server as a process and over HTTP.
func onBoth(t *testing.T, script upstreamtest.Script, test func(t *testing.T, p *plane, c *lineClient)) {
	t.Helper()
	for way, start := range map[string]func(*testing.T, string) upstream.Server{"process": script.OnStdio, "HTTP": script.OverHTTP} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = planeState{}
			p.start("s1")
			at := start(t, "wild")
			s := server(t, p, func(c *Config) { c.Upstreams, c.Alone = []upstream.Server{at}, true })
			test(t, p, lineClientOf(t, s))
		})
	}
}

// The bytes of a server reach the client unchanged: numbers, members that MCP does not have,
// their order, names that repeat.
func TestBytesPass(t *testing.T) {
	t.Parallel()
	const numbers = `{"id":725653563933458433,"price":1.10,"huge":1e400,"tiny":-0.0,"plain":1E5,"twice":1,"twice":2}`
	results := map[string]string{
		"structured": `{"x-first":true,"content":[{"type":"text","text":"<b>&\u00e9é</b>"}],"structuredContent":` + numbers + `}`,
		"meta":       `{"content":[],"_meta":{"b":` + numbers + `,"a":[0.1e1]}}`,
		"unknown":    `{"content":[{"type":"hologram","n":1.0},{"type":"text","text":"x","annotations":{"priority":0.50}},7,null]}`,
		"list":       `{"content":[],"structuredContent":[1.10,null]}`,
		"embedded":   `{"content":[{"type":"resource","resource":{"uri":"x://y","text":"t","size":9007199254740993}}]}`,
		"links":      `{"content":[{"type":"resource_link","uri":"x://y","name":"n","x":1.0}],"isError":false}`,
		"empty":      `{}`,
		"failed":     `{"content":[{"type":"text","text":"no"}],"isError":true,"code":1.0}`,
		"null":       `{"content":null,"structuredContent":null}`,
		"odd":        `{"content":"text","_meta":5}`,
		"separators": "{\"content\":[{\"type\":\"text\",\"text\":\"\u2028\u2029\"}]}",
	}
	script := upstreamtest.Script{"tools/list": toolsOf(append(sortedKeys(results), "error")...)}
	for name, result := range results {
		script["tools/call "+name] = `{"jsonrpc":"2.0","id":$ID,"result":` + result + `}`
	}
	script["tools/call error"] = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32042,"message":"<no>","data":` + numbers + `}}`
	script["prompts/list"] = `{"jsonrpc":"2.0","id":$ID,"result":{"prompts":[{"name":"review","x":1.10}]}}`
	script["prompts/get"] = `{"jsonrpc":"2.0","id":$ID,"result":{"messages":[],"n":` + numbers + `}}`
	script["resources/list"] = `{"jsonrpc":"2.0","id":$ID,"result":{"resources":[{"name":"r","uri":"x://r","x":1.10}]}}`
	script["resources/templates/list"] = `{"jsonrpc":"2.0","id":$ID,"result":{"resourceTemplates":[]}}`
	script["resources/read"] = `{"jsonrpc":"2.0","id":$ID,"result":{"contents":[{"uri":"x://r","text":"","n":` + numbers + `}]}}`
	onBoth(t, script, func(t *testing.T, _ *plane, c *lineClient) {
		for _, name := range sortedKeys(results) {
			if got := c.call("mcp__wild__" + name); got != `"result":`+results[name] {
				t.Errorf("%s\n got %s\nwant %s", name, got, results[name])
			}
		}
		if got := c.call("mcp__wild__error"); got != `"error":{"code":-32042,"message":"<no>","data":`+numbers+`}` {
			t.Error(got)
		}
		if got := c.ask("prompts/list", `{}`); !strings.Contains(got, `{"name":"mcp__wild__review","x":1.10}`) {
			t.Error(got)
		}
		if got := c.ask("prompts/get", `{"name":"mcp__wild__review"}`); got != `"result":{"messages":[],"n":`+numbers+`}` {
			t.Error(got)
		}
		if got := c.ask("resources/list", `{}`); !strings.Contains(got, `{"name":"r","uri":"x://r","x":1.10}`) {
			t.Error(got)
		}
		if got := c.ask("resources/read", `{"uri":"x://r"}`); got != `"result":{"contents":[{"uri":"x://r","text":"","n":`+numbers+`}]}` {
			t.Error(got)
		}
	})
}

// The bytes of a client reach the server unchanged: arguments and _meta, but for the members that
// are for Interlock. Progress has the token as it was written.
func TestRequestsPass(t *testing.T) {
	t.Parallel()
	const arguments = `{"id":725653563933458433,"price":1.10,"x":"<&>","nested":{"n":1E5}}`
	bodies := make(chan string, 10)
	script := upstreamtest.Script{
		"tools/list": toolsOf("t"),
		"tools/call": `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$TOKEN","progress":1.10,"own":1.0}}` + "\n\n" +
			`data: {"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}` + "\n\n",
	}
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	at := script.Listening(t, "wild", func(method, body string) {
		if method == "tools/call" {
			bodies <- body
		}
	})
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
	c := lineClientOf(t, s)
	c.ask("tools/call", `{"name":"mcp__wild__t","arguments":`+arguments+`,"_meta":{"progressToken":725653563933458433,"n":1.10,"big":[1e400],"interlock.run/meta":"{}"}}`)
	body := <-bodies
	for _, want := range []string{`"arguments":` + arguments, `"n":1.10`, `"big":[1e400]`} {
		if !strings.Contains(body, want) {
			t.Errorf("the server got %s, without %s", body, want)
		}
	}
	if strings.Contains(body, "interlock.run/") {
		t.Errorf("the server got %s", body)
	}
	if !slices.ContainsFunc(c.notes, func(note string) bool {
		return strings.Contains(note, `"params":{"progress":1.10,"own":1.0,"progressToken":725653563933458433}`)
	}) {
		t.Errorf("notes %v", c.notes)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Schemas of tools pass as they are, too.
func TestDescriptionsPass(t *testing.T) {
	t.Parallel()
	const rest = `"x-own":[1.0],"inputSchema":{"type":"object","properties":{"n":{"enum":[725653563933458433,1.10]}},"$schema":"x"},"description":"<d>"`
	onBoth(t, upstreamtest.Script{
		"tools/list": `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t",` + rest + `,"title":null}]}}`,
	}, func(t *testing.T, _ *plane, c *lineClient) {
		if got := c.ask("tools/list", `{}`); !strings.Contains(got, `{"name":"mcp__wild__t",`+rest+`}`) {
			t.Error(got)
		}
	})
}

// One entry that is not as MCP has it costs that entry, and its server's others can be used.
func TestBadEntryCostsItself(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 70) + `1` + strings.Repeat(`}`, 70)
	bad := []string{
		`{"name":"b01","inputSchema":{"type":"string"}}`, `{"name":"b02","inputSchema":{"properties":{}}}`, `{"name":"b03","inputSchema":[]}`,
		`{"name":"b04","inputSchema":"object"}`, `{"name":"b05","inputSchema":true}`, `{"name":"b06","inputSchema":{"type":["object"]}}`,
		`{"name":"b07","inputSchema":{"type":"object","properties":{"a":true}}}`, `{"name":"b08","inputSchema":{"type":"object","properties":[]}}`,
		`{"name":"b09","inputSchema":{"type":"object","required":"a"}}`, `{"name":"b10","inputSchema":{"type":"object","required":[1]}}`,
		`{"name":"b11","inputSchema":{"type":"object","x":` + deep + `}}`, `{"name":"b12",` + schemaOfAny + `,"description":"` + strings.Repeat("x", 300_000) + `"}`,
		`{"name":"b13",` + schemaOfAny + `,"description":5}`, `{"name":"b14",` + schemaOfAny + `,"title":{}}`, `{"name":"b15",` + schemaOfAny + `,"annotations":{"readOnlyHint":"yes"}}`,
		`{"name":"b16",` + schemaOfAny + `,"icons":[{"x":1}]}`, `{"name":"b17",` + schemaOfAny + `,"_meta":[]}`, `{"name":"b18",` + schemaOfAny + `,"outputSchema":7}`,
		`{"name":"b19","name":"b19",` + schemaOfAny + `}`, `{"name":"b20","inputSchema":{"type":"object","type":"string"}}`,
		`{"name":"b 21",` + schemaOfAny + `}`, `{"name":"",` + schemaOfAny + `}`, `{` + schemaOfAny + `}`, `{"name":5,` + schemaOfAny + `}`, `null`, `"b22"`, `[]`,
		`{"name":"b23",` + schemaOfAny + `,"execution":{"taskSupport":"required"}}`, `{"name":"b24",` + schemaOfAny + `,"execution":{"taskSupport":"maybe"}}`,
		`{"name":"b25",` + schemaOfAny + `,"outputSchema":{"type":"array"}}`, `{"name":"b26","inputSchema":{"type":"object","n":1e400}}`,
		`{"name":"good",` + schemaOfAny + `,"description":"a second one"}`,
	}
	onBoth(t, upstreamtest.Script{
		"tools/list": `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"good",` + schemaOfAny + `},` + strings.Join(bad, ",") +
			`,{"name":"last","inputSchema":null,"outputSchema":null,"annotations":null}],"nextCursor":null}}`,
		"tools/call": `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`,
		"prompts/list": `{"jsonrpc":"2.0","id":$ID,"result":{"prompts":[{"name":"p1","arguments":{}},{"name":5},{},7,{"name":"p2","arguments":[{"description":"x"}]},` +
			`{"name":"good","arguments":[{"name":"a","required":true}]},{"name":"p3","description":[]},{"name":"good"}]}}`,
		"resources/list": `{"jsonrpc":"2.0","id":$ID,"result":{"resources":[{"name":"r1"},{"uri":"x://2"},{"name":"r3","uri":3},{"name":"r4","uri":"x://4","size":"big"},` +
			`{"name":"r5","uri":"x://5","annotations":{"priority":7}},{"name":"good","uri":"x://good","mimeType":null}]}}`,
		"resources/templates/list": `{"jsonrpc":"2.0","id":$ID,"result":{"resourceTemplates":[{"name":"t1"},{"name":"good","uriTemplate":"x://{a}"},null]}}`,
	}, func(t *testing.T, _ *plane, c *lineClient) {
		var listed struct {
			Tools             []struct{ Name string }
			Prompts           []struct{ Name string }
			Resources         []struct{ Name string }
			ResourceTemplates []struct{ Name string }
		}
		for _, list := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
			text := strings.TrimPrefix(c.ask(list, `{}`), `"result":`)
			if err := json.Unmarshal([]byte(text), &listed); err != nil {
				t.Fatalf("%s: %v: %.200s", list, err, text)
			}
		}
		var tools []string
		for _, tool := range listed.Tools {
			if strings.HasPrefix(tool.Name, "mcp__") {
				tools = append(tools, tool.Name)
			}
		}
		if !slices.Equal(tools, []string{"mcp__wild__good", "mcp__wild__last"}) {
			t.Errorf("tools %v", tools)
		}
		if len(listed.Prompts) != 1 || listed.Prompts[0].Name != "mcp__wild__good" || len(listed.Resources) != 1 || listed.Resources[0].Name != "good" ||
			len(listed.ResourceTemplates) != 1 || listed.ResourceTemplates[0].Name != "good" {
			t.Errorf("%+v", listed)
		}
		if got := c.call("mcp__wild__good"); got != `"result":{"content":[]}` {
			t.Error(got)
		}
		if got := c.call("mcp__wild__b01"); !strings.Contains(got, `its inputSchema is not a JSON Schema of an object`) {
			t.Error(got)
		}
	})
}

// A bad line of a server fails that line or its call only: others are answered, by the same
// connection.
func TestServersOfTheWild(t *testing.T) {
	t.Parallel()
	const fine = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	good := `"result":{"content":[]}`
	type row struct{ writes, want string }
	rows := map[string]row{
		"log":          {"listening on port 8080\n\n  \n" + fine, good},
		"text":         {`"hello"` + "\n" + fine, good},
		"number":       {"17\n" + fine, good},
		"cut":          {`{"jsonrpc":"2.0","method":` + "\n" + fine, good},
		"crlf":         {"starting\r\n" + fine + "\r", good},
		"mark":         {"\uFEFF" + fine, good},
		"null":         {`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"lost"}}`, `"error":{"code":-32000,"message":"lost"}`},
		"noid":         {`{"jsonrpc":"2.0","error":{"code":-32000,"message":"lost"}}`, `"error":{"code":-32000,"message":"lost"}`},
		"idtext":       {`{"jsonrpc":"2.0","id":"$ID","result":{"content":[]}}`, good},
		"idfloat":      {`{"jsonrpc":"2.0","id":$ID.0,"result":{"content":[]}}`, good},
		"noversion":    {`{"id":$ID,"result":{"content":[]}}`, good},
		"both":         {`{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"m"}}`, `"error":{"code":1,"message":"m"}`},
		"errornull":    {`{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"error":null}`, good},
		"errortext":    {`{"jsonrpc":"2.0","id":$ID,"error":"broken"}`, `"error":{"code":-32603,"message":"broken"}`},
		"errorcode":    {`{"jsonrpc":"2.0","id":$ID,"error":{"code":"E1","message":{"a":1}}}`, `"error":{"code":-32603,"message":"{\"a\":1}"}`},
		"stranger":     {`{"jsonrpc":"2.0","id":987654,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"who","error":{"code":1,"message":"x"}}` + "\n" + fine, good},
		"idobject":     {`{"jsonrpc":"2.0","id":{},"result":{}}` + "\n" + fine, good},
		"notification": {`{"jsonrpc":"2.0","method":"notifications/strange","params":[1e999]}` + "\n" + fine, good},
		"badprogress":  {`{"jsonrpc":"2.0","method":"notifications/progress","params":7}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n" + fine, good},
		"asks":         {`{"jsonrpc":"2.0","id":5,"method":"strange/question","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n" + fine, good},
		"batch":        {`[{"jsonrpc":"2.0","method":"notifications/strange"},` + fine + `]`, good},
		"twice":        {fine + "\n" + fine, good},
		"result7":      {`{"jsonrpc":"2.0","id":$ID,"result":7}`, "UPSTREAM_FAILED"},
		"resultnull":   {`{"jsonrpc":"2.0","id":$ID,"result":null}`, "UPSTREAM_FAILED"},
		"neither":      {`{"jsonrpc":"2.0","id":$ID}`, "UPSTREAM_FAILED"},
		"deep":         {`{"jsonrpc":"2.0","id":$ID,"result":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000) + `}`, "UPSTREAM_FAILED"},
		"long":         {`{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20) + `"}]}}`, "UPSTREAM_FAILED"},
		"longend":      {`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20) + `"}]},"jsonrpc":"2.0","id":$ID}`, "UPSTREAM_FAILED"},
	}
	script := upstreamtest.Script{"tools/list": toolsOf(append(sortedKeys(rows), "wait")...)}
	for name, one := range rows {
		script["tools/call "+name] = one.writes
	}
	onWild(t, script, func(t *testing.T, c *lineClient) {
		for _, name := range sortedKeys(rows) {
			if got := c.call("mcp__wild__" + name); !strings.Contains(got, rows[name].want) {
				t.Errorf("%s: %.300s\nwant %s", name, got, rows[name].want)
			}
		}
	})
}

// onWild is onBoth with a small bound of results. A server over HTTP writes its lines as events.
func onWild(t *testing.T, script upstreamtest.Script, test func(t *testing.T, c *lineClient)) {
	t.Helper()
	events := upstreamtest.Script{}
	for method, said := range script {
		if !strings.HasPrefix(method, "tools/call") {
			events[method] = said
			continue
		}
		for line := range strings.SplitSeq(said, "\n") {
			events[method] += "data: " + line + "\n\n"
		}
	}
	for way, start := range map[string]func(*testing.T, string) upstream.Server{"process": script.OnStdio, "HTTP": events.OverHTTP} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = planeState{}
			p.start("s1")
			at := start(t, "wild")
			s := server(t, p, func(c *Config) { c.Upstreams, c.Alone, c.MaxResultBytes = []upstream.Server{at}, true, 64<<10 })
			test(t, lineClientOf(t, s))
		})
	}
}

// Over HTTP, a bad answer fails its call only, with every status and type.
func TestHTTPServersOfTheWild(t *testing.T) {
	t.Parallel()
	const fine = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	good, failed := `"result":{"content":[]}`, "UPSTREAM_FAILED"
	rows := map[string]struct{ writes, want string }{
		"html":      {`type text/html <html>`, failed},
		"plain":     {`type text/plain ` + fine, good},
		"empty":     {``, failed},
		"nothing":   {`status 204 `, failed},
		"accepted":  {`status 202 `, failed},
		"bad":       {`status 400 no`, "HTTP status 400"},
		"unknown":   {`status 404 no`, "HTTP status 404"},
		"forbidden": {`status 403 no`, "HTTP status 403"},
		"broken":    {`status 500 no`, "HTTP status 500"},
		"errorbody": {`status 400 {"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"lost"}}`, `"error":{"code":-32001,"message":"lost"}`},
		"batch":     {`[{"jsonrpc":"2.0","method":"notifications/strange"},` + fine + `]`, good},
		"otherid":   {`{"jsonrpc":"2.0","id":424242,"result":{}}`, failed},
		"mark":      {"\uFEFF" + fine, good},
		"marked":    {"\uFEFFdata: " + fine + "\n\n", good},
		"nocolon":   {":comment\nevent\n\nretry\ndata: " + fine + "\n\n", good},
		"otherkind": {"event: strange\ndata: hello\n\ndata: " + fine + "\n\n", good},
		"lines":     {"data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":$ID,\"result\":{\"content\":[]}}\n\n", good},
		"unended":   {"data: " + fine, good},
		"ended":     {"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/strange\"}\n\n", failed},
		"long":      {`{"jsonrpc":"2.0","id":$ID,"result":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`, failed},
	}
	script := upstreamtest.Script{"tools/list": toolsOf(sortedKeys(rows)...)}
	for name, one := range rows {
		script["tools/call "+name] = one.writes
	}
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	at := script.OverHTTP(t, "wild")
	s := server(t, p, func(c *Config) { c.Upstreams, c.MaxResultBytes = []upstream.Server{at}, 64<<10 })
	c := lineClientOf(t, s)
	for _, name := range sortedKeys(rows) {
		if got := c.call("mcp__wild__" + name); !strings.Contains(got, rows[name].want) {
			t.Errorf("%s: %.300s\nwant %s", name, got, rows[name].want)
		}
	}
}

// Notices of Interlock go behind the bytes of a result, and reports read them.
func TestReportsReadBytes(t *testing.T) {
	t.Parallel()
	onBoth(t, upstreamtest.Script{
		"tools/list": toolsOf("t"),
		"tools/call": `{"jsonrpc":"2.0","id":$ID,"result":{"x":1.10,"content":[{"type":"text","text":"ab"},{"type":"new","n":1.0}],` +
			`"structuredContent":{"n":725653563933458433},"_meta":{"cost_usd":0.10,"interlock.run/warning":"fake","io.modelcontextprotocol/serverInfo":{}}}}`,
	}, func(t *testing.T, p *plane, c *lineClient) {
		var last *policyv1.ReportToolCallRequest
		p.onReport = func(_ context.Context, report *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error) {
			last = report
			return &policyv1.ReportToolCallResponse{Warning: "nearly spent"}, nil
		}
		want := `"result":{"x":1.10,"content":[{"type":"text","text":"ab"},{"type":"new","n":1.0},{"type":"text","text":"[INTERLOCK] nearly spent"}],` +
			`"structuredContent":{"n":725653563933458433},"_meta":{"cost_usd":0.10,"interlock.run/warning":"nearly spent"}}`
		if got := c.call("mcp__wild__t"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if last.GetCostUsd() != "0.1" || last.GetResultBytes() != int64(len(`{"n":725653563933458433}`)) || !last.GetOk() {
			t.Errorf("reported %v", last)
		}
	})
}

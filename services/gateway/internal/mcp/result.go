package mcp

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/rules"
)

// perCaller says that a list is for anyone who asked for it: it may depend on the
// token. Clients of the stateless protocol refuse a list that does not say.
var perCaller = sdk.Cacheable{CacheScope: "private"}

// The empty results of the stateless protocol: of a call that is over, and of one that
// wants the call again with what it asks the client for.
var (
	completed  = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("complete") })
	needsInput = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("input_required") })
)

// emptyResult has a resultType. The SDK sets that for tools that it calls itself, and
// lets nobody else set it; but it reads it.
func emptyResult(kind string) (r sdk.CallToolResult) {
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"`+kind+`"}`), &r); err != nil {
		panic("mcp: a constant result does not decode: " + err.Error())
	}
	return r
}

// complete is a result as the client's protocol wants it: of a call that is over,
// unless it says itself that it needs input.
func complete(req *sdk.CallToolRequest, result *sdk.CallToolResult) *sdk.CallToolResult {
	if req.ProtocolVersion() < protocolStateless || result == nil || result.NeedsInput() {
		return result
	}
	marked := completed()
	marked.Meta, marked.Content, marked.StructuredContent, marked.IsError = result.Meta, result.Content, result.StructuredContent, result.IsError
	return &marked
}

// maxOutput bounds the output that history keeps (S6.4).
const maxOutput = 64 << 10

// resultBytes is what a result weighs in the agent's context: its content, or its
// structured content when there is no other.
func resultBytes(result *sdk.CallToolResult) int64 {
	var size int64
	for _, content := range result.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			size += int64(len(text.Text))
			continue
		}
		if raw, err := json.Marshal(content); err == nil {
			size += int64(len(raw))
		}
	}
	if size == 0 && result.StructuredContent != nil {
		if raw, err := json.Marshal(result.StructuredContent); err == nil {
			size = int64(len(raw))
		}
	}
	return size
}

// resultOutput is the text of a result. One that is longer than maxOutput is cut
// behind it, so that anyone who keeps it sees that it was.
func resultOutput(result *sdk.CallToolResult) []byte {
	var b strings.Builder
	for _, content := range result.Content {
		text, ok := content.(*sdk.TextContent)
		if !ok {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text.Text)
		if b.Len() > maxOutput {
			break
		}
	}
	out := strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(out) > maxOutput {
		cut := maxOutput + 1
		for cut < len(out) && !utf8.RuneStart(out[cut]) {
			cut++
		}
		out = out[:cut]
	}
	return []byte(out)
}

// costKeys are where a result says, in its _meta, what its call has cost: the first of
// them that is there counts.
var costKeys = []string{"interlock/cost_usd", "cost_usd"}

// costOf is what a result says that its call has cost, in US dollars as reports have
// it (S7.5); empty for nothing, and for what is not an amount.
func (s *Server) costOf(meta sdk.Meta, tool string) string {
	for _, key := range costKeys {
		told, ok := meta[key]
		if !ok {
			continue
		}
		cost, ok := rules.ParseCost(decimal(told))
		if !ok {
			s.log.Warn("mcp: a cost is ignored: it must be a plain decimal of US dollars, 0 or more", "tool", tool, "key", key)
			return ""
		}
		return cost.String()
	}
	return ""
}

// decimal writes a JSON number without exponent, and a text as it is.
func decimal(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return v.String()
	default:
		return ""
	}
}

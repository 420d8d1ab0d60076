package reply

import (
	"encoding/json"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
)

// PerCaller says that a list is for anyone who asked for it: it may depend on the
// token. Clients of the stateless protocol refuse a list that does not say.
var PerCaller = sdk.Cacheable{CacheScope: "private"}

// The empty results of the stateless protocol: of a call that is over, and of one that
// wants the call again with input from the client.
var (
	completed = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("complete") })
	// NeedsInput returns the latter.
	NeedsInput = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("input_required") })
)

// emptyResult has a resultType. The SDK sets that for tools that it calls itself, and
// lets no other code set it; but it reads it.
func emptyResult(kind string) (r sdk.CallToolResult) {
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"`+kind+`"}`), &r); err != nil {
		panic("mcp: a constant result does not decode: " + err.Error())
	}
	return r
}

// Complete returns a result as the client's protocol wants it: of a call that is over,
// unless it says itself that it needs input.
func Complete(req *sdk.CallToolRequest, result *sdk.CallToolResult) *sdk.CallToolResult {
	if req.ProtocolVersion() < wire.ProtocolStateless || result == nil || result.NeedsInput() {
		return result
	}
	marked := completed()
	marked.Meta, marked.Content, marked.StructuredContent, marked.IsError = result.Meta, result.Content, result.StructuredContent, result.IsError
	return &marked
}

// MaxOutput bounds the output that history keeps (S6.4).
const MaxOutput = 64 << 10

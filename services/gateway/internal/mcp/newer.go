package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// perCaller says that a list is for whoever asked for it: it may depend on the
// token. Clients of the stateless protocol refuse a list that does not say.
var perCaller = sdk.Cacheable{CacheScope: "private"}

// completed is an empty result with the resultType that clients of the stateless
// protocol require. The SDK sets it for tools that it calls itself, and lets
// nobody else set it; but it reads it.
var completed = func() (r sdk.CallToolResult) {
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"complete"}`), &r); err != nil {
		panic("mcp: a constant result does not decode: " + err.Error())
	}
	return r
}()

// complete is a result as the client's protocol wants it: of a call that is over,
// unless it says itself that it needs input.
func complete(req *sdk.CallToolRequest, result *sdk.CallToolResult) *sdk.CallToolResult {
	if req.ProtocolVersion() < protocolStateless || result == nil || result.NeedsInput() {
		return result
	}
	marked := completed
	marked.Meta, marked.Content, marked.StructuredContent, marked.IsError = result.Meta, result.Content, result.StructuredContent, result.IsError
	return &marked
}

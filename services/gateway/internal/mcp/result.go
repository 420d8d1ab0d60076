package mcp

import (
	"encoding/json"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// perCaller says that a list is for anyone who asked for it: it may depend on the
// token. Clients of the stateless protocol refuse a list that does not say.
var perCaller = sdk.Cacheable{CacheScope: "private"}

// The empty results of the stateless protocol: of a call that is over, and of one that
// wants the call again with input from the client.
var (
	completed  = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("complete") })
	needsInput = sync.OnceValue(func() sdk.CallToolResult { return emptyResult("input_required") })
)

// emptyResult has a resultType. The SDK sets that for tools that it calls itself, and
// lets no other code set it; but it reads it.
func emptyResult(kind string) (r sdk.CallToolResult) {
	if err := json.Unmarshal([]byte(`{"content":[],"resultType":"`+kind+`"}`), &r); err != nil {
		panic("mcp: a constant result does not decode: " + err.Error())
	}
	return r
}

// complete returns a result as the client's protocol wants it: of a call that is over,
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

// costKeys are the keys of the cost of a call in a result's _meta: the first of them that
// is there counts.
var costKeys = []string{"interlock/cost_usd", "cost_usd"}

// costOf returns the cost of a call by its result, in US dollars as reports have it
// (S7.5): empty where it has none, and rules.CostUnknown for an unreadable one.
func (s *Server) costOf(meta []relay.Member, tool string) string {
	for _, key := range costKeys {
		i := slices.IndexFunc(meta, func(m relay.Member) bool { return m.Name == key })
		if i < 0 {
			continue
		}
		cost, ok := rules.ParseCost(amount(meta[i].Value))
		if !ok || cost > rules.MostCost || slices.ContainsFunc(meta[i+1:], func(m relay.Member) bool { return m.Name == key }) {
			s.log.Warn("mcp: a cost cannot be read, and spends the budgets of its call: it must be one decimal of US dollars from 0 to 1000000",
				"tool", tool, "key", key)
			return rules.CostUnknown
		}
		return cost.String()
	}
	return ""
}

// amount returns a text of JSON without its quotes, and anything else as it is written.
func amount(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

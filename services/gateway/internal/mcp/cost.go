package mcp

import (
	"encoding/json"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/rules"
)

// costKeys are where a result says, in its _meta, what its call has cost: the first of
// them that is there counts.
var costKeys = []string{"interlock/cost_usd", "cost_usd"}

// costOf is what a result says that its call has cost, in US dollars as reports have
// it (S7.5); empty for nothing, and for what is no amount.
func (s *Server) costOf(meta sdk.Meta, tool string) string {
	for _, key := range costKeys {
		told, ok := meta[key]
		if !ok {
			continue
		}
		cost, ok := rules.ParseCost(decimal(told))
		if !ok {
			s.log.Warn("mcp: a cost is left out: it must be a plain decimal of US dollars, 0 or more", "tool", tool, "key", key)
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

package mcp

import (
	"encoding/json"
	"slices"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

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

package mcp

import (
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// interruptView tells of an interrupt in a result's _meta.
type interruptView struct {
	Name   string `json:"name"`
	From   string `json:"from"`
	To     string `json:"to"`
	Notice string `json:"notice"`
}

const (
	lateReport = "[INTERLOCK] This result could not be reported in time; Interlock goes on trying. " +
		"An interrupt that the call fires takes effect then: look at the state before you go on."
	lostReport = "[INTERLOCK] This result could not be reported, so it is not accounted for and fires no interrupt: look at the state before you go on."
)

// addTo adds to a call's result what its agent must know: an interrupt that it has
// fired (S4.3), a warning (S3.7), or that its report is late.
func (n settled) addTo(result *sdk.CallToolResult) {
	if in := n.interrupt; in != nil {
		n.add(result, in.GetNotice(), interruptMeta, structure(interruptView{in.GetName(), in.GetFrom(), in.GetTo(), in.GetNotice()}))
	}
	if n.warning != "" {
		n.add(result, "[INTERLOCK] "+n.warning, warningMeta, structure(n.warning))
	}
	switch {
	case n.late:
		n.add(result, lateReport, unreportedMeta, structure(true))
	case n.lost:
		n.add(result, lostReport, unreportedMeta, structure(true))
	}
}

func (settled) add(result *sdk.CallToolResult, text, key string, details jsontext.Value) {
	result.Content = append(result.Content, &sdk.TextContent{Text: text})
	if result.Meta == nil {
		result.Meta = sdk.Meta{}
	}
	result.Meta[key] = details
}

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// TestCosts: a tool's result has the cost of its call, as text or number; a value that is
// not an amount is unknown, and never none (S7.5).
func TestCosts(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		`{}`: "", `{"interlock/cost_usd":"0.02"}`: "0.02", `{"cost_usd":"0.02"}`: "0.02", `{"cost_usd":0.02}`: "0.02", `{"cost_usd":3}`: "3",
		`{"interlock/cost_usd":"0.5","cost_usd":"9"}`: "0.5", `{"interlock/cost_usd":"x","cost_usd":"9"}`: "unknown",
		`{"cost_usd":"0"}`: "0", `{"cost_usd":0}`: "0", `{"cost_usd":"007.10"}`: "7.1", `{"cost_usd":1e-7}`: "0.000001", `{"cost_usd":1.5e3}`: "1500",
		`{"cost_usd":"1e-05"}`: "0.00001", `{"cost_usd":1e-05}`: "0.00001", `{"cost_usd":"1e3"}`: "1000", `{"cost_usd":1000000}`: "1000000", `{"cost_usd":1000000.1}`: "unknown", `{"cost_usd":"unknown"}`: "unknown",
		`{"cost_usd":"` + strings.Repeat("0", 99) + `1.0000001"}`: "1.000001",
		`{"cost_usd":-1}`: "unknown", `{"cost_usd":"-1"}`: "unknown", `{"cost_usd":"+1"}`: "unknown", `{"cost_usd":"1,5"}`: "unknown", `{"cost_usd":".5"}`: "unknown",
		`{"cost_usd":" 1"}`: "unknown", `{"cost_usd":""}`: "unknown", `{"cost_usd":"NaN"}`: "unknown", `{"cost_usd":"Infinity"}`: "unknown", `{"cost_usd":1e300}`: "unknown",
		`{"cost_usd":"` + strings.Repeat("9", 40) + `"}`: "unknown", `{"cost_usd":null}`: "unknown", `{"cost_usd":true}`: "unknown", `{"cost_usd":["1"]}`: "unknown", `{"cost_usd":{"usd":1}}`: "unknown",
		`{"COST_USD":"1"}`: "",
	} {
		for _, failed := range []bool{false, true} {
			t.Run(fmt.Sprint(meta, failed), func(t *testing.T) {
				t.Parallel()
				p := newPlane()
				p.start("s1")
				fs := upstreamtest.NewBackend(t)
				fs.Add("read_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					result := &sdk.CallToolResult{IsError: failed, Content: []sdk.Content{&sdk.TextContent{Text: "x"}}}
					return result, json.Unmarshal([]byte(meta), &result.Meta)
				})
				s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{fs.As("fs")} })
				call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`)
				if last := p.lastReport(); last == nil || last.GetCostUsd() != want || last.GetOk() == failed {
					t.Errorf("reported %v, want a cost of %q", last, want)
				}
			})
		}
	}
}

// TestCostOfWithheldResult: a call whose result is withheld has its cost.
func TestCostOfWithheldResult(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	fs := upstreamtest.NewBackend(t)
	fs.Add("read_file", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Meta: sdk.Meta{"cost_usd": "2"}, Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 5000)}}}, nil
	})
	s := server(t, p, func(c *Config) { c.Upstreams, c.MaxResultBytes = []upstream.Server{fs.As("fs")}, 4096 })
	wantRefused(t, call(t, overStdio(t, s, "2025-11-25", nil), "mcp__fs__read_file", `{}`), "RESULT_TOO_LARGE")
	if last := p.lastReport(); last.GetCostUsd() != "2" {
		t.Errorf("reported %v", last)
	}
}

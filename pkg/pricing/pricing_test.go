package pricing

import (
	"math"
	"strings"
	"testing"
)

// S15.1: tokens cost what the table says of the longest prefix, in whole micro-dollars.
func TestMessagesCost(t *testing.T) {
	t.Parallel()
	table := Shipped()
	for _, tt := range []struct {
		model string
		usage Usage
		micro int64
	}{
		{"claude-opus-4-8", Usage{Input: 1_000_000}, 5_000_000},
		{"claude-opus-4-20250514", Usage{Input: 1_000_000}, 15_000_000}, // not that of claude-opus-4-8
		{"claude-opus-4-1-20250805", Usage{Output: 1_000_000}, 75_000_000},
		{"claude-sonnet-4-5-20250929", Usage{Input: 1000, Output: 2000, CacheWrite5m: 4000, CacheWrite1h: 1000, CacheRead: 10_000}, 3000 + 30_000 + 15_000 + 6000 + 3000},
		{"us.anthropic.claude-sonnet-4-20250514-v1:0", Usage{Output: 100}, 1500},
		{"claude-3-haiku-20240307", Usage{CacheRead: 1}, 1}, // 0.03 of a micro-dollar is rounded up
		{"claude-3-haiku-20240307", Usage{}, 0},
		{"claude-haiku-4-5", Usage{Input: -5, Output: 1}, 5},
		{"claude-haiku-4-5", Usage{Input: math.MaxInt64, Output: math.MaxInt64}, 1_000_000_000_000},
	} {
		m, known := table.Of(tt.model)
		if got := m.MicroUSD(tt.usage); !known || got != tt.micro {
			t.Errorf("%s, %+v: %d micro-dollars, want %d; known %t", tt.model, tt.usage, got, tt.micro, known)
		}
	}
	for _, model := range []string{"", "<synthetic>", "gpt-5", "sonnet"} {
		if _, known := table.Of(model); known {
			t.Errorf("%q has a price", model)
		}
	}
}

func TestTablesThatAreNone(t *testing.T) {
	t.Parallel()
	const head = `{"as_of": "2026-01-01", "currency": "USD", "per_tokens": 1000000, "models": [`
	if own, err := Parse([]byte(head + `{"prefix": "mine", "input": 0.000001, "output": 2}]}`)); err != nil || own.Models[0].Input != 1 || own.Models[0].Output != 2_000_000 {
		t.Errorf("%+v, %v", own, err)
	}
	for text, want := range map[string]Price{"0": 0, "-0": 0, "0.5": 500_000, "12.3456780000": 12_345_678, "1000000": highest} {
		if own, err := Parse([]byte(head + `{"prefix": "mine", "input": ` + text + `}]}`)); err != nil || own.Models[0].Input != want {
			t.Errorf("%s: %+v, %v, want %d", text, own, err, want)
		}
	}
	for text, words := range map[string]string{
		`[]`: "cannot be read", `{}`: "per_tokens", head + `{}]}`: "without a prefix", head + `{"prefix": "a", "price": 3}]}`: "unknown field",
		head + `{"prefix": "a", "input": -1}]}`: "negative", head + `{"prefix": "a", "input": "3"}]}`: "no price", head + `{"prefix": "a", "input": 1e3}]}`: "no price",
		head + `{"prefix": "a", "input": null}]}`: "no price", head + `{"prefix": "a", "input": true}]}`: "no price",
		head + `{"prefix": "a", "input": 99999999999999999999}]}`: "too high", head + `{"prefix": "a", "input": 0.0000001}]}`: "finer", head + `{"prefix": "a", "input": 1000001}]}`: "too high",
		strings.Replace(head, "USD", "EUR", 1) + `]}`: "USD", strings.Replace(head, "2026-01-01", "", 1) + `]}`: "as_of",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an error with %q", text, err, words)
		}
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	for micro, want := range map[int64]string{0: "0", 1: "0.000001", 1_500_000: "1.500000", 2_000_000: "2"} {
		if got := Dollars(micro); got != want {
			t.Errorf("%d is %s, want %s", micro, got, want)
		}
	}
}

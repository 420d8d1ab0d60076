// Package pricing computes the cost of the tokens of a model (S15.1). Money is
// micro-dollars, in whole numbers. It is light: the hook reads it before every call of a
// tool.
package pricing

import (
	_ "embed" // prices.json
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

//go:embed prices.json
var shipped []byte

// Table is a price table.
type Table struct {
	// AsOf is the day that the prices are of.
	AsOf   string  `json:"as_of"`
	Models []Model `json:"models"`

	Currency  string `json:"currency"`
	PerTokens int64  `json:"per_tokens"`
}

// Model is the price of tokens of the models whose names begin with Prefix, in US dollars
// for a million. A longer prefix comes before a shorter one.
type Model struct {
	Prefix       string `json:"prefix"`
	Input        Price  `json:"input"`
	Output       Price  `json:"output"`
	CacheWrite5m Price  `json:"cache_write_5m"`
	CacheWrite1h Price  `json:"cache_write_1h"`
	CacheRead    Price  `json:"cache_read"`
}

// Price is micro-dollars for a million tokens.
type Price int64

// highest is far above any price, and so far below where numbers end that no sum overflows.
const highest Price = 1_000_000_000_000

// places is how many decimal places of a dollar a micro-dollar has.
const places = 6

// UnmarshalJSON reads a decimal number of dollars. Money is never a float.
func (p *Price) UnmarshalJSON(data []byte) error {
	whole, fraction, _ := strings.Cut(string(data), ".")
	digits := strings.TrimPrefix(whole, "-")
	if digits == "" || strings.Trim(digits+fraction, "0123456789") != "" {
		return fmt.Errorf("%.40s is no price: write a decimal number of US dollars", data)
	}
	fraction = strings.TrimRight(fraction, "0")
	micro, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", max(0, places-len(fraction))), 10, 64)
	if err != nil || len(fraction) > places || micro < 0 || Price(micro) > highest {
		return fmt.Errorf("%.40s is no price: it is negative, too high, or finer than a micro-dollar", data)
	}
	*p = Price(micro)
	return nil
}

// Shipped returns the table that comes with the program.
func Shipped() *Table {
	t, err := Parse(shipped)
	if err != nil {
		panic("the price table that was shipped: " + err.Error())
	}
	return t
}

// Parse reads a table.
func Parse(data []byte) (*Table, error) {
	var t Table
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("the price table cannot be read: %w", err)
	}
	switch {
	case t.Currency != "USD" || t.PerTokens != 1_000_000:
		return nil, errors.New("the price table must say \"currency\": \"USD\" and \"per_tokens\": 1000000")
	case t.AsOf == "":
		return nil, errors.New("the price table has no as_of, the day that its prices are of")
	}
	for _, m := range t.Models {
		if m.Prefix == "" {
			return nil, errors.New("the price table has a model without a prefix")
		}
	}
	return &t, nil
}

// Of returns the price of a model: that of the longest prefix of its name. Names that clouds
// give to models, as in us.anthropic.claude-sonnet-4, are known by their last part.
func (t *Table) Of(model string) (m Model, known bool) {
	if _, after, ok := strings.Cut(model, "anthropic."); ok {
		model = after
	}
	for _, candidate := range t.Models {
		if strings.HasPrefix(model, candidate.Prefix) && len(candidate.Prefix) > len(m.Prefix) {
			m, known = candidate, true
		}
	}
	return m, known
}

// Usage is the tokens of one message.
type Usage struct{ Input, Output, CacheWrite5m, CacheWrite1h, CacheRead int64 }

// IsZero reports that there are no tokens: they are free with every model.
func (u Usage) IsZero() bool { return u == Usage{} }

// MicroUSD returns the cost of the tokens, rounded up. Numbers that cannot be are taken for
// the most that can.
func (m Model) MicroUSD(u Usage) int64 {
	const most = 1_000_000_000_000 // tokens of a message, and micro-dollars that it costs
	var high, low uint64           // of the sum, in 128 bits: five products of at most 10^24
	for _, part := range []struct {
		tokens int64
		price  Price
	}{{u.Input, m.Input}, {u.Output, m.Output}, {u.CacheWrite5m, m.CacheWrite5m}, {u.CacheWrite1h, m.CacheWrite1h}, {u.CacheRead, m.CacheRead}} {
		h, l := bits.Mul64(uint64(min(max(part.tokens, 0), most)), uint64(max(part.price, 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + carry
	}
	low, carry := bits.Add64(low, 999_999, 0)
	if high += carry; high >= 1_000_000 {
		return most
	}
	sum, _ := bits.Div64(high, low, 1_000_000)
	return int64(min(sum, uint64(most)))
}

// Dollars writes micro-dollars as reports want them.
func Dollars(micro int64) string {
	text := strconv.FormatInt(micro/1_000_000, 10)
	if part := micro % 1_000_000; part > 0 {
		text += "." + fmt.Sprintf("%06d", part)
	}
	return text
}

// Package pricing computes the cost of the tokens of a model (S15.1). Money is
// micro-dollars, in whole numbers. It is light: the hook reads it before every call of a
// tool.
package pricing

import (
	_ "embed" // prices.json
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
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

// UnmarshalJSON reads a decimal number of dollars. Money is never a float.
func (p *Price) UnmarshalJSON(data []byte) error {
	dollars, ok := new(big.Rat).SetString(string(data))
	if !ok || strings.ContainsAny(string(data), "eE/\"") {
		return fmt.Errorf("%.40s is no price: write a decimal number of US dollars", data)
	}
	micro := dollars.Mul(dollars, big.NewRat(1_000_000, 1))
	if !micro.IsInt() || micro.Sign() < 0 || !micro.Num().IsInt64() || Price(micro.Num().Int64()) > highest {
		return fmt.Errorf("%.40s is no price: it is negative, too high, or finer than a micro-dollar", data)
	}
	*p = Price(micro.Num().Int64())
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
	sum := new(big.Int)
	for _, part := range []struct {
		tokens int64
		price  Price
	}{{u.Input, m.Input}, {u.Output, m.Output}, {u.CacheWrite5m, m.CacheWrite5m}, {u.CacheWrite1h, m.CacheWrite1h}, {u.CacheRead, m.CacheRead}} {
		tokens := min(max(part.tokens, 0), most)
		sum.Add(sum, new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(part.price))))
	}
	sum.Add(sum, big.NewInt(999_999)).Div(sum, big.NewInt(1_000_000))
	if !sum.IsInt64() || sum.Int64() > most {
		return most
	}
	return sum.Int64()
}

// Dollars writes micro-dollars as reports want them.
func Dollars(micro int64) string {
	text := strconv.FormatInt(micro/1_000_000, 10)
	if part := micro % 1_000_000; part > 0 {
		text += "." + fmt.Sprintf("%06d", part)
	}
	return text
}

package facet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// payTools take money in each unit.
var payTools = facet.Tools{
	"minor":    {Money: &toolinput.Amount{Amount: "/amount", Currency: "/currency", Minor: true}},
	"major":    {Money: &toolinput.Amount{Amount: "/amount", Currency: "/currency"}},
	"euro":     {Money: &toolinput.Amount{Amount: "/amount", Currency: "=EUR", Minor: true}},
	"negative": {Money: &toolinput.Amount{Amount: "/amount", Currency: "=EUR", Negative: true}},
	"free":     {Closed: true},
	"other":    {Hosts: []string{}},
}

func pay(tool, input string) condition.Set {
	return facet.Of(facet.Subject{Tool: tool, Input: []byte(input), Tools: payTools}).Facet(condition.Money)
}

// TestMoney: amounts are exact in the major unit, and in doubt where their meaning is not certain (S21.13).
func TestMoney(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		`minor {"amount":12345,"currency":"usd"}`: "123.45", `minor {"amount":12345,"currency":"JPY"}`: "12345", `minor {"amount":12345,"currency":"KWD"}`: "12.345",
		`minor {"amount":1e4,"currency":"EUR"}`: "100", `minor {"amount":1.0,"currency":"EUR"}`: "0.01", `minor {"amount":0,"currency":"EUR"}`: "0", `minor {"amount":-0,"currency":"EUR"}`: "0",
		`major {"amount":123.45,"currency":"USD"}`: "123.45", `major {"amount":1E2,"currency":"USD"}`: "100", `major {"amount":0.001,"currency":"KWD"}`: "0.001",
		`major {"amount":12345e-2,"currency":"USD"}`: "123.45", `minor {"amount":12e400000000,"currency":"USD"}`: "?", `major {"amount":9007199254740993,"currency":"USD"}`: "9007199254740993", `major {"amount":100.10,"currency":"Usd"}`: "100.1",
		`euro {"amount":5,"currency":"usd"}`: "0.05", `negative {"amount":-5}`: "-5", `Read {"amount":5}`: "", `free {}`: "",
		`minor {"amount":9223372036854775808,"currency":"USD"}`: "92233720368547758.08", `major {"amount":100,"currency":"JPY"}`: "100",

		`minor {"amount":1.5,"currency":"USD"}`: "?", `minor {"amount":1e-1,"currency":"USD"}`: "?", `major {"amount":1.005,"currency":"USD"}`: "?", `major {"amount":0.5,"currency":"JPY"}`: "?",
		`minor {"amount":"5","currency":"USD"}`: "?", `minor {"amount":null,"currency":"USD"}`: "?", `minor {"currency":"USD"}`: "?", `minor {"amount":5}`: "?", `minor {}`: "?", `minor [5]`: "?", `minor {`: "?",
		`minor {"amount":[5],"currency":"USD"}`: "?", `minor {"amount":{"value":5},"currency":"USD"}`: "?", `minor {"amount":true,"currency":"USD"}`: "?", `minor {"amount":-1,"currency":"USD"}`: "?",
		`major {"amount":-0.01,"currency":"USD"}`: "?", `minor {"amount":5,"currency":""}`: "?", `minor {"amount":5,"currency":"XXX"}`: "?", `minor {"amount":5,"currency":"XAU"}`: "?", `minor {"amount":5,"currency":5}`: "?",
		`minor {"amount":5,"currency":"US D"}`: "?", `minor {"amount":5,"currency":"USD "}`: "?", `minor {"amount":5,"currency":"ＵＳＤ"}`: "?", `minor {"amount":5,"currency":"$"}`: "?", `minor {"amount":5,"currency":"dollar"}`: "?",
		`minor {"amount":5,"currency":["USD"]}`: "?", `minor {"amount":5,"currency":"MGA"}`: "?", `minor {"amount":5,"currency":"isk"}`: "?", `minor {"amount":5,"currency":"UGX"}`: "?",
		`minor {"amount":5,"Amount":500,"currency":"USD"}`: "?", `minor {"amount":5,"AMOUNT":500,"currency":"USD"}`: "?", `minor {"amount":5,"currency":"USD","Currency":"KWD"}`: "?",
		`minor {"amount":5,"amount":500,"currency":"USD"}`: "?", `minor {"аmount":500,"amount":5,"currency":"USD"}`: "?", `minor {"amount ":500,"amount":5,"currency":"USD"}`: "?",
		`free {"amount":5}`: "?", `other {"amount":5}`: "?", `unknown {"amount":5,"currency":"USD"}`: "?", `minor {"amount":1e400,"currency":"USD"}`: "?", `minor {"amount":1e999,"currency":"USD"}`: "?",
	} {
		tool, input, _ := strings.Cut(call, " ")
		set := pay(tool, input)
		got := "?"
		if set.Known {
			got = ""
			for _, e := range set.Values {
				got += e.Value.String()
			}
		}
		equal := got == want || got != "?" && got != "" && want != "?" && want != "" && document.CompareNumbers(document.Decimal(got), document.Decimal(want)) == 0
		if !equal {
			t.Errorf("%s is %s (%s), want %s", call, got, set.Why, want)
		}
		if !set.Known && set.Why == "" {
			t.Errorf("%s: no reason", call)
		}
	}
}

// TestMoneyIsExact: of drawn amounts, a limit admits exactly those that are not above it, in every spelling (S21.13).
func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	below := read(t, `{"money": {"lte": 100}}`, condition.Allows)
	above := read(t, `{"money": {"gt": 100}}`, condition.Restricts)
	r := randtest.New(t, 0)
	for range 500 {
		cents := r.IntN(20_002)
		currency := []string{"USD", "eur", "JPY", "KWD"}[r.IntN(4)]
		digits, _ := toolinput.MinorDigits(currency)
		one := []int{1, 10, 100, 1000}[digits]
		want := condition.Of(cents <= 100*one)
		whole, rest := cents/one, cents%one
		amounts := map[string][]string{
			"minor": {fmt.Sprint(cents), fmt.Sprintf("%d.0", cents), fmt.Sprintf("%de0", cents), fmt.Sprintf("%d00e-2", cents), fmt.Sprintf("%d.00E+0", cents)},
			"major": {fmt.Sprintf("%de-%d", cents, digits), fmt.Sprintf("%d00E-%d", cents, digits+2)},
		}
		if digits > 0 {
			amounts["major"] = append(amounts["major"], fmt.Sprintf("%d.%0*d", whole, digits, rest), fmt.Sprintf("%d.%0*d000", whole, digits, rest))
		}
		for tool, texts := range amounts {
			for _, text := range texts {
				input := fmt.Sprintf(`{"amount":%s,"currency":%q}`, text, currency)
				facts := facet.Of(facet.Subject{Tool: tool, Input: []byte(input), Tools: payTools})
				if got := below.Judge(facts, condition.Allows); got != want {
					t.Errorf("%s %s is at most 100: %v, want %v", tool, input, got, want)
				}
				if got := above.Judge(facts, condition.Restricts); got != want.Not() {
					t.Errorf("%s %s is above 100: %v, want %v", tool, input, got, want.Not())
				}
			}
		}
	}
}

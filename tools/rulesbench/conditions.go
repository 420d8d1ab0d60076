package main

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// arguments are those of a call. Engines that take structures get them as such, Interlock as JSON.
type arguments struct {
	Amount   int    `json:"amount"`
	Currency string `json:"currency"`
	Region   string `json:"region"`
}

// test is a condition on one argument.
type test struct {
	argument, operator string
	value              any
}

// operators are those of Interlock in the other languages.
var operators = map[string]string{"gt": ">", "lte": "<=", "eq": "==", "neq": "!="}

// conditional returns 100 rules of which 20 have conditions, and calls that three of them are about.
func conditional(all []rule) ([]rule, []call) {
	all = all[:97]
	for i := range 17 {
		all[10+i].when = []test{{"amount", "gt", i}, {"region", "eq", "eu"}}
	}
	all = append(all,
		rule{"mcp:pay:refund", toolcall.Allow, []test{{"amount", "lte", 1000}}},
		rule{"mcp:pay:refund", toolcall.Ask, []test{{"amount", "gt", 100}}},
		rule{"mcp:pay:*", toolcall.Deny, []test{{"currency", "neq", "usd"}}})
	refund := func(amount int, currency string, want toolcall.Decision) call {
		return call{"mcp__pay__refund", "mcp:pay:refund", &arguments{Amount: amount, Currency: currency, Region: "eu"}, want}
	}
	return all, []call{refund(45, "usd", toolcall.Allow), refund(500, "usd", toolcall.Ask), refund(45, "eur", toolcall.Deny)}
}

// condition writes conditions in Interlock's language.
func condition(tests []test) map[string]any {
	all := map[string]any{}
	for _, t := range tests {
		all["/"+t.argument] = map[string]any{t.operator: t.value}
	}
	return all
}

// joined writes conditions in another language, each by a format of argument, operator and literal.
func joined(tests []test, format string) string {
	var b strings.Builder
	for _, t := range tests {
		argument := t.argument
		if strings.Contains(format, "r.args.") { // a field of a structure
			argument = strings.ToUpper(argument[:1]) + argument[1:]
		}
		fmt.Fprintf(&b, format, argument, operators[t.operator], fmt.Sprintf("%#v", t.value))
	}
	return b.String()
}

// regoPattern writes the test of a capability.
func regoPattern(pattern string) string {
	if prefix, wild := strings.CutSuffix(pattern, "*"); wild {
		return fmt.Sprintf("startswith(input.capability, %q)", prefix)
	}
	return fmt.Sprintf("input.capability == %q", pattern)
}

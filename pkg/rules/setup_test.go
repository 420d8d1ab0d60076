package rules_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
)

// noon is when calls of tests are made unless they say.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, src string) *rules.Policy {
	t.Helper()
	p, problems := rules.ParsePolicy([]byte(src))
	if err := problems.Err(); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return p
}

func compile(t testing.TB, src string) *rules.Set {
	t.Helper()
	return rules.Compile(parse(t, src), 1)
}

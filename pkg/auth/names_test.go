package auth_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a": true, "alice@example.com": true, "Åsa Öberg": true, "auth0|5f7c8ec7": true, strings.Repeat("x", 256): true,
		"": false, " ": false, " a": false, "a ": false, strings.Repeat("x", 257): false,
		"a\nb": false, "a\x00": false, "a\x1b[31m": false, "a\u202eb": false, "a\u200bb": false, "a\u00a0b": false, "a\xff": false,
	} {
		if auth.ValidName(name) != ok {
			t.Errorf("%q is valid: %v", name, !ok)
		}
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[` +
		`{"name":"Alice","role":"approver","token":"` + tokenA + `"},` +
		`{"name":"BOT","role":"operator","token":"` + tokenB + `"},` +
		`{"name":"bot","role":"agent","token":"` + tokenA + tokenB + `"},` +
		`{"name":"worker","role":"agent","token":"` + tokenB + tokenA + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]auth.Role{
		"Alice": auth.Approver, "alice": auth.Approver, "ALICE": auth.Approver, "\uff21lice": auth.Approver,
		// A reader of the history must not mistake an agent for the operator.
		"bot": auth.Operator, "Bot": auth.Operator,
		"worker": auth.Agent, "agent": auth.Agent, "Operator": auth.Operator, "service": auth.Service,
		"anonymous": auth.Operator, "Anonymous": auth.Operator, "interlock": auth.Service, "carol": "", "": "",
	} {
		if role, taken := tokens.Reserved(name); role != want || taken != (want != "") {
			t.Errorf("%q is of %q, %v", name, role, taken)
		}
	}
	var none *auth.Tokens
	if role, taken := none.Reserved("approver"); role != auth.Approver || !taken {
		t.Errorf("without a tokens file: %q, %v", role, taken)
	}
	if _, taken := none.Reserved("alice"); taken {
		t.Error("without a tokens file a name is taken")
	}
}

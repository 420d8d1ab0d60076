package auth_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
)

// Only who knows the token can prove it, for this question and this address.
func TestProve(t *testing.T) {
	t.Parallel()
	const token, other = "ilk_aaaaaaaaaaaaaaaaaaaaaaaa", "ilk_bbbbbbbbbbbbbbbbbbbbbbbb"
	tokens, err := auth.ParseTokens([]byte(`{"agent":"` + token + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := tokenfile.NewChallenge(token, [32]byte{1})
	proof, ok := tokens.Prove(c, "127.0.0.1:1")
	if !ok || !c.Proved(token, "127.0.0.1:1", proof) {
		t.Errorf("%q, %v", proof, ok)
	}
	if c.Proved(token, "127.0.0.1:2", proof) || c.Proved(other, "127.0.0.1:1", proof) || tokenfile.NewChallenge(token, [32]byte{2}).Proved(token, "127.0.0.1:1", proof) {
		t.Error("the proof is good for something else too")
	}
	for _, c := range []auth.Challenge{tokenfile.NewChallenge(other, [32]byte{1}), {ID: c.ID}, {ID: c.ID, Nonce: "short"}, {}} {
		if proof, ok := tokens.Prove(c, "a"); ok || proof != (auth.Proof{}) {
			t.Errorf("%+v: %q", c, proof)
		}
	}
}

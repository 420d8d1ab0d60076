package auth

import "github.com/interlock-run/interlock/pkg/auth/tokenfile"

// Challenge asks a server to prove that it knows a token.
type Challenge = tokenfile.Challenge

// Proof is the response.
type Proof = tokenfile.Proof

const (
	shortestNonce = 32
	longestNonce  = 128
)

// Prove responds to a question. It is not ok when the token is not known, or the nonce
// is not one.
func (t *Tokens) Prove(c Challenge, address string) (by Proof, ok bool) {
	if t == nil || c.ID == "" || len(c.Nonce) < shortestNonce || len(c.Nonce) > longestNonce {
		return Proof{}, false
	}
	for _, file := range t.known().files {
		for digest, of := range file.byDigest {
			if of.TokenID == c.ID {
				return c.Prove(digest, file.pepper, address), true
			}
		}
	}
	return Proof{}, false
}

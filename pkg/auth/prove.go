package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// A client that has read a token of a server on its machine asks the server to prove that
// it knows the token before it sends it, or believes its answers: another program may
// listen where the server was.

// Challenge is such a question. It reveals no part of the token.
type Challenge struct {
	// ID says which token is meant.
	ID string `json:"id"`
	// Nonce is chosen for this question.
	Nonce string `json:"nonce"`
}

// NewChallenge asks about a token.
func NewChallenge(token string) Challenge {
	var nonce [32]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	return Challenge{ID: tokenID(token), Nonce: hex.EncodeToString(nonce[:])}
}

// Proof is the response. It reveals no part of the token to who does not know it.
type Proof struct {
	Proof string `json:"proof"`
	// Pepper is that of the server's hash of the token.
	Pepper string `json:"pepper"`
}

// Proved reports that a proof is the one for this question by a server at an address.
// The address keeps others from handing the question on to the server.
func (c Challenge) Proved(token, address string, by Proof) bool {
	want := c.proof(digestOf(by.Pepper, token), address)
	return subtle.ConstantTimeCompare([]byte(want), []byte(by.Proof)) == 1
}

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
				return Proof{c.proof(digest, address), file.pepper}, true
			}
		}
	}
	return Proof{}, false
}

func (c Challenge) proof(digest digest, address string) string {
	mac := hmac.New(sha256.New, digest[:])
	mac.Write([]byte("interlock proof\n" + c.Nonce + "\n" + address))
	return hex.EncodeToString(mac.Sum(nil))
}

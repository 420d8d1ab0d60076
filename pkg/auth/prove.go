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
	return Challenge{ID: idOf(sha256.Sum256([]byte(token))), Nonce: hex.EncodeToString(nonce[:])}
}

// Proved reports that a proof is the one for this question by a server at an address.
// The address keeps others from handing the question on to the server.
func (c Challenge) Proved(token, address, proof string) bool {
	want := c.proof(sha256.Sum256([]byte(token)), address)
	return subtle.ConstantTimeCompare([]byte(want), []byte(proof)) == 1
}

const (
	shortestNonce = 32
	longestNonce  = 128
)

// Prove responds to a question. It is not ok when the token is not known, or the nonce
// is not one.
func (t *Tokens) Prove(c Challenge, address string) (proof string, ok bool) {
	if t == nil || len(c.Nonce) < shortestNonce || len(c.Nonce) > longestNonce {
		return "", false
	}
	for digest := range t.known().byDigest {
		if idOf(digest) == c.ID {
			return c.proof(digest, address), true
		}
	}
	return "", false
}

func idOf(digest [sha256.Size]byte) string {
	id := sha256.Sum256(append([]byte("interlock token id\n"), digest[:]...))
	return hex.EncodeToString(id[:16])
}

func (c Challenge) proof(digest [sha256.Size]byte, address string) string {
	mac := hmac.New(sha256.New, digest[:])
	mac.Write([]byte("interlock proof\n" + c.Nonce + "\n" + address))
	return hex.EncodeToString(mac.Sum(nil))
}

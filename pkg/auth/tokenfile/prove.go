package tokenfile

import (
	"crypto/hmac"
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

// NewChallenge asks about a token. The caller chooses the nonce at random: this package would start late with a generator.
func NewChallenge(token string, nonce [32]byte) Challenge {
	return Challenge{ID: ID(token), Nonce: hex.EncodeToString(nonce[:])}
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
	want := c.proof(DigestOf(by.Pepper, token), address)
	return subtle.ConstantTimeCompare([]byte(want), []byte(by.Proof)) == 1
}

// Prove responds to a question about the token with a digest.
func (c Challenge) Prove(digest Digest, pepper, address string) Proof {
	return Proof{c.proof(digest, address), pepper}
}

func (c Challenge) proof(digest Digest, address string) string {
	mac := hmac.New(sha256.New, digest[:])
	mac.Write([]byte("interlock proof\n" + c.Nonce + "\n" + address))
	return hex.EncodeToString(mac.Sum(nil))
}

// Digest is the SHA-256 of a pepper and a token.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a token.
func DigestOf(pepper, token string) Digest {
	text := make([]byte, 0, len(pepper)+len(token))
	return sha256.Sum256(append(append(text, pepper...), token...))
}

// ID returns the name of a token, which reveals no part of it.
func ID(token string) string {
	sum := sha256.Sum256([]byte(token))
	sum = sha256.Sum256(append([]byte("interlock token id\n"), sum[:]...))
	return hex.EncodeToString(sum[:idBytes])
}

// idBytes is how much of its digest names a token.
const idBytes = 8

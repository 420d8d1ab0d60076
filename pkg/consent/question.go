package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Question returns a digest of all that people are asked by a request: the action, who
// asks, whether they may edit, and the terms. Two requests with the same are one
// question, however their messages word it.
func (r *Request) Question() string { return questionOf(r.Action, r.Asker, r.Terms, r.Editable) }

// Question returns that of the request that the approval was made of.
func (a *Approval) Question() string { return questionOf(a.Action, a.Asker, a.Terms, a.Editable) }

func questionOf(action Action, asker Asker, terms Terms, editable bool) string {
	return digestOf(struct {
		Action   string
		Asker    Asker
		Terms    Terms
		Editable bool
	}{action.Digest(), asker, terms.withDefaults(), editable})
}

// digestOf returns the hex SHA-256 of the JSON of texts and numbers.
func digestOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

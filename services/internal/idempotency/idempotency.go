// Package idempotency makes a request with an idempotency key happen once (S6.5): its commit
// keeps an answer under a name, and a repeat finds that.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// TTL is how long a repeated request gets its first answer.
const TTL = 24 * time.Hour

// Key makes a request happen once; one without a name does not. Another request has
// another digest.
type Key struct{ Name, Digest string }

// Of returns the key of a request. name is the caller's name of it; the key of a request without a name is empty.
// what distinguishes kinds of requests, and content is all that the request says.
func Of(name, what string, content ...string) Key {
	if name == "" {
		return Key{}
	}
	sum := sha256.Sum256([]byte(strings.Join(content, "\x00")))
	return Key{what + " " + name, hex.EncodeToString(sum[:])}
}

// By makes the key one of the principal's own: the answer to one is not given to another, who may
// have fewer rights.
func (k Key) By(p auth.Principal) Key {
	k.Name = NameBy(p, k.Name)
	return k
}

// NameBy returns the name of a principal's own request; empty without a name.
func NameBy(p auth.Principal, name string) string {
	if name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(p.Role), p.Name, p.Session, p.Branch}, "\x00")))
	return hex.EncodeToString(sum[:principalBytes]) + " " + name
}

// principalBytes is how much of a principal's digest names of requests begin with.
const principalBytes = 16

// Done reports whether the request was carried out before. It returns a fault if another
// request was, under the same name. Call it after the object of the request was read:
// otherwise the first request may commit in between, and the repeat is judged by its effects.
func (k Key) Done(ctx context.Context, st store.Store, owner store.Key) (bool, error) {
	digest, err := Answer(ctx, st, owner, k.Name)
	if digest == nil || err != nil {
		return false, err
	}
	return true, k.Same(owner, string(digest))
}

// Same returns a fault if the digest that is kept under the name is that of another request.
func (k Key) Same(owner store.Key, digest string) error {
	if digest != k.Digest {
		return fault.From(&store.ReplayMismatchError{Owner: owner, Name: k.Name})
	}
	return nil
}

// Keep returns the record for the batch of the request. Its digest is all the answer that
// Done needs.
func (k Key) Keep(owner store.Key) *store.Idempotency {
	return k.KeepAnswer(owner, []byte(k.Digest))
}

// KeepAnswer returns the record for the batch of a request whose repeats need an answer
// of their own.
func (k Key) KeepAnswer(owner store.Key, answer []byte) *store.Idempotency {
	if k.Name == "" {
		return nil
	}
	return &store.Idempotency{Owner: owner, Name: k.Name, Digest: k.Digest, Answer: answer, TTL: TTL}
}

// KeepNumber returns the record for the batch of a request that makes a version, whose
// number is the answer to repeats.
func (k Key) KeepNumber(owner store.Key, number int64) *store.Idempotency {
	return k.KeepAnswer(owner, strconv.AppendInt(nil, number, 10))
}

// Number returns the number that was kept under the name of a request; 0 for none.
func (k Key) Number(ctx context.Context, st store.Store, owner store.Key) (int64, error) {
	stored, err := Answer(ctx, st, owner, k.Name)
	if stored == nil || err != nil {
		return 0, err
	}
	return ReadNumber(stored)
}

// ReadNumber reads the output of KeepNumber.
func ReadNumber(stored []byte) (int64, error) {
	number, err := strconv.ParseInt(string(stored), 10, 64)
	if err != nil {
		return 0, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	return number, nil
}

// Answer returns the answer kept under a name; nil if there is none, and without a name.
func Answer(ctx context.Context, st store.Store, owner store.Key, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	stored, err := st.Answer(ctx, owner, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fault.From(err)
	case stored == nil:
		return []byte{}, nil // something was kept, though it is empty
	}
	return stored, nil
}

// Package webhook signs the messages that Interlock sends to receivers, and
// verifies them for receivers. It is pure: the time and the secret are arguments.
//
// A message has an id, by which a receiver drops duplicates: it is delivered at least
// once. The signature covers the id, the time of sending and the body, so that none of
// them can be exchanged, and a message that was overheard is of no use for longer than
// the tolerance.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The headers of a message.
const (
	HeaderID = "Interlock-Webhook-Id"
	// HeaderTimestamp is when it was sent, in seconds since 1970: of this try, where
	// there were others.
	HeaderTimestamp = "Interlock-Webhook-Timestamp"
	// HeaderSignature is "v1=" and the hexadecimal HMAC-SHA256, under the secret, of
	// id "." timestamp "." body.
	HeaderSignature = "Interlock-Webhook-Signature"
)

const scheme = "v1="

// DefaultTolerance is how far apart the clocks of sender and receiver may be.
const DefaultTolerance = 5 * time.Minute

// MinSecret is the shortest secret, in bytes.
const MinSecret = 16

// Why a message is not to be believed.
var (
	ErrSecret    = fmt.Errorf("webhook: the secret has less than %d bytes", MinSecret)
	ErrUnsigned  = errors.New("webhook: a header is missing or malformed")
	ErrTime      = errors.New("webhook: it was sent too long ago, or the clocks differ")
	ErrSignature = errors.New("webhook: the signature does not match this message and this secret")
)

// Sign sets the headers of a message; an http.Header will do. The secret is as
// long as MinSecret: see CheckSecret.
func Sign(header interface{ Set(name, value string) }, secret []byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, stamp)
	header.Set(HeaderSignature, scheme+hex.EncodeToString(sum(secret, id, stamp, body)))
}

// CheckSecret refuses, with ErrSecret, a secret that can be guessed.
func CheckSecret(secret []byte) error {
	if len(secret) < MinSecret {
		return ErrSecret
	}
	return nil
}

// Verify returns nil for a message that an owner of the secret has sent, at most
// tolerance away from now; DefaultTolerance when that is 0. header is the request's (an
// http.Header will do), and body the exact bytes received: it is to be verified before it
// is parsed. The error is one of this package.
func Verify(secret []byte, header interface{ Get(name string) string }, body []byte, now time.Time, tolerance time.Duration) error {
	if err := CheckSecret(secret); err != nil {
		return err
	}
	id, stamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	given, ok := signature(header.Get(HeaderSignature))
	seconds, err := strconv.ParseUint(stamp, 10, 40)
	if !ok || err != nil || id == "" {
		return ErrUnsigned
	}
	if !hmac.Equal(given, sum(secret, id, stamp, body)) {
		return ErrSignature
	}
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	if now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance { // it has 40 bits
		return ErrTime
	}
	return nil
}

func signature(header string) ([]byte, bool) {
	if len(header) != len(scheme)+2*sha256.Size || header[:len(scheme)] != scheme {
		return nil, false
	}
	sum, err := hex.DecodeString(header[len(scheme):])
	return sum, err == nil
}

func sum(secret []byte, id, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

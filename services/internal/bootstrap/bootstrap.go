// Package bootstrap is the code by which the first person registers: `interlock up` prints it on
// its terminal, and keeps it in memory only.
package bootstrap

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"strings"
	"sync"
	"time"
)

const (
	// Life is how long a code counts.
	Life = 15 * time.Minute
	// MaxTries is how many wrong codes end a code.
	MaxTries = 10
	// bytes of a code: 128 bits as 26 letters and digits.
	bytes = 16
	// group is how many letters are between dashes.
	group = 5
)

var (
	// ErrWrong refuses a code that is not the one that was printed.
	ErrWrong = errors.New("the code is wrong: give the one that `interlock up` printed on its terminal")
	// ErrOver refuses any code: it was used, it is too old, too many were wrong, or there is none.
	ErrOver = errors.New("the code cannot be used any more: a code counts once, for 15 minutes; " +
		"restart `interlock up` at a terminal, which prints another while no person is registered")
)

// Code is a code that counts once. The zero value and nil are one that is over. It is safe for concurrent use.
type Code struct {
	mu     sync.Mutex
	digest [sha256.Size]byte
	ends   time.Time
	tries  int
}

// Generate replaces the code by a new one that counts from now on, and returns its text.
func (c *Code) Generate(now time.Time) string {
	var random [bytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.digest, c.ends, c.tries = sha256.Sum256([]byte(text)), now.Add(Life), MaxTries
	var shown strings.Builder
	for i, letter := range text {
		if i > 0 && i%group == 0 {
			shown.WriteByte('-')
		}
		shown.WriteRune(letter)
	}
	return shown.String()
}

// Use accepts the code once. A person may have typed it: case, spaces and dashes do not count.
func (c *Code) Use(code string, now time.Time) error {
	if c == nil {
		return ErrOver
	}
	typed := sha256.Sum256([]byte(strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code)))))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tries == 0 || !now.Before(c.ends) {
		return ErrOver
	}
	if subtle.ConstantTimeCompare(typed[:], c.digest[:]) != 1 {
		c.tries--
		return ErrWrong
	}
	c.tries = 0
	return nil
}

// Counts reports that the code can be used.
func (c *Code) Counts(now time.Time) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tries > 0 && now.Before(c.ends)
}

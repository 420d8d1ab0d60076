package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/interlock-run/interlock/pkg/fault"
)

// Costs of Argon2id (RFC 9106, section 4: the second recommendation), which are kept with each hash.
const (
	hashTime    = 3
	hashMemory  = 64 << 10 // KiB
	hashThreads = 4
	hashSize    = 32
	saltSize    = 16
)

// hash returns the hash of a passphrase, which is kept in its place.
func (a *App) hash(ctx context.Context, passphrase string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	sum, err := a.argon2id(ctx, passphrase, salt, hashTime, hashMemory, hashThreads)
	return encodeHash(salt, sum), err
}

func encodeHash(salt, sum []byte) string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashTime, hashThreads, text(salt), text(sum))
}

// decoy is a hash that no passphrase has: with it, a log-in of an unknown person takes as long as any other.
var decoy = sync.OnceValue(func() string { return encodeHash(make([]byte, saltSize), make([]byte, hashSize)) })

// sameHash reports whether a passphrase has a hash.
func (a *App) sameHash(ctx context.Context, hash, passphrase string) (bool, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, fault.From(fmt.Errorf("a stored passphrase has an unknown form"))
	}
	var version int
	var memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads); err != nil || version != argon2.Version {
		return false, fault.From(fmt.Errorf("a stored passphrase has an unknown form"))
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, fault.From(fmt.Errorf("decode a stored passphrase: %w", err))
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false, fault.From(fmt.Errorf("decode a stored passphrase: %w", err))
	}
	sum, err := a.argon2id(ctx, passphrase, salt, passes, memory, threads)
	return err == nil && subtle.ConstantTimeCompare(sum, want) == 1, err
}

// argon2id hashes when there is room for it.
func (a *App) argon2id(ctx context.Context, passphrase string, salt []byte, passes, memory uint32, threads uint8) ([]byte, error) {
	select {
	case a.hashing <- struct{}{}:
		defer func() { <-a.hashing }()
		return argon2.IDKey([]byte(passphrase), salt, passes, memory, threads, hashSize), nil
	case <-ctx.Done():
		return nil, fault.From(ctx.Err())
	}
}

// Wrong passphrases are limited by person, also those of unknown persons.
const (
	maxWrong    = 10
	wrongWindow = 15 * time.Minute
	// maxNames bounds the names that are remembered.
	maxNames = 10_000
)

type wrong struct {
	mu    sync.Mutex
	names map[string]tries
}

type tries struct {
	n     int
	until time.Time
}

func newWrong() *wrong { return &wrong{names: map[string]tries{}} }

// room refuses a passphrase before it is looked at where too many were wrong.
func (w *wrong) room(name string, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, known := w.names[name]
	full := !known && len(w.names) >= maxNames
	if full {
		maps.DeleteFunc(w.names, func(_ string, t tries) bool { return !now.Before(t.until) })
		full = len(w.names) >= maxNames
	}
	if full || t.n >= maxWrong && now.Before(t.until) {
		return fault.New(fault.LimitReached, "too many passphrases were wrong; wait up to %d minutes, or log in with a passkey or an SSH key", int(wrongWindow.Minutes()))
	}
	return nil
}

func (w *wrong) count(name string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.names[name]
	if !now.Before(t.until) {
		t = tries{until: now.Add(wrongWindow)}
	}
	t.n++
	w.names[name] = t
}

// Package randtest is the module internal's package of that name, for tests of every module.
package randtest

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"
)

// Check holds a property against the cases that rapid draws.
func Check(t testing.TB, property func(*rapid.T)) {
	t.Helper()
	randtest.Check(t, property)
}

// New returns a source of numbers. Streams of one seed are independent of each other.
func New(t testing.TB, stream uint64) *rand.Rand {
	t.Helper()
	return randtest.New(t, stream)
}

// Size returns how much a test does: the usual number, or the full one.
func Size(usual, most int) int { return randtest.Size(usual, most) }

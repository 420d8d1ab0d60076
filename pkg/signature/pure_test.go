package signature_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/internal/puretest"
)

// TestPure holds the package to its level: no I/O, no clock, no chance.
func TestPure(t *testing.T) {
	t.Parallel()
	puretest.Check(t)
}

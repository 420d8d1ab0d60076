// Package randtest gives tests drawn inputs that are not random: all that they
// draw follows from one seed, which is fixed. `make fuzz` gives other seeds, and larger
// sizes.
//
//	INTERLOCK_SEED  where draws begin, 1 when it is not set
//	INTERLOCK_FULL  when it is set, tests have their full size
//
// It is for tests only: no production package may import it.
package randtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

const (
	seedVariable = "INTERLOCK_SEED"
	fullVariable = "INTERLOCK_FULL"
)

// fullChecks is how many cases a property of full size is held against. The usual
// number is rapid's own, a tenth of it.
const fullChecks = "1000"

// rapid has one seed for a process, and takes it from a flag.
func init() {
	preset("RAPID_SEED", "rapid.seed", strconv.FormatUint(seed(), 10))
	if full() {
		preset("RAPID_CHECKS", "rapid.checks", fullChecks)
	}
}

// preset sets one of rapid's flags, which the command line can still change, unless
// rapid's own variable sets it.
func preset(variable, name, value string) {
	if os.Getenv(variable) != "" {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// seed reads the variable each time: the go command keeps the result of a test for as
// long as the test reads the same values.
func seed() uint64 {
	text := os.Getenv(seedVariable)
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		panic(seedVariable + " must be a whole number above 0, not " + strconv.Quote(text))
	}
	return n
}

func full() bool { return os.Getenv(fullVariable) != "" }

// keepAllWhenShort undoes that rapid tries only a fifth of the cases with go test
// -short, which is for tests that start no servers: several properties check that
// their cases reached everything.
var keepAllWhenShort = sync.OnceFunc(func() {
	if checks := flag.Lookup("rapid.checks"); testing.Short() {
		n, err := strconv.Atoi(checks.Value.String())
		if err != nil {
			panic(err)
		}
		if err := checks.Value.Set(strconv.Itoa(5 * n)); err != nil {
			panic(err)
		}
	}
})

// Check holds a property against the cases that rapid draws.
func Check(t testing.TB, property func(*rapid.T)) {
	t.Helper()
	t.Logf("%s=%d", seedVariable, seed())
	_ = full() // it decides how many cases there are
	keepAllWhenShort()
	rapid.Check(t, property)
}

// New returns a source of numbers. Streams of one seed are independent of each other.
func New(t testing.TB, stream uint64) *rand.Rand {
	t.Helper()
	t.Logf("%s=%d", seedVariable, seed())
	return rand.New(rand.NewPCG(seed(), stream))
}

// Size returns how much a test does: the usual number, or the full one. The usual number
// is small enough for the race detector to finish in seconds.
func Size(usual, most int) int {
	if full() {
		return most
	}
	return usual
}

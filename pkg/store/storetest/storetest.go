// Package storetest is the one suite that every storage backend passes, and the
// instruments for testing users of a store: a clock to turn by hand, a
// store that fails on demand, and a recorder that checks concurrent histories
// against a model.
//
// It is for tests only: no production package may import it, and it must never
// know which backend it is testing.
//
// Where the contract of package store leaves room, the suite reads it so:
//
//   - Versions outlive a delete: a record that is created again continues with
//     the next version, so that no version means two things and history stays
//     in order. A ConflictError still says Absent while the record is gone.
//   - Preconditions and counters are judged against the state before the batch,
//     except that counters see Reset and the counters before them.
//   - The earlier entries of a put are as those of puts of their own at the same
//     time would be; one that is nil is kept as an empty one.
//   - Forgetting below version 1 has no effect.
//   - A negative Delta is never refused. A zero Delta is refused when the value
//     exceeds the limit already. Units of a window cannot be given back without
//     saying when they were admitted.
//   - A lease is held while now is before Expires, an idempotency key is known
//     while now is before its commit plus TTL, and a timer is due when now is
//     Due or later.
//   - Times are kept to the microsecond at least.
//   - Ids are listed in the order of their bytes, and one longer than
//     store.MaxIDBytes is refused. So is a page size outside 1 to 1000.
//   - A page that ends with the last record has no Next.
//   - Sequence numbers begin above 0, so an after of 0 means everything.
package storetest

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

// Opener opens a store on fresh, empty storage that no other test sees. The
// store takes the time for everything it stores or compares (leases, windows,
// idempotency keys, UpdatedAt) from the clock; only the wait of Tail is in real
// time. It cleans up its stores with t.Cleanup; closing a store that a test
// has closed already must be harmless.
//
// The suite calls it from parallel tests.
type Opener func(t *testing.T, clock *Clock) *Storage

// Storage is the result of an Opener.
type Storage struct {
	// Store is open.
	Store store.Store
	// Reopen closes the store, restarts the server when the storage has one of
	// its own, and opens a store on the same storage and clock. It is called
	// once the store's callers have returned.
	Reopen func(t *testing.T) store.Store
	// Keep copies the present data. Its result puts the copy back, as a restore
	// or a failover does, and returns a store on it that knows the marks of the time in between.
	Keep func(t *testing.T) (back func(t *testing.T) store.Store)
	// Accept acts as an operator who uses a store that has gone back.
	Accept func(t *testing.T) store.Store
}

// Run tests that a backend keeps the contract of package store.
func Run(t *testing.T, open Opener) {
	topics := []struct {
		name  string
		tests []test
	}{
		{"record", recordTests},
		{"atomicity", atomicityTests},
		{"spanning", spanningTests},
		{"cas", casTests},
		{"counter", counterTests},
		{"window", windowTests},
		{"timer", timerTests},
		{"backlog", backlogTests},
		{"lease", leaseTests},
		{"fence", fenceTests},
		{"idempotency", idempotencyTests},
		{"outbox", outboxTests},
		{"history", historyTests},
		{"several versions", earlierTests},
		{"entries", entryTests},
		{"forget", forgetTests},
		{"list", listTests},
		{"restart", restartTests},
		{"context", contextTests},
		{"rollback", rollbackTests},
		{"linearizable", linearizableTests},
		{"size", sizeTests},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range topic.tests {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					tt.run(newFixture(t, open))
				})
			}
		})
	}
}

// test is one test of the suite; it gets a store of its own.
type test struct {
	name string
	run  func(f *fixture)
}

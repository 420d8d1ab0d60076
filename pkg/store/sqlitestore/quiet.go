package sqlitestore

import (
	"math"
	"sync"
)

// never is the due time of a kind without timers, in microseconds.
const never = math.MaxInt64

// quiet remembers for each kind of timers until when none is due, so that a look that would find none reads nothing.
// It is complete because the file has no other writer.
type quiet struct {
	// ahead are the earliest times that the writer's transaction sets. The writer owns it.
	ahead map[string]int64

	mu sync.Mutex
	// until are times in microseconds, by kind; a kind that was not read yet is absent.
	until map[string]int64
	// changes counts the transactions that have set timers.
	changes int64
}

func newQuiet() *quiet { return &quiet{ahead: map[string]int64{}, until: map[string]int64{}} }

// set notes a timer of the writer's transaction.
func (q *quiet) set(kind string, due int64) {
	if earliest, ok := q.ahead[kind]; !ok || due < earliest {
		q.ahead[kind] = due
	}
}

// publish lowers the times to those of the transaction, which is committed: whoever read the file before that does not
// raise them, because changes has moved.
func (q *quiet) publish() {
	if len(q.ahead) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changes++
	for kind, due := range q.ahead {
		if until, ok := q.until[kind]; ok && due < until {
			q.until[kind] = due
		}
	}
	clear(q.ahead)
}

// revert forgets the transaction's timers.
func (q *quiet) revert() { clear(q.ahead) }

// at reports whether no timer of a kind is due at a time. changes is for learn.
func (q *quiet) at(kind string, now int64) (none bool, changes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	until, ok := q.until[kind]
	return ok && now < until, q.changes
}

// learn takes the earliest time of a kind that was read after at, unless a transaction has set timers since.
func (q *quiet) learn(kind string, earliest, changes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changes == changes {
		q.until[kind] = earliest
	}
}

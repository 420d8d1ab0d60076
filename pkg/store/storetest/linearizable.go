package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
)

var linearizableTests = []test{
	{"concurrent histories", concurrentHistories},
	{"a history across a restart", historyAcrossRestart},
}

// History has the requests of concurrent clients to a store, with its answers.
// Histories of one process can be appended to each other, in any order.
type History []porcupine.Operation

// Workload configures the clients of RecordHistory.
type Workload struct {
	// Clients that call at the same time, Ops calls each.
	Clients int
	Ops     int
	// Keys that they fight over.
	Keys int
	// Prefix of the keys' ids. Histories that are checked together share it
	// when they share the records.
	Prefix string
	// Done, when not nil, is called after each call with the number of calls
	// that are done, from the client's goroutine: the place to kill a server.
	Done func(calls int)
}

// epoch is the 0 of the times in histories.
var epoch = time.Now()

// never is when an operation of unknown outcome returns: it may still
// take effect after all others.
const never = int64(1) << 62

// opKind is a client's operation on one key.
type opKind int

const (
	opGet opKind = iota
	opCounters
	opHistory
	opPut
	opDelete
	opAdd
	opPutAndAdd
	opKinds
)

// op is the input of an operation.
type op struct {
	kind opKind
	key  string
	// expect is the version that a put or delete requires.
	expect int64
	value  string
	limit  int64
	// earlier is the number of versions that a put makes before its last.
	earlier int64
	// forget is the version through which a put or delete forgets history, 0 for
	// none.
	forget int64
}

// outcome is how an operation went.
type outcome int

const (
	done outcome = iota
	missing
	conflicted
	limited
	unknown
)

// answered is the output of an operation.
type answered struct {
	outcome outcome
	// version of the record: after a put, as read, or from a conflict; of the
	// history: its last.
	version int64
	// oldest is the first version of the history.
	oldest  int64
	value   string
	counter int64
}

// RecordHistory lets clients put, delete, forget, get and count at random and
// records their observations. An operation that was surely not applied (ErrUnavailable) leaves
// no trace in the history; one that answers ErrUncertain or runs into its context
// stays open forever. Errors that a client must not see fail the test.
func RecordHistory(t testing.TB, s store.Store, w Workload) History {
	t.Helper()
	var mu sync.Mutex
	var history History
	calls := 0
	var wg sync.WaitGroup
	for client := range w.Clients {
		wg.Go(func() {
			c := &recorder{store: s, workload: w, client: client, random: randtest.New(t, uint64(client)), seen: map[string]int64{}}
			for i := range w.Ops {
				operation, ok, err := c.next(i)
				if err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				mu.Lock()
				if ok {
					history = append(history, operation)
				}
				calls++
				n := calls
				mu.Unlock()
				if w.Done != nil {
					w.Done(n)
				}
			}
		})
	}
	wg.Wait()
	return history
}

// ReadHistory reads every key of a workload once, so that a check also judges
// the final data.
func ReadHistory(t testing.TB, s store.Store, w Workload) History {
	t.Helper()
	var history History
	c := &recorder{store: s, workload: w, client: w.Clients, seen: map[string]int64{}}
	for i := range w.Keys {
		for _, kind := range []opKind{opGet, opCounters, opHistory} {
			operation, ok, err := c.do(op{kind: kind, key: w.key(i)})
			if err != nil || !ok {
				t.Fatalf("reading %s: %v", w.key(i), err)
			}
			history = append(history, operation)
		}
	}
	return history
}

// CheckHistory fails the test unless there is an order of the operations that a
// store without concurrency could have answered so, each taking effect between
// its call and its return.
func CheckHistory(t testing.TB, history History) {
	t.Helper()
	// Porcupine checks the keys in parallel and gives up at the time-out.
	switch result, info := porcupine.CheckOperationsVerbose(model, history, 2*patience); result {
	case porcupine.Ok:
	case porcupine.Unknown:
		t.Errorf("the check of a history of %d operations took too long", len(history))
	default:
		t.Errorf("a history of %d operations is not linearizable; as far as it goes:\n%s", len(history), longest(info))
	}
}

// longest describes, for each key, the end of the longest order that fits.
func longest(info porcupine.LinearizationInfo) string {
	const tail = 5
	var b strings.Builder
	for _, partials := range info.PartialLinearizationsOperations() {
		var most []porcupine.Operation
		for _, operations := range partials {
			if len(operations) > len(most) {
				most = operations
			}
		}
		for i, operation := range most {
			if i >= len(most)-tail {
				fmt.Fprintf(&b, "%d. %s\n", i+1, model.DescribeOperation(operation.Input, operation.Output))
			}
		}
	}
	return b.String()
}

func (w *Workload) key(i int) string { return fmt.Sprintf("%s%d", w.Prefix, i) }

// recorder is one client.
type recorder struct {
	store    store.Store
	workload Workload
	client   int
	random   *rand.Rand
	// seen is the version that the client believes a key to be at.
	seen map[string]int64
}

// next makes a random call; ok is false when it surely had no effect and no
// answer.
func (c *recorder) next(i int) (operation porcupine.Operation, ok bool, err error) {
	in := op{
		kind:  opKind(c.random.IntN(int(opKinds))),
		key:   c.workload.key(c.random.IntN(c.workload.Keys)),
		value: fmt.Sprintf("%d.%d", c.client, i),
		limit: int64(c.random.IntN(2 * c.workload.Ops)),
	}
	in.expect = c.seen[in.key]
	if c.random.IntN(8) == 0 {
		in.expect = store.AnyVersion
	}
	if in.puts() && c.random.IntN(3) == 0 {
		in.earlier = int64(1 + c.random.IntN(3))
	}
	if (in.puts() || in.kind == opDelete) && c.random.IntN(3) == 0 {
		in.forget = c.seen[in.key] + int64(c.random.IntN(3))
	}
	return c.do(in)
}

// do makes one call and records it.
func (c *recorder) do(in op) (operation porcupine.Operation, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	call := time.Since(epoch).Nanoseconds()
	out, err := c.call(ctx, in)
	operation = porcupine.Operation{ClientId: c.client, Input: in, Call: call, Output: out, Return: time.Since(epoch).Nanoseconds()}
	uncertain := errors.Is(err, store.ErrUncertain) || errors.Is(err, context.DeadlineExceeded)
	switch {
	case err == nil:
		return operation, true, nil
	case uncertain && in.kind >= opPut:
		operation.Output, operation.Return = answered{outcome: unknown}, never
		return operation, true, nil
	case uncertain || errors.Is(err, store.ErrUnavailable):
		return operation, false, nil
	default:
		return operation, false, err
	}
}

// call makes the call and translates its answer.
func (c *recorder) call(ctx context.Context, in op) (answered, error) {
	key := run(in.key)
	switch in.kind {
	case opGet:
		record, err := c.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			c.seen[in.key] = store.Absent
			return answered{outcome: missing}, nil
		}
		if err == nil {
			c.seen[in.key] = record.Version
		}
		return answered{version: record.Version, value: string(record.Data)}, err
	case opCounters:
		counters, err := c.store.Counters(ctx, key)
		return answered{counter: counters["n"]}, err
	case opHistory:
		return c.history(ctx, key)
	}

	result, err := c.store.Commit(ctx, in.batch(key))
	var conflict *store.ConflictError
	var limit *store.LimitError
	switch {
	case errors.As(err, &conflict):
		c.seen[in.key] = conflict.Have
		return answered{outcome: conflicted, version: conflict.Have}, nil
	case errors.As(err, &limit):
		return answered{outcome: limited, counter: limit.Value}, nil
	case err != nil:
		return answered{}, err
	}
	var out answered
	if in.puts() {
		out.version = result.Versions[0]
		c.seen[in.key] = out.version
	}
	if in.adds() {
		out.counter = result.Counters[0]
	}
	if in.kind == opDelete {
		c.seen[in.key] = store.Absent
	}
	return out, nil
}

// history reads all history of a record, each version of which has an entry.
func (c *recorder) history(ctx context.Context, key store.Key) (answered, error) {
	const most = 1 << 20
	entries, err := c.store.History(ctx, key, 0, most)
	if err != nil {
		return answered{}, err
	}
	if len(entries) == 0 {
		return answered{outcome: missing}, nil
	}
	oldest := entries[0].Version
	for i, entry := range entries {
		if entry.Version != oldest+int64(i) {
			return answered{}, fmt.Errorf("history of %s: version %d is number %d after %d", key, entry.Version, i, oldest)
		}
	}
	return answered{oldest: oldest, version: oldest + int64(len(entries)) - 1}, nil
}

func (in op) puts() bool { return in.kind == opPut || in.kind == opPutAndAdd }
func (in op) adds() bool { return in.kind == opAdd || in.kind == opPutAndAdd }

// batch is the batch of a writing operation.
func (in op) batch(key store.Key) store.Batch {
	var batch store.Batch
	if in.puts() {
		batch.Puts = []store.Put{{Key: key, Expect: in.expect, Data: []byte(in.value), History: []byte(in.value)}}
		for range in.earlier {
			batch.Puts[0].Earlier = append(batch.Puts[0].Earlier, []byte(in.value))
		}
	}
	if in.adds() {
		batch.Counters = []store.Counter{{Owner: key, Name: "n", Delta: 1, Limit: in.limit}}
	}
	if in.kind == opDelete {
		batch.Deletes = []store.Check{{Key: key, Version: in.expect}}
	}
	if in.forget > 0 {
		batch.Forget = []store.Forget{{Key: key, Through: in.forget}}
	}
	return batch
}

func concurrentHistories(f *fixture) {
	for round := range 4 {
		w := Workload{Clients: 12, Ops: 60, Keys: 1 + round, Prefix: fmt.Sprintf("round%d.", round)}
		history := RecordHistory(f.T, f.Store, w)
		if len(history) != w.Clients*w.Ops {
			f.Errorf("%d of %d calls were answered", len(history), w.Clients*w.Ops)
		}
		history = append(history, ReadHistory(f.T, f.Store, w)...)
		CheckHistory(f.T, history)
	}
}

func historyAcrossRestart(f *fixture) {
	w := Workload{Clients: 8, Ops: 40, Keys: 3}
	history := RecordHistory(f.T, f.Store, w)
	for range 2 {
		f.reopen()
		history = append(history, ReadHistory(f.T, f.Store, w)...)
		history = append(history, RecordHistory(f.T, f.Store, w)...)
	}
	CheckHistory(f.T, history)
}

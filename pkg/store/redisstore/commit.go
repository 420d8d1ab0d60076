package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// Answers of commit.lua to a batch. Each is followed by:
const (
	resultOK       = iota // versions of the puts and of the appends, values of the counters
	resultReplay          // the first answer
	resultMismatch        //
	resultFenced          // who holds the lease, when it lapses; empty when it is not held
	resultConflict        // index among checks, puts, deletes and timers; current version
	resultLimit           // index of the counter; value; when it reopens, if ever
	resultRefused         // message; the batch was not written
	resultBroken          // message; something may have been written
)

// Commit applies a batch: all of it or none. Commits that arrive while others are under
// way share the next round trip.
func (s *Store) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	if err := s.begin(ctx); err != nil {
		return store.Result{}, err
	}
	defer s.end()
	shard, spanning, err := batch.Shard(s.shards)
	if err != nil {
		return store.Result{}, err
	}
	return s.commitIn(ctx, &batch, shard, spanning)
}

// probeOp ends the arguments of a batch that is judged and not applied, see commit.lua.
const probeOp = "Q"

// Probe judges a batch and applies nothing, see store.Store.
func (s *Store) Probe(ctx context.Context, batch store.Batch) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	shard, spanning, err := batch.Shard(s.shards)
	if err != nil {
		return err
	}
	keys, args, err := s.encode(&batch, shard, spanning)
	if err != nil || len(keys) == 0 {
		return err
	}
	c, err := s.run(ctx, &batch, keys, append(args, probeOp))
	if err != nil || number(c.reply, 0) == resultOK {
		return err
	}
	_, err = decode(&batch, c.reply)
	return err
}

func (s *Store) commitIn(ctx context.Context, batch *store.Batch, shard int, spanning bool) (store.Result, error) {
	keys, args, err := s.encode(batch, shard, spanning)
	if err != nil || len(keys) == 0 {
		return store.Result{}, err
	}
	c, err := s.run(ctx, batch, keys, args)
	if err != nil {
		return store.Result{}, err
	}
	result, err := decode(batch, c.reply)
	if err == nil && !result.Replayed && batch.Windowed() {
		result.Admitted = time.UnixMicro(c.now).UTC()
	}
	return result, err
}

// run sends an encoded batch in the present era, and returns the call with its reply.
func (s *Store) run(ctx context.Context, batch *store.Batch, keys, args []string) (*call, error) {
	c := &call{era: s.place.now().id, keys: keys, args: args, done: make(chan struct{})}
	for _, part := range args {
		c.size += len(part)
	}
	for i := range batch.Puts {
		c.size += len(batch.Puts[i].Earlier) * earlierBytes
	}
	err := s.lane.do(ctx, c)
	for errors.Is(err, errOtherEra) {
		if store.Works(ctx) {
			s.lookSoon() // and not wait: the turn waits until this work has left
			return nil, err
		}
		if lost := s.lookAgain(ctx); lost != nil {
			return nil, fmt.Errorf("redisstore: commit: %w", lost)
		}
		// It is of no work that has decided anything in the era before.
		c = &call{era: s.place.now().id, keys: keys, args: args, size: c.size, done: make(chan struct{})}
		err = s.lane.do(ctx, c)
	}
	return c, err
}

var argLists = sync.Pool{New: func() any { return new([]any) }}

// sameEra refuses the calls that were made in an earlier era, and returns the others.
func sameEra(calls []*call, era string) []*call {
	if !slices.ContainsFunc(calls, func(c *call) bool { return c.era != era }) {
		return calls
	}
	var same []*call
	for _, c := range calls {
		if c.era == era {
			same = append(same, c)
		} else {
			c.err = errOtherEra
		}
	}
	return same
}

// send runs the commits of one flight as one EVALSHA.
func (s *Store) send(calls []*call) {
	saw := s.place.now()
	if calls = sameEra(calls, saw.id); len(calls) == 0 {
		return
	}
	list := argLists.Get().(*[]any) // the pool holds only these
	args := (*list)[:0]
	args = append(args, nil, nil, nil, s.place.key) // the command, the script, the number of keys
	keys := 1
	for _, c := range calls {
		for i := range c.keys {
			args = append(args, &c.keys[i])
		}
		keys += len(c.keys)
	}
	args[2] = keys
	confirm := ""
	if s.config.Wait > 0 {
		confirm = "confirm"
	}
	args = append(args, s.now(), saw.id, saw.seen, confirm, s.config.formats.Newest)
	for _, c := range calls {
		args = append(args, len(c.keys), len(c.args))
		for i := range c.args {
			args = append(args, &c.args[i])
		}
	}
	// Not the context of any caller: the others' commits are in it too. The
	// client's own timeouts end it.
	reply, err := s.write(context.Background(), commitScript, args)
	for ; err == nil && frozen(reply); reply, err = s.write(context.Background(), commitScript, args) {
		time.Sleep(frozenPause)
	}
	clear(args)
	*list = args
	argLists.Put(list)
	results, _ := reply.([]any)
	switch {
	case errors.Is(err, errUnconfirmed):
		err = fmt.Errorf("redisstore: commit: %w", err)
	case err != nil:
		err = writeError("commit", err)
	case len(results) == 0:
		err = errOtherEra
	case len(results) != len(calls)+2:
		err = fmt.Errorf("redisstore: commit: %w: %d answers for %d batches", store.ErrUncertain, len(results), len(calls))
	case !s.place.saw(sight{saw.id, number(results, len(calls))}):
		err = fmt.Errorf("redisstore: commit: %w: its server was replaced before it had answered", store.ErrUncertain)
	}
	deliver(calls, results, err)
}

// frozenPause is the pause of commits while a backup ends, which takes a few of them.
const frozenPause = 2 * time.Millisecond

// frozen reports the answer of a store that must not change just now: the batch was not
// applied.
func frozen(reply any) bool {
	results, _ := reply.([]any)
	return len(results) == 1 && results[0] == "frozen"
}

// errOtherEra: the batch was not applied, for the server has another history than the one
// that the commit is for.
var errOtherEra = fmt.Errorf("redisstore: commit: %w", store.ErrTurned)

// deliver gives each call its part of the answer: one result for each batch, the number
// of writes, and the time.
func deliver(calls []*call, results []any, err error) {
	for i, c := range calls {
		if err != nil {
			c.err = err
			continue
		}
		c.reply, _ = results[i].([]any)
		c.now = number(results, len(calls)+1)
	}
}

// decode reads the answer to one batch.
func decode(batch *store.Batch, reply []any) (store.Result, error) {
	switch number(reply, 0) {
	case resultOK:
		return decodeOK(batch, reply)
	case resultReplay:
		if len(reply) == 2 {
			if answer, ok := reply[1].(string); ok {
				return store.Result{Replayed: true, Answer: []byte(answer)}, nil
			}
		}
	case resultMismatch:
		return store.Result{}, &store.ReplayMismatchError{Owner: batch.Idempotency.Owner, Name: batch.Idempotency.Name}
	case resultFenced:
		return store.Result{}, fencedError(batch.Fence, reply)
	case resultConflict:
		if check, ok := condition(batch, int(number(reply, 1))); ok && len(reply) == 3 {
			return store.Result{}, &store.ConflictError{Key: check.Key, Want: check.Version, Have: number(reply, 2)}
		}
	case resultLimit:
		if i := int(number(reply, 1)); i >= 0 && i < len(batch.Counters) && len(reply) >= 3 {
			return store.Result{}, limitError(batch, i, reply)
		}
	case resultRefused:
		return store.Result{}, fmt.Errorf("redisstore: commit: %w: %v", store.ErrUnavailable, reply[1:])
	}
	return store.Result{}, fmt.Errorf("redisstore: commit: %w: the script answered %v", store.ErrUncertain, reply)
}

func decodeOK(batch *store.Batch, reply []any) (store.Result, error) {
	puts, appends, counters := len(batch.Puts), len(batch.Appends), len(batch.Counters)
	if len(reply) != 1+puts+appends+counters {
		return store.Result{}, fmt.Errorf("redisstore: commit: %w: the script answered %v", store.ErrUncertain, reply)
	}
	if puts+appends+counters == 0 {
		return store.Result{}, nil
	}
	values := make([]int64, puts+appends+counters)
	for i := range values {
		values[i] = number(reply, 1+i)
	}
	last := puts + appends
	return store.Result{Versions: values[:puts:puts], Appended: values[puts:last:last], Counters: values[last:]}, nil
}

func fencedError(fence *store.Fence, reply []any) error {
	fenced := &store.FencedError{Key: fence.Key, Token: fence.Token}
	if len(reply) == 3 {
		fenced.Holder, _ = reply[1].(string)
		fenced.Until = time.UnixMicro(number(reply, 2)).UTC()
	}
	return fenced
}

func limitError(batch *store.Batch, i int, reply []any) error {
	c := &batch.Counters[i]
	limited := &store.LimitError{Index: i, Owner: c.Owner, Name: c.Name, Value: number(reply, 2), Limit: c.Limit}
	if c.Limit == store.NoLimit {
		limited.Limit = MaxUnits
	}
	if len(reply) == 4 {
		limited.ReopensAt = time.UnixMicro(number(reply, 3)).UTC()
	}
	return limited
}

// condition returns a precondition by its index among checks, puts, deletes and timers.
func condition(b *store.Batch, i int) (store.Check, bool) {
	if i < 0 {
		return store.Check{}, false
	}
	if i < len(b.Checks) {
		return b.Checks[i], true
	}
	i -= len(b.Checks)
	if i < len(b.Puts) {
		return store.Check{Key: b.Puts[i].Key, Version: b.Puts[i].Expect}, true
	}
	i -= len(b.Puts)
	if i < len(b.Deletes) {
		return b.Deletes[i], true
	}
	if i -= len(b.Deletes); i < len(b.Unchanged) {
		return store.Check{Key: b.Unchanged[i].Key}, true
	}
	return store.Check{}, false
}

// number returns an integer of a reply, or -1 when there is none.
func number(reply []any, i int) int64 {
	if i >= len(reply) {
		return -1
	}
	n, ok := reply[i].(int64)
	if !ok {
		return -1
	}
	return n
}

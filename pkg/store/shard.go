package store

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
)

// DefaultShards is the number of shards of a new store.
const DefaultShards = 64

// MaxIDBytes is the longest id of a key.
const MaxIDBytes = 512

// String returns "namespace/kind/id".
func (k Key) String() string { return k.Namespace + "/" + k.Kind + "/" + k.ID }

// Shard returns the shard, of n, in which a namespace's id lives. It is part of
// the stored format: changing it orphans every record.
func Shard(namespace, id string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(namespace))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return int(h.Sum64() % uint64(n))
}

// Shard returns the shard, of n, in which a key lives.
func (k Key) Shard(n int) int { return Shard(k.Namespace, k.ID, n) }

// Shard returns the shard, of n, in which a batch is committed: the one of its keys, or 0
// when it has none. Checks and Counters may be of other shards than the rest, and so may be
// the puts of a batch Across; spanning says that some are. ErrCrossShard when the keys are in
// more shards than they may be.
func (b *Batch) Shard(n int) (shard int, spanning bool, err error) {
	if b.Across && slices.ContainsFunc(b.Events, func(e Event) bool { return e.Entry != Key{} }) {
		return 0, false, errEntriesAcross
	}
	shard = -1
	var first Key
	for key := range b.oneShard {
		switch s := key.Shard(n); {
		case shard == -1:
			shard, first = s, key
		case shard != s:
			return 0, false, fmt.Errorf("%w: %s and %s", ErrCrossShard, first, key)
		}
	}
	for key := range b.anyShard {
		s := key.Shard(n)
		if shard == -1 {
			shard = s
		}
		spanning = spanning || s != shard
	}
	return max(shard, 0), spanning, nil
}

var errEntriesAcross = errors.New("the event of a batch across shards cannot be a history entry: it may be in another shard")

// anyShard yields the keys that may be of any shard.
func (b *Batch) anyShard(yield func(Key) bool) {
	for i := range b.Checks {
		if !yield(b.Checks[i].Key) {
			return
		}
	}
	for i := range b.Counters {
		if !yield(b.Counters[i].Owner) {
			return
		}
	}
	if b.Across {
		b.loose(yield)
	}
}

// loose yields the keys that may be of any shard in a batch Across.
func (b *Batch) loose(yield func(Key) bool) bool {
	for i := range b.Puts {
		if !yield(b.Puts[i].Key) {
			return false
		}
	}
	for i := range b.Events {
		if !yield(b.Events[i].Key) {
			return false
		}
	}
	for i := range b.SetTimers {
		if !yield(b.SetTimers[i].Key) {
			return false
		}
	}
	for i := range b.ClearTimers {
		if !yield(b.ClearTimers[i].Key) {
			return false
		}
	}
	return true
}

// oneShard yields the keys that must be of one shard.
func (b *Batch) oneShard(yield func(Key) bool) {
	if b.Idempotency != nil && !yield(b.Idempotency.Owner) {
		return
	}
	if b.Fence != nil && !yield(b.Fence.Key) {
		return
	}
	if !b.Across && !b.loose(yield) {
		return
	}
	for i := range b.Appends {
		if !yield(b.Appends[i].Key) {
			return
		}
	}
	for i := range b.Deletes {
		if !yield(b.Deletes[i].Key) {
			return
		}
	}
	for i := range b.Forget {
		if !yield(b.Forget[i].Key) {
			return
		}
	}
	for i := range b.Reset {
		if !yield(b.Reset[i]) {
			return
		}
	}
	for i := range b.Postpone {
		if !yield(b.Postpone[i].Timer.Key) {
			return
		}
	}
	for i := range b.Unchanged {
		if !yield(b.Unchanged[i].Key) {
			return
		}
	}
}

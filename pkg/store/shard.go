package store

import (
	"fmt"
	"hash/fnv"
)

// DefaultShards is the number of shards of a new store.
const DefaultShards = 64

// MaxIDBytes is the longest id of a key.
const MaxIDBytes = 512

// String is "namespace/kind/id".
func (k Key) String() string { return k.Namespace + "/" + k.Kind + "/" + k.ID }

// Shard answers the shard, of n, in which a namespace's id lives. It is part of
// the stored format: changing it orphans every record.
func Shard(namespace, id string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(namespace))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return int(h.Sum64() % uint64(n))
}

// Shard answers the shard, of n, in which a key lives.
func (k Key) Shard(n int) int { return Shard(k.Namespace, k.ID, n) }

// Shard answers the one shard, of n, that the batch touches, or ErrCrossShard.
// A batch without any key is in shard 0.
func (b *Batch) Shard(n int) (int, error) {
	shard := -1
	var first Key
	for key := range b.keys {
		s := key.Shard(n)
		switch {
		case shard == -1:
			shard, first = s, key
		case shard != s:
			return 0, fmt.Errorf("%w: %s and %s", ErrCrossShard, first, key)
		}
	}
	return max(shard, 0), nil
}

// keys yields every key that the batch names.
func (b *Batch) keys(yield func(Key) bool) {
	if b.Idempotency != nil && !yield(b.Idempotency.Owner) {
		return
	}
	if b.Fence != nil && !yield(b.Fence.Key) {
		return
	}
	for i := range b.Checks {
		if !yield(b.Checks[i].Key) {
			return
		}
	}
	for i := range b.Puts {
		if !yield(b.Puts[i].Key) {
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
	for i := range b.Counters {
		if !yield(b.Counters[i].Owner) {
			return
		}
	}
	for i := range b.Reset {
		if !yield(b.Reset[i]) {
			return
		}
	}
	for i := range b.Events {
		if !yield(b.Events[i].Key) {
			return
		}
	}
	for i := range b.SetTimers {
		if !yield(b.SetTimers[i].Key) {
			return
		}
	}
	for i := range b.ClearTimers {
		if !yield(b.ClearTimers[i].Key) {
			return
		}
	}
}

package sqlitestore

import (
	"database/sql/driver"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
)

// seqBits are the bits of an outbox row id that hold the sequence number.
const seqBits = 44

// rowid returns the row id of an outbox entry: entries of a shard are next to each other,
// in order, and need no index.
func rowid(shard int, seq int64) int64 { return int64(shard)<<seqBits | seq }

// seqOf returns the sequence number in a row id.
func seqOf(row int64) int64 { return row & (1<<seqBits - 1) }

// heads are the last sequence numbers of the shards, and wake the callers that wait for
// the next.
type heads struct {
	// seqs are those that are durable.
	seqs []atomic.Int64
	// ahead are those within the writer's transaction. The writer owns it.
	ahead []int64

	mu    sync.Mutex
	moves chan struct{}
}

// readHeads reads the heads of all shards.
func readHeads(c *conn) (*heads, error) {
	s, err := c.prepare("SELECT shard, seq FROM shards ORDER BY shard")
	if err != nil {
		return nil, err
	}
	h := &heads{moves: make(chan struct{})}
	err = s.each(func(row []driver.Value) bool {
		h.ahead = append(h.ahead, row[1].(int64))
		return row[0].(int64) == int64(len(h.ahead)-1)
	})
	if err != nil {
		return nil, err
	}
	if len(h.ahead) == 0 || len(h.ahead) > maxShards {
		return nil, fmt.Errorf("the file has %d shards: restore it from a backup", len(h.ahead))
	}
	h.seqs = make([]atomic.Int64, len(h.ahead))
	for shard, seq := range h.ahead {
		h.seqs[shard].Store(seq)
	}
	return h, nil
}

// next takes the next sequence number of a shard.
func (h *heads) next(shard int) int64 {
	h.ahead[shard]++
	return h.ahead[shard]
}

// moved yields the shards whose heads the transaction has moved.
func (h *heads) moved() iter.Seq2[int, int64] {
	return func(yield func(int, int64) bool) {
		for shard, seq := range h.ahead {
			if seq != h.seqs[shard].Load() && !yield(shard, seq) {
				return
			}
		}
	}
}

// publish makes the transaction's heads durable ones and wakes the waiting.
func (h *heads) publish() {
	any := false
	for shard, seq := range h.moved() {
		h.seqs[shard].Store(seq)
		any = true
	}
	if !any {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.moves)
	h.moves = make(chan struct{})
}

// revert forgets the transaction's heads.
func (h *heads) revert() {
	for shard := range h.ahead {
		h.ahead[shard] = h.seqs[shard].Load()
	}
}

// moving returns a channel that is closed when some head moves from now on.
func (h *heads) moving() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.moves
}

package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/interlock-run/interlock/pkg/store"
)

// Commit applies a batch, see store.Store.
func (s *Store) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	shard, _, err := batch.Shard(s.Shards())
	if err != nil {
		return store.Result{}, err
	}
	if err := validateBatch(&batch); err != nil {
		return store.Result{}, err
	}
	var result store.Result
	err = s.write(ctx, func(w *writer) error {
		var err error
		result, err = w.apply(&batch, shard)
		return err
	})
	if err != nil {
		return store.Result{}, err
	}
	return result, nil
}

// Probe judges a batch and applies nothing, see store.Store.
func (s *Store) Probe(ctx context.Context, batch store.Batch) error {
	if _, _, err := batch.Shard(s.Shards()); err != nil {
		return err
	}
	if err := validateBatch(&batch); err != nil {
		return err
	}
	return s.write(ctx, func(w *writer) error {
		now := w.now()
		_, replayed, err := w.judgePreconditions(&batch, now)
		if err != nil || replayed {
			return err
		}
		return w.judgeCounts(&batch, now)
	})
}

// validateBatch validates a batch and its keys.
func validateBatch(b *store.Batch) error {
	errs := []error{b.Validate()}
	for key := range b.Keys() {
		errs = append(errs, validate(key))
	}
	return errors.Join(errs...)
}

// apply judges a batch and applies it.
func (w *writer) apply(b *store.Batch, shard int) (store.Result, error) {
	now := w.now()
	answer, replayed, err := w.judgePreconditions(b, now)
	if err != nil || replayed {
		return store.Result{Replayed: replayed, Answer: answer}, err
	}
	counters, err := w.count(b, now)
	if err != nil {
		return store.Result{}, err
	}
	// From here on only the disk can refuse.
	versions, appended, err := w.applyRecords(b, now)
	if err != nil {
		return store.Result{}, err
	}
	if err := w.applyRest(b, shard, appended, now); err != nil {
		return store.Result{}, err
	}
	result := store.Result{Versions: versions, Appended: appended, Counters: counters}
	if b.Windowed() {
		result.Admitted = fromMicros(now)
	}
	return result, nil
}

// judgePreconditions judges the idempotency key, the fence and the versions of a batch. It returns the
// first answer of a batch that was applied before.
func (w *writer) judgePreconditions(b *store.Batch, now int64) (answer []byte, replayed bool, err error) {
	if b.Idempotency != nil {
		if answer, replayed, err = w.replay(b.Idempotency, now); err != nil || replayed {
			return answer, replayed, err
		}
	}
	if b.Fence != nil {
		if err := w.checkFence(b.Fence, now); err != nil {
			return nil, false, err
		}
	}
	return nil, false, w.checkVersions(b)
}

// checkVersions judges the preconditions in the order of the contract.
func (w *writer) checkVersions(b *store.Batch) error {
	for i := range b.Checks {
		if err := w.checkVersion(b.Checks[i].Key, b.Checks[i].Version); err != nil {
			return err
		}
	}
	for i := range b.Puts {
		if err := w.checkVersion(b.Puts[i].Key, b.Puts[i].Expect); err != nil {
			return err
		}
	}
	for i := range b.Deletes {
		if err := w.checkVersion(b.Deletes[i].Key, b.Deletes[i].Version); err != nil {
			return err
		}
	}
	for i := range b.Unchanged {
		if err := w.checkTimer(&b.Unchanged[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkTimer returns a conflict unless a timer is as it was read.
func (w *writer) checkTimer(t *store.Timer) error {
	found, err := w.isTimer.first(func([]driver.Value) {}, encodeKey(t.Key), t.Name, micros(t.Due), notNull(t.Data))
	switch {
	case err != nil:
		return fail("reading a timer", err)
	case !found:
		return &store.ConflictError{Key: t.Key}
	default:
		return nil
	}
}

func (w *writer) checkVersion(key store.Key, want int64) error {
	if want == store.AnyVersion {
		return nil
	}
	state, err := w.record(encodeKey(key))
	if err != nil {
		return err
	}
	if have := state.current(); have != want {
		return &store.ConflictError{Key: key, Want: want, Have: have}
	}
	return nil
}

// record returns the state of a record.
func (w *writer) record(key string) (recordState, error) {
	if state, ok := w.cache.records[key]; ok {
		return state, nil
	}
	var state recordState
	_, err := w.findRecord.first(func(row []driver.Value) {
		state = recordState{row: row[0].(int64), version: row[1].(int64), labels: text(row[2])}
	}, key, key)
	if err != nil {
		return state, fail("reading a record", err)
	}
	w.cache.setRecord(key, state)
	return state, nil
}

// applyRecords applies the puts, appends and deletes of a batch, drops the history that it
// forgets, and returns the versions of the puts and of the appends.
func (w *writer) applyRecords(b *store.Batch, now int64) (versions, appended []int64, err error) {
	if all := make([]int64, len(b.Puts)+len(b.Appends)); len(all) > 0 {
		versions, appended = all[:len(b.Puts):len(b.Puts)], all[len(b.Puts):]
	}
	for i := range b.Puts {
		if versions[i], err = w.put(&b.Puts[i], now); err != nil {
			return nil, nil, err
		}
	}
	for i := range b.Appends {
		if appended[i], err = w.append(&b.Appends[i], now); err != nil {
			return nil, nil, err
		}
	}
	for i := range b.Deletes {
		if err := w.remove(b.Deletes[i].Key); err != nil {
			return nil, nil, err
		}
	}
	for i := range b.Forget {
		if err := w.dropHistory.run(encodeKey(b.Forget[i].Key), b.Forget[i].Through); err != nil {
			return nil, nil, fail("forgetting history", err)
		}
	}
	return versions, appended, nil
}

func (w *writer) append(a *store.Append, now int64) (int64, error) {
	key := encodeKey(a.Key)
	state, err := w.record(key)
	if err != nil {
		return 0, err
	}
	if state.row == 0 {
		return w.put(&store.Put{Key: a.Key, Expect: store.AnyVersion, History: notNull(a.Entry)}, now)
	}
	state.version++
	if err := w.growRecord.run(state.version, now, state.row); err != nil {
		return 0, fail("appending to a record", err)
	}
	if err := w.insertHistory.run(key, state.version, now, notNull(a.Entry)); err != nil {
		return 0, fail("storing history", err)
	}
	w.cache.setRecord(key, state)
	return state.version, nil
}

func (w *writer) put(p *store.Put, now int64) (int64, error) {
	key := encodeKey(p.Key)
	old, err := w.record(key)
	if err != nil {
		return 0, err
	}
	state := recordState{row: old.row, version: old.version + 1 + int64(len(p.Earlier)), labels: encodeLabels(p.Labels)}
	if old.row != 0 {
		err = w.updateRecord.run(state.version, []byte(state.labels), now, notNull(p.Data), state.row)
	} else {
		_, err = w.insertRecord.first(func(row []driver.Value) { state.row = row[0].(int64) },
			key, state.version, []byte(state.labels), now, notNull(p.Data))
		if err == nil && old.version > 0 {
			err = w.exhume.run(key)
		}
	}
	if err != nil {
		return 0, fail("storing a record", err)
	}
	if err := w.relabel(p.Key, old, state, p.Labels); err != nil {
		return 0, err
	}
	if err := w.keepHistory(p, key, old.version, now); err != nil {
		return 0, err
	}
	w.cache.setRecord(key, state)
	return state.version, nil
}

// keepHistory stores the history entries of a put that replaces this version.
func (w *writer) keepHistory(p *store.Put, key string, version, now int64) error {
	if p.History == nil {
		return nil
	}
	for _, entry := range p.Earlier {
		version++
		if err := w.insertHistory.run(key, version, now, notNull(entry)); err != nil {
			return fail("storing history", err)
		}
	}
	return fail("storing history", w.insertHistory.run(key, version+1, now, notNull(p.History)))
}

// relabel moves a record in the index of labels.
func (w *writer) relabel(key store.Key, old, state recordState, labels map[string]string) error {
	if old.labels == state.labels && old.row == state.row {
		return nil
	}
	before, err := decodeLabels(old.labels)
	if err != nil {
		return fail("reading labels", err)
	}
	scope := scope(key.Namespace, key.Kind)
	for name, value := range before {
		if now, ok := labels[name]; ok && now == value && old.row == state.row {
			continue
		}
		if err := w.deleteLabel.run(scope, []byte(name), []byte(value), key.ID); err != nil {
			return fail("storing labels", err)
		}
	}
	for name, value := range labels {
		if was, ok := before[name]; ok && was == value && old.row == state.row {
			continue
		}
		if err := w.insertLabel.run(scope, []byte(name), []byte(value), key.ID, state.row); err != nil {
			return fail("storing labels", err)
		}
	}
	return nil
}

func (w *writer) remove(key store.Key) error {
	encoded := encodeKey(key)
	old, err := w.record(encoded)
	if err != nil || old.row == 0 {
		return err
	}
	gone := recordState{version: old.version}
	if err := w.relabel(key, old, gone, nil); err != nil {
		return err
	}
	if err := w.deleteRecord.run(old.row); err != nil {
		return fail("deleting a record", err)
	}
	if err := w.bury.run(encoded, old.version); err != nil {
		return fail("deleting a record", err)
	}
	w.cache.setRecord(encoded, gone)
	return nil
}

// applyRest applies the parts without a precondition.
func (w *writer) applyRest(b *store.Batch, shard int, appended []int64, now int64) error {
	for i := range b.Events {
		e := &b.Events[i]
		of, version := entryOf(b, appended, e.Entry)
		var trace driver.Value
		if e.Trace != "" {
			trace = e.Trace
		}
		in := w.shardOf(b, e.Key, shard)
		err := w.insertEvent.run(rowid(in, w.heads.next(in)), w.era, e.ID, e.Subject, notNull(e.Payload), of, version, trace)
		if err != nil {
			return fail("storing an event", err)
		}
	}
	if err := w.applyTimers(b, shard); err != nil {
		return err
	}
	if b.Idempotency == nil {
		return nil
	}
	return w.remember(b, appended, now)
}

// shardOf returns the shard of a put of a batch: the batch's own, unless it is across
// shards.
func (w *writer) shardOf(b *store.Batch, key store.Key, own int) int {
	if b.Across {
		return key.Shard(len(w.heads.ahead))
	}
	return own
}

// applyTimers clears, sets and postpones timers. One that is set as it is already,
// as by every decision of a short while, is not written again.
func (w *writer) applyTimers(b *store.Batch, shard int) error {
	for i := range b.ClearTimers {
		key := timerKey{encodeKey(b.ClearTimers[i].Key), b.ClearTimers[i].Name}
		delete(w.cache.timers, key)
		if err := w.clearTimer.run(key.key, key.name); err != nil {
			return fail("clearing a timer", err)
		}
	}
	for i := range b.SetTimers {
		t := &b.SetTimers[i]
		key, state := timerKey{encodeKey(t.Key), t.Name}, timerState{micros(t.Due), string(t.Data)}
		if known, ok := w.cache.timers[key]; ok && known == state {
			continue
		}
		if err := w.setTimer.run(key.key, key.name, t.Key.Kind, int64(w.shardOf(b, t.Key, shard)), state.due, notNull(t.Data)); err != nil {
			return fail("setting a timer", err)
		}
		w.cache.setTimer(key, state)
		w.quiet.set(t.Key.Kind, state.due)
	}
	for i := range b.Postpone {
		t := &b.Postpone[i].Timer
		key := timerKey{encodeKey(t.Key), t.Name}
		delete(w.cache.timers, key)
		if err := w.postpone.run(micros(b.Postpone[i].Until), key.key, key.name, micros(t.Due), notNull(t.Data)); err != nil {
			return fail("postponing a timer", err)
		}
		w.quiet.set(t.Key.Kind, micros(b.Postpone[i].Until))
	}
	return nil
}

// notNull returns b, or no bytes when it is nil, which SQLite would store as NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

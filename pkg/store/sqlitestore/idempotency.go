package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

const (
	// purgeMost is how many expired answers one group of commits clears away.
	purgeMost = 200
	// purgeEvery is how often to look for them.
	purgeEvery = 10 * time.Second
)

// answerKey returns how an idempotency key is stored.
func answerKey(owner store.Key, name string) []byte { return backup.HashOf(owner, name) }

// Answer returns the bytes stored with an idempotency key, see store.Store.
func (s *Store) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	var answer []byte
	err := s.reads.answer.QueryRowContext(ctx, answerKey(owner, name), micros(s.clock())).Scan(&answer)
	if err != nil {
		return nil, s.rowError(ctx, "reading an answer", err)
	}
	return answer, nil
}

// AnswerVersion returns the version of the entry that an idempotency key names, see
// store.Store.
func (s *Store) AnswerVersion(ctx context.Context, owner store.Key, name string) (version int64, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	err = s.reads.answerVersion.QueryRowContext(ctx, answerKey(owner, name), micros(s.clock())).Scan(&version)
	if err != nil {
		return 0, s.rowError(ctx, "reading an answer", err)
	}
	return version, nil
}

// replay returns the bytes stored with an idempotency key.
func (w *writer) replay(i *store.Idempotency, now int64) (answer []byte, replayed bool, err error) {
	var digest string
	_, err = w.findAnswer.first(func(row []driver.Value) {
		if row[2].(int64) > now {
			digest, answer, replayed = text(row[0]), blob(row[1]), true
		}
	}, answerKey(i.Owner, i.Name))
	if err != nil {
		return nil, false, fail("reading an answer", err)
	}
	if replayed && digest != i.Digest {
		return nil, false, &store.ReplayMismatchError{Owner: i.Owner, Name: i.Name}
	}
	return answer, replayed, nil
}

// remember stores the answer of a batch whose appends have these versions.
func (w *writer) remember(b *store.Batch, appended []int64, now int64) error {
	i := b.Idempotency
	of, version := entryOf(b, appended, i.Entry)
	expires := now + i.TTL.Microseconds()
	return fail("storing an answer", w.setAnswer.run(answerKey(i.Owner, i.Name), i.Digest, notNull(i.Answer), expires, of, version))
}

// entryOf returns the stored reference to a history entry of the batch: NULL for the zero
// key.
func entryOf(b *store.Batch, appended []int64, key store.Key) (of, version driver.Value) {
	if key == (store.Key{}) {
		return nil, nil
	}
	i, err := b.EntryOf(key)
	if err != nil {
		panic(err) // the batch is valid
	}
	return encodeKey(key), appended[i]
}

// purgeAnswers clears some expired answers away, now and then.
func (w *writer) purgeAnswers(now int64) error {
	if now < w.nextPurge {
		return nil
	}
	n, err := w.purge.exec(now, int64(purgeMost))
	if err != nil {
		return fail("clearing answers away", err)
	}
	if n < purgeMost {
		w.nextPurge = now + purgeEvery.Microseconds()
	}
	return nil
}

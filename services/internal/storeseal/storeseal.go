// Package storeseal refuses records that another program has written into a store. It gives all data a code with a key that
// is sealed, and remembers the newest serials, so that a program cannot decide by writing the database. It must never
// return data whose code is wrong.
package storeseal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// Config of a sealed store.
type Config struct {
	Key [32]byte
	// Mark remembers the serials of records that decide, and Decides says which they are.
	Mark    *seal.Mark
	Decides func(kind string) bool
	// Exclusive says that no other process writes the store: then a record that is missing was removed.
	Exclusive bool
	Log       *slog.Logger
}

// mostKnown bounds the memory of serials of records that do not decide.
const mostKnown = 1 << 20

// known is the newest data of a record that this process has seen.
type known struct {
	// version and serial are those of the newest data; version is unknown where only the mark knows the record.
	version int64
	serial  uint64
	// gone records were deleted at that version.
	gone bool
	// leaving counts commits that may delete it now, and unsure records may be there or not.
	leaving int
	unsure  bool
	marked  bool
}

// unknown is the version of a record that only the mark knows.
const unknown = -1

// Store is a store whose data has codes. It is safe for concurrent use.
type Store struct {
	store.Store
	cfg Config

	mu     sync.Mutex
	serial uint64
	known  map[seal.Name]known

	refusedMu sync.Mutex
	refused   map[string]string
	order     []string
}

// Wrap seals a store.
func Wrap(st store.Store, cfg Config) *Store {
	s := &Store{Store: st, cfg: cfg, known: map[seal.Name]known{}, refused: map[string]string{}}
	if cfg.Mark == nil {
		return s
	}
	for name, e := range cfg.Mark.Entries() {
		// A record that was leaving may have been deleted.
		s.known[name] = known{version: unknown, serial: e.Serial, gone: e.State == seal.Gone, unsure: e.State == seal.Leaving, marked: true}
		s.serial = max(s.serial, e.Serial)
	}
	return s
}

// Unwrap returns the store whose data has codes.
func (s *Store) Unwrap() store.Store { return s.Store }

// Bytes implements store.Sized.
func (s *Store) Bytes(ctx context.Context) (int64, error) {
	if sized, ok := s.Store.(store.Sized); ok {
		return sized.Bytes(ctx)
	}
	return 0, nil
}

// next returns a serial that is greater than all before.
func (s *Store) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = max(s.serial+1, uint64(time.Now().UnixNano())) //nolint:gosec // after 1970
	return s.serial
}

// before returns the newest data of a record that was seen until now.
func (s *Store) before(name seal.Name) (known, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[name]
	return k, ok
}

// seen notes the newest data of a record, which was read or put.
func (s *Store) seen(name seal.Name, version int64, serial uint64, marked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = max(s.serial, serial)
	k, ok := s.known[name]
	if ok && (k.version > version || k.version == version && (k.gone || serial == 0)) {
		return
	}
	if !ok && len(s.known) >= mostKnown {
		for other, old := range s.known {
			if !old.marked {
				delete(s.known, other)
				break
			}
		}
	}
	if serial != 0 || k.gone { // or it was appended to
		k.serial = serial
	}
	k.version, k.gone, k.marked = version, false, k.marked || marked
	s.known[name] = k
}

func (s *Store) decides(kind string) bool {
	return s.cfg.Mark != nil && s.cfg.Decides != nil && s.cfg.Decides(kind)
}

// Get returns a record, or refuses one that another program has written, put back or removed (S24.12, S24.13).
func (s *Store) Get(ctx context.Context, key store.Key) (store.Record, error) {
	name := nameOf(key)
	was, had := s.before(name)
	record, err := s.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) && had && s.cfg.Exclusive {
		now, _ := s.before(name)
		if now == was && was.there() {
			return store.Record{}, s.refuse(key, "it was removed by another program")
		}
	}
	if err != nil {
		return record, err
	}
	t, why := s.open(&record)
	if why == "" {
		why = old(t, record.Version, was)
	}
	if why != "" {
		return store.Record{}, s.refuse(key, why)
	}
	s.accept(key, name, record.Version, t.serial)
	return record, nil
}

// there reports that a record must be there, as far as is known.
func (k known) there() bool { return k.serial > 0 && !k.gone && !k.unsure && k.leaving == 0 }

// accept notes a record that was read or put.
func (s *Store) accept(key store.Key, name seal.Name, version int64, serial uint64) {
	decides := s.decides(key.Kind)
	s.seen(name, version, serial, decides)
	if !decides {
		return
	}
	if k, _ := s.before(name); k.version == version && !k.gone && k.serial > 0 {
		s.keep(s.cfg.Mark.Put(name, k.serial))
	}
}

// slack is how much older, in nanoseconds, data can be whose commit did not know the version before it: such commits
// overtake each other.
const slack = uint64(10 * time.Second)

// old returns why data is not the newest; empty where it is.
func old(t trailer, version int64, was known) string {
	const older, back = "another program has put an older copy of it back", "it was deleted, and another program has put it back"
	switch {
	case was.serial == 0:
		return ""
	case was.version == unknown && was.gone && t.serial != 0 && t.serial <= was.serial:
		return back
	case was.version == unknown && !was.gone && t.serial < was.serial:
		return older
	case was.version == unknown:
		return ""
	case was.gone && (version <= was.version || t.version != 0 && t.version <= was.version):
		return back
	case version < was.version:
		return older
	case t.version == 0 && t.serial+slack >= was.serial, t.version == 0 && was.gone && t.serial == 0:
		return ""
	case t.serial < was.serial:
		return older
	}
	return ""
}

// open takes the trailer from a record. The reason for a refusal is empty where the code is right.
func (s *Store) open(record *store.Record) (t trailer, why string) {
	if len(record.Data) == 0 && len(record.Labels) == 0 { // it was only appended to
		return trailer{}, ""
	}
	text, t, ok := s.opened(ofRecord, record.Labels, record.Data)
	switch ok = ok && t.name == nameOf(record.Key); {
	case !ok && !Sealed(record.Data):
		return t, "it has no code of this seal: another program has written it"
	case !ok:
		return t, "its code is wrong: another program has changed it"
	case t.version > record.Version:
		return t, "its version is older than its data: another program has changed it"
	}
	record.Data = text
	return t, ""
}

// List returns records, and refuses a page with one that another program has written or put back.
func (s *Store) List(ctx context.Context, query store.Query) (store.Page, error) {
	page, err := s.Store.List(ctx, query)
	if err != nil {
		return page, err
	}
	for i := range page.Records {
		record := &page.Records[i]
		t, why := s.open(record)
		if why != "" {
			return store.Page{}, s.refuse(record.Key, why)
		}
		name := nameOf(record.Key)
		was, had := s.before(name)
		if !had || old(t, record.Version, was) == "" {
			s.accept(record.Key, name, record.Version, t.serial)
			continue
		}
		// It may have changed since the page was read.
		again, err := s.Get(ctx, record.Key)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return store.Page{}, err
		case err == nil && again.Version <= record.Version:
			return store.Page{}, s.refuse(record.Key, old(t, record.Version, was))
		}
	}
	return page, nil
}

// History returns entries, and refuses one that another program has written.
func (s *Store) History(ctx context.Context, key store.Key, after int64, limit int) ([]store.HistoryEntry, error) {
	entries, err := s.Store.History(ctx, key, after, limit)
	if err != nil {
		return entries, err
	}
	for i := range entries {
		text, ok := s.openEntry(key, entries[i].Version, entries[i].Data)
		if !ok {
			return nil, s.refuse(key, fmt.Sprintf("another program has written its entry of version %d", entries[i].Version))
		}
		entries[i].Data = text
	}
	return entries, nil
}

// Answer returns an answer, and refuses one that another program has written.
func (s *Store) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	data, err := s.Store.Answer(ctx, owner, name)
	if err != nil {
		return data, err
	}
	return s.openAnswer(owner, name, data)
}

// openAnswer takes the trailer from an answer, which may be an entry of a log. Such an entry has the name of its call.
func (s *Store) openAnswer(owner store.Key, name string, data []byte) ([]byte, error) {
	if len(data) == 0 { // its entry was forgotten
		return data, nil
	}
	if text, t, ok := s.opened(ofAnswer, nil, data); ok && t.name == answerOf(backup.HashOf(owner, name)) {
		return text, nil
	}
	if text, _, ok := s.opened(ofHistory, nil, data); ok {
		return text, nil
	}
	return nil, s.refuse(owner, fmt.Sprintf("another program has written its answer %s", name))
}

// Tail returns events. The entry of one that another program has written is left out of it.
func (s *Store) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	entries, err := s.Store.Tail(ctx, after, limit, wait)
	for i := range entries {
		e := &entries[i]
		if e.Entry == (store.Key{}) || len(e.Payload) == 0 {
			continue
		}
		text, ok := s.openEntry(e.Entry, e.Version, e.Payload)
		if !ok {
			_ = s.refuse(e.Entry, fmt.Sprintf("another program has written its entry of version %d", e.Version))
			text = nil
		}
		e.Payload = text
	}
	return entries, err
}

// Commit gives all data of a batch its code, and notes the serials.
func (s *Store) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	serial := s.next()
	s.sealBatch(&batch, serial)
	if err := s.leave(batch.Deletes); err != nil {
		return store.Result{}, err
	}
	result, err := s.Store.Commit(ctx, batch)
	applied := err == nil && !result.Replayed
	s.left(batch.Deletes, serial, applied, errors.Is(err, store.ErrUncertain))
	if err != nil {
		return result, err
	}
	if result.Replayed {
		return s.replayed(&batch, result)
	}
	for i := range batch.Puts {
		key := batch.Puts[i].Key
		s.accept(key, nameOf(key), result.Versions[i], serial)
	}
	for i := range batch.Appends {
		key := batch.Appends[i].Key
		s.accept(key, nameOf(key), result.Appended[i], 0)
	}
	return result, nil
}

// replayed opens the answer of a batch that was committed before.
func (s *Store) replayed(batch *store.Batch, result store.Result) (store.Result, error) {
	answer, err := s.openAnswer(batch.Idempotency.Owner, batch.Idempotency.Name, result.Answer)
	if err != nil {
		return store.Result{}, err
	}
	result.Answer = answer
	return result, nil
}

// sealBatch gives the data of a batch codes, in copies.
func (s *Store) sealBatch(batch *store.Batch, serial uint64) {
	batch.Puts, batch.Appends = slices.Clone(batch.Puts), slices.Clone(batch.Appends)
	for i := range batch.Puts {
		s.sealPut(&batch.Puts[i], serial)
	}
	for i := range batch.Appends {
		a := &batch.Appends[i]
		a.Entry = s.sealed(trailer{of: ofHistory, name: nameOf(a.Key), serial: serial}, nil, a.Entry)
	}
	if i := batch.Idempotency; i != nil && i.Entry == (store.Key{}) {
		once := *i
		once.Answer = s.sealed(trailer{of: ofAnswer, name: answerOf(backup.HashOf(i.Owner, i.Name)), serial: serial}, nil, i.Answer)
		batch.Idempotency = &once
	}
}

func (s *Store) sealPut(put *store.Put, serial uint64) {
	t := trailer{of: ofRecord, name: nameOf(put.Key), serial: serial}
	if put.Expect > 0 {
		t.version = put.Expect + 1 + int64(len(put.Earlier))
	}
	put.Data = s.sealed(t, put.Labels, put.Data)
	t.of = ofHistory
	if put.History != nil {
		put.History = s.sealed(t, nil, put.History)
	}
	put.Earlier = slices.Clone(put.Earlier)
	for i, entry := range put.Earlier {
		if put.Expect > 0 {
			t.version = put.Expect + 1 + int64(i)
		}
		put.Earlier[i] = s.sealed(t, nil, entry)
	}
}

// leave notes that records are about to be deleted, durably for those that decide.
func (s *Store) leave(deletes []store.Check) error {
	for i, d := range deletes {
		name := nameOf(d.Key)
		s.mu.Lock()
		k := s.known[name]
		k.leaving++
		k.marked = k.marked || s.decides(d.Key.Kind)
		s.known[name] = k
		s.mu.Unlock()
		if s.decides(d.Key.Kind) && k.serial > 0 {
			if err := s.cfg.Mark.Leave(name, k.serial); err != nil {
				s.left(deletes[:i+1], 0, false, false)
				return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
			}
		}
	}
	return nil
}

// left notes how the commit of deletions ended.
func (s *Store) left(deletes []store.Check, serial uint64, applied, uncertain bool) {
	for _, d := range deletes {
		name, decides := nameOf(d.Key), s.decides(d.Key.Kind)
		s.mu.Lock()
		k := s.known[name]
		k.leaving--
		switch {
		case uncertain, applied && d.Version <= 0:
			k.unsure = true // a put may be noted later that came before
		case applied && d.Version >= k.version:
			k.version, k.gone = d.Version, true
			if k.serial == 0 {
				k.serial = serial
			}
		}
		s.known[name] = k
		s.mu.Unlock()
		switch {
		case !decides || uncertain || k.serial == 0:
		case k.gone, applied && d.Version <= 0:
			s.keep(s.cfg.Mark.Delete(name, k.serial))
		case k.there():
			s.keep(s.cfg.Mark.Put(name, k.serial))
		}
	}
}

// keep warns where the mark cannot be written: the change itself was made.
func (s *Store) keep(err error) {
	if err != nil {
		s.cfg.Log.Error("the mark of the seal cannot be written: older copies of what was changed would count after a restart", "error", err)
	}
}

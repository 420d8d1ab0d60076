package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store/backup"
)

// importStep is how many items are written in one transaction.
const importStep = 20_000

// Import makes the file of a backup, of a store in any database. There may be a file that has
// only internal records of services, in namespaces that begin with "_": it is replaced. The
// backup has another name until it is whole, so that a restore that was killed is begun
// again.
//
// The file begins a new era: no fencing token, no id of an event and no cache from after
// the backup counts in it.
func Import(ctx context.Context, config Config, from backup.Source) (err error) {
	config, err = config.withDefaults()
	if err != nil {
		return err
	}
	head, _ := from.About()
	if err := head.Fits(config.formats); err != nil {
		return err
	}
	config.Shards = head.Shards
	lock, err := lockFile(config.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.unlock()) }()
	if err := vacant(config); err != nil {
		return err
	}
	made := config
	made.Path, made.Witness = restoring(config.Path), ""
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(made.Path))
		}
	}()
	if err := build(ctx, made, from); err != nil {
		return fmt.Errorf("sqlitestore: restoring %s: %w", config.Path, explain(err))
	}
	// A witness of the earlier store would say that this one has gone back.
	for _, old := range append(config.witnesses(), config.Path+"-wal", config.Path+"-shm") {
		if err := remove(old); err != nil {
			return err
		}
	}
	if err := os.Rename(made.Path, config.Path); err != nil {
		return fmt.Errorf("sqlitestore: restoring %s: %w", config.Path, err)
	}
	return syncFolder(filepath.Dir(config.Path))
}

// restoring returns the name of a file until it is whole.
func restoring(path string) string { return path + ".restoring" }

// refuseHalf refuses a store whose restore was killed: who starts a server then means the
// restored one.
func refuseHalf(path string) error {
	switch _, err := os.Stat(restoring(path)); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("sqlitestore: opening %s: %w", path, err)
	}
	return fmt.Errorf("sqlitestore: opening %s: a restore was interrupted: run interlock backup restore again, or remove %s",
		path, restoring(path))
}

// vacant returns why a file must not be replaced, or nil.
func vacant(config Config) (err error) {
	switch info, err := os.Stat(config.Path); {
	case errors.Is(err, os.ErrNotExist), err == nil && info.Size() == 0:
		return nil
	case err != nil:
		return fmt.Errorf("sqlitestore: %w", err)
	}
	c, err := openWriter(config.Path)
	if err != nil {
		return fmt.Errorf("sqlitestore: opening %s: %w", config.Path, explain(err))
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	version, err := schemaVersion(c)
	if err != nil || version == 0 {
		return err
	}
	found, err := contents(c)
	if err != nil {
		return fmt.Errorf("sqlitestore: reading %s: %w", config.Path, explain(err))
	}
	if found != "" {
		return fmt.Errorf("sqlitestore: %s is not empty: it has %s; "+
			"restore into another folder, or move the file away", config.Path, found)
	}
	return nil
}

// contents names something that a file has, or is empty.
func contents(c *conn) (found string, err error) {
	for _, of := range []struct{ query, what string }{
		{`SELECT key FROM records WHERE substr(key, 1, 1) != '_' LIMIT 1`, "the record"},
		{`SELECT key FROM history WHERE substr(key, 1, 1) != '_' LIMIT 1`, "the history of"},
		{`SELECT owner FROM counters WHERE substr(owner, 1, 1) != '_' LIMIT 1`, "counters of"},
		{`SELECT key FROM timers WHERE substr(key, 1, 1) != '_' LIMIT 1`, "a timer of"},
		{`SELECT id FROM outbox LIMIT 1`, "the event"},
	} {
		s, err := c.prepare(of.query)
		if err != nil {
			return "", err
		}
		has, err := s.first(func(row []driver.Value) {
			found = of.what + " " + strings.ReplaceAll(text(row[0]), separator, "/")
		})
		if err != nil || has {
			return found, err
		}
	}
	return "", nil
}

func removeAll(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		errs = append(errs, remove(path+suffix))
	}
	return errors.Join(errs...)
}

// build makes a file. It is not read before it is whole and synced, so it is written without
// a journal.
func build(ctx context.Context, config Config, from backup.Source) (err error) {
	if err := removeAll(config.Path); err != nil {
		return err
	}
	if err := createFile(config.Path); err != nil {
		return err
	}
	c, err := openWriter(config.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(), syncFile(config.Path)) }()
	if err := c.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"); err != nil {
		return err
	}
	if err := migrate(c, config); err != nil {
		return err
	}
	m := &imports{conn: c, shards: config.Shards}
	if err := m.prepare(); err != nil {
		return err
	}
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	n := 0
	err = from.Each(func(item backup.Item) error {
		if err := m.put(item); err != nil {
			return err
		}
		if n++; n%importStep > 0 {
			return nil
		}
		return errors.Join(ctx.Err(), c.exec("COMMIT; BEGIN"))
	})
	if err != nil {
		return err
	}
	if err := m.finish(from, config); err != nil {
		return err
	}
	return c.exec("COMMIT")
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// imports writes items into a new file.
type imports struct {
	conn   *conn
	shards int

	putRecord, deleteRecord, bury, exhume       *statement
	putEntry, forget                            *statement
	dropCounters, dropWindows, dropUnits        *statement
	putCounter, putWindow, putUnits             *statement
	putAnswer, dropAnswer, putTimer, clearTimer *statement
	putEvent, putShard                          *statement
}

func (m *imports) prepare() error {
	for _, p := range []struct {
		statement **statement
		text      string
	}{
		{&m.putRecord, "INSERT INTO records (key, version, labels, updated, data) VALUES (?, ?, ?, ?, ?) " +
			"ON CONFLICT (key) DO UPDATE SET version = excluded.version, labels = excluded.labels, " +
			"updated = excluded.updated, data = excluded.data"},
		{&m.deleteRecord, "DELETE FROM records WHERE key = ?"},
		{&m.bury, "INSERT OR REPLACE INTO graves (key, version) VALUES (?, ?)"},
		{&m.exhume, "DELETE FROM graves WHERE key = ?"},
		{&m.putEntry, "INSERT OR REPLACE INTO history (key, version, at, data) VALUES (?, ?, ?, ?)"},
		{&m.forget, "DELETE FROM history WHERE key = ? AND version < ?"},
		{&m.dropCounters, "DELETE FROM counters WHERE owner = ?"},
		{&m.dropWindows, "DELETE FROM windows WHERE owner = ?"},
		{&m.dropUnits, "DELETE FROM units WHERE owner = ?"},
		{&m.putCounter, "INSERT INTO counters (owner, name, value) VALUES (?, ?, ?)"},
		{&m.putWindow, "INSERT INTO windows (owner, name, span, total) VALUES (?, ?, ?, ?)"},
		{&m.putUnits, "INSERT INTO units (owner, name, at, n) VALUES (?, ?, ?, ?)"},
		{&m.putAnswer, "INSERT OR REPLACE INTO answers (key, digest, answer, expires, entry_key, entry_version) " +
			"VALUES (?, ?, ?, ?, ?, ?)"},
		{&m.dropAnswer, "DELETE FROM answers WHERE key = ?"},
		{&m.putTimer, "INSERT OR REPLACE INTO timers (key, name, kind, shard, due, data) VALUES (?, ?, ?, ?, ?, ?)"},
		{&m.clearTimer, "DELETE FROM timers WHERE key = ? AND name = ?"},
		{&m.putEvent, "INSERT OR REPLACE INTO outbox (entry, era, id, subject, payload, entry_key, entry_version) " +
			"VALUES (?, ?, ?, ?, ?, ?, ?)"},
		{&m.putShard, "UPDATE shards SET seq = max(seq, ?) WHERE shard = ?"},
	} {
		var err error
		if *p.statement, err = m.conn.prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

// unputTime is the time of a record that was never put, until the times of its entries are known.
const unputTime = math.MinInt64

func (m *imports) put(item backup.Item) error {
	switch i := item.(type) {
	case *backup.Record:
		return m.record(i)
	case *backup.History:
		return m.history(i)
	case *backup.Counters:
		return m.counters(i)
	case *backup.Answer:
		return m.answer(i)
	case *backup.Timer:
		key := encodeKey(i.Key)
		if i.Cleared {
			return m.clearTimer.run(key, i.Name)
		}
		return m.putTimer.run(key, i.Name, i.Key.Kind, int64(i.Key.Shard(m.shards)), micros(i.Due), notNull(i.Data))
	case *backup.Event:
		if i.Shard < 0 || i.Shard >= m.shards || i.Seq < 1 || i.Seq >= 1<<seqBits {
			return fmt.Errorf("an event has the place %d of shard %d", i.Seq, i.Shard)
		}
		of, version := entryAt(i.Entry.ID, encodeKey(i.Entry), i.Version)
		err := m.putEvent.run(rowid(i.Shard, i.Seq), i.Era, i.ID, i.Subject, notNull(i.Payload), of, version)
		return errors.Join(err, m.putShard.run(i.Seq, int64(i.Shard)))
	case *backup.Shard:
		return m.putShard.run(i.Seq, int64(i.Shard))
	}
	return fmt.Errorf("unknown item %T", item)
}

// entryAt returns the stored reference to a history entry; NULL when there is none.
func entryAt(id, key string, version int64) (of, at driver.Value) {
	if id == "" {
		return nil, nil
	}
	return key, version
}

func (m *imports) record(r *backup.Record) error {
	if err := validate(r.Key); err != nil {
		return err
	}
	key := encodeKey(r.Key)
	if r.Deleted {
		return errors.Join(m.deleteRecord.run(key), m.bury.run(key, r.Version))
	}
	updated := int64(unputTime)
	if !r.Updated.IsZero() {
		updated = micros(r.Updated)
	}
	err := m.putRecord.run(key, r.Version, []byte(encodeLabels(r.Labels)), updated, notNull(r.Data))
	return errors.Join(err, m.exhume.run(key))
}

func (m *imports) history(h *backup.History) error {
	key := encodeKey(h.Key)
	for _, entry := range h.Entries {
		if err := m.putEntry.run(key, entry.Version, micros(entry.At), notNull(entry.Data)); err != nil {
			return err
		}
	}
	if h.First > 0 {
		return m.forget.run(key, h.First)
	}
	return nil
}

func (m *imports) counters(c *backup.Counters) error {
	owner := encodeKey(c.Owner)
	for _, drop := range []*statement{m.dropCounters, m.dropWindows, m.dropUnits} {
		if err := drop.run(owner); err != nil {
			return err
		}
	}
	for name, value := range c.Plain {
		if err := m.putCounter.run(owner, name, value); err != nil {
			return err
		}
	}
	for _, w := range c.Windows {
		total := int64(0)
		for _, u := range w.Units {
			total += u.N
			if err := m.putUnits.run(owner, w.Name, micros(u.At), u.N); err != nil {
				return err
			}
		}
		if err := m.putWindow.run(owner, w.Name, w.Span.Microseconds(), total); err != nil {
			return err
		}
	}
	return nil
}

func (m *imports) answer(a *backup.Answer) error {
	key := a.Hash
	if len(key) == 0 {
		key = answerKey(a.Owner, a.Name)
	}
	if a.Expires.IsZero() {
		return m.dropAnswer.run(key)
	}
	of, version := entryAt(a.Entry.ID, encodeKey(a.Entry), a.Version)
	return m.putAnswer.run(key, a.Digest, notNull(a.Answer), micros(a.Expires), of, version)
}

// finish writes the parts that follow from all items: the times of records that were only
// appended to, the index of labels, and the eras, of which the last begins when the file is
// opened.
func (m *imports) finish(from backup.Source, config Config) error {
	const dates = "UPDATE records SET updated = coalesce((SELECT at FROM history h WHERE h.key = records.key " +
		"ORDER BY version DESC LIMIT 1), ?) WHERE updated = ?"
	s, err := m.conn.prepare(dates)
	if err == nil {
		err = s.run(micros(time.Time{}), int64(unputTime))
	}
	if err != nil {
		return err
	}
	if err := m.index(); err != nil {
		return err
	}
	if s, err = m.conn.prepare("INSERT INTO eras (id, floor) VALUES (?, ?)"); err != nil {
		return err
	}
	head, tail := from.About()
	floor := head.Floor + 1
	for _, at := range []time.Time{tail.At, config.Clock()} {
		floor = max(floor, micros(at))
	}
	for _, era := range head.Eras {
		if err := s.run(era, int64(0)); err != nil {
			return err
		}
	}
	return s.run("restored-"+head.ID, floor)
}

// index writes the index of labels.
func (m *imports) index() error {
	labelled, err := m.conn.prepare("SELECT row, key, labels FROM records WHERE length(labels) > 0")
	if err != nil {
		return err
	}
	insert, err := m.conn.prepare("INSERT INTO labels (scope, name, value, id, row) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	var failed error
	err = labelled.each(func(row []driver.Value) bool {
		key := decodeKey(text(row[1]))
		labels, err := decodeLabels(text(row[2]))
		for name, value := range labels {
			if err == nil {
				err = insert.run(scope(key.Namespace, key.Kind), []byte(name), []byte(value), key.ID, row[0].(int64))
			}
		}
		failed = err
		return err == nil
	})
	return errors.Join(failed, err)
}

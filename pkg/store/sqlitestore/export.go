package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// Export writes a backup of a file, which another process may have open: it is all of the
// store as it is at one moment. The log of the file cannot be written back while it is read,
// so it grows by the commits in the meantime.
func Export(ctx context.Context, config Config, out io.Writer) (tail backup.Tail, err error) {
	config, err = config.withDefaults()
	if err != nil {
		return tail, err
	}
	if _, err := os.Stat(config.Path); err != nil {
		return tail, fmt.Errorf("sqlitestore: there is no store: %w", err)
	}
	raw, err := connector{config.Path}.Connect(ctx)
	if err != nil {
		return tail, fmt.Errorf("sqlitestore: opening %s: %w", config.Path, explain(err))
	}
	c := &conn{Conn: raw}
	defer func() { err = errors.Join(err, c.Close()) }()
	if tail, err = (&export{ctx: ctx, conn: c, config: config}).write(out); err != nil {
		return tail, fmt.Errorf("sqlitestore: backing %s up: %w", config.Path, explain(err))
	}
	return tail, nil
}

// export reads a file in one transaction.
type export struct {
	ctx    context.Context
	conn   *conn
	config Config
	w      *backup.Writer
	rows   int
}

func (x *export) write(out io.Writer) (tail backup.Tail, err error) {
	if err := x.conn.exec("BEGIN"); err != nil {
		return tail, err
	}
	head, err := x.head()
	if err != nil {
		return tail, err
	}
	at := x.config.Clock() // commits until now are seen, and no later ones
	if x.w, err = backup.NewWriter(out, head); err != nil {
		return tail, err
	}
	for _, part := range []func() error{
		x.shards, x.records, x.graves, x.history, x.counters, x.answers, x.timers, x.outbox,
	} {
		if err := part(); err != nil {
			return tail, err
		}
	}
	return x.w.End(at)
}

// head reads the head of the store, and so begins the view of the transaction.
func (x *export) head() (head backup.Head, err error) {
	version, err := schemaVersion(x.conn)
	if err != nil {
		return head, err
	}
	if err := readable(x.conn, x.config, version); err != nil {
		return head, err
	}
	if version < len(x.config.steps) {
		return head, fmt.Errorf("the file has schema %d and was not raised to %d yet: "+
			"back it up with the release that uses it, or start this one", version, len(x.config.steps))
	}
	head = backup.Head{
		ID: rand.Text(), Store: "sqlite", Format: x.config.steps[version-1].format, Program: x.config.Program,
	}
	shards, err := x.conn.number("SELECT count(*) FROM shards")
	if err != nil {
		return head, err
	}
	known, err := readEras(x.conn)
	if err != nil {
		return head, err
	}
	head.Shards, head.Eras, head.Floor = int(shards), slices.Sorted(maps.Keys(known)), known.floor()
	return head, nil
}

// each yields the rows of a query.
func (x *export) each(query string, yield func(row []driver.Value) error) error {
	s, err := x.conn.prepare(query)
	if err != nil {
		return err
	}
	return x.run(s, yield)
}

func (x *export) run(s *statement, yield func(row []driver.Value) error, args ...driver.Value) (failed error) {
	err := s.each(func(row []driver.Value) bool {
		if x.rows++; x.rows%1024 == 0 {
			failed = x.ctx.Err()
		}
		if failed == nil {
			failed = yield(row)
		}
		return failed == nil
	}, args...)
	return errors.Join(failed, err)
}

func (x *export) shards() error {
	return x.each("SELECT shard, seq FROM shards", func(row []driver.Value) error {
		return x.w.Put(&backup.Shard{Shard: int(row[0].(int64)), Seq: row[1].(int64)})
	})
}

func (x *export) records() error {
	return x.each("SELECT key, version, labels, updated, data FROM records ORDER BY row", func(row []driver.Value) error {
		labels, err := decodeLabels(text(row[2]))
		if err != nil {
			return err
		}
		return x.w.Put(&backup.Record{
			Key: decodeKey(text(row[0])), Version: row[1].(int64), Labels: labels, Updated: fromMicros(row[3].(int64)),
			Data: content(row[4]),
		})
	})
}

func (x *export) graves() error {
	return x.each("SELECT key, version FROM graves", func(row []driver.Value) error {
		return x.w.Put(&backup.Record{Key: decodeKey(text(row[0])), Version: row[1].(int64), Deleted: true})
	})
}

// history reads entries in the order in which it was written, which is that of the
// versions of each record.
func (x *export) history() error {
	return x.each("SELECT key, version, at, data FROM history ORDER BY rowid", func(row []driver.Value) error {
		return x.w.Put(&backup.History{Key: decodeKey(text(row[0])), Entries: []store.HistoryEntry{
			{Version: row[1].(int64), At: fromMicros(row[2].(int64)), Data: content(row[3])},
		}})
	})
}

func (x *export) counters() error {
	plain, err := x.conn.prepare("SELECT name, value FROM counters WHERE owner = ?")
	if err != nil {
		return err
	}
	windows, err := x.conn.prepare("SELECT w.name, w.span, u.at, u.n FROM windows w LEFT JOIN units u " +
		"ON u.owner = w.owner AND u.name = w.name WHERE w.owner = ? ORDER BY w.name, u.at")
	if err != nil {
		return err
	}
	return x.each("SELECT owner FROM counters UNION SELECT owner FROM windows", func(row []driver.Value) error {
		owner := text(row[0])
		of := &backup.Counters{Owner: decodeKey(owner), Plain: map[string]int64{}}
		err := x.run(plain, func(row []driver.Value) error {
			of.Plain[text(row[0])] = row[1].(int64)
			return nil
		}, owner)
		if err != nil {
			return err
		}
		err = x.run(windows, func(row []driver.Value) error {
			name, span := text(row[0]), time.Duration(row[1].(int64))*time.Microsecond
			if n := len(of.Windows); n == 0 || of.Windows[n-1].Name != name {
				of.Windows = append(of.Windows, backup.Window{Name: name, Span: span})
			}
			if last := &of.Windows[len(of.Windows)-1]; row[2] != nil {
				last.Units = append(last.Units, backup.Units{At: fromMicros(row[2].(int64)), N: row[3].(int64)})
			}
			return nil
		}, owner)
		if err != nil {
			return err
		}
		return x.w.Put(of)
	})
}

func (x *export) answers() error {
	const query = "SELECT key, digest, answer, expires, entry_key, entry_version FROM answers"
	return x.each(query, func(row []driver.Value) error {
		answer := &backup.Answer{
			Hash: content(row[0]), Digest: text(row[1]), Answer: content(row[2]), Expires: fromMicros(row[3].(int64)),
		}
		if row[4] != nil {
			answer.Entry, answer.Version = decodeKey(text(row[4])), row[5].(int64)
		}
		return x.w.Put(answer)
	})
}

func (x *export) timers() error {
	return x.each("SELECT key, name, due, data FROM timers", func(row []driver.Value) error {
		id := store.TimerID{Key: decodeKey(text(row[0])), Name: text(row[1])}
		return x.w.Put(&backup.Timer{Timer: store.Timer{TimerID: id, Due: fromMicros(row[2].(int64)), Data: content(row[3])}})
	})
}

func (x *export) outbox() error {
	const query = "SELECT entry, era, id, subject, payload, entry_key, entry_version FROM outbox ORDER BY entry"
	return x.each(query, func(row []driver.Value) error {
		entry := store.OutboxEntry{
			Shard: int(row[0].(int64) >> seqBits), Seq: seqOf(row[0].(int64)), Era: text(row[1]), ID: text(row[2]),
			Subject: text(row[3]), Payload: content(row[4]),
		}
		if row[5] != nil {
			entry.Entry, entry.Version = decodeKey(text(row[5])), row[6].(int64)
		}
		return x.w.Put(&backup.Event{OutboxEntry: entry})
	})
}

// content returns a column of bytes, also when another program has made text of it.
func content(v driver.Value) []byte {
	if s, is := v.(string); is {
		return []byte(s)
	}
	return blob(v)
}

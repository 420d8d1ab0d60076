// Package sqlitestore keeps the contract of package store in one SQLite file, for an
// Interlock that runs in one process without other software.
//
// One goroutine writes. It takes the waiting commits, applies them in one transaction and
// answers them after the one fsync that they share; a batch that is refused leaves its
// neighbours alone. Reads have connections of their own and see every commit that was
// answered.
//
// It must never answer a commit before it is durable, and never share its file
// with another process: waiters are woken within this one.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// DefaultShards is the number of shards of a new file. One process needs few.
const DefaultShards = 8

// maxShards is bound by the outbox's row ids, see rowid.
const maxShards = 4096

// Config says how to open a store.
type Config struct {
	// Path of the file. It is created when it does not exist, its folder is not.
	// Next to it live Path-wal, Path-shm, Path.lock and Path.reserve.
	Path string
	// Witness is a file outside of the folder of Path that remembers the history of the store, too, so that an
	// older copy of the whole folder is noticed. Empty for none.
	Witness string
	// Shards of a new file, DefaultShards when 0. A file keeps the number that it was
	// created with, regardless of this field.
	Shards int
	// Clock is the clock of leases, windows and expiries, time.Now when nil.
	Clock func() time.Time
	// Readers is the number of connections for reading, 4 when 0.
	Readers int
	// ContinueAfterRollback uses a file that has gone back in time, with an error in
	// the log, where it would wait for AcceptRollback.
	ContinueAfterRollback bool
	// Logger gets that error, slog.Default() when nil.
	Logger *slog.Logger
	// Measure is notified of each transaction: how many commits it carries, and how many
	// wait for the next one. It must be quick; nil if there is none.
	Measure func(commits, waiting int)
	// Program is the version of the program, which a file records that it makes or raises.
	Program string

	// formats and steps are those of this program, outside of tests.
	formats store.Formats
	steps   []step
}

// Store is a store in a SQLite file.
type Store struct {
	path string
	// witnesses are files that remember the newest state of the store that was seen.
	witnesses []string
	clock     func() time.Time
	lock      *fileLock
	gate      *store.Gate
	readers   *sql.DB
	reads     *reads
	writer    *writer
	heads     *heads
	// stopped is closed by Close, to wake waiting callers.
	stopped chan struct{}
	// grace is how long a caller that gave up waits for the answer to a write
	// that is under way: it comes with the next fsync, and the truth is worth it.
	grace   time.Duration
	closing sync.Once
	closed  atomic.Bool
	err     error
}

var _ store.Store = (*Store)(nil)

// Open opens the file, creates it when there is none, and raises its format when it
// was written by an older Interlock. It fails when another process, or another
// Store of this one, has the file open, and when a newer Interlock wrote it.
func Open(ctx context.Context, config Config) (_ *Store, err error) {
	config, err = config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{path: config.Path, witnesses: config.witnesses(), clock: config.Clock, grace: time.Second, stopped: make(chan struct{})}
	s.lock, err = lockFile(config.Path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if err := refuseHalf(config.Path); err != nil {
		return nil, err
	}
	// On a full disk, the reserve's room is for the small files that a start needs.
	spare := &reserve{path: config.Path + ".reserve"}
	if err := remove(spare.path); err != nil {
		return nil, err
	}
	if err := createFile(config.Path); err != nil {
		return nil, err
	}
	conn, err := openWriter(config.Path)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: opening %s: %w", config.Path, explain(err))
	}
	s.writer = &writer{conn: conn, clock: config.Clock, reserve: spare, measure: config.Measure}
	if err := migrate(conn, config); err != nil {
		return nil, err
	}
	if s.heads, err = readHeads(conn); err != nil {
		return nil, fmt.Errorf("sqlitestore: reading %s: %w", config.Path, explain(err))
	}
	lost, err := s.beginEra(config)
	if err != nil {
		return nil, err
	}
	s.gate = store.NewGate()
	if lost != "" {
		config.Logger.Error("THE STORE HAS GONE BACK IN TIME and is not used; restore it, or run: interlock store accept-rollback",
			"file", config.Path, "lost", lost)
		s.gate.Lose(&store.RolledBackError{Lost: lost})
	}
	if err := s.writer.prepare(s.heads); err != nil {
		return nil, fmt.Errorf("sqlitestore: preparing %s: %w", config.Path, explain(err))
	}
	s.readers = sql.OpenDB(connector{path: config.Path})
	s.readers.SetMaxOpenConns(config.Readers)
	s.readers.SetMaxIdleConns(config.Readers)
	if s.reads, err = prepareReads(ctx, s.readers); err != nil {
		return nil, fmt.Errorf("sqlitestore: preparing %s: %w", config.Path, explain(err))
	}
	// Without a reserve, the store serves calls as far as it can and is not ready.
	_ = spare.keep()
	s.writer.start()
	return s, nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Path == "" {
		return c, errors.New("sqlitestore: no path: name the file to keep the store in")
	}
	if c.Shards < 0 || c.Shards > maxShards {
		return c, fmt.Errorf("sqlitestore: %d shards: choose 1 to %d", c.Shards, maxShards)
	}
	if c.Shards == 0 {
		c.Shards = DefaultShards
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Readers <= 0 {
		c.Readers = 4
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Measure == nil {
		c.Measure = func(int, int) {}
	}
	if c.steps == nil {
		c.formats, c.steps = store.KnownFormats(), schema
	}
	return c, nil
}

// Shards returns the number of shards that the file was created with.
func (s *Store) Shards() int { return len(s.heads.seqs) }

// Ping returns nil when the file can be read, the last commit did not fail, and there is
// room for more.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.readers.PingContext(ctx); err != nil {
		return s.readError(ctx, "pinging", err)
	}
	if err := s.writer.reserve.keep(); err != nil {
		return err
	}
	if err := s.writer.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// Bytes returns the size of the database and of its log, see store.Sized.
func (s *Store) Bytes(context.Context) (int64, error) {
	var sum int64
	for _, file := range []string{s.path, s.path + "-wal"} {
		info, err := os.Stat(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("sqlitestore: %w", err)
		}
		if err == nil {
			sum += info.Size()
		}
	}
	return sum, nil
}

// Close finishes the commits under way and closes the file. Calls that come later answer
// store.ErrUnavailable. Closing again has no effect.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		close(s.stopped)
		s.writer.stop()
		if s.gate.Lost() == nil && s.writer.broken.Load() == nil {
			s.err = witness{s.writer.era, s.heads.sum()}.write(s.witnesses)
		}
		s.err = errors.Join(s.err, s.release())
	})
	return s.err
}

// release closes all that is open. The readers go first: the last connection writes the
// log back into the file and removes it.
func (s *Store) release() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.conn.Close())
	}
	errs = append(errs, s.lock.unlock())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sqlitestore: closing %s: %w", s.path, err)
	}
	return nil
}

// usable returns why the store cannot be used now, or nil.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	if err := s.writer.broken.Load(); err != nil {
		return *err
	}
	return s.gate.Pass(ctx)
}

package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/interlock-run/interlock/pkg/store"
)

// errClosed is the error of a closed store.
var errClosed = fmt.Errorf("%w: the store is closed", store.ErrUnavailable)

// failure is an error of SQLite or the disk, as opposed to a batch that was
// refused. It ends the transaction.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail marks an error, unless it is nil, as a failure.
func fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{fmt.Errorf("%s: %w", doing, err)}
}

// failed returns whether an error is a failure.
func failed(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// code returns the primary result code of a SQLite error, 0 when it is none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain adds how to fix it to errors of SQLite that have one.
func explain(err error) error {
	if e := (*sqlite.Error)(nil); errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
		return fmt.Errorf("%w: the disk is full or failed: free some space, and check the system's log", err)
	}
	switch code(err) {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: the disk is full: free some space", err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: the file is not a SQLite database: name another path, or restore the file from a backup", err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: the file is damaged: restore it from a backup", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w: check that the file and its folder can be written", err)
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%w: the disk failed: check it and the system's log", err)
	}
	return err
}

// readError translates an error of a reading connection.
func (s *Store) readError(ctx context.Context, doing string, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if s.closed.Load() {
		return errClosed
	}
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, doing, explain(err))
}

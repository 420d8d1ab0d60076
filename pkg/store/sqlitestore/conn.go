package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"
)

// dsn returns the data source name of the file with these pragmas.
func dsn(path string, pragmas ...string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	query := url.Values{"_pragma": append([]string{
		"busy_timeout(10000)",
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"temp_store(MEMORY)",
	}, pragmas...)}
	// A path in a URI begins with a slash, on Windows too.
	path = filepath.ToSlash(path)
	if path[0] != '/' {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String(), nil
}

// connector opens connections that cannot write.
type connector struct{ path string }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	name, err := dsn(c.path, "query_only(1)", "cache_size(-4000)")
	if err != nil {
		return nil, err
	}
	return c.Driver().Open(name)
}

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

// conn is the writer's connection. It bypasses database/sql, whose locks and
// conversions would cost a third of a commit.
type conn struct {
	driver.Conn
	statements []driver.Stmt
}

// openWriter opens a connection that can write.
func openWriter(path string) (*conn, error) {
	// Writing the log back into the file costs an fsync; every 16 MiB is rare.
	name, err := dsn(path, "cache_size(-32000)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	c, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// Close closes the connection and its statements.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.Conn.Close())...)
}

// exec runs one or several statements without arguments.
func (c *conn) exec(text string) error {
	_, err := c.Conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

// number runs a query that answers one number.
func (c *conn) number(text string) (n int64, err error) {
	s, err := c.prepare(text)
	if err != nil {
		return 0, err
	}
	found, err := s.first(func(row []driver.Value) { n = row[0].(int64) })
	if err == nil && !found {
		err = fmt.Errorf("no row: %s", text)
	}
	return n, err
}

// statement is a prepared statement of the writer's connection.
type statement struct {
	execer  driver.StmtExecContext
	queryer driver.StmtQueryContext
	args    []driver.NamedValue
	row     []driver.Value
}

// prepare prepares a statement, to be closed with the connection.
func (c *conn) prepare(text string) (*statement, error) {
	s, err := c.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", text, err)
	}
	c.statements = append(c.statements, s)
	return &statement{execer: s.(driver.StmtExecContext), queryer: s.(driver.StmtQueryContext)}, nil
}

func (s *statement) bind(args []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s.args
}

// exec runs the statement and returns how many rows it changed. The arguments
// are int64, string, []byte or nil.
func (s *statement) exec(args ...driver.Value) (int64, error) {
	// SQLite does not interrupt without a context, and the writer must not stop halfway
	// because one of its callers has gone.
	result, err := s.execer.ExecContext(context.Background(), s.bind(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// run runs the statement.
func (s *statement) run(args ...driver.Value) error {
	_, err := s.exec(args...)
	return err
}

// each calls yield with each row, which is valid during the call, until yield
// answers false.
func (s *statement) each(yield func(row []driver.Value) bool, args ...driver.Value) (err error) {
	rows, err := s.queryer.QueryContext(context.Background(), s.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		err := rows.Next(s.row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(s.row) {
			return nil
		}
	}
}

// first calls yield with the first row and returns whether there is one.
func (s *statement) first(yield func(row []driver.Value), args ...driver.Value) (found bool, err error) {
	err = s.each(func(row []driver.Value) bool {
		found = true
		yield(row)
		return false
	}, args...)
	return found, err
}

// text returns a column that holds text.
func text(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// blob returns a column that holds bytes; SQLite does not distinguish empty from NULL
// here.
func blob(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

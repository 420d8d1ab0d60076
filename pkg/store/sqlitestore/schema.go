package sqlitestore

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/store"
)

// applicationID marks the file as a store of Interlock ("ILCK").
const applicationID = 0x494c434b

// step leads from one version of the schema to the next, in one transaction.
type step struct {
	name string
	// format that the store has from then on.
	format int
	sql    string
}

// schema are all steps. A published one is never changed.
//
// A key is stored as one text, see encodeKey; times are microseconds since 1970.
var schema = []step{{"the tables", 1, `
CREATE TABLE shards (
	shard INTEGER PRIMARY KEY,
	seq   INTEGER NOT NULL -- the last sequence number that was used
);
CREATE TABLE records (
	row     INTEGER PRIMARY KEY,
	key     TEXT    NOT NULL UNIQUE,
	version INTEGER NOT NULL,
	labels  BLOB    NOT NULL,
	updated INTEGER NOT NULL,
	data    BLOB    NOT NULL
);
-- The last versions of records that were deleted.
CREATE TABLE graves (
	key     TEXT    NOT NULL PRIMARY KEY,
	version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE labels (
	scope TEXT    NOT NULL,
	name  BLOB    NOT NULL,
	value BLOB    NOT NULL,
	id    TEXT    NOT NULL,
	row   INTEGER NOT NULL,
	PRIMARY KEY (scope, name, value, id)
) WITHOUT ROWID;
-- Rows of history and answers lie in the order in which they are written, and only
-- their keys in that of an index: a commit of many runs then touches few pages.
CREATE TABLE history (
	key     TEXT    NOT NULL,
	version INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	data    BLOB    NOT NULL,
	PRIMARY KEY (key, version)
);
CREATE TABLE counters (
	owner TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	value INTEGER NOT NULL,
	PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE TABLE windows (
	owner TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	span  INTEGER NOT NULL, -- microseconds for which units are kept
	total INTEGER NOT NULL, -- the sum of units.n
	PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE TABLE units (
	owner TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	at    INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (owner, name, at)
) WITHOUT ROWID;
CREATE TABLE outbox (
	entry   INTEGER PRIMARY KEY, -- the shard and the sequence number, see rowid
	id      TEXT NOT NULL,
	subject TEXT NOT NULL,
	payload BLOB NOT NULL
);
CREATE TABLE timers (
	key   TEXT    NOT NULL,
	name  TEXT    NOT NULL,
	kind  TEXT    NOT NULL, -- that of the key
	shard INTEGER NOT NULL,
	due   INTEGER NOT NULL,
	data  BLOB    NOT NULL,
	PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE INDEX timers_due ON timers (kind, shard, due);
CREATE TABLE leases (
	key     TEXT    NOT NULL PRIMARY KEY,
	holder  TEXT    NOT NULL,
	token   INTEGER NOT NULL, -- the last that was given
	expires INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE answers (
	owner   TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	digest  TEXT    NOT NULL,
	answer  BLOB    NOT NULL,
	expires INTEGER NOT NULL,
	PRIMARY KEY (owner, name)
);
CREATE INDEX answers_expires ON answers (expires);
`}, {"eras", 1, `
-- One for each time that the file was opened: what is in it may be from a copy.
CREATE TABLE eras (
	id    TEXT    NOT NULL PRIMARY KEY,
	floor INTEGER NOT NULL -- the least fencing token
) WITHOUT ROWID;
ALTER TABLE outbox ADD COLUMN era TEXT NOT NULL DEFAULT '';
`}, {"answers and payloads that are entries of a history", 1, `
-- The history entry that a payload or an answer is, instead of having one.
ALTER TABLE outbox ADD COLUMN entry_key TEXT;
ALTER TABLE outbox ADD COLUMN entry_version INTEGER;
ALTER TABLE answers ADD COLUMN entry_key TEXT;
ALTER TABLE answers ADD COLUMN entry_version INTEGER;
`}, {"idempotency keys as hashes", 1, `
-- Owner and name, which are longer than an answer that is a history entry, as a hash: see
-- answerKey.
DROP TABLE answers;
CREATE TABLE answers (
	key           BLOB    NOT NULL PRIMARY KEY,
	digest        TEXT    NOT NULL,
	answer        BLOB    NOT NULL,
	expires       INTEGER NOT NULL,
	entry_key     TEXT,
	entry_version INTEGER
);
CREATE INDEX answers_expires ON answers (expires);
`}, {"the record of the format", 1, `
-- The format of the store, and the version of the program that it has it from: see store.Stamp.
CREATE TABLE stamp (
	format  INTEGER NOT NULL,
	program TEXT    NOT NULL
);
INSERT INTO stamp VALUES (1, '');
`}, {"traces of events", 1, `
-- The trace that an event was decided in, see store.Event. Programs that do not know it leave it out.
ALTER TABLE outbox ADD COLUMN trace TEXT;
`}}

// stamped is the first version of the schema that has the table of the stamp.
const stamped = 5

// migrate brings the file to the newest version of the schema, each step in one
// transaction. No other program has the file open, so none needs the format of before.
func migrate(c *conn, config Config) error {
	version, err := schemaVersion(c)
	if err != nil {
		return fmt.Errorf("sqlitestore: opening %s: %w", config.Path, explain(err))
	}
	if err := readable(c, config, version); err != nil {
		return fmt.Errorf("sqlitestore: opening %s: %w", config.Path, explain(err))
	}
	for ; version < len(config.steps); version++ {
		if err := c.exec(transaction(config, version)); err != nil {
			name := config.steps[version].name
			return fmt.Errorf("sqlitestore: raising %s to schema %d (%s): %w", config.Path, version+1, name, explain(err))
		}
	}
	return nil
}

// transaction returns the statements that lead from a version of the schema to the next.
func transaction(config Config, version int) string {
	to := config.steps[version]
	text := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA application_id = %d; PRAGMA user_version = %d;",
		to.sql, applicationID, version+1)
	if version == 0 {
		for shard := range config.Shards {
			text += fmt.Sprintf("INSERT INTO shards VALUES (%d, 0);", shard)
		}
	}
	if version+1 >= stamped {
		program := strings.ReplaceAll(config.Program, "'", "''")
		text += fmt.Sprintf("UPDATE stamp SET format = %d, program = '%s';", to.format, program)
	}
	return text + "COMMIT"
}

// readable returns why a file cannot be used as it is or be raised, or nil.
func readable(c *conn, config Config, version int) error {
	if version < stamped {
		return nil // its version suffices
	}
	s, err := c.prepare("SELECT format, program FROM stamp")
	if err != nil {
		return err
	}
	var stamp store.Stamp
	_, err = s.first(func(row []driver.Value) {
		stamp = store.Stamp{Format: int(row[0].(int64)), Program: text(row[1])}
	})
	if err != nil {
		return err
	}
	if _, err := config.formats.Raised(stamp); err != nil {
		return err
	}
	if version > len(config.steps) {
		return fmt.Errorf("the file has schema %d, which %s has given it, and this program knows %d: "+
			"run that one or a later one, or restore a backup of before the upgrade",
			version, cmp.Or(stamp.Program, "a later build"), len(config.steps))
	}
	return nil
}

// schemaVersion returns the version of the file's schema, 0 when it is empty.
func schemaVersion(c *conn) (int, error) {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	empty := version == 0 && id == 0 && tables == 0
	if !empty && id != applicationID {
		return 0, errors.New("the file is a database of another program: name another path")
	}
	return int(version), nil
}

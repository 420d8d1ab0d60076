-- A file as it was before the format was recorded: schema 4.

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

-- One for each time that the file was opened: what is in it may be from a copy.
CREATE TABLE eras (
	id    TEXT    NOT NULL PRIMARY KEY,
	floor INTEGER NOT NULL -- the least fencing token
) WITHOUT ROWID;
ALTER TABLE outbox ADD COLUMN era TEXT NOT NULL DEFAULT '';

-- The history entry that a payload or an answer is, instead of having one.
ALTER TABLE outbox ADD COLUMN entry_key TEXT;
ALTER TABLE outbox ADD COLUMN entry_version INTEGER;
ALTER TABLE answers ADD COLUMN entry_key TEXT;
ALTER TABLE answers ADD COLUMN entry_version INTEGER;

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
PRAGMA application_id = 0x494c434b;
PRAGMA user_version = 4;
INSERT INTO shards VALUES (0, 0), (1, 0), (2, 1);
INSERT INTO records VALUES (1, 'test' || char(31) || 'run' || char(31) || 'writer1', 2, x'', 1700000000000000, x'6b657074');
INSERT INTO eras VALUES ('OLDERA', 0);
INSERT INTO answers VALUES (x'00112233445566778899aabbccddeeff', 'd', x'61', 4700000000000000, NULL, NULL);

package sqlitestore

// statements are those of the writer.
type statements struct {
	begin, commitGroup, rollback  *statement
	savepoint, undo, keep         *statement
	findRecord                    *statement
	insertRecord, updateRecord    *statement
	growRecord                    *statement
	deleteRecord                  *statement
	bury, exhume                  *statement
	insertLabel, deleteLabel      *statement
	insertHistory, dropHistory    *statement
	findCounter, setCounter       *statement
	dropCounters                  *statement
	findWindow, setWindow         *statement
	dropWindows, dropUnits        *statement
	sumUnits, expireUnits         *statement
	oldestUnits                   *statement
	addUnits, setUnits, takeUnits *statement
	insertEvent, setHead          *statement
	firstEntry, deleteEntries     *statement
	setTimer, clearTimer          *statement
	postpone                      *statement
	isTimer                       *statement
	findLease, setLease           *statement
	findAnswer, setAnswer         *statement
	purge                         *statement
}

// prepare prepares the writer to start with these heads.
func (w *writer) prepare(h *heads) error {
	w.heads = h
	w.cache, w.pending, w.quiet = newCache(), newPending(), newQuiet()
	s := &w.statements
	for _, p := range []struct {
		statement **statement
		text      string
	}{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commitGroup, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.savepoint, "SAVEPOINT batch"},
		{&s.undo, "ROLLBACK TO batch"},
		{&s.keep, "RELEASE batch"},

		{&s.findRecord, "SELECT row, version, labels FROM records WHERE key = ? UNION ALL SELECT 0, version, NULL FROM graves WHERE key = ?"},
		{&s.insertRecord, "INSERT INTO records (key, version, labels, updated, data) VALUES (?, ?, ?, ?, ?) RETURNING row"},
		{&s.updateRecord, "UPDATE records SET version = ?, labels = ?, updated = ?, data = ? WHERE row = ?"},
		{&s.growRecord, "UPDATE records SET version = ?, updated = ? WHERE row = ?"},
		{&s.deleteRecord, "DELETE FROM records WHERE row = ?"},
		{&s.bury, "INSERT INTO graves (key, version) VALUES (?, ?)"},
		{&s.exhume, "DELETE FROM graves WHERE key = ?"},
		{&s.insertLabel, "INSERT INTO labels (scope, name, value, id, row) VALUES (?, ?, ?, ?, ?)"},
		{&s.deleteLabel, "DELETE FROM labels WHERE scope = ? AND name = ? AND value = ? AND id = ?"},
		{&s.insertHistory, "INSERT INTO history (key, version, at, data) VALUES (?, ?, ?, ?)"},
		{&s.dropHistory, "DELETE FROM history WHERE key = ? AND version <= ?"},

		{&s.findCounter, "SELECT value FROM counters WHERE owner = ? AND name = ?"},
		{&s.setCounter, "INSERT INTO counters (owner, name, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"},
		{&s.dropCounters, "DELETE FROM counters WHERE owner = ?"},

		{&s.findWindow, "SELECT span, total FROM windows WHERE owner = ? AND name = ?"},
		{&s.setWindow, "INSERT INTO windows (owner, name, span, total) VALUES (?, ?, ?, ?) " +
			"ON CONFLICT DO UPDATE SET span = excluded.span, total = excluded.total"},
		{&s.dropWindows, "DELETE FROM windows WHERE owner = ?"},
		{&s.dropUnits, "DELETE FROM units WHERE owner = ?"},
		{&s.sumUnits, "SELECT coalesce(sum(n), 0) FROM units WHERE owner = ? AND name = ? AND at <= ?"},
		{&s.expireUnits, "DELETE FROM units WHERE owner = ? AND name = ? AND at <= ?"},
		{&s.oldestUnits, "SELECT at, n FROM units WHERE owner = ? AND name = ? AND at > ? ORDER BY at"},
		{&s.addUnits, "INSERT INTO units (owner, name, at, n) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"},
		{&s.setUnits, "UPDATE units SET n = ? WHERE owner = ? AND name = ? AND at = ?"},
		{&s.takeUnits, "DELETE FROM units WHERE owner = ? AND name = ? AND at > ? AND at <= ?"},

		{&s.insertEvent, "INSERT INTO outbox (entry, era, id, subject, payload, entry_key, entry_version, trace) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
		{&s.setHead, "UPDATE shards SET seq = ? WHERE shard = ?"},
		{&s.firstEntry, "SELECT entry FROM outbox WHERE entry > ? AND entry <= ? ORDER BY entry LIMIT 1"},
		{&s.deleteEntries, "DELETE FROM outbox WHERE entry >= ? AND entry <= ?"},

		{&s.setTimer, "INSERT INTO timers (key, name, kind, shard, due, data) VALUES (?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT DO UPDATE SET due = excluded.due, data = excluded.data"},
		{&s.postpone, "UPDATE timers SET due = ? WHERE key = ? AND name = ? AND due = ? AND data = ?"},
		{&s.isTimer, "SELECT 1 FROM timers WHERE key = ? AND name = ? AND due = ? AND data = ?"},
		{&s.clearTimer, "DELETE FROM timers WHERE key = ? AND name = ?"},

		{&s.findLease, "SELECT holder, token, expires FROM leases WHERE key = ?"},
		{&s.setLease, "INSERT INTO leases (key, holder, token, expires) VALUES (?, ?, ?, ?) " +
			"ON CONFLICT DO UPDATE SET holder = excluded.holder, token = excluded.token, expires = excluded.expires"},

		{&s.findAnswer, "SELECT a.digest, coalesce(h.data, a.answer), a.expires FROM answers a " +
			"LEFT JOIN history h ON h.key = a.entry_key AND h.version = a.entry_version WHERE a.key = ?"},
		{&s.setAnswer, "INSERT INTO answers (key, digest, answer, expires, entry_key, entry_version) VALUES (?, ?, ?, ?, ?, ?) " +
			"ON CONFLICT DO UPDATE SET digest = excluded.digest, answer = excluded.answer, expires = excluded.expires, " +
			"entry_key = excluded.entry_key, entry_version = excluded.entry_version"},
		{&s.purge, "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE expires <= ? LIMIT ?)"},
	} {
		var err error
		if *p.statement, err = w.conn.prepare(p.text); err != nil {
			return err
		}
	}
	return nil
}

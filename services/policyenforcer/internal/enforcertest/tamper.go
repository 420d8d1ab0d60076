package enforcertest

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // opens the file of a store without the store

	"github.com/interlock-run/interlock/pkg/store"
)

// Entry is one of a record's history, as it is stored.
type Entry struct {
	Version int64
	At      string
	Data    string
}

// Tampering changes stored data directly in the file or server.
type Tampering interface {
	History(key store.Key) []Entry
	SetHistory(key store.Key, entries []Entry)
	Data(key store.Key) string
	SetData(key store.Key, data string)
	SetVersion(key store.Key, version int64)
	// Drop removes a record and keeps its history.
	Drop(key store.Key)
}

// Tampered closes the store, tampers with it, and opens it again.
func (r *Rig) Tampered(do func(Tampering)) {
	r.Helper()
	if err := r.Storage.Close(); err != nil {
		r.Fatal(err)
	}
	r.Backend.tamper(r.T, do)
	if b, ok := r.Backend.(*sqlite); ok {
		b.st = nil
	}
	r.Storage = r.Backend.Open(r.T, r.Clock)
}

type sqliteTampering struct {
	t  *testing.T
	db *sql.DB
}

func (b *sqlite) tamper(t *testing.T, do func(Tampering)) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path)
	if err != nil {
		t.Fatal(err)
	}
	do(&sqliteTampering{t, db})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func sqlKey(key store.Key) string { return key.Namespace + "\x1f" + key.Kind + "\x1f" + key.ID }

func (s *sqliteTampering) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sqliteTampering) History(key store.Key) []Entry {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT version, at, data FROM history WHERE key = ? ORDER BY version", sqlKey(key))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var entries []Entry
	for rows.Next() {
		var e Entry
		var data []byte
		if err := rows.Scan(&e.Version, &e.At, &data); err != nil {
			s.t.Fatal(err)
		}
		e.Data = string(data)
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return entries
}

func (s *sqliteTampering) SetHistory(key store.Key, entries []Entry) {
	s.t.Helper()
	s.exec("DELETE FROM history WHERE key = ?", sqlKey(key))
	for _, e := range entries {
		at, err := strconv.ParseInt(e.At, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		s.exec("INSERT INTO history (key, version, at, data) VALUES (?, ?, ?, ?)", sqlKey(key), e.Version, at, []byte(e.Data))
	}
}

func (s *sqliteTampering) Data(key store.Key) string {
	s.t.Helper()
	var data []byte
	if err := s.db.QueryRowContext(s.t.Context(), "SELECT data FROM records WHERE key = ?", sqlKey(key)).Scan(&data); err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

func (s *sqliteTampering) SetData(key store.Key, data string) {
	s.exec("UPDATE records SET data = ? WHERE key = ?", []byte(data), sqlKey(key))
}

func (s *sqliteTampering) SetVersion(key store.Key, version int64) {
	s.exec("UPDATE records SET version = ? WHERE key = ?", version, sqlKey(key))
}

func (s *sqliteTampering) Drop(key store.Key) {
	s.exec("DELETE FROM records WHERE key = ?", sqlKey(key))
}

type redisTampering struct {
	t      *testing.T
	client *goredis.Client
	shards string
}

func (b *redis) tamper(t *testing.T, do func(Tampering)) {
	t.Helper()
	options, err := goredis.ParseURL(b.url)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(options)
	do(&redisTampering{t, client, b.prefix})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
}

// name is the name of what a key has, such as its history "h:".
func (s *redisTampering) name(of string, key store.Key) string {
	shard := strconv.Itoa(key.Shard(store.DefaultShards))
	return s.shards + ":{" + shard + "}:" + of + key.Namespace + "/" + key.Kind + "/" + key.ID
}

func (s *redisTampering) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *redisTampering) History(key store.Key) []Entry {
	s.t.Helper()
	stored, err := s.client.LRange(context.Background(), s.name("h:", key), 0, -1).Result()
	s.must(err)
	entries := make([]Entry, len(stored))
	for i, text := range stored {
		head, data, _ := strings.Cut(text, " ")
		number, at, _ := strings.Cut(head, "-")
		version, err := strconv.ParseInt(number, 10, 64)
		s.must(err)
		entries[i] = Entry{version, at, data}
	}
	return entries
}

func (s *redisTampering) SetHistory(key store.Key, entries []Entry) {
	s.t.Helper()
	s.must(s.client.Del(context.Background(), s.name("h:", key)).Err())
	for _, e := range entries {
		s.must(s.client.RPush(context.Background(), s.name("h:", key), strconv.FormatInt(e.Version, 10)+"-"+e.At+" "+e.Data).Err())
	}
}

func (s *redisTampering) Data(key store.Key) string {
	s.t.Helper()
	data, err := s.client.HGet(context.Background(), s.name("r:", key), "d").Result()
	s.must(err)
	return data
}

func (s *redisTampering) SetData(key store.Key, data string) {
	s.must(s.client.HSet(context.Background(), s.name("r:", key), "d", data).Err())
}

func (s *redisTampering) SetVersion(key store.Key, version int64) {
	s.must(s.client.HSet(context.Background(), s.name("r:", key), "v", version).Err())
}

func (s *redisTampering) Drop(key store.Key) {
	s.must(s.client.Del(context.Background(), s.name("r:", key)).Err())
}

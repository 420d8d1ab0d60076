package redisstore_test

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestCopies(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	storetest.RunCopies(t, func(t *testing.T, clock *storetest.Clock) *storetest.Copies {
		of := source(t, redisstore.Config{URL: url, Prefix: prefix(t), Clock: clock.Now})
		into := redisstore.Config{URL: url, Prefix: prefix(t), Clock: clock.Now}
		of.Import = func(t *testing.T, from backup.Source) error {
			t.Helper()
			return redisstore.Import(t.Context(), into, from)
		}
		of.Open = func(t *testing.T) store.Store {
			t.Helper()
			return open(t, into)
		}
		return of
	})
}

// A backup of a Redis is restored into SQLite.
func TestCopiesIntoSQLite(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	storetest.RunCopies(t, func(t *testing.T, clock *storetest.Clock) *storetest.Copies {
		of := source(t, redisstore.Config{URL: url, Prefix: prefix(t), Clock: clock.Now})
		into := sqlitestore.Config{Path: filepath.Join(t.TempDir(), "restored.db"), Clock: clock.Now}
		var last *sqlitestore.Store
		done := func(t *testing.T) {
			t.Helper()
			if last != nil {
				if err := last.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		of.Import = func(t *testing.T, from backup.Source) error {
			t.Helper()
			done(t)
			return sqlitestore.Import(t.Context(), into, from)
		}
		of.Open = func(t *testing.T) store.Store {
			t.Helper()
			done(t)
			var err error
			if last, err = sqlitestore.Open(t.Context(), into); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { done(t) })
			return last
		}
		return of
	})
}

// source is a store that is backed up.
func source(t *testing.T, config redisstore.Config) *storetest.Copies {
	t.Helper()
	export := func(t *testing.T, path string) {
		t.Helper()
		err := backup.Create(path, func(out *bufio.Writer) error {
			_, err := redisstore.Export(t.Context(), config, out)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &storetest.Copies{Store: open(t, config), Export: export}
}

// backupOf backs a store up.
func backupOf(t *testing.T, config redisstore.Config) *backup.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup")
	err := backup.Create(path, func(out *bufio.Writer) error {
		_, err := redisstore.Export(t.Context(), config, out)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := backup.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func putAt(t *testing.T, s store.Store, id string, expect int64) error {
	t.Helper()
	key := store.Key{Namespace: "test", Kind: "run", ID: id}
	_, err := s.Commit(t.Context(), store.Batch{
		Puts:   []store.Put{{Key: key, Expect: expect, Data: []byte("x")}},
		Events: []store.Event{{Key: key, ID: id, Subject: "s"}},
	})
	return err
}

// keysOf are the names of the keys with a prefix that have a suffix.
func keysOf(t *testing.T, url, prefix, suffix string) (found []string) {
	t.Helper()
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	node := redis.NewClient(&redis.Options{Addr: host, Protocol: 2, DisableIdentity: true})
	keys := node.Scan(t.Context(), 0, pattern(prefix)+":*", 1000).Iterator()
	for keys.Next(t.Context()) {
		if strings.HasSuffix(keys.Val(), suffix) {
			found = append(found, keys.Val())
		}
	}
	if err := errors.Join(keys.Err(), node.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}

// killer is where a backup is written that ends amid it.
type killer struct{ left int }

func (k *killer) Write(p []byte) (int, error) {
	if k.left -= len(p); k.left < 0 {
		return 0, errors.New("no space")
	}
	return len(p), nil
}

// A backup leaves no data in the server, whether it fails or not.
func TestBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	config := redisstore.Config{URL: url, Prefix: prefix(t)}
	s := open(t, config)
	for i := range 200 {
		if err := putAt(t, s, strings.Repeat("x", 100)+strconv.Itoa(i), 0); err != nil {
			t.Fatal(err)
		}
	}
	before := len(keysOf(t, url, config.Prefix, ""))
	backupOf(t, config)
	if _, err := redisstore.Export(t.Context(), config, &killer{10_000}); err == nil {
		t.Error("a backup was written where there is no space")
	}
	if after := keysOf(t, url, config.Prefix, ""); len(after) != before {
		t.Errorf("%d keys became %d", before, len(after))
	}
}

// taker begins another backup amid one.
type taker struct {
	t      *testing.T
	config redisstore.Config
	taken  bool
}

func (k *taker) Write(p []byte) (int, error) {
	if !k.taken {
		k.taken = true
		if _, err := redisstore.Export(k.t.Context(), k.config, &killer{1 << 30}); err != nil {
			k.t.Errorf("the other backup: %v", err)
		}
	}
	return len(p), nil
}

// A backup whose marks are gone has missed changes, and fails.
func TestBackupThatIsOvertaken(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	s := open(t, config)
	for i := range 2000 {
		if err := putAt(t, s, strings.Repeat("x", 300)+strconv.Itoa(i), 0); err != nil {
			t.Fatal(err)
		}
	}
	k := &taker{t: t, config: config, taken: true}
	first := true
	_, err := redisstore.Export(t.Context(), config, writer(func(p []byte) (int, error) {
		if len(p) > 10_000 && first { // not the header, which comes before the marks
			first, k.taken = false, false
		}
		return k.Write(p)
	}))
	if err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Errorf("it ended with %v", err)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Commits wait while a backup ends, and no longer than the server keeps the ice.
func TestCommitsWaitForABackup(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	s, client := open(t, config), redistest.Shared(t).Client(t)
	base := config.Prefix + ":{store}:"
	if err := client.HSet(t.Context(), base+"d", "", "me").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(t.Context(), base+"f", "me", 100*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	if err := putAt(t, s, "a", 0); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Exists(t.Context(), base+"f").Result(); n != 0 || err != nil {
		t.Errorf("a commit was applied while nothing must change: %v", err)
	}
	// It has marked its changes.
	marks, err := client.HGetAll(t.Context(), base+"d").Result()
	if err != nil || len(marks) != 2 {
		t.Errorf("%v, %v", marks, err)
	}
}

// No process uses a store into which a backup is restored, and only that backup completes it.
func TestHalfARestore(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	config := redisstore.Config{URL: url, Prefix: prefix(t)}
	s := open(t, config)
	if err := putAt(t, s, "a", 0); err != nil {
		t.Fatal(err)
	}
	file := backupOf(t, config)
	other := backupOf(t, config)
	into := redisstore.Config{URL: url, Prefix: prefix(t)}
	used := open(t, into) // by a service that runs
	if err := redisstore.Import(t.Context(), into, failing{file}); err == nil {
		t.Fatal("it did not fail")
	}
	if err := putAt(t, used, "b", 0); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a commit to half a store: %v", err)
	}
	if opened, err := redisstore.Open(t.Context(), into); err == nil {
		_ = opened.Close()
		t.Error("half a store was opened")
	} else if !strings.Contains(err.Error(), "interlock backup restore") || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("it is refused with %v", err)
	}
	if _, err := redisstore.Export(t.Context(), into, io.Discard); err == nil {
		t.Error("half a store was backed up")
	}
	err := redisstore.Import(t.Context(), into, other)
	if err == nil || !strings.Contains(err.Error(), "another backup") {
		t.Errorf("another backup is refused with %v", err)
	}
	if err := redisstore.Import(t.Context(), into, file); err != nil {
		t.Fatal(err)
	}
	// The service continues in the new era, without consent.
	waitFor(t, func() bool { return used.Ping(t.Context()) == nil })
	if err := putAt(t, used, "a", 1); err != nil {
		t.Error(err)
	}
	if err := redisstore.Import(t.Context(), into, file); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("the same backup once more: %v", err)
	}
}

type failing struct{ backup.Source }

func (f failing) Each(yield func(backup.Item) error) error {
	return errors.Join(f.Source.Each(yield), errors.New("killed"))
}

// A Redis was lost under a service, and is restored.
func TestRestoreUnderAService(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := redisstore.Config{URL: server.URL(), Prefix: prefix(t)}
	s := open(t, config)
	if err := putAt(t, s, "a", 0); err != nil {
		t.Fatal(err)
	}
	file := backupOf(t, config)
	if err := putAt(t, s, "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := server.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	var gone *store.RolledBackError
	waitFor(t, func() bool { return errors.As(s.Ping(t.Context()), &gone) })
	if err := redisstore.Import(t.Context(), config, file); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Ping(t.Context()) == nil })
	if err := putAt(t, s, "a", 1); err != nil {
		t.Error(err)
	}
}

// SQLite does not know the names of its idempotency keys.
func TestSQLiteIsNotRestoredIntoRedis(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	name := filepath.Join(t.TempDir(), "backup")
	err = backup.Create(name, func(out *bufio.Writer) error {
		_, err := sqlitestore.Export(t.Context(), sqlitestore.Config{Path: path}, out)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := backup.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	if err := redisstore.Import(t.Context(), config, f); err == nil || !strings.Contains(err.Error(), "hashes") {
		t.Errorf("it is refused with %v", err)
	}
	_, err = redisstore.Export(t.Context(), config, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no store") {
		t.Errorf("nothing is backed up: %v", err)
	}
}

// An operator's user may back up and restore, and no more than that needs.
func TestBackupsAsOperator(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rules := append([]any{"ACL", "SETUSER", "operator", "on", ">secret", "resetchannels", "~il:*"},
		anys(strings.Fields(redisstore.OperatorACL))...)
	if err := server.Client(t).Do(t.Context(), rules...).Err(); err != nil {
		t.Fatal(err)
	}
	config := redisstore.Config{URL: strings.Replace(server.URL(), "://", "://operator:secret@", 1), Prefix: "il"}
	s := open(t, config)
	key := store.Key{Namespace: "test", Kind: "run", ID: "a"}
	_, err := s.Commit(t.Context(), store.Batch{
		Puts:     []store.Put{{Key: key, Data: []byte("x"), Labels: map[string]string{"a": "b"}, History: []byte("h")}},
		Counters: []store.Counter{{Owner: key, Name: "n", Delta: 1, Limit: 9, Window: time.Hour}},
		Events:   []store.Event{{Key: key, ID: "e", Subject: "s"}},
		SetTimers: []store.Timer{
			{TimerID: store.TimerID{Key: key, Name: "t"}, Due: time.Now()},
		},
		Idempotency: &store.Idempotency{Owner: key, Name: "once", Digest: "d", Answer: []byte("a"), TTL: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := backupOf(t, config)
	if err := server.Client(t).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	own := store.Key{Namespace: "_relay", Kind: "run", ID: "a"}
	waitFor(t, func() bool { return errors.As(s.Ping(t.Context()), new(*store.RolledBackError)) })
	if _, err := redisstore.AcceptRollback(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Ping(t.Context()) == nil })
	_, err = s.Commit(t.Context(), store.Batch{
		Puts:      []store.Put{{Key: own}},
		SetTimers: []store.Timer{{TimerID: store.TimerID{Key: own, Name: "t"}, Due: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := redisstore.Import(t.Context(), config, file); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Ping(t.Context()) == nil })
	if _, err := s.Get(t.Context(), key); err != nil {
		t.Error(err)
	}
}

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

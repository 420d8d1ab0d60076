package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// whole marks a restore that has written everything, and has not begun its era yet.
const whole = " whole"

// importBytes and importOps are how much one call writes.
const (
	importBytes = 512 << 10
	importOps   = 512
)

// Import makes a store of a backup that was made of a Redis. There may be a store that has
// only internal records of services, in namespaces that begin with "_": those go. Until the
// restore is complete the store cannot be used. One that was killed is begun again.
//
// The store begins a new era: no fencing token, no id of an event and no cache from after
// the backup counts in it.
func Import(ctx context.Context, config Config, from backup.Source) (err error) {
	if err := config.fill(); err != nil {
		return err
	}
	head, tail := from.About()
	if err := head.Fits(config.formats); err != nil {
		return fmt.Errorf("redisstore: restore: %w", err)
	}
	if head.Store == "sqlite" {
		return errors.New("redisstore: restore: the backup is of SQLite, which keeps idempotency keys as hashes: " +
			"they cannot be restored into Redis; restore it into SQLite")
	}
	options, err := config.options()
	if err != nil {
		return err
	}
	quiet()
	db := connect(options)
	defer func() { err = errors.Join(err, db.Close()) }()
	m := &imports{
		db: db, config: &config, head: head, prefixes: shardPrefixes(config.Prefix, head.Shards),
		export: export{db: db, config: config, shards: maxShards},
	}
	if err := m.restore(ctx, from, tail.At); err != nil {
		return fmt.Errorf("redisstore: restore: %w", err)
	}
	return nil
}

// imports writes a backup.
type imports struct {
	db       *redis.Client
	config   *Config
	head     backup.Head
	prefixes []string
	export   export // to parse names
	batch    importBatch
}

// importBatch has the writes of one call.
type importBatch struct {
	args []any
	size int
	ops  int
}

func (m *imports) restore(ctx context.Context, from backup.Source, at time.Time) error {
	if err := checkDurability(ctx, m.db, m.config); err != nil {
		return err
	}
	written, err := m.claim(ctx)
	if err != nil {
		return err
	}
	if !written {
		if err := m.close(ctx); err != nil {
			return err
		}
		if err := m.clear(ctx); err != nil {
			return err
		}
		if err := m.write(ctx, from); err != nil {
			return err
		}
		record := []any{
			"restoring", m.head.ID + whole, "format", m.head.Format, "program", m.config.Program, "shards", m.head.Shards,
		}
		if err := m.db.HSet(ctx, storeKey(m.config), record...).Err(); err != nil {
			return err
		}
	}
	if err := m.begin(ctx, at); err != nil {
		return err
	}
	return m.db.HDel(ctx, storeKey(m.config), "restoring").Err()
}

// claim makes the store that of this restore, unless there is another, or anything. written is true
// when an earlier attempt has written all.
func (m *imports) claim(ctx context.Context) (written bool, err error) {
	key := storeKey(m.config)
	record, err := m.db.HGetAll(ctx, key).Result()
	if err != nil {
		return false, err
	}
	switch restoring := record["restoring"]; {
	case restoring == m.head.ID+whole:
		return true, nil
	case restoring == m.head.ID:
		return false, nil
	case restoring != "":
		return false, fmt.Errorf("the restore of another backup, %s, was interrupted: "+
			"restore that one, or empty the Redis", restoring)
	case record["shards"] != "" && record["shards"] != strconv.Itoa(m.head.Shards):
		return false, fmt.Errorf("the store has %s shards, and the backup has %d: "+
			"empty the Redis, without services that use it", record["shards"], m.head.Shards)
	}
	found, err := m.contents(ctx)
	if err != nil {
		return false, err
	}
	if found != "" {
		return false, fmt.Errorf("the store is not empty: it has %s; restore into another database or server", found)
	}
	return false, m.db.HSet(ctx, key, "restoring", m.head.ID).Err()
}

// contents names something that the store has, or is empty.
func (m *imports) contents(ctx context.Context) (found string, err error) {
	err = m.scan(ctx, func(names []string) error {
		for _, name := range names {
			kind, rest, _ := m.export.parse(name)
			own := strings.HasPrefix(rest, "_")
			switch {
			case strings.HasSuffix(name, "}:"+outboxKey):
				if n, err := m.db.XLen(ctx, name).Result(); err != nil || n > 0 {
					found = fmt.Sprintf("%d events", n)
					return errors.Join(errFound, err)
				}
			case len(kind) == 1 && strings.Contains(exported, kind) && !own:
				found = "the key " + name
				return errFound
			case strings.HasSuffix(name, "}:"+timerValuesKey):
				timers, err := m.db.HKeys(ctx, name).Result()
				for _, timer := range timers {
					if !strings.HasPrefix(timer, "_") {
						found = "the timer " + timer
						return errFound
					}
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return found, nil
	}
	return "", err
}

var errFound = errors.New("found")

// scan yields the names of all keys of the store, but that of its record.
func (m *imports) scan(ctx context.Context, yield func(names []string) error) error {
	for cursor := uint64(0); ; {
		names, next, err := m.db.Scan(ctx, cursor, globEscape(m.config.Prefix)+":{*}:*", scanPage).Result()
		if err != nil {
			return err
		}
		if err := yield(names); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// close makes all processes that use the store refuse everything.
func (m *imports) close(ctx context.Context) error {
	found, err := eras(ctx, m.db, eraOf(m.config), "look", sight{}, "")
	if err == nil && found.lost == "" {
		_, err = eras(ctx, m.db, eraOf(m.config), "condemn", found.sight, "a backup is being restored into it")
	}
	return err
}

// clear removes internal records of services, and the writes of an earlier attempt.
func (m *imports) clear(ctx context.Context) error {
	return m.scan(ctx, func(names []string) error {
		_, err := m.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, name := range names {
				if !strings.HasSuffix(name, "}:"+eraKey) {
					pipe.Unlink(ctx, name)
				}
			}
			return nil
		})
		return err
	})
}

// begin begins an era that knows all earlier ones, and continues none of them.
func (m *imports) begin(ctx context.Context, at time.Time) error {
	era := eraOf(m.config)
	found, err := eras(ctx, m.db, era, "look", sight{}, "")
	if err != nil || found.lost == "" {
		return err // or an earlier attempt has begun it, and it is in use
	}
	pipe := m.db.Pipeline()
	for _, id := range m.head.Eras { // who has seen more of one need not miss it
		pipe.HSet(ctx, era, "q:"+id, 0)
	}
	pipe.HSet(ctx, era, "floor", max(m.head.Floor, at.UnixMicro()))
	if m.head.Format > 1 {
		pipe.HSet(ctx, era, "format", m.head.Format)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	_, err = eras(ctx, m.db, era, "accept", sight{}, "")
	return err
}

// write writes all items.
func (m *imports) write(ctx context.Context, from backup.Source) error {
	if err := from.Each(func(item backup.Item) error { return m.put(ctx, item) }); err != nil {
		return err
	}
	return m.flush(ctx)
}

// add adds an operation.
func (m *imports) add(ctx context.Context, args ...any) error {
	b := &m.batch
	b.args = append(b.args, args...)
	b.ops++
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			b.size += len(arg)
		case []byte:
			b.size += len(arg)
		}
	}
	if b.size < importBytes && b.ops < importOps && len(b.args) < maxArgs {
		return nil
	}
	return m.flush(ctx)
}

// maxArgs is how many arguments a call has at most, and those of one more item.
const maxArgs = 50_000

func (m *imports) flush(ctx context.Context) error {
	if m.batch.ops == 0 {
		return nil
	}
	args := append([]any{nil, nil, "1", storeKey(m.config)}, m.batch.args...)
	m.batch = importBatch{}
	_, err := importScript.write(ctx, m.db, args)
	return err
}

// name returns that of a key of a kind.
func (m *imports) name(kind string, key store.Key) string {
	return string(appendKey([]byte(m.prefixes[key.Shard(len(m.prefixes))]+kind), key))
}

func (m *imports) put(ctx context.Context, item backup.Item) error {
	switch i := item.(type) {
	case *backup.Record:
		return m.record(ctx, i)
	case *backup.History:
		args := []any{"H", m.name(historyKeys, i.Key), i.First, len(i.Entries)}
		for _, entry := range i.Entries {
			text := append(fmt.Appendf(nil, "%d-%d ", entry.Version, entry.At.UnixMicro()), entry.Data...)
			args = append(args, entry.Version, text)
		}
		return m.add(ctx, args...)
	case *backup.Counters:
		return m.counters(ctx, i)
	case *backup.Answer:
		return m.answer(ctx, i)
	case *backup.Timer:
		prefix := m.prefixes[i.Key.Shard(m.head.Shards)]
		value := []byte{}
		if !i.Cleared {
			value = appendTimer(nil, &i.Timer)
		}
		return m.add(ctx, "T", string(appendEscaped([]byte(prefix+timerKeys), i.Key.Kind)),
			prefix+timerValuesKey, string(appendMember(nil, i.TimerID)), score(i.Due), value)
	case *backup.Event:
		if i.Shard < 0 || i.Shard >= m.head.Shards {
			return fmt.Errorf("there is no shard %d", i.Shard)
		}
		fields := []any{"i", i.ID, "s", i.Subject}
		if i.Entry == (store.Key{}) {
			fields = append(fields, "p", i.Payload)
		} else {
			fields = append(fields, "h", string(appendKey(nil, i.Entry)), "n", i.Version)
		}
		fields = append(fields, "e", i.Era)
		return m.add(ctx, append([]any{"O", m.prefixes[i.Shard] + outboxKey, i.Seq, len(fields)}, fields...)...)
	case *backup.Shard:
		if i.Shard < 0 || i.Shard >= m.head.Shards {
			return fmt.Errorf("there is no shard %d", i.Shard)
		}
		return m.add(ctx, "S", m.prefixes[i.Shard]+outboxKey, i.Seq)
	}
	return fmt.Errorf("unknown item %T", item)
}

func (m *imports) record(ctx context.Context, r *backup.Record) error {
	if err := check(r.Key); err != nil {
		return err
	}
	shard := r.Key.Shard(m.head.Shards)
	index := append(appendEscaped([]byte(m.prefixes[shard]+indexKeys), r.Key.Namespace), '/')
	index = appendEscaped(index, r.Key.Kind)
	if r.Deleted {
		return m.add(ctx, "X", m.name(recordKeys, r.Key), index, r.Key.ID, r.Version)
	}
	updated := ""
	if !r.Updated.IsZero() {
		updated = strconv.FormatInt(r.Updated.UnixMicro(), 10)
	}
	labels := appendLabels(nil, r.Labels, slices.Sorted(maps.Keys(r.Labels)))
	return m.add(ctx, "R", m.name(recordKeys, r.Key), index, r.Key.ID, r.Version, r.Data, updated, labels)
}

func (m *imports) counters(ctx context.Context, c *backup.Counters) error {
	args := []any{"C", m.name(counterKeys, c.Owner), 2 * (len(c.Plain) + len(c.Windows))}
	windows := []any{len(c.Windows)}
	for name, value := range c.Plain {
		args = append(args, "p"+name, value)
	}
	for _, w := range c.Windows {
		key := string(appendEscaped([]byte(m.name(windowKeys, c.Owner)+"/"), w.Name))
		args = append(args, "w"+w.Name, key)
		ttl := ""
		if n := len(w.Units); m.config.Clock == nil && w.Span > 0 && n > 0 {
			left := time.Until(w.Units[n-1].At.Add(w.Span + windowSlack))
			ttl = strconv.FormatInt(max(left.Milliseconds(), 1), 10)
		}
		windows = append(windows, key, ttl, len(w.Units))
		total := int64(0)
		for _, u := range w.Units {
			total += u.N
			windows = append(windows, fmt.Sprintf("%d %d %d", u.At.UnixMicro(), u.N, total))
		}
	}
	return m.add(ctx, append(args, windows...)...)
}

func (m *imports) answer(ctx context.Context, a *backup.Answer) error {
	if len(a.Hash) > 0 {
		return errors.New("an idempotency key is a hash: restore into SQLite")
	}
	key := string(appendEscaped([]byte(m.name(idempotencyKeys, a.Owner)+"/"), a.Name))
	if a.Expires.IsZero() {
		return m.add(ctx, "K", key, "", "")
	}
	ttl := ""
	if m.config.Clock == nil {
		ttl = strconv.FormatInt(max(time.Until(a.Expires).Milliseconds()+1000, 1), 10)
	}
	text := fmt.Sprintf("%d:%d:%s", a.Expires.UnixMicro(), len(a.Digest), a.Digest)
	if a.Entry == (store.Key{}) {
		return m.add(ctx, "K", key, append([]byte(text), a.Answer...), ttl)
	}
	value := fmt.Appendf(nil, "r%s%d ", text, a.Version)
	if a.Entry.Namespace == a.Owner.Namespace && a.Entry.ID == a.Owner.ID {
		value = appendEscaped(value, a.Entry.Kind)
	} else {
		value = appendKey(value, a.Entry)
	}
	return m.add(ctx, "K", key, value, ttl)
}

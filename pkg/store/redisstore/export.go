package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

const (
	// marksKey and iceKey are next to an era's key, see copy.lua.
	marksKey = "d"
	iceKey   = "f"

	// marksKept is how long the server keeps marks that are not asked for, and renewEvery how often
	// a backup does.
	marksKept  = time.Minute
	renewEvery = 10 * time.Second
	// frozenFor is how long commits wait at the longest when a backup is killed as it ends.
	frozenFor = time.Second

	// attempts to end a backup.
	attempts = 20

	// exported are the kinds of keys that are read by their names.
	exported = "rhck"
)

// How much is read at once; less in tests.
var (
	scanPage   = int64(1000)
	outboxPage = int64(500)
	// drainPage is the page size for changes. When no more than that is left, a backup
	// ends.
	drainPage = 256
	// mostMarks is how many marks the server keeps before they are read.
	mostMarks = int64(50_000)
)

// Export writes a backup of a store that is in use. It is all of the store as it is at one
// moment; in a Cluster too, for the shards are frozen together for that moment: then commits
// wait for a few milliseconds.
func Export(ctx context.Context, config Config, out io.Writer) (tail backup.Tail, err error) {
	x, err := newExport(ctx, config)
	if err != nil {
		return tail, err
	}
	defer func() { err = errors.Join(err, x.db.Close()) }()
	head, err := x.head(ctx)
	if err != nil {
		return tail, err
	}
	if x.w, err = backup.NewWriter(out, head); err != nil {
		return tail, err
	}
	at, err := x.copy(ctx)
	if err != nil {
		return tail, fmt.Errorf("redisstore: back up: %w", err)
	}
	return x.w.End(at)
}

// export reads a store.
type export struct {
	db       redis.UniversalClient
	config   Config
	cluster  bool
	shards   int
	prefixes []string
	places   []string
	id       string
	w        *backup.Writer
	// relayed are the last sequence numbers that were read of each outbox.
	relayed []int64
}

func newExport(ctx context.Context, config Config) (*export, error) {
	if err := config.fill(); err != nil {
		return nil, err
	}
	options, cluster, err := config.options()
	if err != nil {
		return nil, err
	}
	quiet()
	x := &export{db: connect(options, cluster), config: config, cluster: cluster, id: rand.Text()}
	if err := x.open(ctx); err != nil {
		return nil, errors.Join(err, x.db.Close())
	}
	return x, nil
}

// open finds the store, which it must not make.
func (x *export) open(ctx context.Context) error {
	switch err := x.db.HGet(ctx, storeKey(&x.config), "format").Err(); {
	case errors.Is(err, redis.Nil):
		return errors.New("redisstore: back up: there is no store")
	case err != nil:
		return readError(ctx, "back up", err)
	}
	stamp, shards, err := readRecord(ctx, x.db, &x.config)
	if err != nil {
		return err
	}
	if to, err := x.config.formats.Raised(stamp); err != nil || to != stamp.Format {
		return errors.Join(errors.New("redisstore: back up: use the release that uses the store, or start this one"), err)
	}
	x.shards, x.prefixes = shards, shardPrefixes(x.config.Prefix, shards)
	x.places, x.relayed = places(&x.config, x.cluster, shards), make([]int64, shards)
	return nil
}

// head describes the store.
func (x *export) head(ctx context.Context) (backup.Head, error) {
	head := backup.Head{ID: x.id, Store: "redis", Program: x.config.Program, Shards: x.shards}
	if x.cluster {
		head.Store = "redis-cluster"
	}
	format, err := x.db.HGet(ctx, storeKey(&x.config), "format").Int()
	if err != nil {
		return head, readError(ctx, "back up", err)
	}
	head.Format = format
	known := map[string]bool{}
	for _, place := range x.places {
		era, err := x.db.HGetAll(ctx, place).Result()
		if err != nil {
			return head, readError(ctx, "back up", err)
		}
		for field := range era {
			if id, ended := strings.CutPrefix(field, "g:"); ended {
				known[id] = true
			}
		}
		if era["id"] != "" {
			known[era["id"]] = true
		}
		floor, err := strconv.ParseInt(era["floor"], 10, 64)
		if err != nil && era["floor"] != "" {
			return head, fmt.Errorf("redisstore: back up: the floor of tokens %q: %w", era["floor"], err)
		}
		head.Floor = max(head.Floor, floor)
	}
	head.Eras = slices.Sorted(maps.Keys(known))
	return head, nil
}

// copy reads everything, and returns the moment that it is of.
func (x *export) copy(ctx context.Context) (at time.Time, err error) {
	before, err := x.topology(ctx)
	if err != nil {
		return at, err
	}
	if err := x.loadScripts(ctx); err != nil {
		return at, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	defer cancel(nil)
	if _, err := x.ask(ctx, "begin", marksKept, 0); err != nil {
		return at, err
	}
	defer x.ask(context.WithoutCancel(ctx), "end", 0, 0) //nolint:errcheck // the marks go by themselves
	renewing.Go(func() { x.renew(ctx, cancel) })
	for _, part := range []func(context.Context) error{x.timers, x.keys, x.outboxes} {
		if err := part(ctx); err != nil {
			return at, errors.Join(err, context.Cause(ctx))
		}
	}
	if at, err = x.end(ctx); err != nil {
		return at, errors.Join(err, context.Cause(ctx))
	}
	if after, err := x.topology(ctx); err != nil || after != before {
		return at, errors.Join(errors.New("the servers have changed while they were read: try again"), err)
	}
	return at, nil
}

// topology returns the shards of each server, and its run.
func (x *export) topology(ctx context.Context) (text string, err error) {
	for _, place := range x.places {
		found, err := eras(ctx, x.db, place, "look", sight{}, "")
		if err != nil {
			return "", err
		}
		text += found.id + " "
	}
	if !x.cluster {
		return text, nil
	}
	slots, err := x.db.ClusterSlots(ctx).Result()
	for _, s := range slots {
		text += fmt.Sprint(s.Start, "-", s.End, "@")
		if len(s.Nodes) > 0 {
			text += s.Nodes[0].ID + " "
		}
	}
	return text, err
}

// masters returns the servers that have the keys.
func (x *export) masters(ctx context.Context) (nodes []*redis.Client, err error) {
	switch db := x.db.(type) {
	case *redis.Client:
		return []*redis.Client{db}, nil
	case *redis.ClusterClient:
		var mu sync.Mutex
		err = db.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			nodes = append(nodes, node)
			return nil
		})
	}
	return nodes, err
}

func (x *export) loadScripts(ctx context.Context) error {
	nodes, err := x.masters(ctx)
	for _, node := range nodes {
		for _, s := range []*script{copyScript, exportScript} {
			err = errors.Join(err, node.ScriptLoad(ctx, s.text().source).Err())
		}
	}
	return err
}

// state is a place's answer about its marks.
type state struct {
	left   int64
	frozen bool
	at     int64
	items  []any
}

var errTaken = errors.New("another backup has begun, or the server has forgotten this one: it was silent for too long")

// ask asks all places, at once as far as it can.
func (x *export) ask(ctx context.Context, verb string, ttl time.Duration, n int) ([]state, error) {
	cmds := make([]*redis.Cmd, len(x.places))
	_, err := x.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, place := range x.places {
			base := strings.TrimSuffix(place, eraKey)
			keys := []string{base + marksKey, base + iceKey}
			cmds[i] = pipe.EvalSha(ctx, copyScript.text().sha, keys, verb, x.id, ttl.Milliseconds(), n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	states := make([]state, len(cmds))
	for i, cmd := range cmds {
		answer, _ := cmd.Val().([]any)
		if verb == "begin" {
			continue
		}
		if len(answer) != 4 {
			return nil, errTaken
		}
		items, _ := answer[3].([]any)
		states[i] = state{left: number(answer, 0), frozen: number(answer, 1) == 1, at: number(answer, 2), items: items}
	}
	return states, nil
}

func (x *export) renew(ctx context.Context, fail context.CancelCauseFunc) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := x.ask(ctx, "renew", marksKept, 0); err != nil {
				fail(err)
			}
		}
	}
}

// keys reads all keys that a backup has.
func (x *export) keys(ctx context.Context) error {
	nodes, err := x.masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		for cursor := uint64(0); ; {
			var names []string
			names, cursor, err = node.Scan(ctx, cursor, globEscape(x.config.Prefix)+":{*", scanPage).Result()
			if err != nil {
				return err
			}
			if err := x.read(ctx, names); err != nil {
				return err
			}
			if err := x.drain(ctx, mostMarks); err != nil {
				return err
			}
			if cursor == 0 {
				break
			}
		}
	}
	return nil
}

// globEscape returns a text as a pattern that matches only this text.
func globEscape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "*", "\\*", "?", "\\?").Replace(text)
}

// read reads keys, as far as a backup has them.
func (x *export) read(ctx context.Context, names []string) error {
	byPlace := map[int][]string{}
	for _, name := range names {
		shard, kind, _, ours := x.parse(name)
		if !ours || len(kind) != 1 || !strings.Contains(exported, kind) {
			continue
		}
		if !x.cluster {
			shard = 0
		}
		byPlace[shard] = append(byPlace[shard], name)
	}
	for _, names := range byPlace {
		if err := x.readPlace(ctx, names); err != nil {
			return err
		}
	}
	return nil
}

// readPlace reads keys of one place, histories page by page.
func (x *export) readPlace(ctx context.Context, names []string) error {
	from := make([]any, len(names))
	for i := range from {
		from[i] = 1
	}
	for len(names) > 0 {
		items, err := x.db.EvalShaRO(ctx, exportScript.text().sha, names, from...).Slice()
		if err != nil {
			return err
		}
		if len(items) == 0 || len(items) > len(names) {
			return fmt.Errorf("%d answers for %d keys", len(items), len(names))
		}
		done := len(items)
		for i, item := range items {
			next, err := x.put(item, false)
			if err != nil {
				return err
			}
			if next > 0 { // only the last can have more
				done, from[i] = i, next
			}
		}
		names, from = names[done:], from[done:]
	}
	return nil
}

// drain reads changes again, until at most so much is left, or as much changes as is read.
func (x *export) drain(ctx context.Context, most int64) error {
	states, err := x.ask(ctx, "renew", marksKept, 0)
	for before := int64(math.MaxInt64); err == nil && sum(states) > most && sum(states) < before; {
		before = sum(states)
		states, err = x.drainOnce(ctx)
	}
	return err
}

func (x *export) drainOnce(ctx context.Context) (states []state, err error) {
	states, err = x.ask(ctx, "drain", 0, drainPage)
	if err != nil {
		return nil, err
	}
	for i := range states {
		for _, item := range states[i].items {
			if _, err := x.put(item, true); err != nil {
				return nil, err
			}
		}
	}
	return states, nil
}

func sum(states []state) (left int64) {
	for i := range states {
		left += states[i].left
	}
	return left
}

// timers reads all timers.
func (x *export) timers(ctx context.Context) error {
	for _, prefix := range x.prefixes {
		for cursor := uint64(0); ; {
			fields, next, err := x.db.HScan(ctx, prefix+timerValuesKey, cursor, "", scanPage).Result()
			if err != nil {
				return err
			}
			for i := 0; i+1 < len(fields); i += 2 {
				timer, err := parseTimer(fields[i], fields[i+1])
				if err == nil {
					err = x.w.Put(&backup.Timer{Timer: timer})
				}
				if err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// outboxes reads the entries of the outboxes since they were read last.
func (x *export) outboxes(ctx context.Context) error {
	for more := true; more; {
		reads := make([]*redis.XMessageSliceCmd, x.shards)
		_, err := x.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for shard, prefix := range x.prefixes {
				reads[shard] = pipe.XRangeN(ctx, prefix+outboxKey, "("+entryID(x.relayed[shard]), "+", outboxPage)
			}
			return nil
		})
		if err != nil {
			return err
		}
		more = false
		for shard, read := range reads {
			messages := read.Val()
			more = more || int64(len(messages)) == outboxPage
			for i := range messages {
				entry, err := parseEntry(shard, &messages[i])
				if err == nil {
					err = x.w.Put(&backup.Event{OutboxEntry: entry})
				}
				if err != nil {
					return err
				}
				x.relayed[shard] = entry.Seq
			}
		}
	}
	return nil
}

// heads reads how many events each shard has had.
func (x *export) heads(ctx context.Context) error {
	reads := make([]*redis.XInfoStreamCmd, x.shards)
	_, err := x.db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for shard, prefix := range x.prefixes {
			reads[shard] = pipe.XInfoStream(ctx, prefix+outboxKey)
		}
		return nil
	})
	if err != nil && !strings.Contains(err.Error(), "no such key") {
		return err
	}
	for shard, read := range reads {
		info, err := read.Result()
		if err != nil && strings.Contains(err.Error(), "no such key") {
			continue // there never was any
		}
		if err != nil {
			return err
		}
		_, text, _ := strings.Cut(info.LastGeneratedID, "-")
		seq, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("the last id of the outbox %d is %q", shard, info.LastGeneratedID)
		}
		if err := x.w.Put(&backup.Shard{Shard: shard, Seq: seq}); err != nil {
			return err
		}
	}
	return nil
}

// end reads the last changes, while the store is frozen.
func (x *export) end(ctx context.Context) (at time.Time, err error) {
	for range attempts {
		if err := x.drain(ctx, int64(drainPage)); err != nil {
			return at, err
		}
		if err := x.outboxes(ctx); err != nil {
			return at, err
		}
		at, whole, err := x.endFrozen(ctx)
		if err != nil || whole {
			return at, err
		}
	}
	return at, errors.New("the store changes faster than it can be read: try again when less happens")
}

// endFrozen reads the rest; whole is false when the ice has melted before.
func (x *export) endFrozen(ctx context.Context) (at time.Time, whole bool, err error) {
	states, err := x.ask(ctx, "freeze", frozenFor, 0)
	if err != nil {
		return at, false, err
	}
	defer x.ask(context.WithoutCancel(ctx), "thaw", 0, 0) //nolint:errcheck // it goes by itself
	for i := range states {
		at = later(at, time.UnixMicro(states[i].at).UTC())
	}
	if x.config.Clock != nil {
		at = x.config.Clock()
	}
	for left := int64(1); left > 0; {
		states, err := x.drainOnce(ctx)
		if err != nil {
			return at, false, err
		}
		left = sum(states)
	}
	if err := x.outboxes(ctx); err != nil {
		return at, false, err
	}
	if err := x.heads(ctx); err != nil {
		return at, false, err
	}
	states, err = x.ask(ctx, "renew", marksKept, 0)
	return at, !slices.ContainsFunc(states, func(s state) bool { return !s.frozen || s.left > 0 }), err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// parse reads the name of a key.
func (x *export) parse(name string) (shard int, kind, rest string, ours bool) {
	rest, ours = strings.CutPrefix(name, x.config.Prefix+":{")
	if !ours {
		return 0, "", "", false
	}
	text, rest, _ := strings.Cut(rest, "}:")
	shard, err := strconv.Atoi(text)
	if err != nil || shard < 0 || shard >= x.shards {
		return 0, "", "", false
	}
	kind, rest, ours = strings.Cut(rest, ":")
	return shard, kind, rest, ours
}

// put writes the results of the scripts for a key. next is the version from which on a
// history has more. again is true for a key that has changed since it was read first.
func (x *export) put(reply any, again bool) (next int64, err error) {
	answer, _ := reply.([]any)
	if len(answer) < 2 {
		return 0, fmt.Errorf("the script answered %v", reply)
	}
	kind, _ := answer[0].(string)
	name, _ := answer[1].(string)
	var item backup.Item
	switch kind {
	case "h":
		item, next, err = x.history(name, answer[2:], again)
	case "r":
		item, err = x.record(name, answer[2:])
	case "c":
		item, err = x.counters(name, answer[2:])
	case "k":
		item, err = x.answer(name, answer[2:])
	case "T":
		item, err = x.timer(name, answer[2:])
	default:
		err = errors.New("it is of no known kind")
	}
	if err != nil {
		return 0, fmt.Errorf("key %q: %w", name, err)
	}
	if item == nil {
		return next, nil
	}
	return next, x.w.Put(item)
}

// key returns the key in a name.
func (x *export) key(name string) (store.Key, error) {
	_, _, rest, ours := x.parse(name)
	if !ours {
		return store.Key{}, errors.New("it is not of this store")
	}
	return parseKey(rest)
}

func (x *export) record(name string, answer []any) (backup.Item, error) {
	key, err := x.key(name)
	if err != nil {
		return nil, err
	}
	fields, _ := answer[0].([]any)
	if len(fields) != 5 {
		return nil, fmt.Errorf("the script answered %v", answer)
	}
	found, is, err := parseRecord(key, fields[:4])
	if err != nil {
		return nil, err
	}
	if is {
		return &backup.Record{
			Key: key, Version: found.Version, Data: found.Data, Labels: found.Labels, Updated: found.UpdatedAt,
		}, nil
	}
	ended, _ := fields[4].(string)
	version, err := strconv.ParseInt(ended, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("its last version is %q", ended)
	}
	return &backup.Record{Key: key, Version: version, Deleted: true}, nil
}

func (x *export) history(name string, answer []any, again bool) (backup.Item, int64, error) {
	key, err := x.key(name)
	if err != nil {
		return nil, 0, err
	}
	if len(answer) < 2 {
		return nil, 0, fmt.Errorf("the script answered %v", answer)
	}
	first, _ := answer[0].(string)
	if first == "" && !again {
		return nil, 0, nil // it is gone since, which is marked
	}
	item := &backup.History{Key: key, First: math.MaxInt64} // of none, no entry stays
	if first != "" {
		if item.First, err = strconv.ParseInt(first, 10, 64); err != nil {
			return nil, 0, err
		}
	}
	for _, text := range answer[2:] {
		entry, err := parseHistory(fmt.Sprint(text))
		if err != nil {
			return nil, 0, err
		}
		item.Entries = append(item.Entries, entry)
	}
	more, _ := answer[1].(string)
	if more == "" {
		return item, 0, nil
	}
	next, err := strconv.ParseInt(more, 10, 64)
	return item, next, err
}

func (x *export) counters(name string, answer []any) (backup.Item, error) {
	owner, err := x.key(name)
	if err != nil {
		return nil, err
	}
	item := &backup.Counters{Owner: owner, Plain: map[string]int64{}}
	plain, _ := answer[0].([]any)
	for i := 0; i+1 < len(plain); i += 2 {
		field, _ := plain[i].(string)
		text, _ := plain[i+1].(string)
		if item.Plain[strings.TrimPrefix(field, "p")], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	for _, reply := range answer[1:] {
		window, err := x.window(reply)
		if err != nil {
			return nil, err
		}
		item.Windows = append(item.Windows, window)
	}
	return item, nil
}

// window reads a windowed counter. How long its units count follows from when the server forgets
// them, see commit.lua.
func (x *export) window(reply any) (w backup.Window, err error) {
	answer, _ := reply.([]any)
	if len(answer) != 3 {
		return w, fmt.Errorf("the script answered %v", reply)
	}
	field, _ := answer[0].(string)
	w.Name = strings.TrimPrefix(field, "w")
	entries, _ := answer[2].([]any)
	for _, text := range entries {
		var at, n, total int64
		if _, err := fmt.Sscan(fmt.Sprint(text), &at, &n, &total); err != nil {
			return w, fmt.Errorf("an entry is %q", text)
		}
		w.Units = append(w.Units, backup.Units{At: time.UnixMicro(at).UTC(), N: n})
	}
	if ttl := number(answer, 1); ttl > 0 && len(w.Units) > 0 {
		until := time.Now().Add(time.Duration(ttl) * time.Millisecond)
		w.Span = max(until.Sub(w.Units[len(w.Units)-1].At)-windowSlack, 0)
	}
	return w, nil
}

// windowSlack is how much longer than its length the server keeps a window.
const windowSlack = time.Minute

// answer reads the answer stored with an idempotency key, see remember in commit.lua.
func (x *export) answer(name string, answer []any) (backup.Item, error) {
	_, _, rest, _ := x.parse(name)
	id, err := parseMember(rest)
	if err != nil {
		return nil, err
	}
	item := &backup.Answer{Owner: id.Key, Name: id.Name}
	value, there := answer[0].(string)
	if !there {
		return item, nil
	}
	value, entry := strings.CutPrefix(value, "r")
	expires, value, _ := strings.Cut(value, ":")
	if item.Expires, err = parseTime(expires); err != nil {
		return nil, err
	}
	size, value, _ := strings.Cut(value, ":")
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(value) {
		return nil, fmt.Errorf("its digest has the length %q", size)
	}
	item.Digest, value = value[:n], value[n:]
	if !entry {
		item.Answer = []byte(value)
		return item, nil
	}
	version, record, _ := strings.Cut(value, " ")
	if item.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return nil, err
	}
	if strings.Contains(record, "/") {
		item.Entry, err = parseKey(record)
		return item, err
	}
	item.Entry = id.Key
	item.Entry.Kind, err = unescape(record)
	return item, err
}

func (x *export) timer(name string, answer []any) (backup.Item, error) {
	_, member, _ := strings.Cut(name, "\n")
	value, there := answer[0].(string)
	if there {
		timer, err := parseTimer(member, value)
		return &backup.Timer{Timer: timer}, err
	}
	id, err := parseMember(member)
	return &backup.Timer{Timer: store.Timer{TimerID: id}, Cleared: true}, err
}

package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

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

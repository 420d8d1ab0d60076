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
// moment, in which commits wait for a few milliseconds.
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
	db       *redis.Client
	config   Config
	shards   int
	prefixes []string
	id       string
	w        *backup.Writer
	// relayed are the last sequence numbers that were read of each outbox.
	relayed []int64
}

func newExport(ctx context.Context, config Config) (*export, error) {
	if err := config.fill(); err != nil {
		return nil, err
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	quiet()
	x := &export{db: connect(options), config: config, id: rand.Text()}
	if err := x.open(ctx); err != nil {
		return nil, errors.Join(err, x.db.Close())
	}
	return x, nil
}

// open finds the store, which it must not make.
func (x *export) open(ctx context.Context) error {
	if err := refuseCluster(ctx, x.db); err != nil {
		return err
	}
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
	x.relayed = make([]int64, shards)
	return nil
}

// head describes the store.
func (x *export) head(ctx context.Context) (backup.Head, error) {
	head := backup.Head{ID: x.id, Store: "redis", Program: x.config.Program, Shards: x.shards}
	format, err := x.db.HGet(ctx, storeKey(&x.config), "format").Int()
	if err != nil {
		return head, readError(ctx, "back up", err)
	}
	head.Format = format
	era, err := x.db.HGetAll(ctx, eraOf(&x.config)).Result()
	if err != nil {
		return head, readError(ctx, "back up", err)
	}
	known := map[string]bool{}
	for field := range era {
		if id, ended := strings.CutPrefix(field, "g:"); ended {
			known[id] = true
		}
	}
	if era["id"] != "" {
		known[era["id"]] = true
	}
	head.Floor, err = strconv.ParseInt(era["floor"], 10, 64)
	if err != nil && era["floor"] != "" {
		return head, fmt.Errorf("redisstore: back up: the floor of tokens %q: %w", era["floor"], err)
	}
	head.Eras = slices.Sorted(maps.Keys(known))
	return head, nil
}

// copy reads everything, and returns the moment that it is of.
func (x *export) copy(ctx context.Context) (at time.Time, err error) {
	before, err := eras(ctx, x.db, eraOf(&x.config), "look", sight{}, "")
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
	if after, err := eras(ctx, x.db, eraOf(&x.config), "look", sight{}, ""); err != nil || after.id != before.id {
		return at, errors.Join(errors.New("the server has changed while it was read: try again"), err)
	}
	return at, nil
}

func (x *export) loadScripts(ctx context.Context) (err error) {
	for _, s := range []*script{copyScript, exportScript} {
		err = errors.Join(err, x.db.ScriptLoad(ctx, s.text().source).Err())
	}
	return err
}

// state is the server's answer about its marks.
type state struct {
	left   int64
	frozen bool
	at     int64
	items  []any
}

var errTaken = errors.New("another backup has begun, or the server has forgotten this one: it was silent for too long")

// ask runs copy.lua.
func (x *export) ask(ctx context.Context, verb string, ttl time.Duration, n int) (state, error) {
	base := storeKey(&x.config) + ":"
	reply, err := x.db.EvalSha(ctx, copyScript.text().sha, []string{base + marksKey, base + iceKey}, verb, x.id, ttl.Milliseconds(), n).Result()
	if err != nil || verb == "begin" {
		return state{}, err
	}
	answer, _ := reply.([]any)
	if len(answer) != 4 {
		return state{}, errTaken
	}
	items, _ := answer[3].([]any)
	return state{left: number(answer, 0), frozen: number(answer, 1) == 1, at: number(answer, 2), items: items}, nil
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
	frozen, err := x.ask(ctx, "freeze", frozenFor, 0)
	if err != nil {
		return at, false, err
	}
	defer x.ask(context.WithoutCancel(ctx), "thaw", 0, 0) //nolint:errcheck // it goes by itself
	at = time.UnixMicro(frozen.at).UTC()
	if x.config.Clock != nil {
		at = x.config.Clock()
	}
	for left := int64(1); left > 0; {
		drained, err := x.drainOnce(ctx)
		if err != nil {
			return at, false, err
		}
		left = drained.left
	}
	if err := x.outboxes(ctx); err != nil {
		return at, false, err
	}
	if err := x.heads(ctx); err != nil {
		return at, false, err
	}
	last, err := x.ask(ctx, "renew", marksKept, 0)
	return at, last.frozen && last.left == 0, err
}

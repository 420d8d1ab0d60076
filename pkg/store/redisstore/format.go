package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// The record of a store is a hash: its format, the number of its shards, the program that
// it has its format from, and while that is raised the format raising.
//
// The hash of the era has the format too, as soon as it is not the first: commits and
// leases look there, so that a program that runs while a later one raises the format
// makes no change from then on.

// step leads from a format to the next. A program may be killed amid a step, and then the next
// one begins it anew; others may run it at the same time, and write the new format when one of
// them has finished. So a step changes each thing at once, and skips those that have the new
// form.
type step struct {
	name string
	run  func(ctx context.Context, db *redis.Client, prefixes []string) error
}

// steps are those to the second format, to the third, and so on.
var steps []step

// storeKey returns the key of the record of a store.
func storeKey(c *Config) string { return c.Prefix + ":{store}" }

// eraOf returns the key of the hash of the era.
func eraOf(c *Config) string { return storeKey(c) + ":" + eraKey }

// prepare checks the server, makes the store when there is none, and raises its format when
// that is too old. It returns the number of shards.
func prepare(ctx context.Context, db *redis.Client, config *Config) (shards int, err error) {
	if err := checkDurability(ctx, db, config); err != nil {
		return 0, err
	}
	stamp, shards, err := readRecord(ctx, db, config)
	if err != nil {
		return 0, err
	}
	to, err := config.formats.Raised(stamp)
	if err != nil {
		return 0, fmt.Errorf("redisstore: open: %w", err)
	}
	for from := stamp.Format; from < to; from++ {
		if err := raise(ctx, db, config, shards, from); err != nil {
			return 0, err
		}
	}
	return shards, guard(ctx, db, config, to)
}

// readRecord reads the record of the store, and makes it when there is none.
func readRecord(
	ctx context.Context, db *redis.Client, config *Config,
) (stamp store.Stamp, shards int, err error) {
	key := storeKey(config)
	args := []any{config.formats.Newest, config.Program, config.Shards}
	reply, err := db.EvalSha(ctx, recordScript.text().sha, []string{key}, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = db.Eval(ctx, recordScript.text().source, []string{key}, args...).Slice()
	}
	if err != nil {
		return stamp, 0, readError(ctx, "open", err)
	}
	fields := make([]string, 5)
	for i := range min(len(reply), len(fields)) {
		fields[i], _ = reply[i].(string)
	}
	if id, _, _ := strings.Cut(fields[4], " "); id != "" {
		return stamp, 0, fmt.Errorf("redisstore: open: the backup %s is being restored into the store, "+
			"or that was interrupted: wait, or run interlock backup restore again with the same file", id)
	}
	stamp.Program = fields[2]
	if stamp.Format, err = strconv.Atoi(fields[0]); err != nil || stamp.Format < 1 {
		return stamp, 0, fmt.Errorf("redisstore: open: %s has the format %q, which is not one of Interlock's: "+
			"use another database or server, or restore a backup into an empty one", key, fields[0])
	}
	if stamp.Raising, err = strconv.Atoi(cmp.Or(fields[1], "0")); err != nil {
		return stamp, 0, fmt.Errorf("redisstore: open: %s is raised to the format %q, which is not one of Interlock's: "+
			"restore a backup into an empty store", key, fields[1])
	}
	if shards, err = strconv.Atoi(fields[3]); err != nil || shards < 1 || shards > maxShards {
		return stamp, 0, fmt.Errorf("redisstore: open: the store has %q shards recorded in %s", fields[3], key)
	}
	return stamp, shards, nil
}

// guard makes programs that do not know a format make no changes from now on.
func guard(ctx context.Context, db *redis.Client, config *Config, format int) error {
	if format == 1 {
		return nil
	}
	if _, err := eras(ctx, db, eraOf(config), "raise", sight{}, strconv.Itoa(format)); err != nil {
		return writeError("guard the format", err)
	}
	return nil
}

// raise leads from a format to the next.
func raise(ctx context.Context, db *redis.Client, config *Config, shards, from int) error {
	if from > len(config.steps) {
		return fmt.Errorf("redisstore: no step leads from format %d", from)
	}
	to, step := from+1, config.steps[from-1]
	if err := db.HSet(ctx, storeKey(config), "raising", to, "program", config.Program).Err(); err != nil {
		return writeError("raise the format", err)
	}
	if err := guard(ctx, db, config, to); err != nil {
		return err
	}
	config.Logger.WarnContext(ctx, "the format of the store is raised", "to", to, "step", step.name)
	if err := step.run(ctx, db, shardPrefixes(config.Prefix, shards)); err != nil {
		return fmt.Errorf("redisstore: raise the store to format %d (%s): %w", to, step.name, err)
	}
	if err := db.HSet(ctx, storeKey(config), "format", to).Err(); err != nil {
		return writeError("raise the format", err)
	}
	if err := db.HDel(ctx, storeKey(config), "raising").Err(); err != nil {
		return writeError("raise the format", err)
	}
	return nil
}

// outdate refuses every call from now on: a later program has raised the format.
func (s *Store) outdate(ctx context.Context, format int) {
	var known *store.FormatError
	if errors.As(s.gate.Lost(), &known) {
		return
	}
	program, _ := s.probe.HGet(ctx, storeKey(&s.config), "program").Result() // only for the message
	err := &store.FormatError{Format: format, Program: program, Known: s.config.formats}
	s.config.Logger.ErrorContext(ctx, "THE FORMAT OF THE STORE WAS RAISED, and this program uses it no more", "cause", err)
	s.gate.Lose(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
}

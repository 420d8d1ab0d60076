package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrLossy is the error of Open when the server could lose acknowledged commits and
// Config.AllowLossy is not set.
var ErrLossy = errors.New("redisstore: the server could lose acknowledged commits")

// required are the settings without which a server loses commits that it has
// acknowledged.
var required = []struct{ name, value, danger string }{
	{"appendonly", "yes", "everything is lost when it stops"},
	{"appendfsync", "always", "the last commits are lost when the machine loses power"},
	{"no-appendfsync-on-rewrite", "no", "commits made while it rewrites its file are lost when the machine loses power"},
	{"maxmemory-policy", "noeviction", "keys are removed when its memory is full"},
}

// checkDurability refuses a server that could lose acknowledged commits, or warns of it when
// that is allowed.
func checkDurability(ctx context.Context, db *redis.Client, config *Config) error {
	if err := db.Ping(ctx).Err(); err != nil {
		if strings.Contains(err.Error(), "in cluster mode") { // which has no SELECT of another database
			return errCluster
		}
		return readError(ctx, "open", err)
	}
	if err := refuseCluster(ctx, db); err != nil {
		return err
	}
	var faults []string
	for _, setting := range required {
		value, known, err := readSetting(ctx, db, setting.name)
		switch {
		case err != nil:
			return readError(ctx, "open", err)
		case !known:
			faults = append(faults, fmt.Sprintf("%s cannot be read, so it may not be %q (%s)", setting.name, setting.value, setting.danger))
		case value != setting.value:
			faults = append(faults, fmt.Sprintf("%s is %q, not %q (%s)", setting.name, value, setting.value, setting.danger))
		}
	}
	fault, err := checkReplayer(ctx, db, storeKey(config))
	if err != nil {
		return readError(ctx, "open", err)
	}
	if fault != "" {
		faults = append(faults, fault)
	}
	addr := db.Options().Addr
	if len(faults) > 0 {
		problem := strings.Join(faults, "; ")
		if !config.AllowLossy {
			return fmt.Errorf("%w: %s: %s; change that on the server, or accept the loss with --allow-lossy-store", ErrLossy, addr, problem)
		}
		config.Logger.WarnContext(ctx, "THE STORE CAN LOSE ACKNOWLEDGED COMMITS; --allow-lossy-store accepts that", "server", addr, "settings", problem)
	}
	warnOfReplicas(ctx, db, config)
	return nil
}

// readSetting reads a setting of a server. It is not known where the server does not
// reveal it.
func readSetting(ctx context.Context, db *redis.Client, name string) (value string, known bool, err error) {
	values, err := db.ConfigGet(ctx, name).Result()
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return "", false, nil
	}
	value, known = values[name]
	return value, known, err
}

// Settings returns those without which a server loses commits that it has acknowledged,
// and whether they are known to be as they have to be.
func (s *Store) Settings(ctx context.Context) (map[string]bool, error) {
	safe := make(map[string]bool, len(required)+1)
	for _, setting := range required {
		value, known, err := readSetting(ctx, s.db, setting.name)
		if err != nil {
			return nil, readError(ctx, "read the settings", err)
		}
		safe[setting.name] = known && value == setting.value
	}
	fault, err := checkReplayer(ctx, s.db, storeKey(&s.config))
	if err != nil {
		return nil, readError(ctx, "read the settings", err)
	}
	safe[replayerSetting] = fault == ""
	return safe, nil
}

// warnOfReplicas warns that a failover may lose commits: Redis replicates after
// it has answered.
func warnOfReplicas(ctx context.Context, db *redis.Client, config *Config) {
	info, err := db.Info(ctx, "replication").Result()
	if err != nil || strings.Contains(info, "connected_slaves:0\r") {
		return
	}
	if config.Wait == 0 {
		config.Logger.WarnContext(ctx, "the server has replicas: a failover may lose the last acknowledged commits; --redis-wait prevents that",
			"server", db.Options().Addr)
	}
	least, err := db.ConfigGet(ctx, "min-replicas-to-write").Result()
	if err == nil && least["min-replicas-to-write"] == "0" {
		config.Logger.WarnContext(ctx, "min-replicas-to-write is 0: a master that is cut off from its replicas acknowledges writes which the failover loses",
			"server", db.Options().Addr)
	}
}

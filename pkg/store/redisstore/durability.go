package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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

// checkDurability refuses a server, or a cluster with a master, that could lose
// acknowledged commits, or warns of it when that is allowed.
func checkDurability(ctx context.Context, db redis.UniversalClient, config *Config) error {
	check := func(ctx context.Context, node *redis.Client) error {
		return checkNode(ctx, node, config)
	}
	switch db := db.(type) {
	case *redis.ClusterClient:
		if err := db.ForEachMaster(ctx, check); err != nil {
			return openError(ctx, err)
		}
	case *redis.Client:
		if err := check(ctx, db); err != nil {
			return openError(ctx, err)
		}
	default:
		return fmt.Errorf("redisstore: open: unexpected client %T", db)
	}
	return nil
}

func openError(ctx context.Context, err error) error {
	if errors.Is(err, ErrLossy) {
		return err
	}
	return readError(ctx, "open", err)
}

func checkNode(ctx context.Context, node *redis.Client, config *Config) error {
	if err := node.Ping(ctx).Err(); err != nil {
		return err
	}
	var faults []string
	for _, setting := range required {
		value, known, err := readSetting(ctx, node, setting.name)
		switch {
		case err != nil:
			return err
		case !known:
			faults = append(faults, fmt.Sprintf("%s cannot be read, so it may not be %q (%s)", setting.name, setting.value, setting.danger))
		case value != setting.value:
			faults = append(faults, fmt.Sprintf("%s is %q, not %q (%s)", setting.name, value, setting.value, setting.danger))
		}
	}
	fault, err := checkReplayer(ctx, node, storeKey(config))
	if err != nil {
		return err
	}
	if fault != "" {
		faults = append(faults, fault)
	}
	addr := node.Options().Addr
	if len(faults) > 0 {
		problem := strings.Join(faults, "; ")
		if !config.AllowLossy {
			return fmt.Errorf("%w: %s: %s; change that on the server, or accept the loss with --allow-lossy-store", ErrLossy, addr, problem)
		}
		config.Logger.WarnContext(ctx, "THE STORE CAN LOSE ACKNOWLEDGED COMMITS; --allow-lossy-store accepts that", "server", addr, "settings", problem)
	}
	warnOfReplicas(ctx, node, config)
	return nil
}

// readSetting reads a setting of a server. It is not known where the server does not
// reveal it.
func readSetting(ctx context.Context, node *redis.Client, name string) (value string, known bool, err error) {
	values, err := node.ConfigGet(ctx, name).Result()
	if refused := redis.Error(nil); errors.As(err, &refused) {
		return "", false, nil
	}
	value, known = values[name]
	return value, known, err
}

// Settings returns those without which a server loses commits that it has acknowledged,
// and whether they are known to be as they have to be, on every master.
func (s *Store) Settings(ctx context.Context) (map[string]bool, error) {
	var mu sync.Mutex
	safe := make(map[string]bool, len(required))
	for _, setting := range required {
		safe[setting.name] = true
	}
	safe[replayerSetting] = true
	look := func(ctx context.Context, node *redis.Client) error {
		for _, setting := range required {
			value, known, err := readSetting(ctx, node, setting.name)
			if err != nil {
				return readError(ctx, "read the settings", err)
			}
			if !known || value != setting.value {
				mu.Lock()
				safe[setting.name] = false
				mu.Unlock()
			}
		}
		fault, err := checkReplayer(ctx, node, storeKey(&s.config))
		if err != nil {
			return readError(ctx, "read the settings", err)
		}
		if fault != "" {
			mu.Lock()
			safe[replayerSetting] = false
			mu.Unlock()
		}
		return nil
	}
	return safe, s.eachMaster(ctx, look)
}

// eachMaster does something with each server that has data.
func (s *Store) eachMaster(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch db := s.db.(type) {
	case *redis.ClusterClient:
		return db.ForEachMaster(ctx, do)
	case *redis.Client:
		return do(ctx, db)
	default:
		return fmt.Errorf("redisstore: unexpected client %T", db)
	}
}

// warnOfReplicas warns that a failover may lose commits: Redis replicates after
// it has answered.
func warnOfReplicas(ctx context.Context, node *redis.Client, config *Config) {
	info, err := node.Info(ctx, "replication").Result()
	if err != nil || strings.Contains(info, "connected_slaves:0\r") {
		return
	}
	if config.Wait == 0 {
		config.Logger.WarnContext(ctx, "the server has replicas: a failover may lose the last acknowledged commits; --redis-wait prevents that",
			"server", node.Options().Addr)
	}
	least, err := node.ConfigGet(ctx, "min-replicas-to-write").Result()
	if err == nil && least["min-replicas-to-write"] == "0" {
		config.Logger.WarnContext(ctx, "min-replicas-to-write is 0: a master that is cut off from its replicas acknowledges writes which the failover loses",
			"server", node.Options().Addr)
	}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// replayer is the user as whom a server replays its append-only file. Many servers check this
// user's rights for each command of a transaction, also where the user is off, and leave out the
// transaction when a right is missing. Each of our writes is one.
const replayer = "default"

// replayerSetting is the name of its rights among the settings.
const replayerSetting = "acl-default-user"

// ReplayerACL is the line of an ACL file for the user default: no client can log in as it, and
// the server can replay everything.
const ReplayerACL = "user default off resetpass ~* &* +@all"

// replayed returns commands as they are in an append-only file, on the key of the store.
func replayed(key string) [][]any {
	return [][]any{
		{"del", key},
		{"unlink", key},
		{"set", key, "v"},
		{"pexpireat", key, 1},
		{"hset", key, "f", "v"},
		{"hsetnx", key, "f", "v"},
		{"hincrby", key, "f", 1},
		{"hdel", key, "f"},
		{"rpush", key, "v"},
		{"lset", key, 0, "v"},
		{"ltrim", key, 0, 1},
		{"zadd", key, 1, "m"},
		{"zrem", key, "m"},
		{"xadd", key, "1-1", "f", "v"},
		{"xtrim", key, "MAXLEN", 1},
		{"xdel", key, "1-1"},
		{"select", 0},
	}
}

// checkReplayer returns why a server would not bring back its writes, or "".
func checkReplayer(ctx context.Context, db *redis.Client, key string) (fault string, err error) {
	commands := replayed(key)
	answers, err := db.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, command := range commands {
			pipe.Do(ctx, append([]any{"acl", "dryrun", replayer}, command...)...)
		}
		return nil
	})
	if refused := redis.Error(nil); err != nil && !errors.As(err, &refused) {
		return "", err
	}
	for i, answer := range answers {
		text, err := answer.(*redis.Cmd).Text()
		switch {
		case err != nil:
			return fmt.Sprintf("it cannot be asked whether its user %q may replay the append-only file, so a restart may lose everything (%v); "+
				"allow +acl|dryrun to the user of the services, as in deploy/redis/users.acl", replayer, err), nil
		case text != "OK":
			return fmt.Sprintf("its user %q, as whom it replays the append-only file, may not run %s on %s (every write is lost when it restarts); "+
				"put the line %q into its ACL file before it is started again",
				replayer, commands[i][0], key, ReplayerACL), nil
		}
	}
	return "", nil
}

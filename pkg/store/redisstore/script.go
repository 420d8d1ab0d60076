package redisstore

import (
	"context"
	"crypto/sha1" // it is how Redis names scripts
	_ "embed"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The scripts use EVALSHA rather than functions, for functions must be installed
// by someone and scripts come back by themselves after a restart.
var (
	//go:embed commit.lua
	commitSource string
	//go:embed lease.lua
	leaseSource string
	//go:embed held.lua
	heldSource string
	//go:embed answer.lua
	answerSource string
	//go:embed era.lua
	eraSource string
	//go:embed record.lua
	recordSource string
	//go:embed history.lua
	historySource string
	//go:embed due.lua
	dueSource string
	//go:embed place.lua
	placeSource string
	//go:embed item.lua
	itemSource string
	//go:embed export.lua
	exportSource string
	//go:embed copy.lua
	copySource string
	//go:embed import.lua
	importSource string

	commitScript = newScript(commitSource)
	leaseScript  = newScript(leaseSource)
	heldScript   = newScript(heldSource)
	answerScript = newScript(answerSource)
	eraScript    = newScript(eraSource)
	recordScript = newScript(recordSource)
	dueScript    = newScript(dueSource)
	exportScript = newScript(exportSource)
	copyScript   = newScript(copySource)
	importScript = newScript(importSource)
	// historyScript reads lists of entries, see parseHistory.
	historyScript = newScript(historySource)
)

// A script is put together when it is first sent, for few programs send any.
type script struct{ text func() scriptText }

type scriptText struct{ source, sha string }

// newScript makes a script of a source, which may ask for place.lua and item.lua.
func newScript(source string) *script {
	return &script{text: sync.OnceValue(func() scriptText {
		source := strings.Replace(source, "-- item.lua\n", itemSource, 1)
		source = strings.Replace(source, "-- place.lua\n", placeSource, 1)
		sum := sha1.Sum([]byte(source)) // it is how Redis names scripts
		return scriptText{source: source, sha: hex.EncodeToString(sum[:])}
	})}
}

// once is a command that go-redis must not send a second time: it cannot know
// whether the first was applied when the answer got lost.
type once struct{ *redis.Cmd }

// NoRetry makes the client report the first failure.
func (once) NoRetry() bool { return true }

// write runs the script with arguments that begin with two free places, for
// the command and the script, and the number of keys.
func (s *script) write(ctx context.Context, db processor, args []any) (any, error) {
	args[0], args[1] = "evalsha", s.text().sha
	reply, err := run(ctx, db, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // the script did not run
		args[0], args[1] = "eval", s.text().source
		reply, err = run(ctx, db, args)
	}
	return reply, err
}

// processor is a client or one of its connections.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

func run(ctx context.Context, db processor, args []any) (any, error) {
	cmd := once{redis.NewCmd(ctx, args...)}
	if err := db.Process(ctx, cmd); err != nil {
		return nil, err
	}
	return cmd.Val(), nil
}

// read runs a script that does not write.
func (s *script) read(ctx context.Context, db *redis.Client, keys []string, args ...any) (any, error) {
	reply, err := db.EvalShaRO(ctx, s.text().sha, keys, args...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = db.EvalRO(ctx, s.text().source, keys, args...).Result()
	}
	return reply, err
}

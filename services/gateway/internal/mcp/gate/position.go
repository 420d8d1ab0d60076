package gate

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

const (
	// cachedPositions bounds the positions in memory.
	cachedPositions = 4096
	// positionAge is how long a position is used: shorter than an operator takes to accept an older store, in which a run
	// may have the same version in another state.
	positionAge = 5 * time.Second
)

// positions has the positions at which callers were seen. They may be old: calls are then decided only if the run is still at
// that version.
type positions struct {
	cache *snapshot.Cache[caller.Identity, seenAt]
}

type seenAt struct {
	caller.Position
	time time.Time
}

func newPositions() positions {
	return positions{snapshot.New[caller.Identity, seenAt](cachedPositions)}
}

// positionKey returns all of a caller that selects its run, and the rights to read it, without the secrets.
func positionKey(c caller.Caller) caller.Identity {
	return caller.Identity{Binding: c.Binding, Token: caller.TokenDigest(c.Token), For: caller.TokenDigest(c.For), Namespace: c.Namespace}
}

// lastSeen returns the position of a call's caller from memory, unless the call needs the present one: the server of a
// single caller is started with the environment of the state.
func (g *Gate) lastSeen(call Identified) (caller.Position, bool) {
	seen, ok := g.positions.cache.Get(positionKey(call.caller))
	return seen.Position, ok && !call.ownServer() && time.Since(seen.time) < positionAge
}

// locate reads the position of a caller, and remembers it without the large parts of the run. Older clients whose tools have
// changed are notified. ctx must be outgoing.
func (g *Gate) locate(ctx context.Context, c caller.Caller) (caller.Position, error) {
	now := time.Now()
	at, err := caller.Locate(ctx, g.cfg.Runs, c)
	if err != nil {
		g.positions.cache.Drop(positionKey(c))
		return at, err
	}
	g.cfg.Clients.NotifyRun(c, clients.ListingOf(at.Run))
	run := proto.CloneOf(at.Run)
	run.Context, run.Evidence = nil, nil
	if run.GetRules() != nil {
		run.Rules.Instructions = ""
	}
	g.positions.cache.Put(positionKey(c), seenAt{caller.Position{Run: run, Target: at.Target}, now}, nil)
	return at, nil
}

package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// turns let those of this process who have lost a race for a tree of sessions try
// again one after the other. Otherwise the many children of one parent, which all
// change it, would take the parent from one another until some give up.
type turns [64]chan struct{}

func newTurns() *turns {
	t := &turns{}
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for a turn at the shard of a tree, and answers how to end it.
func (t *turns) take(ctx context.Context, shard int) (func(), error) {
	turn := t[shard%len(t)]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, fault.From(ctx.Err())
	}
}

// mostTries is how often something is tried in turn. Whenever it is lost somebody else
// has got on, who does not come back: so it takes as many as want the tree at once.
const mostTries = 256

// contest calls try until it has not lost a race: at once, and then in turn. try
// starts from what is stored by then. of is any key of the tree, what names what is
// contested.
func (a *App) contest(ctx context.Context, of store.Key, what string, try func() error) error {
	err := try()
	if !lostRace(err) {
		return err
	}
	end, err := a.turns.take(ctx, of.Shard(a.store.Shards()))
	if err != nil {
		return err
	}
	defer end()
	for i := range mostTries {
		if err := retry.Yield(ctx, min(i, 4)); err != nil {
			return fault.From(err)
		}
		if err := try(); !lostRace(err) {
			return err
		}
	}
	return contended(what)
}

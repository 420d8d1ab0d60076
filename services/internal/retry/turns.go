package retry

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
)

// Turns let the callers of this process that have lost a race for the same thing try
// again one after the other. Otherwise the many children of one parent, which all
// change it, would take the parent from one another until some give up.
type Turns [64]chan struct{}

// NewTurns makes turns that are free.
func NewTurns() *Turns {
	t := &Turns{}
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// inTurn is how often an operation is tried in turn. Whenever a race is lost another
// caller has succeeded, who does not come back: so it takes as many attempts as there are
// other processes' callers that want the same thing at once.
const inTurn = 256

// Run repeats like the function Run, but from the second attempt on it waits for its turn
// at the place, a number such as a shard's.
func (t *Turns) Run(ctx context.Context, place int, what string, try func() error) error {
	err := try()
	if !Lost(err) {
		return err
	}
	turn := t[place%len(t)]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
	if _, err = tries(ctx, inTurn, fewContenders, withoutResult(try)); Lost(err) {
		return contended(what)
	}
	return err
}

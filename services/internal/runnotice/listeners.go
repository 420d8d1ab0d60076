package runnotice

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// A record of the deployment says whether receivers listen to events of runs. Without it they may: an unread notice
// costs little, and a missing one is lost.
const (
	some = "some"
	none = "none"
)

func listenersKey() store.Key {
	return store.Key{Namespace: "_deployment", Kind: "run_receivers", ID: "all"}
}

const (
	// SayEvery is how often a process of the approval service says whether it has receivers.
	SayEvery = 10 * time.Minute
	// silentFor is how long no process has said that it has some before there are none: a process may be about to start.
	silentFor = time.Hour
	// knownFor is how long the engine relies on that there are some, which no commit checks.
	knownFor = time.Minute
)

// Listeners are the receivers as one process of the approval service knows them.
type Listeners struct {
	store store.Store
	clock func() time.Time
	has   bool
	// version of the record that says some, and when this process has seen it first.
	version int64
	since   time.Time
}

// NewListeners returns those of a process that has receivers of events of runs, or none.
func NewListeners(st store.Store, clock func() time.Time, has bool) *Listeners {
	return &Listeners{store: st, clock: clock, has: has}
}

// Say records that this process has receivers, or that no process has had one for an hour.
func (l *Listeners) Say(ctx context.Context) error {
	return retry.Run(ctx, "the record of receivers", func() error { return l.say(ctx) })
}

func (l *Listeners) say(ctx context.Context) error {
	record, err := l.store.Get(ctx, listenersKey())
	absent := errors.Is(err, store.ErrNotFound)
	if err != nil && !absent {
		return fault.From(err)
	}
	word := none
	switch now := l.clock(); {
	case l.has:
		word = some
	case absent:
	case string(record.Data) == none:
		return nil
	case record.Version != l.version:
		l.version, l.since = record.Version, now
		return nil
	case now.Sub(l.since) < silentFor:
		return nil
	}
	put := store.Put{Key: listenersKey(), Expect: store.Absent, Data: []byte(word)}
	if !absent {
		put.Expect = record.Version
	}
	_, err = l.store.Commit(ctx, store.Batch{Puts: []store.Put{put}})
	return retry.Fault(err)
}

// Audience remembers for the engine whether there are receivers.
type Audience struct {
	store store.Store
	clock func() time.Time

	mu    sync.Mutex
	known heard
}

// heard is the record as it was read.
type heard struct {
	at    time.Time // zero for not yet
	none  bool
	check store.Check
}

// NewAudience reads the record of a store.
func NewAudience(st store.Store, clock func() time.Time) *Audience {
	a := &Audience{store: st, clock: clock}
	st.Gate().OnTurn(a.Forget)
	return a
}

// Forget reads the record again the next time: a commit that rests on it was refused.
func (a *Audience) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = heard{}
}

// None reports that there are no receivers, and adds that to the preconditions of a batch.
func (a *Audience) None(ctx context.Context, batch *store.Batch) bool {
	h := a.last()
	if age := a.clock().Sub(h.at); h.at.IsZero() || !h.none && (age < 0 || age >= knownFor) {
		var err error
		if h, err = a.read(ctx); err != nil {
			return false
		}
	}
	if h.none {
		batch.Checks = append(batch.Checks, h.check)
	}
	return h.none
}

func (a *Audience) last() heard {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known
}

func (a *Audience) read(ctx context.Context) (heard, error) {
	h := heard{at: a.clock(), check: store.Check{Key: listenersKey(), Version: store.Absent}}
	switch record, err := a.store.Get(ctx, listenersKey()); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return h, err
	default:
		h.none, h.check.Version = string(record.Data) == none, record.Version
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = h
	return h, nil
}

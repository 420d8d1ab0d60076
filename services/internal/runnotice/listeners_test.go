package runnotice

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

// heardBy holds two processes of the approval service, and the engine's knowledge of their receivers.
type heardBy struct {
	*testing.T
	clock         *storetest.Clock
	store         store.Store
	with, without *Listeners
	audience      *Audience
}

func newHeardBy(t *testing.T) *heardBy {
	t.Helper()
	clock := storetest.NewClock()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &heardBy{
		T: t, clock: clock, store: st, with: NewListeners(st, clock.Now, true), without: NewListeners(st, clock.Now, false),
		audience: NewAudience(st, clock.Now),
	}
}

// says lets a process speak after a time.
func (h *heardBy) says(l *Listeners, after time.Duration) {
	h.Helper()
	h.clock.Advance(after)
	if err := l.Say(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// none demands this knowledge of the engine.
func (h *heardBy) none(want bool) {
	h.Helper()
	h.audience.Forget()
	if got := h.audience.None(h.Context(), &store.Batch{}); got != want {
		h.Errorf("the engine keeps no notices: %t, want %t", got, want)
	}
}

// S23.54: a process without receivers speaks for all, one hour after the last word of a process with some.
func TestListeners(t *testing.T) {
	t.Parallel()
	h := newHeardBy(t)
	h.none(false) // nobody has spoken
	h.says(h.without, 0)
	h.none(true)
	h.says(h.with, 0)
	h.none(false)
	h.says(h.without, 0)
	h.says(h.without, 59*time.Minute)
	h.none(false)
	h.says(h.with, 0) // it lives
	h.says(h.without, time.Minute)
	h.says(h.without, 59*time.Minute)
	h.none(false)
	h.says(h.without, time.Minute)
	h.none(true)
	h.says(NewListeners(h.store, h.clock.Now, true), 0)
	h.says(NewListeners(h.store, h.clock.Now, false), 30*24*time.Hour) // after a long outage a process with receivers may start next
	h.none(false)
}

// S23.54: the lack of receivers is a condition of the commit.
func TestAudienceIsOld(t *testing.T) {
	t.Parallel()
	h := newHeardBy(t)
	h.says(h.without, 0)
	h.none(true)
	var batch store.Batch
	h.says(h.with, 0)
	if !h.audience.None(t.Context(), &batch) || len(batch.Checks) != 1 {
		t.Fatalf("it has not relied on what it knew: %+v", batch)
	}
	if _, err := h.store.Commit(t.Context(), batch); err == nil {
		t.Error("an event was committed without its notice, and there is a receiver")
	}
	h.none(false)
	h.says(h.without, 0)
	h.says(h.without, time.Hour)
	if h.clock.Advance(knownFor); !h.audience.None(t.Context(), &store.Batch{}) {
		t.Error("it still keeps notices that nobody gets")
	}
}

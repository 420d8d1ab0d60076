package wakeup

import (
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

func key(id string) store.Key { return store.Key{Namespace: "default", Kind: "run", ID: id} }

// woken reports whether a wake-up is pending, and takes it.
func woken(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestWakeReachesEveryWaiterOfTheRecord(t *testing.T) {
	t.Parallel()
	h := New()
	one, stopOne := h.Wait(key("a"))
	two, stopTwo := h.Wait(key("a"))
	other, stopOther := h.Wait(key("b"))
	h.Wake(key("a"))
	h.Wake(key("a")) // while the first is pending it is one
	h.Wake(key("nobody's"))
	for _, waiter := range []<-chan struct{}{one, two} {
		if !woken(waiter) || woken(waiter) {
			t.Error("a waiter is not woken just once")
		}
	}
	if woken(other) {
		t.Error("a waiter for another record is woken")
	}
	h.Wake(key("a"))
	if !woken(one) || !woken(two) {
		t.Error("a waiter is not woken again")
	}

	if n := h.Waiting(); n != 2 {
		t.Errorf("%d records are waited for", n)
	}
	stopOne()
	stopOne() // again is harmless
	h.Wake(key("a"))
	if woken(one) || !woken(two) {
		t.Error("who stopped is woken, or who did not is not")
	}
	stopTwo()
	stopOther()
	if n := h.Waiting(); n != 0 {
		t.Errorf("%d records are waited for by nobody", n)
	}
}

// Anyone who waits before a change, and reads after each wake-up, sees the last change,
// however many there are.
func TestNoChangeIsMissed(t *testing.T) {
	t.Parallel()
	h := New()
	const last = 10_000
	var mu sync.Mutex
	record := 0
	read := func() int {
		mu.Lock()
		defer mu.Unlock()
		return record
	}
	var group sync.WaitGroup
	for range 4 {
		changed, stop := h.Wait(key("a"))
		group.Go(func() {
			defer stop()
			for read() < last {
				<-changed
			}
		})
	}
	for range last {
		mu.Lock()
		record++
		mu.Unlock()
		h.Wake(key("a"))
	}
	group.Wait()
	if n := h.Waiting(); n != 0 {
		t.Errorf("%d records are waited for by nobody", n)
	}
}

package rpc

import (
	"sync"
	"testing"
)

// Everything is done once, no matter by whom.
func TestCrewDoesEverything(t *testing.T) {
	t.Parallel()
	const things = 5 * stay
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[int]int{}
	c := newCrew()
	defer c.end()
	for i := range things {
		all.Add(1)
		c.begin(func() {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			done[i]++
		})
	}
	all.Wait()
	if len(done) != things {
		t.Errorf("%d of %d were done", len(done), things)
	}
	for i, times := range done {
		if times != 1 {
			t.Errorf("%d was done %d times", i, times)
		}
	}
}

// Nothing waits for another one's end.
func TestCrewWorksConcurrently(t *testing.T) {
	t.Parallel()
	for range 3 {
		var all sync.WaitGroup
		c := newCrew()
		all.Add(2 * stay)
		for range 2 * stay {
			c.begin(func() {
				all.Done()
				all.Wait()
			})
		}
		all.Wait()
		c.end()
	}
}

package rpc

import (
	"sync"
	"testing"
)

// Everything is done once, no matter by whom.
func TestPoolDoesEverything(t *testing.T) {
	t.Parallel()
	const things = 5 * mostIdle
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[int]int{}
	c := newPool()
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
func TestPoolWorksConcurrently(t *testing.T) {
	t.Parallel()
	for range 3 {
		var all sync.WaitGroup
		c := newPool()
		all.Add(2 * mostIdle)
		for range 2 * mostIdle {
			c.begin(func() {
				all.Done()
				all.Wait()
			})
		}
		all.Wait()
		c.end()
	}
}

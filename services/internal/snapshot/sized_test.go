package snapshot

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

func TestSizedKeepsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	c := NewSized[string, int](100)
	for i := range 10 {
		c.Put(fmt.Sprint(i), i, 10, nil)
	}
	c.Get("0")              // used
	c.Put("1", 11, 10, nil) // written
	c.Put("10", 10, 10, nil)
	c.Put("11", 11, 10, nil)
	for key, want := range map[string]bool{"0": true, "1": true, "2": false, "3": false, "4": true, "10": true, "11": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%s is kept: %t", key, ok)
		}
	}
	// One that is too large for the cache is not kept, nor is the value that it replaces.
	c.Put("4", 4, 11, nil)
	if v, ok := c.Get("4"); ok {
		t.Errorf("a tenth and more of the cache is kept, as %d", v)
	}
	if _, ok := c.Get("0"); !ok {
		t.Error("it has pushed out another one")
	}
	c.Drop("0")
	c.Drop("0")
	if _, ok := c.Get("0"); ok {
		t.Error("dropped and still there")
	}
}

func TestSizedPutKeepsTheNewerSnapshot(t *testing.T) {
	t.Parallel()
	c := NewSized[string, int](1000)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() { c.Put("state", i, i%50+1, func(old int) bool { return old > i }) })
	}
	wg.Wait()
	if v, ok := c.Get("state"); !ok || v != 999 {
		t.Fatalf("cached %d, %t; want the newest, 999", v, ok)
	}
}

// For any puts and drops, the cache holds as many bytes as it counts, at
// most its limit, and answers the latest value of a key or none.
func TestSizedIsBounded(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		c := NewSized[int, int](limit)
		latest, size := map[int]int{}, map[int]int{}
		for i := range rapid.IntRange(1, 100).Draw(t, "steps") {
			key := rapid.IntRange(0, 9).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				c.Drop(key)
				delete(latest, key)
			case 1:
				if v, ok := c.Get(key); ok && v != latest[key] {
					t.Fatalf("key %d is %d, put was %d", key, v, latest[key])
				}
			default:
				bytes := rapid.IntRange(0, limit/5+1).Draw(t, "bytes")
				c.Put(key, i, bytes, nil)
				latest[key], size[key] = i, bytes
			}
			held := 0
			for key := range c.items {
				held += size[key]
				if _, put := latest[key]; !put || size[key] > limit/10 {
					t.Fatalf("key %d is held with %d bytes of %d; put: %t", key, size[key], limit, put)
				}
			}
			if held != c.bytes || held > limit || c.order.Len() != len(c.items) {
				t.Fatalf("%d bytes in %d items are held, counted are %d in %d, the limit is %d", held, len(c.items), c.bytes, c.order.Len(), limit)
			}
		}
	})
}

package snapshot

import (
	"sync"
	"testing"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := New[int, int](640)
	for i := range 100_000 {
		c.Put(i, i, nil)
	}
	if n := c.Len(); n > 640 || n < 320 {
		t.Fatalf("%d entries for a capacity of 640", n)
	}
}

// Large values push others out, and one that is larger than a stripe is alone in it.
func TestCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	c := New[int, int](64 * 1000)
	held := func() (bytes int) {
		for i := range c.stripe {
			sum := 0
			for _, v := range c.stripe[i].m {
				sum += v.weight
			}
			if sum != c.stripe[i].weight || sum > c.limit && len(c.stripe[i].m) > 1 {
				t.Fatalf("stripe %d has %d bytes and counts %d", i, sum, c.stripe[i].weight)
			}
			bytes += sum
		}
		return bytes
	}
	for i := range 10_000 {
		c.PutSized(i, i, i%1000, nil)
	}
	if n := held(); n < 32*1000 {
		t.Errorf("%d bytes are kept", n)
	}
	c.PutSized(9_999, 1, 1_000_000, nil)
	if v, ok := c.Get(9_999); !ok || v != 1 {
		t.Errorf("what is large is %d, %t", v, ok)
	}
	held()
	for i := range 10_000 {
		c.Drop(i)
	}
	if n := held(); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}

func TestPutKeepsTheNewerSnapshot(t *testing.T) {
	t.Parallel()
	c := New[string, int](64)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() { c.Put("run", i, func(old int) bool { return old > i }) })
	}
	wg.Wait()
	if v, ok := c.Get("run"); !ok || v != 999 {
		t.Fatalf("cached %d, %t; want the newest, 999", v, ok)
	}
	c.Drop("run")
	if _, ok := c.Get("run"); ok {
		t.Fatal("dropped and still there")
	}
}

func TestClearForgetsEverything(t *testing.T) {
	t.Parallel()
	c, sized := New[int, int](64*100), NewSized[int, int](1000)
	for range 3 { // dropped entries take no room
		for i := range 6 {
			c.PutSized(i, i, 100, nil)
			sized.Put(i, i, 100, nil)
		}
		for i := range 6 {
			_, kept := c.Get(i)
			_, keptSized := sized.Get(i)
			if !kept && c.Len() == 0 || !keptSized {
				t.Fatalf("%d is not cached", i)
			}
		}
		c.Clear()
		sized.Clear()
		if _, kept := sized.Get(0); kept || c.Len() != 0 {
			t.Fatalf("%d stay", c.Len())
		}
	}
	c.PutSized(1, 1, 100, nil)
	if _, ok := c.Get(1); !ok {
		t.Error("there is no room after Clear")
	}
}

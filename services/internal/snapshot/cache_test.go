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

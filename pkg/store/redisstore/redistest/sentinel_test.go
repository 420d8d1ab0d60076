package redistest_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// Servers that a sentinel watches fail over, and back.
func TestGuardedFailsOverAndBack(t *testing.T) {
	t.Parallel()
	g := redistest.StartGuarded(t)
	for range 2 {
		former := g.Master
		if err := g.Master.Client(t).Set(t.Context(), "key", former.Addr(), 0).Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := g.Master.Client(t).Wait(t.Context(), 1, 0).Result(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		g.Master.Kill()
		if err := g.Swap(); err != nil {
			t.Fatal(err)
		}
		if got, err := g.Master.Client(t).Get(t.Context(), "key").Result(); g.Master == former || got != former.Addr() || err != nil {
			t.Errorf("after the failover the value is %q, %v", got, err)
		}
	}
}

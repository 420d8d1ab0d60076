package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// timerStarters start runs at the same time.
const timerStarters = 16

// S25.2, S25.9: kills and jumps of clocks, from a seed, meet runs that only time moves, on each store. Each clock does its work once,
// in order, and a last jump ahead leaves none that has not.
func TestFaultCampaignOfTimers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newTimerCampaign(t, name).run()
		})
	}
}

// timerCampaign is `interlock up` with runs that only time moves, and the faults that it has met.
type timerCampaign struct {
	*testing.T
	name   string
	up     *together
	redis  *redistest.Server // nil on SQLite
	times  *timekeeper
	random *rand.Rand
	kinds  []kind
	struck map[string]int
}

func newTimerCampaign(t *testing.T, name string) *timerCampaign {
	t.Helper()
	at := freeAddresses(t, 3)
	args := []string{"--http", at[0], "--grpc", at[1], "--nats", at[2]}
	c := &timerCampaign{T: t, name: name, random: randtest.New(t, 0), struck: map[string]int{}}
	if name == "redis" {
		c.redis = redistest.Start(t)
		args = append(args, "--store", c.redis.URL())
	}
	c.up = &together{shape: shape{name: "up"}, data: datadir.Dir(t.TempDir()), args: args}
	c.up.restart(t)
	c.times = newTimekeeper(t, (&world{shape: &c.up.shape, namespace: "timers"}).replicas(t, auth.Agent))
	own := func() int { return c.up.process.pid() }
	c.kinds = []kind{
		{name: "killed", strike: func() { c.up.process.kill(); c.up.restart(t) }},
		c.jump("its clock jumps ahead", time.Hour, own), c.jump("its clock jumps back", -time.Hour, own),
	}
	if c.redis != nil {
		c.kinds = append(c.kinds, kind{name: "Redis is killed", strike: func() {
			c.redis.Kill()
			if err := c.redis.Restart(); err != nil {
				t.Fatal(err)
			}
		}}, c.jump("Redis's clock jumps ahead", time.Hour, c.redis.PID), c.jump("Redis's clock jumps back", -time.Hour, c.redis.PID))
	}
	return c
}

// jump sets the clock of a process, until it is set again or the process ends.
func (c *timerCampaign) jump(name string, by time.Duration, pid func() int) kind {
	if err := clocksJump(); err != nil {
		return kind{name: name, cannot: err.Error()}
	}
	return kind{name: name, strike: func() { c.set(by, pid()) }}
}

func (c *timerCampaign) set(by time.Duration, pid int) {
	c.Helper()
	clock, err := clockOf(pid)
	if err == nil {
		err = clock.set(by)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// run strikes while runs start, then judges them all and prints the table.
func (c *timerCampaign) run() {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	var starters sync.WaitGroup
	for range timerStarters {
		c.times.load(ctx, &starters)
	}
	for i := range number(c.T, faultsVariable, fewFaults) {
		k := c.kinds[c.random.IntN(len(c.kinds))]
		if i < len(c.kinds) {
			k = c.kinds[i]
		}
		if k.cannot != "" {
			continue
		}
		k.strike()
		c.struck[k.name]++
		began := c.times.count.Load()
		eventually(c, "runs start after "+k.name, func() error {
			if n := c.times.count.Load() - began; n < 2*timerStarters {
				return fmt.Errorf("%d runs have started", n)
			}
			return nil
		})
	}
	cancel()
	starters.Wait()
	if clocksJump() == nil { // the last deadline was set an hour ahead at most
		c.set(24*time.Hour, c.up.process.pid())
		eventually(c, "every run has ended", c.allEnded)
	}
	c.times.verify(c.T)
	c.table()
}

func (c *timerCampaign) allEnded() error {
	all, err := c.times.runs(c.T)
	for _, run := range all {
		if run.GetStatus() == running {
			return fmt.Errorf("run %s is in %s", run.GetRunId(), run.GetState())
		}
	}
	return err
}

// table prints what has been struck, and what clocks have done.
func (c *timerCampaign) table() {
	c.Helper()
	if c.Failed() {
		return
	}
	var faults []string
	for _, k := range c.kinds {
		if k.cannot != "" {
			c.Logf("| timers on %s | %s | not run: %s |", c.name, k.name, k.cannot)
			continue
		}
		faults = append(faults, fmt.Sprintf("%s %d times", k.name, c.struck[k.name]))
	}
	c.Logf("timers on %s: %s; %d runs, %d of them ended by time, %d clocks fired: 0 twice, 0 never", c.name, strings.Join(faults, ", "), c.times.all, c.times.ended, c.times.fired)
}

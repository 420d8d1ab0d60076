package main

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	seed = 38
	// Each quarter of an hour of a cell's day is sampled.
	warmUp = 500 * time.Millisecond
	sample = 2 * time.Second
	// Faults strike at struck in a window of the busiest quarter.
	struck = 10 * time.Second
	window = 60 * time.Second
	// A hot tenant is hot for so long.
	heated = 20 * time.Second
)

func random(stream int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(stream))) }

// simulate runs the cells of a plan for the sampled parts of a day, and returns the times of
// each region's checks.
func (p *plan) simulate(cells []unit) (took [][]time.Duration, sampled int) {
	results := make([]counts, len(cells))
	var work sync.WaitGroup
	turns := make(chan int)
	for range 2 {
		work.Go(func() {
			for i := range turns {
				results[i] = p.sampleDay(cells, i)
			}
		})
	}
	for i := range cells {
		turns <- i
	}
	close(turns)
	work.Wait()
	took = make([][]time.Duration, len(p.in.Regions))
	for i, r := range results {
		took[cells[i].region] = append(took[cells[i].region], r.took...)
		sampled += len(r.took)
	}
	return took, sampled
}

func (p *plan) sampleDay(cells []unit, cell int) counts {
	var all counts
	for quarter := range 96 {
		c := newCell(p.in.costs(), p.in.site(), random(1000+cell*96+quarter))
		c.measuring = false
		c.after(warmUp, func() { c.measuring = true })
		c.load(p.traffic(cells[cell], p.rate(cells, cell, float64(quarter)/4), warmUp+sample))
		c.run(warmUp + sample + time.Hour)
		all.took = append(all.took, c.took...)
	}
	return all
}

// strike runs one cell at a rate, with a fault.
func (p *plan) strike(cell unit, rate float64, stream int, fault func(*cell)) *cell {
	c := newCell(p.in.costs(), p.in.site(), random(stream))
	c.after(struck, func() { fault(c) })
	c.load(p.traffic(cell, rate, window))
	c.run(window + time.Hour)
	return c
}

// failover takes Redis away until a replica is promoted. Its new server answers the calls
// that come then.
func (in *inputs) failover(c *cell) {
	c.redis.stop()
	c.after(micro(in.Failover*1e6), func() { c.redis.down = false })
}

// fork has Redis stand still while it copies the tables of its memory.
func (in *inputs) fork(bytes float64) func(*cell) {
	return func(c *cell) {
		c.redis.standing = true
		c.after(micro(in.Fork*1000*bytes/gigabyte), func() {
			c.redis.standing = false
			c.redis.loop()
		})
	}
}

// loseNode takes the machine of one enforcer away. The gateway finds out when a call to it
// has no answer.
func (in *inputs) loseNode(c *cell) { c.lose(c.enforcers[0], micro(in.Answer*1e6)) }

// heat has one tenant make many checks for a while, each with its report. Only times of
// that while are kept.
func (p *plan) heat(rate float64) func(*cell) {
	return func(c *cell) {
		until := c.now + heated
		c.took = nil
		c.after(heated, func() { c.measuring = false })
		var next func()
		next = func() {
			if c.now >= until {
				return
			}
			c.begin(check, hot, func(decided bool) {
				if decided {
					c.begin(report, hot, nil)
				}
			})
			c.after(time.Duration(c.random.ExpFloat64()/rate*float64(time.Second)), next)
		}
		next()
	}
}

// closed runs callers that make one call after the other, and returns how many calls a second
// they make, of which each is a check and, with pairs, its report.
func closed(c costs, s site, callers int, pairs bool) (*cell, float64) {
	const lasts = 3 * time.Second
	cell := newCell(c, s, random(callers))
	cell.measuring = false
	cell.after(time.Second, func() { cell.measuring = true })
	var next func(bool)
	next = func(bool) {
		if cell.now < lasts {
			then := next
			if pairs {
				then = func(bool) { cell.begin(report, 0, next) }
			}
			cell.begin(check, 0, then)
		}
	}
	for range callers {
		next(true)
	}
	cell.run(time.Hour)
	return cell, float64(len(cell.took)) / (lasts - time.Second).Seconds()
}

// percentile returns the time within which a share of the calls was answered.
func percentile(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Clone(took)
	slices.Sort(sorted)
	return sorted[int(share*float64(len(sorted)-1))]
}

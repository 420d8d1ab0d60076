package main

import (
	"math/rand/v2"
	"time"
)

// Kinds of calls.
const (
	check = iota
	report
	transition
	start
	kinds
)

// Limits of pkg/store/redisstore, where commits that wait share a flight, and of
// services/internal/storeguard, which refuses calls of a silent store at once.
const (
	maxBatches = 128
	maxFlights = 2
	fullEnough = 64
	downAfter  = 3
	probeEvery = time.Second
)

// costs are the processor times of a cell's parts.
type costs struct {
	services, redis             [kinds]time.Duration // of one call
	flightServices, flightRedis time.Duration        // of one flight, with any number of calls
	hop                         time.Duration        // of one more server, or of the caller
}

// site is where a cell runs.
type site struct {
	processors int  // of the services
	shared     bool // Redis and the callers run on the same processors
	enforcers  int
	sync, rtt  time.Duration // of Redis's disk, and between machines
	confirm    time.Duration // until a replica has confirmed a flight
	timeout    time.Duration // of a call of the store
	answer     time.Duration // after which the gateway denies
}

// event is something that happens at a time.
type event struct {
	at   time.Duration
	turn int
	do   func()
}

// clock runs events in the order of their times, and those of one time in the order in
// which they were made.
type clock struct {
	now    time.Duration
	turns  int
	events []event
}

func (a event) before(b event) bool { return a.at < b.at || a.at == b.at && a.turn < b.turn }

// after has a function called later.
func (c *clock) after(d time.Duration, do func()) {
	c.turns++
	h := append(c.events, event{c.now + d, c.turns, do})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	c.events = h
}

// run calls what is due until a time, or until no events are left.
func (c *clock) run(until time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= until {
		h := c.events
		next, last := h[0], len(h)-1
		h[0], h[last] = h[last], event{}
		h = h[:last]
		for i := 0; ; {
			least := i
			for _, below := range [2]int{2*i + 1, 2*i + 2} {
				if below < last && h[below].before(h[least]) {
					least = below
				}
			}
			if least == i {
				break
			}
			h[i], h[least] = h[least], h[i]
			i = least
		}
		c.events = h
		c.now = next.at
		next.do()
	}
	c.now = max(c.now, until)
}

// pool is a number of processors, which take jobs in the order of their arrival.
type pool struct {
	clock *clock
	free  int
	jobs  []job
	busy  time.Duration
}

type job struct {
	takes time.Duration
	then  func()
}

// run has a processor work for a time, and then calls a function.
func (p *pool) run(takes time.Duration, then func()) {
	p.jobs = append(p.jobs, job{takes, then})
	p.next()
}

func (p *pool) next() {
	for p.free > 0 && len(p.jobs) > 0 {
		j := p.jobs[0]
		p.jobs = p.jobs[1:]
		p.free--
		p.busy += j.takes
		p.clock.after(j.takes, func() {
			p.free++
			j.then()
			p.next()
		})
	}
}

// call is one call of an agent on its way.
type call struct {
	kind, tenant   int
	born, deadline time.Duration
	done           bool
	then           func(decided bool)
}

// flight has the calls that share one round trip to Redis.
type flight struct {
	calls []*call
	of    *enforcer
}

// server is one Redis: one thread, which runs all flights that have arrived, syncs its file
// once, and answers them.
type server struct {
	cell                 *cell
	cpu                  *pool
	queue                []*flight
	busy, down, standing bool
	held                 time.Duration // by scripts and syncs
}

// take accepts a flight. One that reaches a server that is down is lost.
func (s *server) take(f *flight) {
	if s.down {
		f.lost()
		return
	}
	s.queue = append(s.queue, f)
	s.loop()
}

func (s *server) loop() {
	if s.busy || s.standing || len(s.queue) == 0 {
		return
	}
	s.busy = true
	flights, takes := s.queue, time.Duration(0)
	s.queue = nil
	for _, f := range flights {
		takes += s.cell.costs.flightRedis
		for _, c := range f.calls {
			takes += s.cell.costs.redis[c.kind]
		}
	}
	s.held += takes + s.cell.site.sync
	s.cpu.run(takes, func() {
		s.cell.after(s.cell.site.sync, func() {
			s.busy = false
			for _, f := range flights {
				if s.down {
					f.lost()
				} else {
					s.cell.after(s.cell.site.rtt/2+s.cell.site.confirm, f.back)
				}
			}
			s.loop()
		})
	})
}

// stop loses all flights that wait.
func (s *server) stop() {
	s.down = true
	for _, f := range s.queue {
		f.lost()
	}
	s.queue = nil
}

// enforcer is one process with a connection to the store, its queue of commits, and its guard.
type enforcer struct {
	cell        *cell
	queue       []*call
	flying      int
	outstanding []*call // in the order of their deadlines
	failures    int
	next        time.Duration // when a call may try a store that is down
	gone        bool
}

// admit reports whether a call may reach the store.
func (e *enforcer) admit() bool {
	switch now := e.cell.now; {
	case e.failures < downAfter:
		return true
	case now < e.next:
		return false
	default:
		e.next = now + max(probeEvery, e.cell.site.timeout)
		return true
	}
}

// commit brings a call to the store.
func (e *enforcer) commit(c *call) {
	switch {
	case c.done:
		return
	case e.gone, !e.admit():
		e.cell.end(c, false)
		return
	}
	c.deadline = e.cell.now + e.cell.site.timeout
	e.queue, e.outstanding = append(e.queue, c), append(e.outstanding, c)
	if len(e.outstanding) == 1 {
		e.cell.after(e.cell.site.timeout, e.expire)
	}
	if e.flying == 0 || e.flying < maxFlights && len(e.queue) >= fullEnough {
		e.flying++
		e.fly()
	}
}

// expire ends the calls whose time is over.
func (e *enforcer) expire() {
	for len(e.outstanding) > 0 {
		c := e.outstanding[0]
		if !c.done && c.deadline > e.cell.now {
			e.cell.after(c.deadline-e.cell.now, e.expire)
			return
		}
		e.outstanding = e.outstanding[1:]
		if !c.done {
			if e.failures++; e.failures == downAfter {
				e.next = e.cell.now + probeEvery
			}
			e.cell.end(c, false)
		}
	}
}

// fly sends the calls that wait, at most maxBatches. Without any, the flight has ended.
func (e *enforcer) fly() {
	f := &flight{of: e}
	taken := 0
	for _, c := range e.queue {
		if len(f.calls) == maxBatches {
			break
		}
		if taken++; !c.done {
			f.calls = append(f.calls, c)
		}
	}
	e.queue = e.queue[taken:]
	if len(f.calls) == 0 {
		e.flying--
		return
	}
	e.cell.flights++
	e.cell.commits += len(f.calls)
	e.cell.services.run(e.cell.costs.flightServices/2, func() {
		e.cell.after(e.cell.site.rtt/2, func() { e.cell.redis.take(f) })
	})
}

// back brings the answers of a flight.
func (f *flight) back() {
	e := f.of
	e.cell.services.run(e.cell.costs.flightServices/2, func() {
		for _, c := range f.calls {
			if !c.done {
				e.failures = 0
				e.cell.end(c, !e.gone)
			}
		}
		e.fly()
	})
}

// lost has the enforcer go on when the calls of a flight have timed out.
func (f *flight) lost() { f.of.cell.after(f.of.cell.site.timeout, f.of.fly) }

// cell is the services of one installation with their Redis.
type cell struct {
	clock
	costs     costs
	site      site
	services  *pool
	redis     *server
	enforcers []*enforcer
	turn      int
	random    *rand.Rand
	traffic   traffic
	counts
}

// counts are what a cell has done.
type counts struct {
	arrived, decided, refused int // checks
	open                      int // checks without an answer
	flights, commits          int
	took                      []time.Duration // of decided checks
	felt                      map[int]bool    // tenants with a refused check
	measuring                 bool            // took is kept
	first, last               time.Duration   // when refused checks began
	hotArrived, hotRefused    int             // those of the tenant hot, which the others have, too
}

// hot is a tenant whose times are not kept.
const hot = -1

func newCell(c costs, s site, random *rand.Rand) *cell {
	cell := &cell{costs: c, site: s, random: random, counts: counts{felt: map[int]bool{}, measuring: true}}
	cell.services = &pool{clock: &cell.clock, free: s.processors}
	cell.redis = &server{cell: cell, cpu: cell.services}
	if !s.shared {
		cell.redis.cpu = &pool{clock: &cell.clock, free: 1}
	}
	for range s.enforcers {
		cell.enforcers = append(cell.enforcers, &enforcer{cell: cell})
	}
	return cell
}

// begin brings a call to the gateway and to one of the enforcers.
func (c *cell) begin(kind, tenant int, then func(decided bool)) {
	it := &call{kind: kind, tenant: tenant, born: c.now, then: then}
	if kind == check {
		c.arrived++
		c.open++
		if tenant == hot {
			c.hotArrived++
		}
	}
	c.turn++
	e := c.enforcers[c.turn%len(c.enforcers)]
	if e.gone {
		c.after(c.site.answer, func() { c.end(it, false) })
		return
	}
	c.services.run(c.costs.hop+c.costs.services[kind], func() {
		c.after(c.site.rtt/2, func() {
			if c.now-it.born > c.site.answer {
				c.end(it, false)
				return
			}
			e.commit(it)
		})
	})
}

// end answers a call. An answer that comes too late is a denial of the gateway.
func (c *cell) end(it *call, decided bool) {
	if it.done {
		return
	}
	it.done = true
	took := c.now + c.site.rtt/2 - it.born
	decided = decided && took <= c.site.answer
	if it.kind == check {
		c.open--
		c.count(it, decided, took)
	}
	if it.then != nil {
		it.then(decided)
	}
}

// count counts the answer to a check.
func (c *cell) count(it *call, decided bool, took time.Duration) {
	switch {
	case decided:
		c.decided++
		if c.measuring && it.tenant != hot {
			c.took = append(c.took, took)
		}
		return
	case c.refused == 0:
		c.first, c.last = it.born, it.born
	}
	c.refused++
	c.first, c.last = min(c.first, it.born), max(c.last, it.born)
	if it.tenant == hot {
		c.hotRefused++
	} else {
		c.felt[it.tenant] = true
	}
}

// lose takes an enforcer away, with its share of the processors. Callers notice that later.
func (c *cell) lose(e *enforcer, noticed time.Duration) {
	e.gone = true
	c.services.free -= c.site.processors / len(c.enforcers)
	for _, it := range e.outstanding {
		c.end(it, false)
	}
	c.after(noticed, func() {
		var left []*enforcer
		for _, other := range c.enforcers {
			if other != e {
				left = append(left, other)
			}
		}
		c.enforcers = left
	})
}

// traffic is the load of a cell.
type traffic struct {
	rate        float64 // checks a second
	kinds       [kinds]float64
	burst       float64 // share of calls that come in bursts
	burstCalls  int
	burstLasts  time.Duration
	tenant      func(*rand.Rand) int
	until       time.Duration
	repeatAfter time.Duration // of calls other than checks that were not applied
}

// load makes calls arrive until a time.
func (c *cell) load(t traffic) {
	c.traffic = t
	c.arrive()
}

func (c *cell) arrive() {
	t := &c.traffic
	all := 0.0
	for _, share := range t.kinds {
		all += share
	}
	bursts := t.burst / float64(max(t.burstCalls, 1))
	arrivals := t.rate * all * (1 - t.burst + bursts)
	wait := time.Duration(c.random.ExpFloat64() / arrivals * float64(time.Second))
	if c.now+wait > t.until {
		return
	}
	c.after(wait, func() {
		tenant := t.tenant(c.random)
		if c.random.Float64()*(1-t.burst+bursts) < bursts {
			for range t.burstCalls {
				c.after(time.Duration(c.random.Int64N(int64(t.burstLasts))), func() { c.one(tenant) })
			}
		} else {
			c.one(tenant)
		}
		c.arrive()
	})
}

// one begins a call of a kind by the shares of the traffic.
func (c *cell) one(tenant int) {
	all := 0.0
	for _, share := range c.traffic.kinds {
		all += share
	}
	kind, at := 0, c.random.Float64()*all
	for kind < kinds-1 && at >= c.traffic.kinds[kind] {
		at -= c.traffic.kinds[kind]
		kind++
	}
	c.repeat(kind, tenant)
}

// repeat begins a call. A check that is refused is not made again; others are, until they
// are applied.
func (c *cell) repeat(kind, tenant int) {
	if kind == check {
		c.begin(kind, tenant, nil)
		return
	}
	c.begin(kind, tenant, func(decided bool) {
		if !decided {
			c.after(c.traffic.repeatAfter, func() { c.repeat(kind, tenant) })
		}
	})
}

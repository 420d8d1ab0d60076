package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

const (
	gigabyte = 1e9
	day      = 86400.0
)

// tenant is a namespace with the checks that it makes in a day.
type tenant struct {
	perDay float64
	region int
}

// plan has the tenants of each cell.
type plan struct {
	in      *inputs
	tenants []tenant
	cells   []unit
	divided int // tenants that need more than one namespace
}

// unit is a cell of a plan.
type unit struct {
	region  int
	tenants []int
	perDay  float64
}

// bytes returns the bytes in Redis for each check of a day.
func (in *inputs) bytes() float64 {
	rest := in.CheckBytes + in.ReportBytes + in.Transitions*in.TransitionBytes + in.Starts*in.StartBytes
	events := in.CheckEvent + in.ReportEvent + in.Transitions*in.TransitionEvent + in.Starts*in.StartEvent
	return rest*in.Retention/24 + events*in.EventsKeep/24
}

// stream returns the bytes of all replicas of the stream for each check of a day.
func (in *inputs) stream() float64 {
	return (in.CheckStream + in.ReportStream + in.Transitions*in.TransitionStream + in.Starts*in.StartStream) *
		in.StreamDays * in.StreamReplicas
}

// file returns the bytes of Redis's file for each byte of its memory, when it has grown to
// twice its size and is written anew.
func (in *inputs) file() float64 { return 3 * in.EntryFile / in.EntryMemory }

// namespaces returns tenants whose sizes follow Zipf's law, spread over the regions. A tenant
// that would fill more than half a cell has several namespaces.
func (in *inputs) namespaces() (all []tenant, divided int) {
	sum := 0.0
	for i := range int(in.Tenants) {
		sum += math.Pow(float64(i+1), -in.Zipf)
	}
	most := in.RedisGB * gigabyte / 2 / in.bytes()
	held := make([]float64, len(in.Regions))
	for i := range int(in.Tenants) {
		size := in.Decisions * math.Pow(float64(i+1), -in.Zipf) / sum
		parts := math.Ceil(size / most)
		if parts > 1 {
			divided++
		}
		for range int(parts) {
			to, least := 0, math.Inf(1)
			for r := range in.Regions {
				if filled := (held[r] + size/parts) / in.Regions[r].Share; filled < least {
					to, least = r, filled
				}
			}
			held[to] += size / parts
			all = append(all, tenant{size / parts, to})
		}
	}
	return all, divided
}

// pack gives each tenant of a region to the cell of it that has the least, the largest first.
// A region without cells gives its tenants to the cells of all others.
func pack(in *inputs, tenants []tenant, perRegion []int) []unit {
	var cells []unit
	for r, n := range perRegion {
		for range n {
			cells = append(cells, unit{region: r})
		}
	}
	for _, lost := range []bool{false, true} {
		for i, t := range tenants {
			if lost != (perRegion[t.region] == 0) {
				continue
			}
			to := -1
			for c := range cells {
				if (lost || cells[c].region == t.region) && (to < 0 || cells[c].perDay < cells[to].perDay) {
					to = c
				}
			}
			cells[to].tenants = append(cells[to].tenants, i)
			cells[to].perDay += t.perDay
		}
	}
	return cells
}

// fullest returns the cell with the most, of those of a region or of all.
func fullest(cells []unit, region int) int {
	most := -1
	for i := range cells {
		if (region < 0 || cells[i].region == region) && (most < 0 || cells[i].perDay > cells[most].perDay) {
			most = i
		}
	}
	return most
}

// without returns the number of cells of each region when one is lost.
func without(perRegion []int, lost int) []int {
	left := slices.Clone(perRegion)
	left[lost] = 0
	return left
}

// makePlan returns the fewest cells whose memory and Redis suffice, also when the other
// regions have the tenants of a lost one.
func makePlan(in *inputs) *plan {
	p := &plan{in: in}
	p.tenants, p.divided = in.namespaces()
	perRegion, left := make([]int, len(in.Regions)), 1.0
	if len(in.Regions) > 1 {
		for _, r := range in.Regions {
			left = min(left, 1-r.Share)
		}
	}
	for i, r := range in.Regions { // fewer cannot do
		perRegion[i] = max(1, int(r.Share*in.Decisions*in.bytes()/(in.RedisGB*gigabyte)/left))
	}
	for {
		p.cells = pack(in, p.tenants, perRegion)
		to := -1
		if most := fullest(p.cells, -1); p.full(p.cells[most]) {
			to = p.cells[most].region
		}
		for lost := 0; to < 0 && len(perRegion) > 1 && lost < len(perRegion); lost++ {
			left := pack(in, p.tenants, without(perRegion, lost))
			if p.full(left[fullest(left, -1)]) {
				to = p.fullestBut(lost)
			}
		}
		if to < 0 {
			return p
		}
		perRegion[to]++
	}
}

// fullestBut returns the region of the fullest cell outside of a region.
func (p *plan) fullestBut(region int) int {
	most := -1
	for i, c := range p.cells {
		if c.region != region && (most < 0 || c.perDay > p.cells[most].perDay) {
			most = i
		}
	}
	return p.cells[most].region
}

// full reports whether a cell has more than its memory, or its Redis more than half a
// processor at the peak.
func (p *plan) full(c unit) bool {
	return c.perDay*p.in.bytes() > p.in.RedisGB*gigabyte ||
		c.perDay/day*slices.Max(p.in.Hours)/mean(p.in.Hours)*p.in.redisPerCheck() > 0.5
}

// redisPerCheck returns the seconds of Redis for a check and the calls that come with it,
// when each has a flight of its own.
func (in *inputs) redisPerCheck() float64 {
	c := in.costs()
	kinds := in.kinds()
	sum := 0.0
	for kind, share := range kinds {
		sum += share * (c.redis[kind] + c.flightRedis).Seconds()
	}
	return sum
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func (p *plan) perRegion() []int {
	n := make([]int, len(p.in.Regions))
	for _, c := range p.cells {
		n[c.region]++
	}
	return n
}

// rate returns the checks a second of a cell at an hour of UTC.
func (p *plan) rate(cells []unit, cell int, hour float64) float64 {
	sum := 0.0
	for r := range p.in.Regions {
		part := 0.0
		for _, t := range cells[cell].tenants {
			if p.tenants[t].region == r {
				part += p.tenants[t].perDay
			}
		}
		sum += part / day * p.in.shape(hour+float64(p.in.Regions[r].UTC))
	}
	return sum
}

// shape returns the load at an hour of a region's day, with a mean of 1.
func (in *inputs) shape(hour float64) float64 {
	hour = math.Mod(hour+48, 24)
	at := int(hour)
	part := hour - float64(at)
	return (in.Hours[at]*(1-part) + in.Hours[(at+1)%24]*part) / mean(in.Hours)
}

// peak returns the quarter of an hour, in hours of UTC, in which cells have the most calls.
func (p *plan) peak(cells []unit, of func(unit) bool) (hour, rate float64) {
	for quarter := range 96 {
		at, sum := float64(quarter)/4, 0.0
		for i := range cells {
			if of(cells[i]) {
				sum += p.rate(cells, i, at)
			}
		}
		if sum > rate {
			hour, rate = at, sum
		}
	}
	return hour, rate
}

// calls returns the checks of cells between two hours of UTC.
func (p *plan) calls(cells []unit, from, to float64, of func(int) bool) float64 {
	sum := 0.0
	const steps = 60
	for step := range steps {
		at := from + (to-from)*(float64(step)+0.5)/steps
		for i := range cells {
			if of(i) {
				sum += p.rate(cells, i, at) * (to - from) / steps * 3600
			}
		}
	}
	return sum
}

// chooser returns a function that draws one of a cell's tenants by their sizes.
func (p *plan) chooser(cell unit) func(*rand.Rand) int {
	sums := make([]float64, len(cell.tenants))
	sum := 0.0
	for i, t := range cell.tenants {
		sum += p.tenants[t].perDay
		sums[i] = sum
	}
	return func(r *rand.Rand) int {
		return cell.tenants[min(sort.SearchFloat64s(sums, r.Float64()*sum), len(sums)-1)]
	}
}

func micro(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }

// costs returns the costs of calls and of flights. A call of one caller has a flight of its
// own, and of 64 callers a part of one: the difference is the flight's.
func (in *inputs) costs() costs {
	apart := func(alone, together, trips float64) (call, flight float64) {
		call = (together - alone*trips) / (1 - trips)
		return call, alone - call
	}
	services, flightServices := apart(in.AloneServices, in.CheckServices, in.CheckTrips)
	redis, flightRedis := apart(in.AloneRedis, in.CheckRedis, in.CheckTrips)
	c := costs{flightServices: micro(flightServices), flightRedis: micro(flightRedis), hop: micro(in.Hop)}
	c.services[check], c.redis[check] = micro(services), micro(redis)
	c.services[report] = micro(in.PairServices - flightServices*in.PairTrips - services)
	c.redis[report] = micro(in.PairRedis - flightRedis*in.PairTrips - redis)
	c.services[transition] = micro(in.TransitionServices - flightServices*in.TransitionTrips)
	c.redis[transition] = micro(in.TransitionRedis - flightRedis*in.TransitionTrips)
	c.services[start] = micro(in.StartServices - flightServices*in.StartTrips)
	c.redis[start] = micro(in.StartRedis - flightRedis*in.StartTrips)
	return c
}

// site returns the site of a cell of the plan.
func (in *inputs) site() site {
	rtt := micro(in.ZoneRTT)
	return site{
		processors: int(in.Enforcers) * 2, enforcers: int(in.Enforcers), sync: micro(in.DiskSync), rtt: rtt, confirm: 2 * rtt,
		timeout: micro(in.StoreTimeout * 1e6), answer: micro(in.Answer * 1e6),
	}
}

// bench returns the site of docs/performance.md: all processes and the callers on two processors.
func (in *inputs) bench() site {
	return site{
		processors: 2, shared: true, enforcers: 1, sync: micro(1e6 / in.Syncs),
		timeout: micro(in.StoreTimeout * 1e6), answer: micro(in.Answer * 1e6),
	}
}

func (in *inputs) kinds() [kinds]float64 { return [kinds]float64{1, 1, in.Transitions, in.Starts} }

// traffic returns the load of a cell.
func (p *plan) traffic(cell unit, rate float64, until time.Duration) traffic {
	return traffic{
		rate: rate, kinds: p.in.kinds(), burst: p.in.BurstShare, burstCalls: int(p.in.BurstCalls), burstLasts: 100 * time.Millisecond,
		tenant: p.chooser(cell), until: until, repeatAfter: time.Second,
	}
}

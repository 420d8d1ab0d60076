package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report makes all tables.
func (in *inputs) report() ([]*table, error) {
	p := makePlan(in)
	measured, err := in.compared()
	if err != nil {
		return nil, err
	}
	return []*table{in.sizes(), in.sizesOfCells(), p.regions(), p.limits(), p.faults(), p.heats(), p.lostRegions(), p.halts(), measured}, nil
}

// scaled returns the inputs for another number of checks a day.
func (in *inputs) scaled(perDay, tenants float64, regions int) *inputs {
	other := *in
	other.Decisions, other.Tenants = perDay, tenants
	if regions == 1 {
		other.Regions = []region{{Name: "one", Share: 1}}
	}
	return &other
}

// sizes returns how many machines installations of several sizes need.
func (in *inputs) sizes() *table {
	t := &table{name: "sizes"}
	t.add("decisions a day", "regions", "namespaces", "cells", "machines", "processors", "memory of all Redis masters, GB", "disk of each Redis, GB", "disk of each server of NATS, GB", "checks/s of the fullest cell at its peak")
	for _, c := range []struct {
		perDay, tenants float64
		regions         int
	}{{1e6, 100, 1}, {10e6, 1000, 1}, {in.Decisions, in.Tenants, 3}, {1e9, 100000, 3}} {
		other := in.scaled(c.perDay, c.tenants, c.regions)
		p := makePlan(other)
		most := p.cells[fullest(p.cells, -1)]
		_, rate := p.peak([]unit{most}, func(unit) bool { return true })
		machines := 3 * len(p.cells)
		t.add(millions(c.perDay), strconv.Itoa(len(other.Regions)), thousands(c.tenants), strconv.Itoa(len(p.cells)), strconv.Itoa(machines),
			figure(float64(machines)*in.Processors), figure(c.perDay*in.bytes()/gigabyte), figure(most.perDay*in.bytes()*in.file()/gigabyte),
			figure(most.perDay*in.stream()/in.StreamReplicas/gigabyte), figure(rate))
	}
	return t
}

// sizesOfCells compares few large cells with many small ones.
func (in *inputs) sizesOfCells() *table {
	t := &table{name: "memory"}
	t.add("memory of a Redis, GB", "cells", "machines", "calls that the fullest cell has, %", "Redis stands still to rewrite its file, ms", "reads it at a start, min", "tenants with more than one namespace")
	for _, size := range []float64{16, 32, 64, 128, 256} {
		other := *in
		other.RedisGB = size
		p := makePlan(&other)
		most := p.cells[fullest(p.cells, -1)]
		t.add(figure(size), strconv.Itoa(len(p.cells)), strconv.Itoa(3*len(p.cells)), figure(100*most.perDay/in.Decisions),
			figure(in.Fork*most.perDay*in.bytes()/gigabyte), figure(in.Load*most.perDay*in.bytes()/gigabyte/60), strconv.Itoa(p.divided))
	}
	return t
}

// regions returns the day of each region.
func (p *plan) regions() *table {
	in := p.in
	took, _ := p.simulate(p.cells)
	t := &table{name: "regions"}
	t.add("region", "cells", "namespaces", "checks/s, mean", "at the peak", "of the fullest cell", "memory of its Redis, GB", "commits in a flight", "check p50 ms", "p99 ms")
	for r, region := range in.Regions {
		most := fullest(p.cells, r)
		_, peak := p.peak(p.cells, func(c unit) bool { return c.region == r })
		_, own := p.peak(p.cells[most:most+1], func(unit) bool { return true })
		c := p.strike(p.cells[most], own, 10+r, func(*cell) {})
		tenants, perDay := p.of(p.cells, r)
		t.add(region.Name, strconv.Itoa(p.perRegion()[r]), thousands(float64(tenants)), figure(perDay/day), figure(peak), figure(own),
			figure(p.cells[most].perDay*in.bytes()/gigabyte), figure(float64(c.commits)/float64(c.flights)),
			ms(percentile(took[r], 0.5)), ms(percentile(took[r], 0.99)))
	}
	return t
}

// limits returns the use of the fullest cell at its peak, next to its limits.
func (p *plan) limits() *table {
	in, t := p.in, &table{name: "limits"}
	t.add("part of the fullest cell", "used at its peak", "limit", "%")
	most := p.cells[fullest(p.cells, -1)]
	_, rate := p.peak([]unit{most}, func(unit) bool { return true })
	c := p.strike(most, rate, 20, func(*cell) {})
	row := func(part string, used, limit float64, unit string) {
		t.add(part, figure(used)+unit, figure(limit)+unit, figure(100*used/limit))
	}
	s := in.site()
	row("memory of Redis", most.perDay*in.bytes()/gigabyte, in.RedisGB, " GB")
	row("thread of Redis, with the waits for its disk", c.redis.held.Seconds()/window.Seconds(), 1, "")
	row("thread of Redis, without them", c.redis.cpu.busy.Seconds()/window.Seconds(), 1, "")
	row("processors of the services", c.services.busy.Seconds()/window.Seconds(), float64(s.processors), "")
	row("relay of events to NATS", rate*(2+in.Transitions+in.Starts), in.RelayRate, " a second")
	return t
}

// of returns the tenants and the checks a day of a region's cells.
func (p *plan) of(cells []unit, r int) (tenants int, perDay float64) {
	for _, c := range cells {
		if c.region == r {
			tenants += len(c.tenants)
			perDay += c.perDay
		}
	}
	return tenants, perDay
}

// faults returns the checks that each fault costs.
func (p *plan) faults() *table {
	in, t := p.in, &table{name: "faults"}
	t.add("fault", "where and when", "refused for, s", "decisions refused", "of the day's, per million", "namespaces that notice", "of all, %", "longest wait of a decided check, ms")
	row := func(fault, where string, seconds, refused float64, felt int, longest string) {
		t.add(fault, where, figure(seconds), figure(refused), figure(refused/in.Decisions*1e6), thousands(float64(felt)),
			figure(100*float64(felt)/float64(len(p.tenants))), longest)
	}
	most := fullest(p.cells, -1)
	_, rate := p.peak(p.cells[most:most+1], func(unit) bool { return true })
	where := "the fullest cell, at its peak"
	for i, f := range []struct {
		name string
		do   func(*cell)
	}{
		{"the master of Redis is lost", in.failover},
		{"the machine of a replica of each service is lost", in.loseNode},
		{"Redis forks to rewrite its file", in.fork(p.cells[most].perDay * in.bytes())},
	} {
		c := p.strike(p.cells[most], rate, 100+i, f.do)
		row(f.name, where, (c.last - c.first).Seconds(), float64(c.refused), len(c.felt), ms(percentile(c.took, 1)))
	}

	busiest := fullest(p.cells, -1)
	region := p.cells[busiest].region
	at, _ := p.peak(p.cells, func(c unit) bool { return c.region == region })
	inRegion := func(i int) bool { return p.cells[i].region == region }
	tenants, _ := p.of(p.cells, region)
	name := in.Regions[region].Name
	row("a region is lost for an hour, and its tenants wait", name+", at its peak", 3600, p.calls(p.cells, at-0.5, at+0.5, inRegion), tenants, "")
	row("the same, and its tenants are moved", name+", at its peak", in.Move*60, p.calls(p.cells, at-0.5, at-0.5+in.Move/60, inRegion), tenants, "")

	at, _ = p.peak(p.cells, func(unit) bool { return true })
	minutes := in.Alarm + in.Repair
	row("a set that denies everything, applied to all cells at once", "the peak of all", minutes*60,
		p.calls(p.cells, at, at+minutes/60, func(int) bool { return true }), len(p.tenants), "")
	first := p.emptiest()
	row("the same, applied to one cell first", "the emptiest cell, then", minutes*60,
		p.calls(p.cells, at, at+minutes/60, func(i int) bool { return i == first }), len(p.cells[first].tenants), "")
	return t
}

func (p *plan) emptiest() int {
	least := 0
	for i := range p.cells {
		if p.cells[i].perDay < p.cells[least].perDay {
			least = i
		}
	}
	return least
}

// heats returns the effects of a tenant that makes many checks for a while.
func (p *plan) heats() *table {
	t := &table{name: "heats"}
	t.add("checks/s of one tenant", "its checks refused, %", "checks of the others refused, %", "other namespaces that notice", "check p50 of the others, ms", "p99, ms")
	most := fullest(p.cells, -1)
	_, rate := p.peak(p.cells[most:most+1], func(unit) bool { return true })
	for _, heat := range []float64{2000, 5000, 8000, 12000} {
		c := p.strike(p.cells[most], rate, 200+int(heat), p.heat(heat))
		t.add(figure(heat), figure(100*float64(c.hotRefused)/float64(c.hotArrived)),
			figure(100*float64(c.refused-c.hotRefused)/float64(c.arrived-c.hotArrived)), thousands(float64(len(c.felt))),
			ms(percentile(c.took, 0.5)), ms(percentile(c.took, 0.99)))
	}
	return t
}

// lostRegions returns the cells that take the tenants of a lost region.
func (p *plan) lostRegions() *table {
	in, t := p.in, &table{name: "lost"}
	t.add("lost", "cells left", "checks/s of the fullest at its peak", "memory of its Redis, GB, after the time of retention", "its Redis is busy, %", "check p50 ms", "p99 ms")
	for lost, region := range in.Regions {
		if len(in.Regions) == 1 {
			break
		}
		cells := pack(in, p.tenants, without(p.perRegion(), lost))
		most := fullest(cells, -1)
		_, rate := p.peak(cells[most:most+1], func(unit) bool { return true })
		c := p.strike(cells[most], rate, 300+lost, func(*cell) {})
		t.add(region.Name, strconv.Itoa(len(cells)), figure(rate), figure(cells[most].perDay*in.bytes()/gigabyte),
			figure(100*c.redis.held.Seconds()/window.Seconds()), ms(percentile(c.took, 0.5)), ms(percentile(c.took, 0.99)))
	}
	return t
}

// halts returns when no cell lets a call pass any more.
func (p *plan) halts() *table {
	in, t := p.in, &table{name: "halts"}
	t.add("one command for each cell", "half of the cells have halted after, s", "all that can be reached, s")
	home := p.cells[fullest(p.cells, -1)].region
	for _, silent := range []int{-1, (home + 1) % len(in.Regions)} {
		if silent == home {
			break
		}
		sum, most := 0.0, 0.0
		var oneByOne, together []float64
		for _, c := range p.cells {
			takes := in.HaltCommand / 1000
			switch {
			case c.region == silent:
				sum += in.HaltSilent
				continue
			case c.region != home:
				takes += in.HaltTrips * in.RegionRTT / 1000
			}
			sum += takes
			most = max(most, takes)
			oneByOne, together = append(oneByOne, sum), append(together, takes)
		}
		slices.Sort(together)
		note := ""
		if silent >= 0 {
			note = ", while " + in.Regions[silent].Name + " is silent"
		}
		t.add("one after the other"+note, figure(oneByOne[(len(oneByOne)-1)/2]), figure(oneByOne[len(oneByOne)-1]))
		t.add("at the same time"+note, figure(together[(len(together)-1)/2]), figure(most))
	}
	return t
}

// compared returns the measured calls of docs/performance.md next to those of the model.
func (in *inputs) compared() (*table, error) {
	t := &table{name: "compared"}
	t.add("callers", "call", "calls/s, model", "measured", "ratio", "p50 ms, model", "measured", "p99 ms, model", "measured", "commits in a flight, model", "measured")
	perf := func(callers, column string) (float64, error) {
		return place{Page: "performance.md", Table: "Over gRPC on Redis, appendfsync always", Row: []string{callers, "check"}, Column: column}.cell(in.pages["performance.md"])
	}
	for _, callers := range []int{1, 64, 256} {
		var got [3]float64
		for i, column := range []string{"calls/s", "p50 ms", "p99 ms"} {
			var err error
			if got[i], err = perf(strconv.Itoa(callers), column); err != nil {
				return nil, err
			}
		}
		c, rate := closed(in.costs(), in.bench(), callers, false)
		flight := ""
		if callers == 64 {
			flight = figure(1 / in.CheckTrips)
		}
		t.add(strconv.Itoa(callers), "check", figure(rate), figure(got[0]), ratio(rate/got[0]), ms(percentile(c.took, 0.5)), figure(got[1]),
			ms(percentile(c.took, 0.99)), figure(got[2]), figure(float64(c.commits)/float64(c.flights)), flight)
	}
	measured, err := place{Page: "scaling.md", Table: "Cost of a call", Row: []string{"check, and the report of its result"}, Column: "calls/s"}.cell(in.pages["scaling.md"])
	if err != nil {
		return nil, err
	}
	c, rate := closed(in.costs(), in.bench(), 64, true)
	t.add("64", "check, and the report of its result", figure(rate), figure(measured), ratio(rate/measured), "", "", "", "",
		figure(float64(c.commits)/float64(c.flights)), figure(2/in.PairTrips))
	return t, nil
}

// figure has two significant digits below 100, and three above.
func figure(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 100:
		return strconv.FormatFloat(round(v, 2), 'f', -1, 64)
	default:
		return thousands(round(v, 3))
	}
}

func round(v float64, digits int) float64 {
	scale := math.Pow(10, float64(digits)-1-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func ms(d time.Duration) string { return figure(float64(d) / float64(time.Millisecond)) }

func millions(v float64) string {
	if v >= 1e9 {
		return figure(v/1e9) + " billion"
	}
	return figure(v/1e6) + " million"
}

// thousands writes a whole number with commas.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

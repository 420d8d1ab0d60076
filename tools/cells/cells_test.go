package main

import (
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const docs = "../../docs"

func load(t *testing.T) *inputs {
	t.Helper()
	in, err := readInputs("inputs.json", docs)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// The tables of docs/scaling.md are those of the tool: `make cells` writes them.
func TestPageHasTheTables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(docs + "/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := load(t).report()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if !strings.Contains(string(text), "<!-- cells: "+table.name+" -->\n"+table.text()) {
			t.Errorf("docs/scaling.md has another table %q; run `make cells`:\n%s", table.name, table.text())
		}
	}
}

// Equal seeds give equal calls, and other seeds other ones.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	p := makePlan(load(t))
	run := func(stream int) []time.Duration { return p.strike(p.cells[0], 50, stream, p.in.failover).took }
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("two runs with one seed differ")
	}
	if reflect.DeepEqual(run(1), run(2)) {
		t.Error("another seed gives the same times")
	}
}

// Every check that arrives is decided or refused, whatever fails.
func TestEveryCheckIsAnswered(t *testing.T) {
	t.Parallel()
	in := load(t)
	p := makePlan(in)
	for name, fault := range map[string]func(*cell){
		"no fault":   func(*cell) {},
		"failover":   in.failover,
		"fork":       in.fork(50 * gigabyte),
		"lost node":  in.loseNode,
		"hot tenant": p.heat(12000),
	} {
		c := p.strike(p.cells[0], 200, 7, fault)
		if c.arrived == 0 || c.arrived != c.decided+c.refused || c.open != 0 {
			t.Errorf("%s: of %d checks, %d were decided and %d refused, and %d have no answer", name, c.arrived, c.decided, c.refused, c.open)
		}
		if refused := c.refused > 0; refused != slices.Contains([]string{"failover", "lost node", "hot tenant"}, name) {
			t.Errorf("%s: %d checks were refused", name, c.refused)
		}
	}
}

// A call that waits for no other takes the times of its parts.
func TestLoneCallTakesItsParts(t *testing.T) {
	t.Parallel()
	in := load(t)
	c, s := in.costs(), in.site()
	cell := newCell(c, s, random(1))
	for i := range 100 {
		cell.after(time.Duration(i)*time.Second, func() { cell.begin(check, 0, nil) })
	}
	cell.run(time.Hour)
	// Half a flight's time of the services is before the trip to Redis, and the rest after it.
	want := c.hop + c.services[check] + 2*(c.flightServices/2) + c.flightRedis + c.redis[check] + s.sync + s.confirm + s.rtt/2*4
	if got := percentile(cell.took, 0.99); len(cell.took) != 100 || got != want || percentile(cell.took, 0) != want {
		t.Errorf("the p99 of %d lone calls is %v; the parts take %v", len(cell.took), got, want)
	}
}

// The costs give back the measured figures that they are made from.
func TestCostsGiveTheMeasuredFigures(t *testing.T) {
	t.Parallel()
	in := load(t)
	c := in.costs()
	us := func(call, flight time.Duration, trips float64) float64 {
		return (float64(call) + float64(flight)*trips) / float64(time.Microsecond)
	}
	for name, pair := range map[string][2]float64{
		"alone, services":    {us(c.services[check], c.flightServices, 1), in.AloneServices},
		"alone, Redis":       {us(c.redis[check], c.flightRedis, 1), in.AloneRedis},
		"together, services": {us(c.services[check], c.flightServices, in.CheckTrips), in.CheckServices},
		"together, Redis":    {us(c.redis[check], c.flightRedis, in.CheckTrips), in.CheckRedis},
		"pair, Redis":        {us(c.redis[check]+c.redis[report], c.flightRedis, in.PairTrips), in.PairRedis},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.1 {
			t.Errorf("%s: %v us, and measured are %v", name, pair[0], pair[1])
		}
	}
	for kind := range kinds {
		if c.services[kind] <= 0 || c.redis[kind] <= 0 {
			t.Errorf("calls of kind %d cost %v and %v", kind, c.services[kind], c.redis[kind])
		}
	}
}

// Each tenant has a cell of its region, all calls are there, and no cell is too full, also
// when a region is lost.
func TestPlanHoldsAllTenants(t *testing.T) {
	t.Parallel()
	in := load(t)
	p := makePlan(in)
	for lost := -1; lost < len(in.Regions); lost++ {
		cells := p.cells
		if lost >= 0 {
			cells = pack(in, p.tenants, without(p.perRegion(), lost))
		}
		seen, sum := map[int]bool{}, 0.0
		for _, c := range cells {
			sum += c.perDay
			if c.region == lost || c.perDay*in.bytes() > in.RedisGB*gigabyte {
				t.Errorf("without region %d: a cell of region %d has %.0f checks a day", lost, c.region, c.perDay)
			}
			for _, id := range c.tenants {
				if seen[id] || p.tenants[id].region != c.region && p.tenants[id].region != lost {
					t.Errorf("without region %d: tenant %d of region %d is in a cell of region %d", lost, id, p.tenants[id].region, c.region)
				}
				seen[id] = true
			}
		}
		if len(seen) != len(p.tenants) || math.Abs(sum-in.Decisions) > 1 {
			t.Errorf("without region %d: %d of %d tenants are in cells, with %.0f checks a day", lost, len(seen), len(p.tenants), sum)
		}
	}
}

// A deployment in one region has no table of lost ones, and no silent one.
func TestOneRegion(t *testing.T) {
	t.Parallel()
	p := makePlan(load(t).scaled(1e6, 100, 1))
	if len(p.cells) != 1 || len(p.lostRegions().rows) != 1 || len(p.halts().rows) != 3 {
		t.Errorf("%d cells, and the tables\n%s\n%s", len(p.cells), p.lostRegions().text(), p.halts().text())
	}
}

func TestWrongInputsAreRefused(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("inputs.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"row": ["transition"]`, `"row": ["teleport"]`, `has no number 1 in row ["teleport"]`},
		{`"table": "Growth"`, `"table": "Decline"`, `docs/operations.md has no table "Decline"`},
		{`"zipf"`, `"zapf"`, `give "zipf" a number above 0`},
		{`"tenants": {"value": 10000`, `"tenants": {"value": 0`, `give "tenants" a number above 0`},
		{`"assumed": {`, `"assumed": {"moon": {"value": 1, "why": ""},`, `no part of the model uses "moon"`},
		{`"hours": [0.35, `, `"hours": [`, `there are 23 hours; give 24`},
		{`"share": 0.40`, `"share": 0.50`, `add up to 1.1`},
		{`"enforcers": {"value": 2`, `"enforcers": {"value": 1`, `give at least 2`},
	} {
		changed := strings.ReplaceAll(string(text), c.old, c.new)
		name := t.TempDir() + "/inputs.json"
		if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readInputs(name, docs); changed == string(text) || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}

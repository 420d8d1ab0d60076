package diagram

import (
	"cmp"
	"slices"
)

// draw describes where everything went.
func (s *sheet) draw() *drawing {
	g := &drawing{height: s.bottoms[len(s.bottoms)-1]}
	for i := range s.items {
		g.width = max(g.width, s.items[i].x+s.items[i].right)
	}
	for n, i := range s.nodes {
		it := &s.items[i]
		b := s.boxes[n]
		b.x, b.y = it.x-b.w/2, s.middle(i)-b.h/2
		s.boxes[n] = b
		g.boxes = append(g.boxes, b)
		if loop := s.loops[n]; loop != nil {
			side := point{b.x + b.w, s.middle(i)}
			g.lines = append(g.lines, line{from: b.node, to: b.node, points: []point{side}, loop: true, dashed: loop.dashed, arrow: true, tip: loop.tip, change: loop.change})
			g.labels = append(g.labels, label{from: b.node, to: b.node, at: point{side.x + loopReach, side.y}, loop: true, lines: loop.captions, tip: loop.tip})
		}
		if inner := s.inner[n]; inner != nil {
			g.include(inner, b.x+(b.w-inner.width)/2, b.y+heading)
		}
	}
	ports := s.ports()
	drawn := make(map[[2]int]bool)
	for i := range s.bundles {
		s.drawBundle(g, &s.bundles[i], ports, drawn)
	}
	return g
}

// middle returns the height at which an item stands.
func (s *sheet) middle(i int) int {
	layer := s.items[i].layer
	return (s.tops[layer] + s.bottoms[layer]) / 2
}

// port is where, from the middle of its side, a line meets a node.
type port struct{ node, other int } // items

// portRoom is how far the lines of one side must be from one another.
const portRoom = 12

// ports spread the lines of each side of a node: straight up and down where they
// can be.
func (s *sheet) ports() map[port]int {
	ports := make(map[port]int)
	for n, i := range s.nodes {
		it := &s.items[i]
		half := s.boxes[n].w/2 - padding
		switch s.d.nodes[s.boxes[n].node].kind {
		case start, choice:
			half = 0
		}
		for _, side := range [][]int{it.up, it.down} {
			sorted := slices.Clone(side)
			slices.SortFunc(sorted, func(a, b int) int { return cmp.Compare(s.items[a].order, s.items[b].order) })
			room := min(portRoom, 2*half/max(1, len(sorted)-1))
			// Straight on where it can be, with room for those on both sides.
			left, right := make([]int, len(sorted)), make([]int, len(sorted))
			for k, other := range sorted {
				left[k] = max(min(s.items[other].x, it.x+half-(len(sorted)-1-k)*room), it.x-half+k*room)
				right[k] = left[k]
			}
			for k := 1; k < len(sorted); k++ {
				left[k] = max(left[k], left[k-1]+room)
			}
			for k := len(sorted) - 2; k >= 0; k-- {
				right[k] = min(right[k], right[k+1]-room)
			}
			for k, other := range sorted {
				ports[port{i, other}] = (left[k] + right[k]) >> 1
			}
		}
	}
	return ports
}

// drawBundle draws a bundle's line, broken where its label stands, up to where
// another one has been drawn already.
func (s *sheet) drawBundle(g *drawing, b *bundle, ports map[port]int, drawn map[[2]int]bool) {
	from, to := s.boxes[b.from].node, s.boxes[b.to].node
	p := pen{sheet: s, up: b.back, line: line{from: from, to: to, dashed: b.dashed, tip: b.tip, change: b.change}}
	for k, i := range b.chain {
		it := &s.items[i]
		last := k+1 == len(b.chain)
		switch {
		case k == 0:
			p.leave(ports[port{i, b.chain[1]}], i)
		case it.kind == nodeItem:
			p.arrive(ports[port{i, b.chain[k-1]}], i)
			p.line.arrow = true
		case it.kind == labelItem:
			p.arrive(it.x, i)
			p.lift(g)
			g.labels = append(g.labels, label{from: from, to: to, at: point{it.x, s.middle(i)}, lines: b.captions, tip: b.tip})
			p.leave(it.x, i)
		case k == 1 && s.tops[it.layer] == s.bottoms[it.layer]:
			// The way is free for one smooth curve.
		case drawn[[2]int{i, b.chain[k+1]}]:
			p.join(it)
			last = true
		default:
			p.pass(it)
		}
		if last {
			break
		}
		drawn[[2]int{i, b.chain[k+1]}] = true
	}
	p.lift(g)
}

// pen draws one line.
type pen struct {
	*sheet
	up   bool
	line line
}

func (p *pen) to(x, y int) {
	next := point{x, y}
	if n := len(p.line.points); n == 0 || p.line.points[n-1] != next {
		p.line.points = append(p.line.points, next)
	}
}

// edges returns where a line comes into a layer and where it leaves.
func (p *pen) edges(layer int) (in, out int) {
	if p.up {
		return p.bottoms[layer], p.tops[layer]
	}
	return p.tops[layer], p.bottoms[layer]
}

// leave begins at an item's far side.
func (p *pen) leave(x, i int) {
	it := &p.items[i]
	_, out := p.edges(it.layer)
	p.to(x, p.middle(i)+p.side(p.extent(i)))
	p.to(x, out)
}

// arrive ends at an item's near side.
func (p *pen) arrive(x, i int) {
	in, _ := p.edges(p.items[i].layer)
	p.to(x, in)
	p.to(x, p.middle(i)-p.side(p.extent(i)))
}

// join ends where another line passes.
func (p *pen) join(it *item) {
	in, _ := p.edges(it.layer)
	p.to(it.x, in)
}

func (p *pen) pass(it *item) {
	in, out := p.edges(it.layer)
	p.to(it.x, in)
	p.to(it.x, out)
}

// side turns a length into the direction of the line.
func (p *pen) side(length int) int {
	if p.up {
		return -length
	}
	return length
}

// extent returns half of an item's own height, without that of its loops.
func (p *pen) extent(i int) int {
	if p.items[i].kind == nodeItem {
		return p.boxes[i].h / 2
	}
	return p.items[i].height / 2
}

// lift ends the line.
func (p *pen) lift(g *drawing) {
	if len(p.line.points) > 1 {
		g.lines = append(g.lines, p.line)
	}
	p.line.points = nil
}

package diagram

import (
	"cmp"
	"slices"
)

// breakCycles finds edges that lead back to where a walk from the start came
// from. Laid out the other way round, they leave no circle.
func (s *sheet) breakCycles() {
	exits := make([][]int, len(s.boxes))
	for i := range s.bundles {
		from := s.bundles[i].from
		exits[from] = append(exits[from], i)
	}
	seen, open := make([]bool, len(s.boxes)), make([]bool, len(s.boxes))
	var visit func(n int)
	visit = func(n int) {
		seen[n], open[n] = true, true
		for _, i := range exits[n] {
			b := &s.bundles[i]
			b.back = open[b.to]
			if !seen[b.to] {
				visit(b.to)
			}
		}
		open[n] = false
	}
	for n := range s.boxes {
		if !seen[n] {
			visit(n)
		}
	}
}

// assignLayers puts a node as far down as the longest way to it says. Nodes
// have the even layers, labels those between.
func (s *sheet) assignLayers() {
	below := make([][]int, len(s.boxes))
	entries := make([]int, len(s.boxes))
	for i := range s.bundles {
		upper, lower := s.bundles[i].ends()
		below[upper] = append(below[upper], lower)
		entries[lower]++
	}
	s.layer = make([]int, len(s.boxes))
	var ready, first []int
	for n := range s.boxes {
		if entries[n] == 0 {
			ready = append(ready, n)
		}
	}
	first = slices.Clone(ready)
	for i := 0; i < len(ready); i++ {
		n := ready[i]
		for _, to := range below[n] {
			s.layer[to] = max(s.layer[to], s.layer[n]+2)
			if entries[to]--; entries[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	// A node without incoming edges need not be at the top.
	for _, n := range first {
		if len(below[n]) == 0 {
			continue
		}
		nearest := s.layer[below[n][0]]
		for _, to := range below[n] {
			nearest = min(nearest, s.layer[to])
		}
		s.layer[n] = nearest - 2
	}
}

// item has a place in a layer: a node, a label, or the bend of a line that passes.
type item struct {
	kind  itemKind
	layer int
	order int // from the left
	x     int // its middle
	// left and right are how far it reaches from x.
	left, right, height int
	up, down            []int // items that lines lead to
	pulls               []pull
	block               int
}

// pull is towards something, with a weight.
type pull struct{ to, weight int }

type itemKind uint8

const (
	nodeItem itemKind = iota
	labelItem
	bendItem
)

// mostBends bounds the cost of long lines. Those that would take more end as stubs.
const mostBends = 6000

// trunk is a line that all long edges to one node join on their way.
type trunk struct {
	to, layer  int
	dashed, up bool
	change     Change
}

// fillLayers makes the items and links them.
func (s *sheet) fillLayers() {
	for n := range s.boxes {
		s.nodes = append(s.nodes, s.add(s.nodeItem(n)))
	}
	byLength := make([]int, len(s.bundles))
	for i := range byLength {
		byLength[i] = i
	}
	length := func(i int) int {
		upper, lower := s.bundles[i].ends()
		return s.layer[lower] - s.layer[upper]
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return cmp.Compare(length(a), length(b)) })
	bends := make(map[trunk]int)
	for _, i := range byLength {
		s.bundles[i].stub = length(i)-2+len(bends) > mostBends
		s.route(&s.bundles[i], bends)
	}
	linked := make(map[[2]int]bool)
	for i := range s.bundles {
		chain := s.bundles[i].chain
		for j := 1; j < len(chain); j++ {
			upper, lower := chain[j-1], chain[j]
			if s.items[upper].layer > s.items[lower].layer {
				upper, lower = lower, upper
			}
			if linked[[2]int{upper, lower}] {
				continue
			}
			linked[[2]int{upper, lower}] = true
			s.items[upper].down = append(s.items[upper].down, lower)
			s.items[lower].up = append(s.items[lower].up, upper)
			s.pullAlong(chain, j)
		}
	}
}

// pullAlong lets the items of a chain before and at a place pull each other: long lines
// most, and nodes directly, regardless of the room of their labels.
func (s *sheet) pullAlong(chain []int, j int) {
	long := s.items[chain[j-1]].kind == bendItem && s.items[chain[j]].kind == bendItem
	switch {
	case long:
		s.pull(chain[j-1], chain[j], 16)
	case j == 2 && len(chain) == 3:
		s.pull(chain[0], chain[2], 4)
		s.pull(chain[1], chain[2], 1)
	default:
		s.pull(chain[j-1], chain[j], 1)
	}
}

// pull adds a mutual pull, or all nodes would run away.
func (s *sheet) pull(a, b, weight int) {
	s.items[a].pulls = append(s.items[a].pulls, pull{b, weight})
	s.items[b].pulls = append(s.items[b].pulls, pull{a, weight})
}

func (s *sheet) add(it item) int {
	s.items = append(s.items, it)
	return len(s.items) - 1
}

// route makes the chain of a bundle: its label next to where it begins, then
// bends that it shares with others on their way to the same node.
func (s *sheet) route(b *bundle, bends map[trunk]int) {
	step := 1
	if b.back {
		step = -1
	}
	if b.stub {
		b.captions = append(b.captions, caption{text: "→ " + shorten(shown(s.d.nodes[s.boxes[b.to].node].name), widestCaption), change: b.change})
	}
	at := s.layer[b.from] + step
	b.chain = []int{s.nodes[b.from], s.add(s.labelItem(b, at))}
	if b.stub {
		return
	}
	for at += step; at != s.layer[b.to]; at += step {
		t := trunk{b.to, at, b.dashed, b.back, b.change}
		bend, ok := bends[t]
		if !ok {
			bend = s.add(item{kind: bendItem, layer: at, left: 1, right: 1})
			bends[t] = bend
		}
		b.chain = append(b.chain, bend)
	}
	b.chain = append(b.chain, s.nodes[b.to])
}

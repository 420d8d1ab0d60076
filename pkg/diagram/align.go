package diagram

import (
	"cmp"
	"slices"
)

// align decides which items stand exactly above one another: long lines, and
// nodes of which one leads to the other alone, with the label between them. It
// returns with the item below in the same block. Aligned lines never cross (U.
// Brandes and B. Köpf, 2001).
func (s *sheet) align() map[int]int {
	a := alignment{sheet: s, below: make(map[int]int), above: make(map[int]bool), segments: make([][]segment, len(s.layers))}
	for i := range s.items {
		for _, j := range s.items[i].down {
			if s.items[i].kind == bendItem && s.items[j].kind == bendItem {
				a.try(i, j)
			}
		}
	}
	for _, b := range s.spine() {
		a.try(b.chain...)
	}
	return a.below
}

type alignment struct {
	*sheet
	below    map[int]int
	above    map[int]bool
	segments [][]segment // by the upper layer, from left to right
}

// segment is an aligned line by the places of its ends in their layers.
type segment struct{ upper, lower int }

// try aligns items from top to bottom, or none of them.
func (a *alignment) try(items ...int) {
	for k := 1; k < len(items); k++ {
		_, taken := a.below[items[k-1]]
		if taken || a.above[items[k]] || a.crosses(items[k-1], items[k]) {
			return
		}
	}
	for k := 1; k < len(items); k++ {
		upper, lower := items[k-1], items[k]
		a.below[upper], a.above[lower] = lower, true
		layer := &a.segments[a.items[upper].layer]
		at, _ := a.find(upper)
		*layer = slices.Insert(*layer, at, segment{a.items[upper].order, a.items[lower].order})
	}
}

// find returns where a segment from an item is, or would be.
func (a *alignment) find(upper int) (int, bool) {
	it := &a.items[upper]
	return slices.BinarySearchFunc(a.segments[it.layer], it.order, func(s segment, order int) int { return cmp.Compare(s.upper, order) })
}

func (a *alignment) crosses(upper, lower int) bool {
	layer, order := a.segments[a.items[upper].layer], a.items[lower].order
	at, _ := a.find(upper)
	return at > 0 && layer[at-1].lower > order || at < len(layer) && layer[at].lower < order
}

// spine returns the bundles that alone lead down from one node to the next: the way that
// a reader follows.
func (s *sheet) spine() []*bundle {
	next, last := make(map[int][]int), make(map[int][]int)
	for i := range s.bundles {
		if b := &s.bundles[i]; b.short() && !b.back {
			if !slices.Contains(next[b.from], b.to) {
				next[b.from] = append(next[b.from], b.to)
			}
			if !slices.Contains(last[b.to], b.from) {
				last[b.to] = append(last[b.to], b.from)
			}
		}
	}
	var spine []*bundle
	for i := range s.bundles {
		if b := &s.bundles[i]; b.short() && !b.back && len(next[b.from]) == 1 && len(last[b.to]) == 1 {
			spine = append(spine, b)
		}
	}
	return spine
}

// short bundles lead to the next layer of nodes.
func (b *bundle) short() bool { return len(b.chain) == 3 }

package diagram

import (
	"cmp"
	"slices"
)

// Sweeps over the layers: large diagrams get fewer.
const (
	mostSweeps   = 24
	sweepWork    = 2_000_000
	exchangeWork = 20_000 // links from which exchanges cost too much
)

// orderLayers puts the items of each layer in an order in which few lines cross: first as
// a walk from the start meets them, then by the mean of their neighbours, downwards and
// upwards in turn, at last by exchanging neighbours.
func (s *sheet) orderLayers() {
	s.walkLayers()
	links := 0
	for i := range s.items {
		links += len(s.items[i].down)
	}
	best, least := s.snapshot(), s.crossings()
	for sweep := range min(mostSweeps, 2+sweepWork/(links+1)) {
		if least == 0 {
			break
		}
		s.sweep(sweep%2 == 0)
		if n := s.crossings(); n < least {
			best, least = s.snapshot(), n
		}
	}
	s.restore(best)
	if links < exchangeWork {
		s.exchange()
	}
}

// walkLayers gives the first order.
func (s *sheet) walkLayers() {
	deepest := 0
	for i := range s.items {
		deepest = max(deepest, s.items[i].layer)
	}
	s.layers = make([][]int, deepest+1)
	seen := make([]bool, len(s.items))
	var visit func(i int)
	visit = func(i int) {
		seen[i] = true
		it := &s.items[i]
		s.layers[it.layer] = append(s.layers[it.layer], i)
		for _, next := range it.down {
			if !seen[next] {
				visit(next)
			}
		}
	}
	for i := range s.items {
		if !seen[i] {
			visit(i)
		}
	}
	s.number()
}

// number remembers every item's place in its layer.
func (s *sheet) number() {
	for _, layer := range s.layers {
		for order, i := range layer {
			s.items[i].order = order
		}
	}
}

func (s *sheet) snapshot() [][]int {
	layers := make([][]int, len(s.layers))
	for i, layer := range s.layers {
		layers[i] = slices.Clone(layer)
	}
	return layers
}

func (s *sheet) restore(layers [][]int) {
	s.layers = layers
	s.number()
}

// sweep orders each layer by the one before it.
func (s *sheet) sweep(downwards bool) {
	const scale = 1 << 16 // of means, to compare them as whole numbers
	mean := make([]int, len(s.items))
	for k := range s.layers {
		layer := s.layers[k]
		if !downwards {
			layer = s.layers[len(s.layers)-1-k]
		}
		for _, i := range layer {
			it := &s.items[i]
			linked := it.up
			if !downwards {
				linked = it.down
			}
			mean[i] = it.order * scale
			if len(linked) > 0 {
				sum := 0
				for _, j := range linked {
					sum += s.items[j].order
				}
				mean[i] = sum * scale / len(linked)
			}
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
		for order, i := range layer {
			s.items[i].order = order
		}
	}
}

// crossings counts the lines that cross, between all layers.
func (s *sheet) crossings() int {
	total := 0
	for k := 1; k < len(s.layers); k++ {
		// Links in the order of their upper ends: those before that end further
		// right are crossed. A binary indexed tree counts them.
		tree := make([]int, len(s.layers[k])+1)
		links := 0
		for _, upper := range s.layers[k-1] {
			lowers := s.orders(s.items[upper].down)
			for _, order := range lowers {
				total += links
				for i := order + 1; i > 0; i -= i & -i {
					total -= tree[i]
				}
			}
			for _, order := range lowers {
				links++
				for i := order + 1; i < len(tree); i += i & -i {
					tree[i]++
				}
			}
		}
	}
	return total
}

// orders returns places in a layer, sorted.
func (s *sheet) orders(items []int) []int {
	orders := make([]int, len(items))
	for i, it := range items {
		orders[i] = s.items[it].order
	}
	slices.Sort(orders)
	return orders
}

// exchange swaps neighbours as long as that makes fewer lines cross.
func (s *sheet) exchange() {
	const passes = 8
	for range passes {
		better := false
		for _, layer := range s.layers {
			for i := 1; i < len(layer); i++ {
				a, b := &s.items[layer[i-1]], &s.items[layer[i]]
				now := s.crossed(a.up, b.up) + s.crossed(a.down, b.down)
				then := s.crossed(b.up, a.up) + s.crossed(b.down, a.down)
				if then < now {
					layer[i-1], layer[i] = layer[i], layer[i-1]
					a.order, b.order = b.order, a.order
					better = true
				}
			}
		}
		if !better {
			return
		}
	}
}

// crossed counts how lines cross that lead to left and right from two
// neighbours in that order.
func (s *sheet) crossed(left, right []int) int {
	l, r := s.orders(left), s.orders(right)
	sum, j := 0, 0
	for _, order := range l {
		for j < len(r) && r[j] < order {
			j++
		}
		sum += j
	}
	return sum
}

package diagram

import "slices"

// Room between items side by side, and above one another.
const (
	nodeRoom  = 28
	labelRoom = 16
	bendRoom  = 14
	layerRoom = 16
	mostSlope = 44 // that a layer's room grows by, for flat curves
)

// Rounds of moving blocks: large diagrams get fewer. Moves are of parts of pixels, or
// weak pulls would be lost.
const (
	mostRounds = 1000
	roundWork  = 2_000_000
	partBits   = 8
	parts      = 1 << partBits
	farAway    = 1 << 40
)

func (k itemKind) room() int {
	return [...]int{nodeItem: nodeRoom, labelItem: labelRoom, bendItem: bendRoom}[k]
}

// apart returns how far two neighbours must be from one another.
func (s *sheet) apart(left, right int) int {
	a, b := &s.items[left], &s.items[right]
	return a.right + (a.kind.room()+b.kind.room())/2 + b.left
}

// block is items that stand exactly above one another, and so are moved
// together.
type block struct {
	items []int
	x     int    // in parts of a pixel
	pulls []pull // towards other blocks
	// weight is the sum of the weights of pulls.
	weight int
}

// assignX packs blocks to the left, and then moves them towards their neighbours in other
// layers as far as their neighbours let them: each alone, and those that touch together.
func (s *sheet) assignX() {
	blocks := s.blocks()
	order := s.fromLeft(blocks)
	for _, k := range order {
		left, _ := s.between(blocks, k)
		blocks[k].x = max(left, 0)
	}
	for range min(mostRounds, 4+roundWork/len(s.items)) {
		moved := 0
		for _, k := range order {
			moved = max(moved, s.nudge(blocks, k))
		}
		for _, k := range slices.Backward(order) {
			moved = max(moved, s.nudge(blocks, k))
		}
		if moved = max(moved, s.nudgeGroups(blocks)); moved < parts/4 {
			break
		}
	}
	leftmost := 0
	for i := range s.items {
		it := &s.items[i]
		// Rounded down for all, or a pixel of distance might be lost.
		it.x = blocks[it.block].x >> partBits
		if i == 0 || it.x-it.left < leftmost {
			leftmost = it.x - it.left
		}
	}
	for i := range s.items {
		s.items[i].x -= leftmost
	}
}

// nudge moves one block, and returns how far.
func (s *sheet) nudge(blocks []block, k int) int {
	b := &blocks[k]
	if b.weight == 0 {
		return 0
	}
	left, right := s.between(blocks, k)
	before := b.x
	b.x = min(max(b.x+b.force(blocks)/b.weight, left), right)
	return max(b.x-before, before-b.x)
}

// force returns the weighted sum of how far a block is from the blocks that pull it.
func (b *block) force(all []block) int {
	sum := 0
	for _, p := range b.pulls {
		sum += p.weight * (all[p.to].x - b.x)
	}
	return sum
}

// between returns the places that the neighbours of a block leave it.
func (s *sheet) between(blocks []block, k int) (left, right int) {
	left, right = -farAway, farAway
	for _, i := range blocks[k].items {
		layer, at := s.layers[s.items[i].layer], s.items[i].order
		if at > 0 {
			left = max(left, blocks[s.items[layer[at-1]].block].x+parts*s.apart(layer[at-1], i))
		}
		if at+1 < len(layer) {
			right = min(right, blocks[s.items[layer[at+1]].block].x-parts*s.apart(i, layer[at+1]))
		}
	}
	return left, right
}

// blocks collects aligned items, those of the upper layers first.
func (s *sheet) blocks() []block {
	below := s.align()
	var blocks []block
	for i := range s.items {
		s.items[i].block = -1
	}
	for _, layer := range s.layers {
		for _, i := range layer {
			if s.items[i].block >= 0 {
				continue
			}
			var b block
			for at, more := i, true; more; at, more = below[at] {
				b.items = append(b.items, at)
				s.items[at].block = len(blocks)
			}
			blocks = append(blocks, b)
		}
	}
	for k := range blocks {
		for _, i := range blocks[k].items {
			for _, p := range s.items[i].pulls {
				if other := s.items[p.to].block; other != k {
					blocks[k].pulls = append(blocks[k].pulls, pull{other, p.weight})
					blocks[k].weight += p.weight
				}
			}
		}
	}
	return blocks
}

// fromLeft lists the blocks so that those to the left of a block come before it.
// Aligned lines never cross, so there is such an order.
func (s *sheet) fromLeft(blocks []block) []int {
	waits := make([]int, len(blocks))
	for _, layer := range s.layers {
		for _, i := range layer[min(1, len(layer)):] {
			waits[s.items[i].block]++
		}
	}
	var order []int
	for k := range blocks {
		if waits[k] == 0 {
			order = append(order, k)
		}
	}
	for n := 0; n < len(order); n++ {
		for _, i := range blocks[order[n]].items {
			layer := s.layers[s.items[i].layer]
			if next := s.items[i].order + 1; next < len(layer) {
				right := s.items[layer[next]].block
				if waits[right]--; waits[right] == 0 {
					order = append(order, right)
				}
			}
		}
	}
	return order
}

// nudgeGroups moves blocks that touch together: alone, a block is held by its neighbour.
func (s *sheet) nudgeGroups(blocks []block) int {
	group := make([]int, len(blocks))
	for k := range group {
		group[k] = k
	}
	find := func(k int) int {
		for group[k] != k {
			group[k] = group[group[k]]
			k = group[k]
		}
		return k
	}
	touching := func(yield func(left, right, room int)) {
		for _, layer := range s.layers {
			for at := 1; at < len(layer); at++ {
				a, b := s.items[layer[at-1]].block, s.items[layer[at]].block
				yield(a, b, blocks[b].x-blocks[a].x-parts*s.apart(layer[at-1], layer[at]))
			}
		}
	}
	touching(func(a, b, room int) {
		if room <= 0 {
			group[find(a)] = find(b)
		}
	})
	force, weight := make([]int, len(blocks)), make([]int, len(blocks))
	left, right := make([]int, len(blocks)), make([]int, len(blocks))
	for k := range blocks {
		g := find(k)
		force[g] += blocks[k].force(blocks)
		weight[g] += blocks[k].weight
		left[k], right[k] = -farAway, farAway
	}
	touching(func(a, b, room int) {
		if a, b = find(a), find(b); a != b {
			right[a] = min(right[a], room/2)
			left[b] = max(left[b], -room/2)
		}
	})
	moved := 0
	for k := range blocks {
		if g := find(k); weight[g] > 0 {
			step := min(max(force[g]/(2*weight[g]), left[g]), right[g])
			blocks[k].x += step
			moved = max(moved, step, -step)
		}
	}
	return moved
}

// assignY stacks the layers. Where lines lead far to a side there is more room.
func (s *sheet) assignY() {
	s.tops, s.bottoms = make([]int, len(s.layers)), make([]int, len(s.layers))
	y := 0
	for k, layer := range s.layers {
		height, widest := 0, 0
		for _, i := range layer {
			height = max(height, s.items[i].height)
			for _, j := range s.items[i].up {
				widest = max(widest, s.items[j].x-s.items[i].x, s.items[i].x-s.items[j].x)
			}
		}
		if k > 0 {
			y += layerRoom + min(mostSlope, widest/8)
		}
		s.tops[k] = y
		y += height
		s.bottoms[k] = y
	}
}

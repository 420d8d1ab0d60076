package diagram

import "slices"

// drawing is a diagram, or the content of one branch, with a place for everything.
// Lengths are in pixels, from the upper left corner, and whole, so that every machine
// draws the same.
type drawing struct {
	width, height int
	boxes         []box
	lines         []line
	labels        []label
}

// box is a node's place by its upper left corner. Parents come before them.
type box struct{ node, x, y, w, h int }

type point struct{ x, y int }

// line runs through points: straight between two that are above one another,
// else in a curve that is upright at both.
type line struct {
	// from and to are the nodes that it leads from and to.
	from, to int
	points   []point
	dashed   bool
	arrow    bool // at its end
	loop     bool // from the right side of a box, at its one point, back to it
	tip      []string
	change   Change
}

// label is text around a point, or to the right of it when it belongs to a loop.
type label struct {
	from, to int // nodes, as those of its line
	at       point
	loop     bool
	lines    []caption
	tip      []string
}

// caption is one line of a label.
type caption struct {
	text     string
	approval bool
	change   Change
}

// include puts a drawing into another one.
func (g *drawing) include(inner *drawing, dx, dy int) {
	for _, b := range inner.boxes {
		b.x += dx
		b.y += dy
		g.boxes = append(g.boxes, b)
	}
	for _, l := range inner.lines {
		for i := range l.points {
			l.points[i].x += dx
			l.points[i].y += dy
		}
		g.lines = append(g.lines, l)
	}
	for _, l := range inner.labels {
		l.at.x += dx
		l.at.y += dy
		g.labels = append(g.labels, l)
	}
}

// layout finds a place for everything: top down in layers, so that most edges
// lead downwards (K. Sugiyama and others, 1981). A branch of a fork is laid out
// by itself first and is then one box.
func (d *Diagram) layout() *drawing {
	within := make(map[int][]edge) // by the parent of both ends
	for _, e := range d.lifted() {
		parent := d.nodes[e.from].parent
		within[parent] = append(within[parent], e)
	}
	return d.region(root, within)
}

func (d *Diagram) region(parent int, within map[int][]edge) *drawing {
	s := &sheet{d: d, places: make(map[int]int)}
	for _, n := range d.children(parent) {
		var inner *drawing
		if d.nodes[n].kind == branch {
			inner = d.region(n, within)
		}
		s.places[n] = len(s.boxes)
		s.boxes = append(s.boxes, d.measure(n, inner))
		s.inner = append(s.inner, inner)
	}
	s.bundle(within[parent])
	s.breakCycles()
	s.assignLayers()
	s.fillLayers()
	s.orderLayers()
	s.assignX()
	s.assignY()
	return s.draw()
}

// sheet is one level of the diagram while it is laid out. Nodes and bundles are
// meant by their places here.
type sheet struct {
	d      *Diagram
	places map[int]int // of the diagram's nodes
	boxes  []box       // of each node
	inner  []*drawing  // of each node; nil where it is not a branch
	layer  []int       // of each node; even

	bundles []bundle
	loops   map[int]*bundle // by node

	items         []item
	nodes         []int   // the item of each node
	layers        [][]int // items from left to right
	tops, bottoms []int   // of each layer
}

// bundle is the edges from one node to another that look alike: one line with
// all their labels.
type bundle struct {
	from, to int
	dashed   bool
	captions []caption
	tip      []string
	change   Change
	// back edges lead upwards, or there would be a circle.
	back bool
	// stub edges end at their label, which says where they lead.
	stub bool
	// chain is the items from one end to the other; the second one is the
	// label.
	chain []int
}

// ends returns the nodes above and below.
func (b *bundle) ends() (upper, lower int) {
	if b.back {
		return b.to, b.from
	}
	return b.from, b.to
}

const (
	mostCaptions  = 12 // of one bundle
	widestCaption = 44
)

// bundle puts edges together.
func (s *sheet) bundle(edges []edge) {
	type likeness struct {
		from, to int
		dashed   bool
		change   Change
	}
	all := make(map[likeness]int)
	for _, e := range edges {
		like := likeness{s.places[e.from], s.places[e.to], e.dashed, e.change}
		i, ok := all[like]
		if !ok {
			i = len(s.bundles)
			all[like] = i
			s.bundles = append(s.bundles, bundle{from: like.from, to: like.to, dashed: like.dashed, change: like.change})
		}
		s.bundles[i].take(e)
	}
	s.loops = make(map[int]*bundle)
	kept := s.bundles[:0]
	for _, b := range s.bundles {
		b.limit()
		switch other := s.loops[b.from]; {
		case b.from != b.to:
			kept = append(kept, b)
		case other == nil:
			s.loops[b.from] = &b
		default:
			other.captions = append(other.captions, b.captions...)
			other.tip = append(other.tip, b.tip...)
			if other.change != b.change {
				other.change = Changed
			}
		}
	}
	s.bundles = kept
}

func (b *bundle) take(e edge) {
	if e.label != "" {
		b.captions = append(b.captions, caption{e.label, e.approval, e.change})
	}
	if e.label != "" && (len(e.tip) > 0 || columns(e.label) > widestCaption) {
		b.tip = append(b.tip, e.label)
	}
	for _, tip := range e.tip {
		b.tip = append(b.tip, "  "+tip)
	}
}

// limit makes captions fit.
func (b *bundle) limit() {
	texts := make([]string, len(b.captions))
	for i, c := range b.captions {
		texts[i] = c.text
	}
	if len(texts) > mostCaptions {
		b.tip = slices.Concat(texts, b.tip)
		b.captions[mostCaptions-1].approval = false // it says how many more there are
	}
	fitting := clipLines(texts, mostCaptions, widestCaption)
	b.captions = b.captions[:len(fitting)]
	for i, text := range fitting {
		b.captions[i].text = text
	}
}

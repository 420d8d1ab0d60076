package diagram

// Sizes. Fonts are monospaced and a little over 0.6 em wide, so that text can be
// measured without them.
const (
	nameSize, nameLine     = 13, 18 // of a font, and from line to line
	detailSize, detailLine = 10, 14
	labelSize, labelLine   = 11, 14

	widestName = 36 // columns
	widestNote = 10
	padding    = 12 // inside of a box
	heading    = 24 // above the content of a branch
	loopReach  = 26 // of a line from a box back to it
)

// textWidth returns the width of that many columns of a font.
func textWidth(columns, size int) int { return (columns*size*61 + 99) / 100 }

// texts returns the lines in a node: its name, and secondary texts.
func (n *node) texts() (above, name string, below []string) {
	name = shorten(shown(n.name), widestName)
	below = clipLines(n.detail, mostDetails, widestDetail)
	switch n.kind {
	case success:
		below = append(below, "success")
	case failure:
		below = append(below, "failure")
	case invoke:
		above = "invoke"
	case branch:
		name = "branch " + name
	}
	return above, name, below
}

// named reports that a node is a state with a name, which a note can be about.
func (n *node) named() bool {
	return n.name != "" && (n.kind == state || n.kind == success || n.kind == failure)
}

// measure gives a node its size; a branch that of its content.
func (d *Diagram) measure(place int, inner *drawing) box {
	n := &d.nodes[place]
	b := box{node: place}
	switch n.kind {
	case start:
		b.w, b.h = 14, 14
		return b
	case choice:
		b.w, b.h = 24, 24
		return b
	case fork, join:
		b.w, b.h = 88, 6
		return b
	}
	above, name, below := n.texts()
	width := textWidth(columns(name), nameSize)
	if n.kind == branch {
		b.w, b.h = max(width, inner.width)+2*padding, inner.height+heading+padding
		return b
	}
	height := nameLine
	if above != "" {
		width = max(width, textWidth(columns(above), detailSize))
		height += detailLine
	}
	for _, line := range below {
		width = max(width, textWidth(columns(line), detailSize))
		height += detailLine
	}
	b.w, b.h = width+2*padding, height+padding
	if d.notes && n.named() {
		b.w = max(b.w, textWidth(widestNote, detailSize)+2*padding)
		b.h += detailLine
	}
	if n.kind == invoke {
		b.w += padding // its double sides
	}
	return b
}

// nodeItem returns a node with the lines from it to itself.
func (s *sheet) nodeItem(n int) item {
	b := &s.boxes[n]
	it := item{kind: nodeItem, layer: s.layer[n], left: (b.w + 1) / 2, right: (b.w + 1) / 2, height: b.h}
	if loop := s.loops[n]; loop != nil {
		w, h := measureLabel(loop.captions)
		it.right += loopReach + w
		it.height = max(it.height, h)
	}
	return it
}

func (s *sheet) labelItem(b *bundle, layer int) item {
	it := item{kind: labelItem, layer: layer, left: 1, right: 1}
	if len(b.captions) == 0 {
		it.kind = bendItem
		return it
	}
	w, h := measureLabel(b.captions)
	it.left, it.right, it.height = (w+1)/2, (w+1)/2, h
	return it
}

func measureLabel(captions []caption) (w, h int) {
	for _, c := range captions {
		w = max(w, textWidth(columns(c.text), labelSize))
	}
	return w + 4, len(captions)*labelLine + 4
}

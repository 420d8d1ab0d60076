package diagram

import (
	"fmt"
	"strings"
)

// SVG draws the diagram as a picture that needs no other file, in colours for light and
// dark surroundings. Texts that do not fit are in tooltips. Of workflows with very many
// long lines, those that would cost too much end at their label, which says where they
// lead.
func (d *Diagram) SVG() string {
	g := d.layout()
	const margin, top = 24, 56
	title := shorten(shown(d.title), 80)
	width := max(g.width, textWidth(columns(title), 15)) + 2*margin
	height := g.height + top + margin
	w := svgWriter{d: d}
	w.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n", width, height, width, height)
	w.printf("<title>%s</title>\n", xmlText(shown(d.title)))
	w.printf("<style>%s</style>\n", svgStyle)
	w.printf(`<rect class="paper" width="%d" height="%d"/>`+"\n", width, height)
	w.printf(`<text class="title" x="%d" y="30">%s</text>`+"\n", margin, xmlText(title))
	w.printf(`<g transform="translate(%d %d)">`+"\n", margin+(width-2*margin-g.width)/2, top)
	w.drawing(g)
	w.printf("</g>\n</svg>\n")
	return w.b.String()
}

// svgStyle are the colours. The plain rules are for light surroundings. They are
// for this picture alone, also when it is put into a page.
const svgStyle = `
.flow text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328}
.flow .title{font:600 15px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.flow .name{font-size:13px;font-weight:600;text-anchor:middle}
.flow .detail{font-size:10px;fill:#59636e;text-anchor:middle}
.flow .label{font-size:11px;text-anchor:middle}
.flow .aside{text-anchor:start}
.flow .approval{fill:#9a6700;font-weight:600}
.flow .paper{fill:#fff}
.flow .box{fill:#f6f8fa;stroke:#59636e;stroke-width:1.2}
.flow .success .box{stroke:#1a7f37}
.flow .success .detail{fill:#1a7f37}
.flow .failure .box{stroke:#cf222e}
.flow .failure .detail{fill:#cf222e}
.flow .branch .box{fill:none;stroke-dasharray:6 4}
.flow .branch .name{text-anchor:start;fill:#59636e}
.flow .any .box,.flow .back .box{stroke-dasharray:4 3}
.flow .any .name,.flow .back .name{font-style:italic}
.flow .solid{fill:#1f2328}
.flow .line{fill:none;stroke:#59636e;stroke-width:1.3}
.flow .dashed{stroke-dasharray:5 4}
.flow .head{fill:#59636e}
@media (prefers-color-scheme:dark){
.flow text,.flow .solid{fill:#e6edf3}
.flow .paper{fill:#0d1117}
.flow .box{fill:#161b22;stroke:#9198a1}
.flow .detail,.flow .branch .name,.flow .head{fill:#9198a1}
.flow .approval{fill:#d29922}
.flow .line{stroke:#9198a1}
.flow .success .box{stroke:#3fb950}
.flow .success .detail{fill:#3fb950}
.flow .failure .box{stroke:#f85149}
.flow .failure .detail{fill:#f85149}
}
`

type svgWriter struct {
	d *Diagram
	b strings.Builder
}

func (w *svgWriter) printf(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

// drawing writes branches, which lie below, lines, nodes, and labels.
func (w *svgWriter) drawing(g *drawing) {
	for _, b := range g.boxes {
		if w.d.nodes[b.node].kind == branch {
			w.node(b)
		}
	}
	for i := range g.lines {
		w.line(&g.lines[i])
	}
	for _, b := range g.boxes {
		if w.d.nodes[b.node].kind != branch {
			w.node(b)
		}
	}
	for i := range g.labels {
		w.label(&g.labels[i])
	}
}

// group begins a <g> with a tooltip.
func (w *svgWriter) group(class string, tip []string) {
	w.printf("<g")
	if class != "" {
		w.printf(` class="%s"`, class)
	}
	w.printf(">")
	if len(tip) > 0 {
		w.printf("<title>%s</title>", xmlText(strings.Join(clipLines(tip, mostTips, widestTip), "\n")))
	}
}

var svgClasses = map[kind]string{success: "success", failure: "failure", branch: "branch", anyState: "any", goBack: "back", invoke: "invoke"}

func (w *svgWriter) node(b box) {
	n := &w.d.nodes[b.node]
	above, name, below := n.texts()
	tip := n.tip
	if name != n.name || len(tip) > 0 {
		tip = append([]string{n.name}, tip...)
	}
	w.group(svgClasses[n.kind], tip)
	middle := b.x + b.w/2
	switch n.kind {
	case start:
		w.printf(`<circle class="solid" cx="%d" cy="%d" r="%d"/>`, middle, b.y+b.h/2, b.w/2)
	case fork, join:
		w.printf(`<rect class="solid" x="%d" y="%d" width="%d" height="%d" rx="2"/>`, b.x, b.y, b.w, b.h)
	case choice:
		w.printf(`<path class="box" d="M%d %dl%d %dl%d %dl%d %dz"/>`, middle, b.y, b.w/2, b.h/2, -b.w/2, b.h/2, -b.w/2, -b.h/2)
	case branch:
		w.rect(b, 0, 8)
		w.printf(`<text class="name" x="%d" y="%d">%s</text>`, b.x+padding, b.y+16, xmlText(name))
	default:
		w.frame(n.kind, b)
		w.texts(middle, b.y+padding/2, above, name, below)
	}
	w.printf("</g>\n")
}

func (w *svgWriter) rect(b box, inset, radius int) {
	w.printf(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, b.x+inset, b.y+inset, b.w-2*inset, b.h-2*inset, radius)
}

// frame draws the border that shows a node's kind.
func (w *svgWriter) frame(k kind, b box) {
	switch k {
	case success, failure:
		w.rect(b, 0, 8)
		w.rect(b, 3, 5)
	case invoke:
		w.rect(b, 0, 0)
		w.printf(`<path class="line" d="M%d %dv%dM%d %dv%d"/>`, b.x+padding/2, b.y, b.h, b.x+b.w-padding/2, b.y, b.h)
	case goBack:
		w.rect(b, 0, b.h/2)
	default:
		w.rect(b, 0, 6)
	}
}

func (w *svgWriter) texts(x, y int, above, name string, below []string) {
	if above != "" {
		w.printf(`<text class="detail" x="%d" y="%d">%s</text>`, x, y+10, xmlText(above))
		y += detailLine
	}
	w.printf(`<text class="name" x="%d" y="%d">%s</text>`, x, y+13, xmlText(name))
	y += nameLine
	for _, line := range below {
		w.printf(`<text class="detail" x="%d" y="%d">%s</text>`, x, y+10, xmlText(line))
		y += detailLine
	}
}

const headLength = 8

func (w *svgWriter) line(l *line) {
	w.group("", l.tip)
	class := "line"
	if l.dashed {
		class += " dashed"
	}
	w.printf(`<path class="%s" d="%s"/>`, class, l.path())
	if head := l.head(); head != "" {
		w.printf(`<path class="head" d="%s"/>`, head)
	}
	w.printf("</g>\n")
}

// path returns the line as SVG has it.
func (l *line) path() string {
	first := l.points[0]
	if l.loop {
		return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", first.x, first.y-7, first.x+loopReach, first.y-16,
			first.x+loopReach, first.y+16, first.x+headLength-1, first.y+7)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", first.x, first.y)
	for i := 1; i < len(l.points); i++ {
		from, to := l.points[i-1], l.points[i]
		if l.arrow && i == len(l.points)-1 {
			to.y -= l.down() * (headLength - 1) // not past the tip
		}
		if from.x == to.x {
			fmt.Fprintf(&b, "V%d", to.y)
			continue
		}
		half := (from.y + to.y) / 2
		fmt.Fprintf(&b, "C%d %d %d %d %d %d", from.x, half, to.x, half, to.x, to.y)
	}
	return b.String()
}

// head returns the tip of the line, empty for none.
func (l *line) head() string {
	first, last := l.points[0], l.points[len(l.points)-1]
	switch {
	case l.loop:
		return fmt.Sprintf("M%d %dl%d -4v8z", first.x, first.y+6, headLength)
	case l.arrow:
		return fmt.Sprintf("M%d %dl-4 %dh8z", last.x, last.y, -l.down()*headLength)
	}
	return ""
}

// down returns 1 for a line that ends below its beginning, else -1.
func (l *line) down() int {
	if l.points[len(l.points)-1].y < l.points[0].y {
		return -1
	}
	return 1
}

func (w *svgWriter) label(l *label) {
	w.group("", l.tip)
	class := "label"
	if l.loop {
		class += " aside"
	}
	y := l.at.y - len(l.lines)*labelLine/2 + 11
	for _, c := range l.lines {
		lineClass := class
		if c.approval {
			lineClass += " approval"
		}
		w.printf(`<text class="%s" x="%d" y="%d">%s</text>`, lineClass, l.at.x, y, xmlText(c.text))
		y += labelLine
	}
	w.printf("</g>\n")
}

// xmlEscape is for text and for values in double quotes.
var xmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

func xmlText(text string) string { return xmlEscape.Replace(text) }

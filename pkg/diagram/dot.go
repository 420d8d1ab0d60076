package diagram

import (
	"fmt"
	"strings"
)

// DOT writes the diagram in Graphviz's language. Secondary texts become tooltips, which
// Graphviz writes into SVG.
func (d *Diagram) DOT() string {
	w := dotWriter{Diagram: d}
	fmt.Fprintf(&w.b, "digraph %s {\n", dotQuote(d.title))
	fmt.Fprintf(&w.b, "    graph [label=%s, labelloc=t, compound=true, fontname=Helvetica]\n", dotQuote(d.title))
	w.b.WriteString("    node [shape=box, style=rounded, fontname=Helvetica, fontsize=12]\n")
	w.b.WriteString("    edge [fontname=Helvetica, fontsize=10]\n")
	w.region(root, "    ")
	for _, e := range d.edges {
		w.edge(e)
	}
	w.b.WriteString("}\n")
	return w.b.String()
}

type dotWriter struct {
	*Diagram
	b strings.Builder
}

func (w *dotWriter) region(parent int, indent string) {
	for _, i := range w.children(parent) {
		n := &w.nodes[i]
		if n.kind != branch {
			fmt.Fprintf(&w.b, "%s%s [%s]\n", indent, n.id, strings.Join(dotNode(n), ", "))
			continue
		}
		fmt.Fprintf(&w.b, "%ssubgraph cluster_%s {\n", indent, n.id)
		fmt.Fprintf(&w.b, "%s    graph [label=%s, style=\"rounded,dashed\"]\n", indent, dotQuote("branch "+n.name))
		w.region(i, indent+"    ")
		w.b.WriteString(indent + "}\n")
	}
}

// dotNode lists a node's attributes.
func dotNode(n *node) []string {
	_, _, below := n.texts()
	label := "label=" + dotQuote(append([]string{n.name}, below...)...)
	var attributes []string
	switch n.kind {
	case start:
		return []string{`label=""`, "shape=circle", "style=filled", "fillcolor=black", "width=0.15"}
	case choice:
		attributes = []string{`label=""`, "shape=diamond", "style=solid", "width=0.3", "height=0.3"}
	case fork, join:
		attributes = []string{`label=""`, "shape=box", "style=filled", "fillcolor=black", "width=1", "height=0.06"}
		return append(attributes, "tooltip="+dotQuote(n.name))
	case success:
		attributes = []string{label, "peripheries=2", `color="#1a7f37"`}
	case failure:
		attributes = []string{label, "peripheries=2", `color="#cf222e"`}
	case invoke:
		attributes = []string{"label=" + dotQuote("invoke", n.name), "shape=component", "style=solid"}
	case anyState, goBack:
		attributes = []string{label, `style="rounded,dashed"`}
	default:
		attributes = []string{label}
	}
	if len(n.tip) > 0 {
		attributes = append(attributes, "tooltip="+dotQuote(clipLines(n.tip, mostTips, widestTip)...))
	}
	return attributes
}

func (w *dotWriter) edge(e edge) {
	from, to := &w.nodes[e.from], &w.nodes[e.to]
	var attributes []string
	// Graphviz draws no edges of clusters, but clips those of nodes in them.
	if from.kind == branch {
		attributes = append(attributes, "ltail=cluster_"+from.id)
		from = &w.nodes[from.exit]
	}
	if to.kind == branch {
		attributes = append(attributes, "lhead=cluster_"+to.id)
		to = &w.nodes[to.entry]
	}
	if e.label != "" {
		attributes = append(attributes, "label="+dotQuote(" "+e.label))
	}
	if e.dashed {
		attributes = append(attributes, "style=dashed")
	}
	if e.approval {
		attributes = append(attributes, `fontcolor="#9a6700"`)
	}
	if len(e.tip) > 0 {
		tip := dotQuote(clipLines(e.tip, mostTips, widestTip)...)
		attributes = append(attributes, "tooltip="+tip, "labeltooltip="+tip)
	}
	fmt.Fprintf(&w.b, "    %s -> %s", from.id, to.id)
	if len(attributes) > 0 {
		fmt.Fprintf(&w.b, " [%s]", strings.Join(attributes, ", "))
	}
	w.b.WriteString("\n")
}

// dotEscape keeps text out of Graphviz's escapes and entities.
var dotEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")

// dotQuote writes lines as one quoted string.
func dotQuote(lines ...string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = dotEscape.Replace(shown(line))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

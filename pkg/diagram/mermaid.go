package diagram

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Mermaid writes the diagram as a Mermaid stateDiagram-v2, as READMEs and wikis show it.
// Mermaid has no dashed transitions: those of safe_next and of interrupts are known by
// their labels. It refuses to draw more than 500 transitions or 50,000 characters unless
// its configuration says otherwise.
func (d *Diagram) Mermaid() string {
	w := mermaidWriter{Diagram: d, within: make(map[int][]edge)}
	for _, e := range d.lifted() {
		parent := d.nodes[e.from].parent
		w.within[parent] = append(w.within[parent], e)
	}
	fmt.Fprintf(&w.b, "---\ntitle: %s\n---\nstateDiagram-v2\n", yamlQuote(d.title))
	w.region(root, "    ")
	w.classes()
	return w.b.String()
}

type mermaidWriter struct {
	*Diagram
	b      strings.Builder
	within map[int][]edge // by parent
}

// region writes the content of a branch or of the root.
func (w *mermaidWriter) region(parent int, indent string) {
	held := w.children(parent)
	for _, i := range held {
		w.declare(i, indent)
	}
	for _, e := range w.oneLoopEach(w.within[parent]) {
		w.edge(e, indent)
	}
	for _, i := range held {
		switch w.nodes[i].kind {
		case success:
			fmt.Fprintf(&w.b, "%s%s --> [*] : success\n", indent, w.nodes[i].id)
		case failure:
			fmt.Fprintf(&w.b, "%s%s --> [*] : failure\n", indent, w.nodes[i].id)
		}
	}
}

func (w *mermaidWriter) declare(i int, indent string) {
	n := &w.nodes[i]
	switch n.kind {
	case start: // Mermaid has it
	case choice, fork, join:
		fmt.Fprintf(&w.b, "%sstate %s <<%s>>\n", indent, n.id, [...]string{choice: "choice", fork: "fork", join: "join"}[n.kind])
	case branch:
		fmt.Fprintf(&w.b, "%sstate \"branch %s\" as %s {\n", indent, mermaidText(n.name), n.id)
		w.region(i, indent+"    ")
		w.b.WriteString(indent + "}\n")
	case invoke:
		fmt.Fprintf(&w.b, "%sstate \"invoke %s\" as %s\n", indent, mermaidText(n.name), n.id)
	default:
		fmt.Fprintf(&w.b, "%sstate \"%s\" as %s\n", indent, mermaidText(n.name), n.id)
		for _, line := range clipLines(n.detail, mostDetails, widestDetail) {
			fmt.Fprintf(&w.b, "%s%s : %s\n", indent, n.id, mermaidText(line))
		}
	}
}

// oneLoopEach puts the edges from a node to itself together: Mermaid draws only
// one of them.
func (w *mermaidWriter) oneLoopEach(edges []edge) []edge {
	loops := make(map[int]int) // by node, place in kept
	kept := make([]edge, 0, len(edges))
	for _, e := range edges {
		at, ok := loops[e.from]
		switch {
		case e.from == e.to && ok:
			kept[at].label += " / " + e.label
			continue
		case e.from == e.to:
			loops[e.from] = len(kept)
		}
		kept = append(kept, e)
	}
	return kept
}

func (w *mermaidWriter) edge(e edge, indent string) {
	from := w.nodes[e.from].id
	if w.nodes[e.from].kind == start {
		from = "[*]"
	}
	label := ""
	if e.label != "" {
		label = " : " + mermaidText(e.label)
	}
	fmt.Fprintf(&w.b, "%s%s --> %s%s\n", indent, from, w.nodes[e.to].id, label)
}

// mermaidClasses are how kinds look in themes light and dark.
var mermaidClasses = []struct {
	kind        kind
	name, style string
}{
	{success, "success", "stroke:#1a7f37,stroke-width:2px"},
	{failure, "failure", "stroke:#cf222e,stroke-width:2px"},
	{invoke, "child", "stroke-width:3px"},
	{anyState, "interrupts", "stroke-dasharray:4 3"},
	{goBack, "back", "stroke-dasharray:4 3"},
}

func (w *mermaidWriter) classes() {
	for _, c := range mermaidClasses {
		var ids []string
		for i := range w.nodes {
			if w.nodes[i].kind == c.kind {
				ids = append(ids, w.nodes[i].id)
			}
		}
		if len(ids) > 0 {
			fmt.Fprintf(&w.b, "    classDef %s %s\n    class %s %s\n", c.name, c.style, strings.Join(ids, ","), c.name)
		}
	}
}

// mermaidWords mean something to Mermaid even in the middle of a label.
var mermaidWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)direction|style|classdef`) })

// mermaidText writes text so that Mermaid shows it and never obeys it: whatever
// is not a letter, a digit or harmless becomes a numeric entity, which Mermaid
// reads after everything else.
func mermaidText(text string) string {
	text = shown(text)
	words := make(map[int]bool)
	for _, at := range mermaidWords().FindAllStringIndex(text, -1) {
		words[at[0]] = true
	}
	var b strings.Builder
	var before rune
	for i, c := range text {
		after, _ := firstRune(text[i+len(string(c)):])
		switch {
		case words[i] || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !harmless(before, c, after):
			b.WriteString("#" + strconv.Itoa(int(c)) + ";")
		default:
			b.WriteRune(c)
		}
		before = c
	}
	return b.String()
}

// harmless distinguishes the signs that are neither Mermaid's nor, between letters,
// Markdown's.
func harmless(before, c, after rune) bool {
	switch c {
	case ' ', ',':
		return true
	case '_', '-':
		return alphanumeric(before) && alphanumeric(after)
	case '[':
		return before == ' '
	case ']':
		return after == 0 || after == ','
	}
	return false
}

func alphanumeric(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

func firstRune(s string) (rune, bool) {
	for _, c := range s {
		return c, true
	}
	return 0, false
}

// yamlQuote writes a double-quoted YAML string in which only letters, digits and blanks
// stand for themselves. Mermaid would cut it at a <.
func yamlQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range strings.ReplaceAll(shown(text), "<", "‹") {
		switch {
		case alphanumeric(c) || strings.ContainsRune(" ._-", c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

package diagram

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// nasty are parts of names and texts that mean something to some format.
var nasty = []string{
	"a", "B", "7", "_", "-", ".", ":", " ", "é", "状態", "🚀", "e\u0301", "\"", "'", "\\", "\\N", "<b>", "</text>", "</title>", "]]>", "&", "&lt;", "#", "#35;",
	"%%{init: {}}%%", "%%", "{", "}", "[*]", "[[fork]]", "<<choice>>", "-->", "--", "::", "|", "`", "*", "**", "$$", "[x](y)", "www.x.yz", "direction TB",
	"style", "classDef", "class", "state", "note", "end", "end note", "default", "click", ";", ",", "/", "\n", "\r", "\t", "\x00", "\x1b[31m", "\u202e", "\u2028",
	"\ufeff", "\ufffd", "subgraph", "digraph", "->", "cluster_b0", "s0", "b0",
}

func drawText(t *rapid.T, what string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(nasty), 1, 6).Draw(t, what), "")
}

// drawWorkflow makes definitions that Parse would refuse too: for all of them,
// the result is a picture.
func drawWorkflow(t *rapid.T) *workflow.Definition {
	names := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return drawText(t, "name") }), 1, 14, rapid.ID).Draw(t, "states")
	one := func(what string) string {
		return rapid.SampledFrom(append([]string{"", workflow.ReturnTarget, "nowhere"}, slices.Concat(names, names)...)).Draw(t, what)
	}
	maybe := rapid.Bool()
	def := &workflow.Definition{ID: drawText(t, "id"), Initial: one("initial")}
	if maybe.Draw(t, "ui") {
		def.Meta.ApprovalMode = "ui"
	}
	for _, name := range names {
		s := workflow.State{Name: name, SafeNext: one("safe_next"), Final: maybe.Draw(t, "final"), ToolsRestricted: maybe.Draw(t, "restricted")}
		s.Outcome = rapid.SampledFrom([]workflow.Outcome{workflow.Success, workflow.Failure}).Draw(t, "outcome")
		s.AllowedTools = rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 4).Draw(t, "tools")
		s.MaxIterations = rapid.Int64Range(0, 3).Draw(t, "iterations")
		s.Instructions = drawText(t, "instructions")
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			tr := workflow.Transition{Event: drawText(t, "event")}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				tr.Invoke = &workflow.Invoke{Workflow: drawText(t, "child"), OnComplete: one("complete"), OnFail: one("fail")}
			case 1:
				tr.Fork = &workflow.Fork{Join: rapid.SampledFrom([]string{"all", "any"}).Draw(t, "join"), OnComplete: one("complete"), OnFail: one("fail")}
				for range rapid.IntRange(0, 3).Draw(t, "branches") {
					tr.Fork.Branches = append(tr.Fork.Branches, workflow.ForkBranch{Name: drawText(t, "branch"), Initial: one("first"), Terminal: one("last")})
				}
			default:
				for range rapid.IntRange(0, 3).Draw(t, "targets") {
					tr.Branches = append(tr.Branches, workflow.Branch{
						Target: one("target"), Guards: rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 2).Draw(t, "guards"),
						RequiresApproval: maybe.Draw(t, "approval"), ApprovalMessage: drawText(t, "message"),
					})
				}
			}
			s.On = append(s.On, tr)
		}
		def.States = append(def.States, s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "interrupts") {
		def.Interrupts = append(def.Interrupts, workflow.Interrupt{Name: drawText(t, "interrupt"), FilePattern: drawText(t, "pattern"), Target: one("handler")})
	}
	return def
}

func drawProcess(t *rapid.T) *process.Definition {
	names := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return drawText(t, "name") }), 1, 8, rapid.ID).Draw(t, "states")
	def := &process.Definition{Name: drawText(t, "process"), Initial: names[0]}
	for _, name := range names {
		s := process.State{Name: name, Question: drawText(t, "question")}
		for range rapid.IntRange(0, 4).Draw(t, "answers") {
			s.Answers = append(s.Answers, process.Answer{
				Key: drawText(t, "answer"), Next: rapid.SampledFrom(append([]string{"", "nowhere"}, names...)).Draw(t, "next"),
				Action: rapid.SampledFrom([]process.Action{"", process.Block, process.Warn, process.Complete, process.NotifyHuman}).Draw(t, "action"),
			})
		}
		def.States = append(def.States, s)
	}
	return def
}

// TestAnyDefinitionIsDrawn: for any definition, the three formats are
// well formed and no text of it is more than text.
func TestAnyDefinitionIsDrawn(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		d := Process(drawProcess(t))
		if rapid.IntRange(0, 4).Draw(t, "form") > 0 {
			d = Workflow(drawWorkflow(t))
		}
		for what, err := range map[string]error{
			"mermaid": checkMermaid(d.Mermaid()), "dot": checkDOT(d.DOT()), "svg": checkSVG(d.SVG()), "layout": checkLayout(d, d.layout()),
		} {
			if err != nil {
				t.Fatalf("%s: %v\n%s", what, err, d.Mermaid())
			}
		}
	})
}

// The lines that Mermaid's grammar has for us. Text holds no sign that it could
// read as anything but text, and no word that it reads in any place.
var (
	mermaidLines = regexp.MustCompile(`^ *(` + strings.Join([]string{
		`(\[\*\]|[a-z]\d+) --> (\[\*\]|[a-z]\d+)( : (TEXT))?`, `state "(TEXT)" as [a-z]\d+( \{)?`, `state [a-z]\d+ <<(fork|join|choice)>>`, `[a-z]\d+ : (TEXT)`,
		`\}`, `classDef [a-z]+ [a-z0-9#:, -]+`, `class [a-z]\d+(,[a-z]\d+)* [a-z]+`,
	}, "|") + `)$`)
	mermaidLabel = `(?:[\pL\pN\pM ,\[\]_-]|#\d+;)*`
)

func checkMermaid(text string) error {
	lines := regexp.MustCompile(strings.ReplaceAll(mermaidLines.String(), "TEXT", mermaidLabel))
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) < 4 || all[0] != "---" || all[2] != "---" || all[3] != "stateDiagram-v2" {
		return fmt.Errorf("begins with %q", all[:min(4, len(all))])
	}
	var title string
	if quoted, ok := strings.CutPrefix(all[1], "title: "); !ok || strings.ContainsAny(quoted, "<>&#;{}[]`%") || !unquotes(quoted, &title) {
		return fmt.Errorf("title %q", all[1])
	}
	open := 0
	declared, used := map[string]bool{"[*]": true}, map[string]bool{}
	for _, line := range all[4:] {
		m := lines.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("line %q", line)
		}
		words := strings.Fields(line)
		switch {
		case words[0] == "}":
			open--
		case words[0] == "state" && words[len(words)-1] == "{":
			open++
			declared[words[len(words)-2]] = true
		case words[0] == "state" && strings.HasPrefix(words[2], "<<"):
			declared[words[1]] = true
		case words[0] == "state":
			declared[words[len(words)-1]] = true
		case words[1] == "-->":
			used[words[0]], used[words[2]] = true, true
		case words[0] == "class":
			for id := range strings.SplitSeq(words[1], ",") {
				used[id] = true
			}
		}
		_, label, _ := strings.Cut(line, " : ")
		if lower := strings.ToLower(label); strings.Contains(lower, "direction") || strings.Contains(lower, "style") || strings.Contains(lower, "classdef") ||
			strings.Contains(label, "[[") || strings.Contains(label, "--") {
			return fmt.Errorf("Mermaid would read a word of %q", line)
		}
	}
	for id := range used {
		if !declared[id] {
			return fmt.Errorf("%s is not declared", id)
		}
	}
	if open != 0 {
		return fmt.Errorf("%d brackets are open", open)
	}
	return nil
}

// unquotes reads a YAML string of the escapes that we write, which are Go's too.
func unquotes(quoted string, text *string) bool {
	var err error
	*text, err = strconv.Unquote(quoted)
	return err == nil
}

// The tokens of Graphviz's language that we write, and its statements in them: i
// for an identifier or a string.
var (
	dotTokens     = regexp.MustCompile(`^(?:[ \n]+|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|"(?:[^"\\\n]|\\["\\n])*"|->|[{}\[\]=,])`)
	dotStatements = regexp.MustCompile(`^ii\{(i\[(i=i,?)*\]|i->i(\[(i=i,?)*\])?|ii\{|\})*\}$`)
)

func checkDOT(text string) error {
	var shape strings.Builder
	depth := 0
	for rest := text; rest != ""; {
		token := dotTokens.FindString(rest)
		if token == "" {
			return fmt.Errorf("no token at %.60q", rest)
		}
		rest = rest[len(token):]
		switch c := token[0]; {
		case c == ' ' || c == '\n':
		case strings.ContainsRune("{}[]=,-", rune(c)):
			shape.WriteString(token)
			depth += strings.Count(token, "{") - strings.Count(token, "}")
		default:
			if strings.ContainsFunc(token, func(c rune) bool { return !unicode.IsPrint(c) }) {
				return fmt.Errorf("%q holds what cannot be seen", token)
			}
			shape.WriteByte('i')
		}
	}
	if depth != 0 || !dotStatements.MatchString(shape.String()) {
		return fmt.Errorf("statements %s in\n%s", shape.String(), text)
	}
	return nil
}

// svgAttributes are the elements that we draw, with their attributes.
var svgAttributes = map[string][]string{
	"svg": {"xmlns", "class", "role", "width", "height", "viewBox"}, "title": nil, "style": nil, "g": {"class", "transform"}, "text": {"class", "x", "y"},
	"rect": {"class", "x", "y", "width", "height", "rx"}, "circle": {"class", "cx", "cy", "r"}, "path": {"class", "d"},
}

func checkSVG(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	var open []string
	for elements := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && elements > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements++
			open = append(open, token.Name.Local)
			allowed, known := svgAttributes[token.Name.Local]
			if !known {
				return fmt.Errorf("element %s", token.Name.Local)
			}
			for _, a := range token.Attr {
				if !slices.Contains(allowed, a.Name.Local) || a.Name.Local != "xmlns" && regexp.MustCompile(`[^A-Za-z0-9 ().-]`).MatchString(a.Value) {
					return fmt.Errorf("attribute %s=%q of %s", a.Name.Local, a.Value, token.Name.Local)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			inText := slices.ContainsFunc(open, func(e string) bool { return e == "text" || e == "title" || e == "style" })
			if !inText && strings.TrimSpace(string(token)) != "" {
				return fmt.Errorf("text %q in %v", token, open)
			}
		default:
			return fmt.Errorf("%T in the picture", token)
		}
	}
}

// area is a rectangle from its upper left to its lower right corner.
type area struct{ x, y, right, bottom int }

func (a area) meets(b area) bool {
	return a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom
}

func (a area) holds(b area) bool {
	return a.x <= b.x && b.right <= a.right && a.y <= b.y && b.bottom <= a.bottom
}

// checkLayout: all parts are in the picture, no two overlap, and
// branches contain their parts.
func checkLayout(d *Diagram, g *drawing) error {
	places := make(map[int]area)
	for _, b := range g.boxes {
		places[b.node] = area{b.x, b.y, b.x + b.w, b.y + b.h}
	}
	if len(places) != len(d.nodes) {
		return fmt.Errorf("%d of %d nodes are drawn", len(places), len(d.nodes))
	}
	picture := area{0, 0, g.width, g.height}
	var solid []area // nodes without content, and labels
	for i, place := range places {
		if !picture.holds(place) {
			return fmt.Errorf("%s is at %v, outside of %v", d.nodes[i].id, place, picture)
		}
		if up := d.nodes[i].parent; up != root && !places[up].holds(place) {
			return fmt.Errorf("%s at %v is not in its branch at %v", d.nodes[i].id, place, places[up])
		}
		for j, other := range places {
			if i != j && d.nodes[i].parent == d.nodes[j].parent && place.meets(other) {
				return fmt.Errorf("%s at %v lies on %s at %v", d.nodes[i].id, place, d.nodes[j].id, other)
			}
		}
		if d.nodes[i].kind != branch {
			solid = append(solid, place)
		}
	}
	for _, l := range g.labels {
		w, h := measureLabel(l.lines)
		place := area{l.at.x - w/2, l.at.y - h/2, l.at.x + w/2, l.at.y + h/2}
		if l.loop {
			place.x, place.right = l.at.x, l.at.x+w
		}
		if !picture.holds(place) {
			return fmt.Errorf("label %v is at %v, outside of %v", l.lines, place, picture)
		}
		for _, other := range solid {
			if place.meets(other) {
				return fmt.Errorf("label %v at %v lies on something at %v", l.lines, place, other)
			}
		}
		solid = append(solid, place)
	}
	return checkLines(d, g, places)
}

// checkLines: no line runs through a node. Curves stay between the layers, so
// the upright parts are all that could.
func checkLines(d *Diagram, g *drawing, places map[int]area) error {
	for _, l := range g.lines {
		for i := 1; i < len(l.points); i++ {
			a, b := l.points[i-1], l.points[i]
			if a.x != b.x {
				continue
			}
			path := area{a.x, min(a.y, b.y) + 1, a.x + 1, max(a.y, b.y) - 1}
			for n, place := range places {
				if d.nodes[n].kind != branch && path.meets(place) {
					return fmt.Errorf("a line at %v runs through %s at %v", path, d.nodes[n].id, place)
				}
			}
		}
	}
	return nil
}

// TestLargeDiagrams: many states cost no more than there is to see, and long
// lines that would cost too much say in words where they lead.
func TestLargeDiagrams(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		states, events int
		stubs          bool
	}{
		"200 in a row":            {200, 2, false},
		"500 in a row":            {500, 2, false},
		"500, each to 6 others":   {500, 8, true},
		"1000 events of 2 states": {2, 1000, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := Workflow(large(tt.states, tt.events))
			for format, err := range map[string]error{"mermaid": checkMermaid(d.Mermaid()), "dot": checkDOT(d.DOT()), "layout": checkLayout(d, d.layout())} {
				if err != nil {
					t.Errorf("%s: %v", format, err)
				}
			}
			svg := d.SVG()
			if err := checkSVG(svg); err != nil {
				t.Error(err)
			}
			if most := 1000 * tt.states * min(tt.events, 16); len(svg) > most {
				t.Errorf("%d bytes of SVG, more than %d", len(svg), most)
			}
			if stubs := strings.Contains(svg, ">→ s"); stubs != tt.stubs {
				t.Errorf("lines that end in words: %v, want %v", stubs, tt.stubs)
			}
		})
	}
}

// large makes a workflow whose states lead to the next one, to failed, and then
// to others far away.
func large(states, events int) *workflow.Definition {
	def := &workflow.Definition{ID: "large", Initial: "s0"}
	name := func(i int) string { return "s" + strconv.Itoa(i%states) }
	for i := range states {
		s := workflow.State{Name: name(i)}
		for k := range events {
			target := name(i*7 + k*13)
			switch k {
			case 0:
				target = name(i + 1)
			case 1:
				target = "failed"
			}
			s.On = append(s.On, workflow.Transition{Event: "E" + strconv.Itoa(k), Branches: []workflow.Branch{{Target: target}}})
		}
		def.States = append(def.States, s)
	}
	def.States = append(def.States, workflow.State{Name: "failed", Final: true, Outcome: workflow.Failure})
	return def
}

package document

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Place is where a problem stands in a text. Line and Column count from 1, the column in
// characters; Width is how many characters of the line to point at, at least 1. The zero
// Place is unknown.
type Place struct{ Line, Column, Width int }

// Places finds where the problems of a JSON or YAML text stand, in their order. A missing
// value has the place where the object that lacks it begins.
func Places(src []byte, isYAML bool, problems Problems) []Place {
	find := placesOfJSON
	if isYAML {
		find = placesOfYAML
	}
	found, broken := find(src)
	places := make([]Place, len(problems))
	for i, p := range problems {
		if p.Code == CodeJSONSyntax && p.Pointer == "" {
			places[i] = broken
			continue
		}
		places[i] = found.of(p)
	}
	return places
}

// spots are the places of a text by pointer.
type spots map[string]spot

// spot is where a value stands, and the key that it was first and last given by.
type spot struct {
	value, key, lastKey Place
	scalar              bool
}

// of returns where to look for the cause of a problem: at the key for problems with
// names, and where the value is too long to point at.
func (s spots) of(p Problem) Place {
	pointer, exact := p.Pointer, true
	at, ok := s[pointer]
	for !ok && pointer != "" {
		pointer, exact = pointer[:strings.LastIndexByte(pointer, '/')], false
		at, ok = s[pointer]
	}
	switch {
	case !ok:
		return Place{}
	case exact && p.Code == CodeDuplicateKey && at.lastKey.Line > 0:
		return at.lastKey
	case at.key.Line > 0 && (!at.scalar || exact && aboutKeys[p.Code]):
		return at.key
	default:
		return at.value
	}
}

var aboutKeys = map[Code]bool{
	CodeUnknownField: true, CodeUnknownHint: true, CodeReserved: true, CodeAliasConflict: true, CodeNoEffect: true,
}

// placesOfJSON reads as far as the text can be read, and says where that ends.
func placesOfJSON(src []byte) (found spots, broken Place) {
	found = spots{}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	lines := lineStarts(src)
	for {
		start := int(decoder.InputOffset())
		start += len(src[start:]) - len(bytes.TrimLeft(src[start:], " \t\r\n,:"))
		if len(found) > 0 && decoder.StackDepth() == 0 {
			return found, lines.place(src, start, 1) // text after the document
		}
		token, err := decoder.ReadToken()
		if err != nil {
			return found, lines.place(src, syntaxOffset(src, err), 1)
		}
		kind := token.Kind()
		if kind == '}' || kind == ']' {
			continue
		}
		here := lines.place(src, start, utf8.RuneCount(src[start:decoder.InputOffset()]))
		pointer := string(decoder.StackPointer())
		holder, n := decoder.StackIndex(decoder.StackDepth())
		at := found[pointer]
		if kind == '"' && holder == '{' && n%2 == 1 {
			at.named(here)
		} else if at.value.Line == 0 {
			at.value, at.scalar = here, kind != '{' && kind != '['
		}
		found[pointer] = at
	}
}

// named takes over the place of a key.
func (s *spot) named(here Place) {
	s.lastKey = here
	if s.key.Line == 0 {
		s.key = here
	}
}

// lines are the offsets at which the lines of a text begin. It remembers the last place, because
// a text of one line is asked for many, one after the other.
type lines struct {
	starts       []int
	line, offset int
	column       int
}

func lineStarts(src []byte) *lines {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return &lines{starts: starts, line: 1, column: 1}
}

// place returns the place of an offset, which spans width characters.
func (l *lines) place(src []byte, offset, width int) Place {
	line := sort.SearchInts(l.starts, offset+1)
	if line != l.line || offset < l.offset {
		l.line, l.offset, l.column = line, l.starts[line-1], 1
	}
	l.column += utf8.RuneCount(src[l.offset:offset])
	l.offset = offset
	return Place{Line: line, Column: l.column, Width: max(width, 1)}
}

// placesOfYAML reads the nodes of a text, and says in which line it cannot be read.
func placesOfYAML(src []byte) (found spots, broken Place) {
	found = spots{}
	root, err := decodeYAML(src)
	if err != nil {
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			broken.Line, _ = strconv.Atoi(m[1])
			broken.Column, broken.Width = 1, 1
		}
		return found, broken
	}
	found.addYAML(root, nil, 0)
	return found, broken
}

// addYAML does not follow aliases: problems of their values are shown where they are used.
func (s spots) addYAML(n *yaml.Node, at *Path, depth int) {
	if depth > DefaultDepth || len(s) > maxYAMLNodes {
		return
	}
	pointer := at.String()
	here := s[pointer]
	if here.value.Line == 0 {
		here.value, here.scalar = Place{n.Line, n.Column, max(utf8.RuneCountInString(n.Value), 1)}, n.Kind == yaml.ScalarNode
		s[pointer] = here
	}
	switch n.Kind {
	case yaml.DocumentNode:
		s.addYAML(n.Content[0], at, depth)
	case yaml.SequenceNode:
		for i, child := range n.Content {
			s.addYAML(child, at.At(i), depth+1)
		}
	case yaml.MappingNode:
		for pair := range slices.Chunk(n.Content, 2) {
			child := at.Key(pair[0].Value)
			member := s[child.String()]
			member.named(Place{pair[0].Line, pair[0].Column, max(utf8.RuneCountInString(pair[0].Value), 1)})
			s[child.String()] = member
			s.addYAML(pair[1], child, depth+1)
		}
	}
}

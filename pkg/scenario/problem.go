package scenario

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/interlock-run/interlock/pkg/document"
)

// Problem is one thing that is wrong with a scenario file, or with a file that it
// names.
type Problem struct {
	document.Problem
	File string
	// Line is where it is in the file, from 1; 0 when it is not known.
	Line int
}

// String returns the one line that a person reads.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return place + ": " + p.Problem.String()
}

// lines finds the lines of a text in YAML, of which JSON is a part.
type lines struct{ root *yaml.Node }

// newLines reads a text that has been read as a document before, so that its size
// and depth are bounded.
func newLines(src []byte) lines {
	var root yaml.Node
	if err := yaml.Unmarshal(src, &root); err != nil || len(root.Content) == 0 {
		return lines{}
	}
	return lines{root.Content[0]}
}

// of returns the line of the value that a pointer names, or of the nearest thing around
// it; 0 when that is not known.
func (l lines) of(pointer string) int {
	node := l.root
	if node == nil {
		return 0
	}
	line := node.Line
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name, _ := document.UnescapeSegment(segment)
		key, value := child(node, name)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return line
}

// child returns a member or an element of a node, and where it begins.
func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		for i, e := range node.Content {
			if fmt.Sprint(i) == name {
				return e, e
			}
		}
	}
	return nil, nil
}

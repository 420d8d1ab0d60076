package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxYAMLNodes and maxYAMLBytes bound the expansion of aliases in a YAML text.
const (
	maxYAMLNodes = 200_000
	maxYAMLBytes = 2 * DefaultBytes
)

// FromYAML reads one YAML document as the JSON document that it stands for,
// with the limits and problems of ParseAll (S1.1). It takes the part of YAML
// that means one thing only: keys are strings, numbers are written as in JSON,
// and values are those of JSON; dates stay strings. Anchors and aliases are
// followed, merge keys (<<) are refused.
func FromYAML(src []byte) (Value, Problems) {
	limits := Limits{}.withDefaults()
	var y yamlReader
	switch {
	case len(src) > limits.Bytes:
		y.report.Errorf(nil, CodeTooLarge, "the text has %d bytes, the limit is %d; make it smaller", len(src), limits.Bytes)
		return Value{}, y.report.Problems()
	case tooDeepForYAML(src):
		y.report.Errorf(nil, CodeTooDeep, "lists and maps nest more than %d levels deep; flatten them", limits.Depth)
		return Value{}, y.report.Problems()
	}
	root, err := decodeYAML(src)
	if err != nil {
		code := CodeJSONSyntax
		if strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "control characters") {
			code = CodeUTF8
		}
		message := strings.TrimPrefix(err.Error(), "yaml: ")
		if strings.HasSuffix(message, "found character that cannot start any token") {
			message += "; YAML takes no tabs before a key: write spaces, and put a value that begins with @ or ` in quotes"
		}
		y.report.Errorf(nil, code, "%s", message)
		return Value{}, y.report.Problems()
	}
	v, ok := y.value(root, nil, 0)
	if !ok {
		v = Value{}
	}
	return v, y.report.Problems()
}

func decodeYAML(src []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var root, more yaml.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the text is empty; write a document")
		}
		return nil, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("there is more than one document; split the file")
		}
		return nil, err
	}
	return &root, nil
}

// tooDeepForYAML finds nesting that would cost the YAML reader too much, before
// it reads: it errs on the side of reading, the tree is measured afterwards.
func tooDeepForYAML(src []byte) bool {
	const most = 1000
	depth := 0
	for line := range bytes.Lines(src) {
		blocks := 0
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			case '-', '?', ':':
				blocks++
			case ' ', '\t':
			default:
				blocks = 0
			}
			if depth > most || blocks > most {
				return true
			}
		}
	}
	return false
}

type yamlReader struct {
	report Report
	nodes  int
	bytes  int // of scalars, each time they are met
	full   bool
}

// value turns a node into a Value. It returns false when reading on makes no
// sense.
func (y *yamlReader) value(n *yaml.Node, at *Path, depth int) (Value, bool) {
	y.nodes++
	y.bytes += len(n.Value)
	if y.nodes > maxYAMLNodes || y.bytes > maxYAMLBytes {
		if !y.full {
			y.full = true
			y.report.Errorf(nil, CodeTooLarge, "aliases expand to more than %d values or %d bytes; use fewer aliases", maxYAMLNodes, maxYAMLBytes)
		}
		return Value{}, false
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0], at, depth)
	case yaml.AliasNode:
		return y.value(n.Alias, at, depth)
	case yaml.ScalarNode:
		return y.scalar(n, at), true
	}
	if depth >= DefaultDepth {
		y.report.Errorf(nil, CodeTooDeep, "lists and maps nest more than %d levels deep; flatten them (line %d)", DefaultDepth, n.Line)
		return Value{}, false
	}
	if tag := n.ShortTag(); tag != "!!map" && tag != "!!seq" {
		y.report.Errorf(at, CodeType, "line %d: the tag %s is not JSON; remove it", n.Line, Quote(tag))
		return NullValue(), true
	}
	if n.Kind == yaml.SequenceNode {
		return y.sequence(n, at, depth+1)
	}
	return y.mapping(n, at, depth+1)
}

func (y *yamlReader) sequence(n *yaml.Node, at *Path, depth int) (Value, bool) {
	elements := make([]Value, 0, len(n.Content))
	for i, child := range n.Content {
		v, ok := y.value(child, at.At(i), depth)
		if !ok {
			return Value{}, false
		}
		elements = append(elements, v)
	}
	return ArrayValue(elements), true
}

func (y *yamlReader) mapping(n *yaml.Node, at *Path, depth int) (Value, bool) {
	members := make([]Member, 0, len(n.Content)/2)
	seen := make(map[string]bool, len(n.Content)/2)
	for pair := range slices.Chunk(n.Content, 2) {
		key, child := pair[0], pair[1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		here := at.Key(key.Value)
		if key.Kind != yaml.ScalarNode || !isText(key) {
			y.report.Errorf(here, CodeType, "line %d: a key must be a string; put it in quotes", key.Line)
		}
		v, ok := y.value(child, here, depth)
		if !ok {
			return Value{}, false
		}
		if seen[key.Value] {
			y.report.Errorf(here, CodeDuplicateKey, "line %d: the key %s is written more than once; keep one", key.Line, Quote(key.Value))
			continue
		}
		seen[key.Value] = true
		members = append(members, Member{key.Value, v})
	}
	return ObjectValue(members), true
}

// isText reports whether a scalar is a string: quoted, tagged so, or plain and
// nothing else. Dates are strings, as JSON has none.
func isText(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return true
	default:
		return false
	}
}

func (y *yamlReader) scalar(n *yaml.Node, at *Path) Value {
	switch tag := n.ShortTag(); {
	case n.Style == 0 && isNumber(n.Value): // also those beyond what YAML reads as one
		return y.number(n, at)
	case isText(n):
		return StringValue(strings.ToValidUTF8(n.Value, "\ufffd"))
	case tag == "!!null":
		return NullValue()
	case tag == "!!bool":
		switch strings.ToLower(n.Value) {
		case "true":
			return BoolValue(true)
		case "false":
			return BoolValue(false)
		}
		y.report.Errorf(at, CodeType, "line %d: %s is not true or false; write one of them, or a string in quotes", n.Line, Quote(n.Value))
		return NullValue()
	case tag == "!!int" || tag == "!!float":
		return y.number(n, at)
	default:
		y.report.Errorf(at, CodeType, "line %d: a %s is not JSON; write a string in quotes", n.Line, Quote(tag))
		return NullValue()
	}
}

func (y *yamlReader) number(n *yaml.Node, at *Path) Value {
	if v := NumberValue(n.Value); !v.IsZero() {
		return v
	}
	problem := "is not written as a JSON number; write it in plain decimal, or a string in quotes"
	if isNumber(n.Value) {
		problem = numberProblem(n.Value)
	}
	y.report.Errorf(at, CodeNumber, "%s", fmt.Sprintf("line %d: %s %s", n.Line, shorten(n.Value), problem))
	return NumberValue("0")
}

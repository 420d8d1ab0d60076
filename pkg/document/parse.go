package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound a document. Zero fields mean the defaults of S1.1.
type Limits struct {
	// Bytes is the longest text, 1 MiB by default.
	Bytes int
	// Depth is how many arrays and objects may hold one another, 64 by default.
	Depth int
}

// Defaults of Limits.
const (
	DefaultBytes = 1 << 20
	DefaultDepth = 64
)

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	return l
}

// Parse reads one JSON text strictly and returns its value, or the first
// problem: see ParseAll.
func Parse(src []byte, limits Limits) (Value, *Problem) {
	v, problems := ParseAll(src, limits)
	if len(problems) > 0 {
		return Value{}, &problems[0]
	}
	return v, nil
}

// ParseAll reads one JSON text (RFC 8259) and reports every problem that it
// can: invalid UTF-8 (UTF8), keys repeated after unescaping (DUPLICATE_KEY),
// numbers beyond a finite float64 (NUMBER), bad syntax or anything after the
// value (JSON_SYNTAX), too much nesting (TOO_DEEP) or text (TOO_LARGE).
//
// The value is there, with the first of repeated keys, as long as the text
// could be read to its end, so that a caller can look for further problems. It
// must not be used otherwise while there are any.
func ParseAll(src []byte, limits Limits) (Value, Problems) {
	limits = limits.withDefaults()
	if len(src) > limits.Bytes {
		return Value{}, Problems{{Code: CodeTooLarge, Severity: SeverityError, Message: fmt.Sprintf(
			"the text has %d bytes, the limit is %d; make it smaller", len(src), limits.Bytes)}}
	}
	p := parser{limits: limits}
	v, err := p.document(src)
	if err != nil && !errors.Is(err, errTooDeep) {
		// Once more, reading over bad text, to say whether that is all.
		strictErr := err
		p = parser{limits: limits, lenient: true}
		if v, err = p.document(src); err == nil && !p.report.HasErrors() {
			err = strictErr
		}
	}
	if err != nil {
		if !errors.Is(err, errTooDeep) {
			p.report.Errorf(nil, CodeJSONSyntax, "%s", syntaxMessage(src, err))
		}
		return Value{}, p.report.Problems()
	}
	return v, p.report.Problems()
}

var errTooDeep = errors.New("nesting is too deep")

// parser builds a tree from tokens. It recurses at most Limits.Depth deep.
type parser struct {
	limits  Limits
	lenient bool // reads over invalid UTF-8 and reports it
	decoder *jsontext.Decoder
	report  Report
	path    []Path // where we are, from the top; nodes without their up
}

// here returns where we are. It is only built for a problem.
func (p *parser) here() *Path {
	var at *Path
	for _, node := range p.path {
		at = &Path{up: at, name: node.name, index: node.index}
	}
	return at
}

func (p *parser) document(src []byte) (Value, error) {
	p.decoder = jsontext.NewDecoder(bytes.NewBuffer(src),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(p.lenient))
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errTrailing
		}
		return Value{}, err
	}
	return v, nil
}

func (p *parser) value(depth int) (Value, error) {
	if p.decoder.PeekKind() == '"' {
		s, err := p.string()
		return StringValue(s), err
	}
	token, err := p.decoder.ReadToken()
	if err != nil {
		return Value{}, err
	}
	switch token.Kind() {
	case 'n':
		return NullValue(), nil
	case 't', 'f':
		return BoolValue(token.Bool()), nil
	case '0':
		text := token.String()
		if problem := numberProblem(text); problem != "" {
			p.report.Errorf(p.here(), CodeNumber, "%s %s", shorten(text), problem)
		}
		return Value{kind: Number, text: text}, nil
	}
	if depth == p.limits.Depth {
		p.tooDeep()
		return Value{}, errTooDeep
	}
	if token.Kind() == '[' {
		return p.array(depth + 1)
	}
	return p.object(depth + 1)
}

// tooDeep reports the document, and the part of it to look at.
func (p *parser) tooDeep() {
	p.report.Errorf(nil, CodeTooDeep, "lists and objects nest more than %d levels deep; flatten them", p.limits.Depth)
	if len(p.path) > 0 {
		p.path = p.path[:1]
		p.report.Errorf(p.here(), CodeTooDeep, "nests more than %d levels deep; flatten it", p.limits.Depth)
	}
}

func (p *parser) array(depth int) (Value, error) {
	var elements []Value
	for p.decoder.PeekKind() != ']' {
		p.path = append(p.path, Path{index: len(elements)})
		v, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.path = p.path[:len(p.path)-1]
		elements = append(elements, v)
	}
	if _, err := p.decoder.ReadToken(); err != nil {
		return Value{}, err
	}
	return ArrayValue(elements), nil
}

func (p *parser) object(depth int) (Value, error) {
	var members []Member
	var seen map[string]bool
	for p.decoder.PeekKind() != '}' {
		name, err := p.string()
		if err != nil {
			return Value{}, err
		}
		p.path = append(p.path, Path{name: name, index: -1})
		v, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		if len(members) == indexFrom {
			seen = namesOf(members)
		}
		repeated := seen[name] || seen == nil && place(members, name) >= 0
		if repeated {
			p.report.Errorf(p.here(), CodeDuplicateKey, "the key %q is written more than once; keep one", shorten(name))
		}
		p.path = p.path[:len(p.path)-1]
		if repeated {
			continue
		}
		if seen != nil {
			seen[name] = true
		}
		members = append(members, Member{name, v})
	}
	if _, err := p.decoder.ReadToken(); err != nil {
		return Value{}, err
	}
	return ObjectValue(members), nil
}

func namesOf(members []Member) map[string]bool {
	names := make(map[string]bool, 2*len(members))
	for _, m := range members {
		names[m.Name] = true
	}
	return names
}

func (p *parser) string() (string, error) {
	if !p.lenient {
		token, err := p.decoder.ReadToken()
		if err != nil {
			return "", err
		}
		if token.Kind() != '"' {
			return "", errors.New("a key must be a string")
		}
		return token.String(), nil
	}
	raw, err := p.decoder.ReadValue()
	if err != nil {
		return "", err
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		p.report.Errorf(p.here(), CodeUTF8, "is not valid UTF-8, or has half of a surrogate pair; write the characters as UTF-8")
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	return string(text), nil
}

// shorten keeps a text that came from outside small and printable in a message.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

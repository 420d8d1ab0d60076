package document

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the regular expressions of a schema. Matching one takes time for
// every character of the text times its size, and `x{1000}` is one thousand
// steps of size.
const (
	maxPatternText = 8 << 10
	maxPatternSize = 10_000
	maxPatternsSum = 100_000 // sizes of all patterns of one schema
)

// pattern is a regular expression and its size.
type pattern struct {
	*regexp.Regexp
	size int
}

// patternEngine compiles the regular expressions of one schema (RE2: no
// look-around, no back references).
type patternEngine struct {
	known  map[string]*pattern
	spent  int
	sealed bool
}

func newPatternEngine() *patternEngine { return &patternEngine{known: map[string]*pattern{}} }

// seal ends the compilation. From then on the engine is asked only whether a
// text of a document is a regular expression (format "regex"), by many at a
// time.
func (e *patternEngine) seal() { e.known, e.sealed = nil, true }

func (e *patternEngine) compilePattern(text string) (jsonschema.Regexp, error) {
	if e.sealed {
		return nil, checkPattern(text)
	}
	if p, ok := e.known[text]; ok {
		return p, nil
	}
	if e.spent > maxPatternsSum {
		return nil, fmt.Errorf("the patterns of the schema are larger than %d steps together; make them simpler", maxPatternsSum)
	}
	size, err := patternSize(text)
	e.spent += 1 + size + len(text)/64
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &pattern{compiled, size}
	e.known[text] = p
	return p, nil
}

func checkPattern(text string) error {
	_, err := patternSize(text)
	return err
}

// patternSize describes how many steps a pattern has, without taking them.
func patternSize(text string) (int, error) {
	if len(text) > maxPatternText {
		return 0, fmt.Errorf("it is longer than %d bytes; make it shorter", maxPatternText)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	if size := programSize(parsed); size <= maxPatternSize {
		return size, nil
	}
	return maxPatternSize, errors.New("its counted repetitions make it too large; use smaller counts, or maxLength")
}

// programSize bounds the instructions that a regular expression compiles to.
// The parser refuses repetitions that multiply to more than 1000.
func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		size = 1
	}
	for _, sub := range re.Sub {
		size += 1 + programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max)
	}
	return size
}

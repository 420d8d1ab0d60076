package shell

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of a line (R1). Lines beyond them are refused, never skipped.
const (
	// MaxBytes is the longest line.
	MaxBytes = 64 << 10
	// maxNesting is how deep commands, substitutions and expressions may hold one
	// another, the scripts in the line included.
	maxNesting = 100
	// maxWraps is how many programs may run one another: env nice timeout ...
	maxWraps = 10
	// maxCommands is how many simple commands a line may hold.
	maxCommands = 4096
	// maxScripts is how many bytes of scripts inside the line are read, counted
	// again at each level.
	maxScripts = 4 * MaxBytes
)

var (
	errTooLong     = fmt.Errorf("the line is longer than %d KiB; run it in parts", MaxBytes>>10)
	errTooDeep     = fmt.Errorf("the line is nested deeper than %d levels; make it simpler", maxNesting)
	errTooMany     = fmt.Errorf("the line has more than %d commands; run it in parts", maxCommands)
	errScripts     = errors.New("the line has too many scripts inside scripts; make it simpler")
	errEncoding    = errors.New("the line is not valid UTF-8")
	errContinued   = errors.New("the line is continued by a backslash in the middle of an operator; put a space before the backslash")
	errComment     = errors.New("a comment ends in a backslash, which does not continue it; remove the backslash")
	errUnsupported = errors.New("the line could not be parsed; make it simpler")
)

// checkText refuses text that bash and the parser read differently, and text that a
// reader of the line does not see.
func checkText(line string) error {
	switch {
	case len(line) > MaxBytes:
		return errTooLong
	case !utf8.ValidString(line):
		return errEncoding
	}
	plain := true
	for i := 0; i < len(line); i++ {
		if c := line[i]; c < ' ' && c != '\t' && c != '\n' || c >= 0x7f {
			plain = false
		}
	}
	if plain {
		return nil
	}
	return checkRunes(line)
}

func checkRunes(line string) error {
	if at := strings.IndexFunc(line, unseen); at >= 0 {
		c, _ := utf8.DecodeRuneInString(line[at:])
		return fmt.Errorf("the line has the character %U, which is invisible or means different things to different programs; remove it", c)
	}
	return nil
}

// unseen reports control characters other than tab and newline, and format characters:
// bidi, zero width, separators, fillers.
func unseen(c rune) bool {
	switch c {
	case '\t', '\n':
		return false
	case '\u115f', '\u1160', '\u2800', '\u3164', '\uffa0', '\u034f', '\u17b4', '\u17b5', utf8.RuneError:
		return true
	}
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// dialect is the grammar that a script is read by.
type dialect = syntax.LangVariant

const (
	bash  = syntax.LangBash
	posix = syntax.LangPOSIX
)

var parsers = sync.Pool{New: func() any { return syntax.NewParser() }}

// readScript reads a script. The error reports where it stops making sense.
func (p flowReader) readScript(script string, d dialect) (file *syntax.File, err error) {
	defer func() {
		if recover() != nil { // the parser panics on states that it takes for impossible
			p.parser = syntax.NewParser()
			file, err = nil, errUnsupported
		}
	}()
	syntax.Variant(d)(p.parser)
	file, err = p.parser.Parse(&shallow{text: script}, "")
	if err == nil && continuesComment(script, file) {
		return nil, errComment
	}
	if err == nil && continuesOperator(script, file) {
		return nil, errContinued
	}
	return file, sayParse(err)
}

// expression reads an arithmetic expression.
func (p flowReader) expression(text string) (x syntax.ArithmExpr, err error) {
	defer func() {
		if recover() != nil {
			p.parser = syntax.NewParser()
			x, err = nil, errUnsupported
		}
	}()
	syntax.Variant(bash)(p.parser)
	return p.parser.Arithmetic(&shallow{text: text})
}

func sayParse(err error) error {
	var parse syntax.ParseError
	switch {
	case err == nil || errors.Is(err, errTooDeep):
		return err
	case errors.As(err, &parse):
		return fmt.Errorf("the line does not parse (%s: %s); write plain bash", parse.Pos, shorten(parse.Text))
	default:
		return fmt.Errorf("the line does not parse (%s); write plain bash", shorten(err.Error()))
	}
}

// shorten cuts a text that may repeat the line.
func shorten(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// shallow gives the parser its text in pieces, and stops it when it has recursed too deep
// for any text within the bounds: the stack of 64 KiB of parentheses takes seconds to
// grow, and the text alone does not show the depth of a parser.
type shallow struct {
	text string
	at   int
}

const (
	piece = 1 << 10 // as much as the parser asks for
	// mostFrames is more than maxNesting levels of the costliest construct, an
	// arithmetic expression, need.
	mostFrames = 4096
)

func (s *shallow) Read(into []byte) (int, error) {
	if s.at >= piece {
		var pc [1]uintptr
		if runtime.Callers(mostFrames, pc[:]) > 0 {
			return 0, errTooDeep
		}
	}
	if s.at == len(s.text) {
		return 0, io.EOF
	}
	n := copy(into, s.text[s.at:])
	s.at += n
	return n, nil
}

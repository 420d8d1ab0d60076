package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
)

// syntaxProblem finds where a text stops being JSON, and says how to fix it.
func syntaxProblem(src []byte) (document.Problem, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(src), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err := d.SkipValue()
	offset := len(src)
	var syntax *jsontext.SyntacticError
	switch rest := bytes.TrimSpace(src[min(int(d.InputOffset()), len(src)):]); {
	case err == nil && len(rest) == 0, len(bytes.TrimSpace(src)) == 0:
		return document.Problem{}, false
	case err == nil:
		offset = bytes.LastIndex(src, rest)
		err = errors.New("the document has ended before this; remove it")
	case errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) && int(syntax.ByteOffset) < len(src):
		offset = int(syntax.ByteOffset)
		err = fmt.Errorf("%w; %s", syntax.Err, syntaxMend(src[offset:], syntax.Err.Error()))
	default:
		err = errors.New("the text ends before the document does; close the quotes and brackets that are open")
	}
	before := src[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return document.Problem{
		Code: document.CodeJSONSyntax, Severity: document.SeverityError,
		Message: fmt.Sprintf("line %d, column %d: %v", line, column, err),
	}, true
}

func syntaxMend(at []byte, message string) string {
	switch c, _ := utf8.DecodeRune(at); {
	case strings.Contains(message, "in string"):
		return `write \n for a line's end, \t for a tab and \\ for a backslash, or close the quotes before it`
	case c == '/' || c == '#':
		return "JSON has no comments: remove it"
	case c == '\'' || c == '`' || c == '“' || c == '”':
		return "write double quotes"
	case c == '\ufeff':
		return "save it as UTF-8 without a byte order mark"
	case c == ',':
		return "remove the comma: there is no value on one of its sides"
	case c == ']' || c == '}':
		return "close what was opened last, or complete what is before it"
	case strings.Contains(message, "expecting ','"):
		return "put a comma before it"
	case strings.Contains(message, "expecting ':'"):
		return "put a colon before it"
	default:
		return "write a value: text and names in double quotes, a plain decimal number, true, false or null"
	}
}

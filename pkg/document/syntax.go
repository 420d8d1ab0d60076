package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var errTrailing = errors.New("there is text after the end of the document; remove it")

// syntaxMessage describes where the text stops being JSON, and how to mend that.
func syntaxMessage(src []byte, err error) string {
	switch {
	case len(bytes.TrimSpace(src)) == 0:
		return "the text is empty; write a JSON document"
	case bytes.HasPrefix(src, []byte("\xef\xbb\xbf")):
		return "the text begins with a byte order mark; save it as UTF-8 without one"
	case LooksLikeYAML(src):
		return "this looks like YAML, and JSON is wanted; name the file .yaml, or send it as application/yaml"
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "the text ends before the document does; is a bracket or quote missing?"
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err.Error()
	}
	offset := syntaxOffset(src, err)
	line := 1 + bytes.Count(src[:offset], []byte("\n"))
	column := 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:offset], '\n')+1:offset])
	return fmt.Sprintf("line %d, column %d: %s", line, column, mend(src[offset:], syntax.Err))
}

// syntaxOffset returns where a text stops being JSON.
func syntaxOffset(src []byte, err error) int {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return min(int(syntax.ByteOffset), len(src))
	}
	return len(bytes.TrimRight(src, " \t\r\n"))
}

// foreignWords are values of other languages, and how JSON writes them.
var foreignWords = map[string]string{
	"True": "true", "False": "false", "None": "null", "undefined": "null", "nil": "null",
	"NaN": "a number", "Infinity": "a number", "yes": "true", "no": "false",
}

// Each is compiled when it is first needed: most programs never need them.
var (
	commaBefore = lazily(`^,\s*[}\]]`)
	bareWord    = lazily(`^[\pL_$][\pL\pN_$-]*`)
	bareKey     = lazily(`^[\pL_$][\pL\pN_$-]*\s*:`)
	yamlStart   = lazily(`^(?:---\s|%YAML|[\pL_$"'][^\n{}\[\]]*:(?:\s|$)|- \S)`)
	yamlLine    = lazily(`\bline (\d+)`)
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// mend describes the problem with a text that stops being JSON, and how to mend it: it
// knows the habits of people who use other languages.
func mend(at []byte, err error) string {
	message := "bad syntax"
	if err != nil {
		message = err.Error()
	}
	first, _ := utf8.DecodeRune(at)
	word := string(bareWord().Find(at))
	switch {
	case strings.Contains(message, "in string"):
		return message + `; write \n for a line's end, \t for a tab and \\ for a backslash, or close the quotes before it`
	case commaBefore().Match(at):
		return "no comma may stand before the closing bracket; remove it"
	case first == ',':
		return "a value is missing on one side of this comma; remove the comma"
	case first == '/' || first == '#':
		return `JSON has no comments; remove it, write it as a "$comment" or "description", or write the file as YAML`
	case strings.ContainsRune("'`“”‘’", first):
		return `JSON has plain double quotes only; write "..."`
	case bareKey().Match(at):
		return "put the key " + Quote(word) + " in double quotes"
	case foreignWords[word] != "":
		return "JSON has no " + word + "; write " + foreignWords[word]
	case strings.Contains(message, "expecting ','") && first != ']' && first != '}':
		return "a comma is missing before this"
	case strings.Contains(message, "expecting ':'"):
		return "a colon is missing before this"
	case first == ']' || first == '}':
		return message + "; close the last object or array, or complete the text before it"
	default:
		return message + "; write a value: text and names in double quotes, a plain decimal number, true, false or null"
	}
}

// LooksLikeYAML is whether a text begins as YAML does and no JSON: a key without a
// bracket before it, a list with dashes, or the mark of a document.
func LooksLikeYAML(src []byte) bool {
	for line := range bytes.Lines(src) {
		line = bytes.TrimRight(line, "\r\n")
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return yamlStart().Match(line)
		}
	}
	return false
}

package show

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// toYAML writes JSON as block YAML that means the same to every reader of YAML: ambiguous
// text is quoted.
func toYAML(text []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	var b bytes.Buffer
	if err := yamlValue(d, &b, 0, true); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimPrefix(b.Bytes(), []byte("\n")), nil
}

// yamlValue writes the next value after the place where the cursor stands: after
// a name, or (inline) after the dash of a list or at the start.
func yamlValue(d *jsontext.Decoder, b *bytes.Buffer, depth int, inline bool) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		return yamlMembers(d, b, depth, inline)
	case '[':
		return yamlElements(d, b, depth, inline)
	case '"':
		b.WriteString(" " + yamlText(token.String()) + "\n")
	default:
		b.WriteString(" " + token.String() + "\n") // the number as it was written
	}
	return nil
}

func yamlMembers(d *jsontext.Decoder, b *bytes.Buffer, depth int, inline bool) error {
	first := true
	for ; d.PeekKind() == '"'; first = false {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		yamlBegin(b, depth, first, inline)
		b.WriteString(yamlText(name.String()) + ":")
		if err := yamlValue(d, b, depth+1, false); err != nil {
			return err
		}
	}
	if first {
		b.WriteString(" {}\n")
	}
	_, err := d.ReadToken()
	return err
}

func yamlElements(d *jsontext.Decoder, b *bytes.Buffer, depth int, inline bool) error {
	first := true
	if !inline {
		depth-- // a list in an object need not be indented
	}
	for ; d.PeekKind() != ']' && d.PeekKind() != 0; first = false {
		yamlBegin(b, depth, first, inline)
		b.WriteString("-")
		if err := yamlValue(d, b, depth+1, true); err != nil {
			return err
		}
	}
	if first {
		b.WriteString(" []\n")
	}
	_, err := d.ReadToken()
	return err
}

// yamlBegin goes to where a member or an element begins.
func yamlBegin(b *bytes.Buffer, depth int, first, inline bool) {
	switch {
	case first && inline && b.Len() > 0:
		b.WriteString(" ") // after the dash
		return
	case first && !inline:
		b.WriteString("\n")
	}
	b.WriteString(strings.Repeat("  ", depth))
}

var (
	// plainText needs no quotes, unless it is one of the words.
	plainText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./>,()|+-]*( [A-Za-z0-9_./>(|+-][A-Za-z0-9_./>,()|+-]*)*$`)
	})
	otherWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null|nan|inf)$`)
	})
	unprinted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[\x{7f}-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]`)
	})
)

func yamlText(text string) string {
	if plainText().MatchString(text) && !otherWords().MatchString(text) {
		return text
	}
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil { // not UTF-8: replaced
		quoted, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	}
	return unprinted().ReplaceAllStringFunc(string(quoted), func(s string) string {
		return fmt.Sprintf(`\u%04x`, []rune(s)[0])
	})
}

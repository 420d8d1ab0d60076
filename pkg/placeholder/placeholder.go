// Package placeholder fills in the references of instructions, prompts and questions:
// values of components, of the shared state, and of a run's context (S15.2).
//
// It is pure: a function gives the value of a reference. A value must never be read as
// text of the author's: it stands between marks that it cannot write itself, and is not
// looked through for further references.
package placeholder

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
)

// Kind is where a value comes from.
type Kind string

// The kinds.
const (
	Component Kind = "component" // {{component.slug.key}}
	State     Kind = "state"     // {{state./pointer}}
	Context   Kind = "context"   // {{context.key}}
)

// Reference is the text between double braces.
type Reference struct {
	Kind Kind
	// Slug of a component.
	Slug string
	// Name is a key or, of a state, a JSON Pointer.
	Name string
}

// String returns the reference as it is written.
func (r Reference) String() string {
	if r.Kind == Component {
		return string(r.Kind) + "." + r.Slug + "." + r.Name
	}
	return string(r.Kind) + "." + r.Name
}

const (
	// maxValue is the longest value that is shown whole, in bytes of JSON.
	maxValue = 2 << 10
	// maxReferences is how many are filled in; those that follow are left as they are.
	maxReferences = 64
)

var pattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*(?:component\.([a-z0-9-]{1,128})\.([^{}\s]{1,256})|state\.(/[^{}\s]{0,999})|context\.([^{}\s]{1,256}))\s*\}\}`)
})

// Has reports that a text may have references. It is cheap.
func Has(text string) bool { return strings.Contains(text, "{{") }

func reference(match []string) Reference {
	switch {
	case match[1] != "":
		return Reference{Kind: Component, Slug: match[1], Name: match[2]}
	case match[3] != "":
		return Reference{Kind: State, Name: match[3]}
	default:
		return Reference{Kind: Context, Name: match[4]}
	}
}

// References returns those of a text, each once, in order.
func References(text string) []Reference {
	if !Has(text) {
		return nil
	}
	var all []Reference
	seen := map[Reference]bool{}
	for _, match := range pattern().FindAllStringSubmatch(text, maxReferences) {
		if r := reference(match); !seen[r] {
			seen[r] = true
			all = append(all, r)
		}
	}
	return all
}

// Fill puts values in the places of references: found is false for a missing value.
func Fill(text string, value func(Reference) (v document.Value, found bool)) string {
	if !Has(text) {
		return text
	}
	filled := 0
	return pattern().ReplaceAllStringFunc(text, func(whole string) string {
		if filled++; filled > maxReferences {
			return whole
		}
		r := reference(pattern().FindStringSubmatch(whole))
		v, found := value(r)
		return show(r, v, found)
	})
}

// Lookup finds a key of an object: the key itself, or else a path of keys that dots part.
func Lookup(object document.Value, name string) (document.Value, bool) {
	if strings.HasPrefix(name, "/") {
		return document.Lookup(object, name)
	}
	if v, found := object.Get(name); found {
		return v, true
	}
	return document.Lookup(object, document.Pointer(strings.Split(name, ".")...))
}

// show writes a value between marks. JSON without angle brackets cannot end them.
func show(r Reference, v document.Value, found bool) string {
	name := escape(r.String())
	if !found || v.IsZero() {
		return fmt.Sprintf(`<data of="%s" missing/>`, name)
	}
	text, note := escape(string(v.AppendJSON(nil))), ""
	if len(text) > maxValue {
		note = fmt.Sprintf(` cut="%d of %d bytes"`, maxValue, len(text))
		text = strings.ToValidUTF8(text[:maxValue], "")
	}
	return fmt.Sprintf(`<data of="%s"%s>%s</data>`, name, note, text)
}

// escape writes text that could end the marks, and invisible characters, as JSON escapes
// do.
func escape(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '<' || c == '>' || c == '&' || !unicode.IsPrint(c) && c <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, c)
		case !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(c-0x10000)>>10, 0xdc00+(c-0x10000)&0x3ff)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

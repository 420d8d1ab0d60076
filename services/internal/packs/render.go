package packs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// File is one file that a pack is rendered into.
type File struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	Text []byte `json:"-"`
}

// placeholder is {"$param": "NAME"}, {"$words": "NAME"}, {"$capability": "NAME"} or {"$text": "TEXT"}, in JSON and in YAML.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\s*"?\$(param|words|capability|text)"?:\s*("(?:[^"\\]|\\.)*"|[a-z_]+)\s*\}`)
})

// reference is ${NAME} in a text.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([a-z_]+)\}`) })

// Render returns the files of the pack with values of its parameters. Parameters without a value have their default.
func (p *Pack) Render(set Settings) ([]File, error) {
	values := Settings{}
	for i := range p.Parameters {
		q := &p.Parameters[i]
		value, problem := document.Parse(q.Default, document.Limits{})
		if problem != nil {
			return nil, fmt.Errorf("the default of %s: %w", q.Name, problem)
		}
		values[q.Name] = value
	}
	chosen := document.ObjectValue(nil)
	for name, value := range set {
		q := p.parameter(name)
		if q == nil {
			return nil, fmt.Errorf("the pack %s has no parameter %q; parameters: %s", p.Name, name, p.parameterNames())
		}
		if err := q.check(value); err != nil {
			return nil, err
		}
		values[name] = value
	}
	for i := range p.Parameters {
		name := p.Parameters[i].Name
		if value, given := set[name]; given {
			chosen = document.MergeTop(chosen, document.ObjectValue([]document.Member{{Name: name, Value: value}}))
		}
	}
	files := make([]File, 0, len(p.parts))
	for _, part := range p.parts {
		text, err := p.fill(part.text, values)
		if err != nil {
			return nil, fmt.Errorf("the %s of %s: %w", part.kind, p.Name, err)
		}
		if part.kind == Workflow || part.kind == Policy {
			text = p.label(text, chosen)
		}
		files = append(files, File{Name: p.Name + ending(part.kind), Kind: part.kind, Text: []byte(text)})
	}
	return files, nil
}

// fill puts values in the place of placeholders.
func (p *Pack) fill(text string, values Settings) (string, error) {
	var failed error
	out := placeholder().ReplaceAllStringFunc(text, func(whole string) string {
		found := placeholder().FindStringSubmatch(whole)
		word := found[2]
		if strings.HasPrefix(word, `"`) {
			unquoted, err := strconv.Unquote(word)
			if err != nil {
				failed = fmt.Errorf("%s: %w", whole, err)
				return whole
			}
			word = unquoted
		}
		if found[1] != "text" {
			value, known := values[word]
			if !known {
				failed = fmt.Errorf("there is no parameter %q", word)
				return whole
			}
			return string(form(found[1], value).AppendJSON(nil))
		}
		filled := reference().ReplaceAllStringFunc(word, func(ref string) string {
			name := reference().FindStringSubmatch(ref)[1]
			value, known := values[name]
			if !known {
				failed = fmt.Errorf("there is no parameter %q", name)
				return ref
			}
			return p.sample(name, value)
		})
		return string(document.StringValue(filled).AppendJSON(nil))
	})
	return out, failed
}

// form returns a value in the form of a placeholder: a command as its words, and a tool as its capability.
func form(of string, value document.Value) document.Value {
	switch of {
	case "words":
		var words []document.Value
		for word := range strings.FieldsSeq(value.Str()) {
			words = append(words, document.StringValue(word))
		}
		return document.ArrayValue(words)
	case "capability":
		return document.StringValue(string(toolname.AppendCapability(nil, value.Str(), false)))
	default:
		return value
	}
}

// sample returns a value as a word of a text: of a list the first value, and of a pattern a name that it matches.
func (p *Pack) sample(name string, value document.Value) string {
	if value.Kind() == document.Array {
		value = value.Index(0)
	}
	if value.Kind() == document.Number {
		return string(value.AppendJSON(nil))
	}
	switch p.parameter(name).Kind {
	case "globs", "refs", "hosts", "senders", "tables":
		return strings.NewReplacer("**", "x", "*", "x", "?", "x").Replace(value.Str())
	default:
		return value.Str()
	}
}

// label begins a definition with the pack that it is from, and the settings that were chosen.
func (p *Pack) label(text string, chosen document.Value) string {
	head := fmt.Sprintf("{\n  \"x-pack\": \"%s@%d\",", p.Name, p.Version)
	if chosen.Len() > 0 {
		head += "\n  \"x-pack-set\": " + string(chosen.AppendJSON(nil)) + ","
	}
	return head + strings.TrimPrefix(text, "{")
}

func ending(k Kind) string {
	for _, s := range sources {
		if s.kind == k {
			return s.ending
		}
	}
	return ""
}

package document

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Validate reports every place of v that violates the schema (SCHEMA_VIOLATION), with
// pointers into v. Where schema and value together ask for more steps than a document is
// worth, it says so (TOO_LARGE): its time is bounded for every schema and value.
func (s *Schema) Validate(v Value) Problems {
	var r Report
	s.explain(&r, v, nil, nil)
	return r.Problems()
}

// explain reports violations below at. Members of v that are null and in unset
// are valid.
func (s *Schema) explain(r *Report, v Value, at *Path, unset map[string]bool) {
	if s.libraryOnly {
		if affordable(s.root, v, maxLibrarySteps) {
			r.explain(s.root, v, at, unset)
		} else {
			r.tooManySteps(at, maxLibrarySteps)
		}
		return
	}
	c := newChecker()
	c.top, c.unset = v.tree, unset
	valid := c.valid(s.root, v)
	switch {
	case c.gaveUp():
		r.tooManySteps(at, maxSteps)
	case valid:
	case affordable(s.root, v, maxExplainSteps) && r.explain(s.root, v, at, unset):
	case affordable(c.node, c.value, maxExplainSteps) && r.explain(c.node, c.value, c.failedAt(at), nil):
		// The first place that was found; for all of them it is too much.
	default:
		r.Errorf(c.failedAt(at), CodeSchemaViolation, "does not match %q of its schema; this is the first place, and there may be more", c.keyword)
	}
}

func (r *Report) tooManySteps(at *Path, most int) {
	r.Errorf(at, CodeTooLarge, "checking the document against its schema takes more than %d steps; "+
		"make it smaller or less deep, or the schema simpler: alternatives that describe the same child again multiply at every level", most)
}

// explain reports the library's findings about v at a place, and whether there are any.
func (r *Report) explain(n *node, v Value, at *Path, unset map[string]bool) bool {
	err := n.source.Validate(toAny(v))
	var violation *jsonschema.ValidationError
	if err != nil && !errors.As(err, &violation) {
		r.Errorf(at, CodeSchemaViolation, "%v", err)
		return true
	}
	var found Report
	eachLeaf(violation, func(leaf *jsonschema.ValidationError) bool {
		if len(leaf.InstanceLocation) > 0 {
			top := leaf.InstanceLocation[0]
			if unset[top] && v.memberKind(top) == Null {
				return true
			}
		}
		found.Errorf(at.join(leaf.InstanceLocation), CodeSchemaViolation, "%s", leafText(leaf))
		return !found.full
	})
	// The library goes through maps; we answer the same each time.
	slices.SortFunc(found.problems, func(a, b Problem) int {
		if c := comparePointers(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	r.Add(slices.Compact(found.problems)...)
	return len(found.problems) > 0
}

// eachLeaf yields the violations that have no further causes, until yield
// answers false.
func eachLeaf(e *jsonschema.ValidationError, yield func(*jsonschema.ValidationError) bool) bool {
	if e == nil {
		return true
	}
	if len(e.Causes) == 0 {
		return yield(e)
	}
	for _, cause := range e.Causes {
		if !eachLeaf(cause, yield) {
			return false
		}
	}
	return true
}

var english = sync.OnceValue(func() *message.Printer { return message.NewPrinter(language.English) })

// namesInMessage is how many names or values one message lists.
const namesInMessage = 20

func leafText(e *jsonschema.ValidationError) string {
	what := e.ErrorKind
	switch k := what.(type) {
	case *kind.Enum:
		if len(k.Want) > namesInMessage {
			return "value must be one of the " + strconv.Itoa(len(k.Want)) + " values of \"enum\""
		}
	case *kind.Required:
		what = &kind.Required{Missing: fewNames(k.Missing)}
	case *kind.Format:
		text, _ := k.Got.(string)
		return Quote(text) + " is not valid " + k.Want + ": " + shortenTo(k.Err.Error(), 200)
	case *kind.AdditionalProperties:
		what = &kind.AdditionalProperties{Properties: fewNames(k.Properties)}
	}
	return shortenTo(what.LocalizedString(english()), 200)
}

func fewNames(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	return names[:min(len(names), namesInMessage)]
}

// toAny converts v for the library: numbers as exact text.
func toAny(v Value) any {
	switch v.kind {
	case Bool:
		return v.truth
	case Number:
		return json.Number(v.text)
	case String:
		return v.text
	case Array:
		elements := make([]any, 0, v.Len())
		for _, e := range v.Elements() {
			elements = append(elements, toAny(e))
		}
		return elements
	case Object:
		members := make(map[string]any, v.Len())
		for name, m := range v.Members() {
			members[name] = toAny(m)
		}
		return members
	default:
		return nil
	}
}

// explainNames has propertyNames explained by us. The library reports a name at
// another place than its object's.
func explainNames(s *jsonschema.Schema) {
	if s.PropertyNames != nil {
		s.Extensions = append(s.Extensions, propertyNames{s.PropertyNames})
		s.PropertyNames = nil
	}
}

// propertyNames is the keyword, as an extension of the library.
type propertyNames struct{ schema *jsonschema.Schema }

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	members, _ := v.(map[string]any)
	for name := range members {
		if err := ctx.Validate(p.schema, name, []string{name}); err != nil {
			ctx.AddError(&badName{name, err})
		}
	}
}

// badName is a name that propertyNames refuses.
type badName struct {
	name string
	err  error
}

// KeywordPath implements jsonschema.ErrorKind.
func (*badName) KeywordPath() []string { return []string{"propertyNames"} }

// LocalizedString implements jsonschema.ErrorKind.
func (b *badName) LocalizedString(*message.Printer) string {
	why := ""
	if violation, ok := b.err.(*jsonschema.ValidationError); ok { //nolint:errorlint // the library does not wrap it
		eachLeaf(violation, func(leaf *jsonschema.ValidationError) bool {
			why = ": " + leafText(leaf)
			return false
		})
	}
	return "the name " + Quote(b.name) + " is not allowed" + why
}

package document

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

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

package document

import (
	"errors"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaError reports why the library does not compile a schema, at the place
// that it names.
func (r *Report) schemaError(err error, place func([]string) *Path) {
	var invalid *jsonschema.SchemaValidationError
	var regex *jsonschema.InvalidRegexError
	var violation *jsonschema.ValidationError
	var load *jsonschema.LoadURLError
	var recursion *recursionError
	switch {
	case errors.As(err, &recursion):
		r.Errorf(place(segmentsAt(recursion.node.source.Location)), CodeBadSchema, "%v", recursion)
	case errors.As(err, &invalid) && errors.As(invalid.Err, &violation):
		// Deeper places say more.
		var deepest *jsonschema.ValidationError
		eachLeaf(violation, func(leaf *jsonschema.ValidationError) bool {
			if deepest == nil || len(leaf.InstanceLocation) > len(deepest.InstanceLocation) {
				deepest = leaf
			}
			return true
		})
		at := append(segmentsAt(invalid.URL), deepest.InstanceLocation...)
		r.Errorf(place(at), CodeBadSchema, "it is not a valid JSON Schema: %s", leafText(deepest))
	case errors.As(err, &regex): // where schemaWalk does not look
		r.Errorf(place(segmentsAt(regex.URL)), CodeBadSchema, "the pattern %s is not valid: %v", Quote(regex.Regex), regex.Err)
	case errors.As(err, &load):
		r.Errorf(place(nil), CodeRemoteRef, "%s is outside this document and is never fetched; copy its target into \"$defs\"", Quote(load.URL))
	default:
		message := strings.ReplaceAll(err.Error(), schemaURL, "")
		r.Errorf(place(segmentsAt(fragmentIn(message))), CodeBadSchema, "the schema does not compile: %s", shortenTo(message, 200))
	}
}

var quotedFragment = regexp.MustCompile(`"[^"#]*(#/[^"]*)"`)

func fragmentIn(message string) string {
	if m := quotedFragment.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

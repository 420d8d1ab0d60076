package document

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema, draft-07 to 2020-12 (S10.1). It is
// immutable and safe for concurrent use.
type Schema struct {
	// root decides: see checker. The library's schema behind it explains.
	root *node
	// libraryOnly: it has keywords that nodes do not know, and the library decides.
	libraryOnly bool
	// restricted: it says of some value who may write it.
	restricted bool
	// size is about how many bytes of memory it takes.
	size int
}

// schemaURL is the name of the document inside the compiler.
const schemaURL = "urn:interlock:schema"

// metaSchemas are the `$schema` values that we know. Others would have to be
// fetched.
var metaSchemas = map[string]bool{
	"https://json-schema.org/draft/2020-12/schema": true,
	"https://json-schema.org/draft/2019-09/schema": true,
	"http://json-schema.org/draft-07/schema":       true,
	"https://json-schema.org/draft-07/schema":      true,
	"http://json-schema.org/schema":                true,
}

// CompileSchema compiles a schema. Its references must stay inside of it (REMOTE_REF); it
// must be valid against its metaschema and within the bounds of a schema (BAD_SCHEMA). It
// never fetches.
//
// `format` is asserted as the draft says: in draft-07, and not in later ones.
func CompileSchema(v Value) (*Schema, Problems) {
	var r Report
	s := schemaOf(&r, v, nil)
	return s, r.Problems()
}

// schemaOf compiles v and returns nil when it reports an error. place turns
// a place in v into the place of the document where it was written; nil: v is
// the document.
func schemaOf(r *Report, v Value, place func([]string) *Path) *Schema {
	if place == nil {
		var top *Path
		place = top.join
	}
	before := len(r.problems)
	engine := newPatternEngine()
	w := schemaWalk{report: r, place: place, engine: engine}
	w.look(v)
	if len(r.problems) > before {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // knows no scheme: loads no URL
	compiler.UseRegexpEngine(engine.compilePattern)
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(schemaURL, toAny(v)); err != nil {
		r.schemaError(err, place)
		return nil
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		r.schemaError(err, place)
		return nil
	}
	t := translation{document: v, nodes: map[*jsonschema.Schema]*node{}}
	root := t.node(compiled)
	if err := t.resolveDynamic(root, compiler, w.dynamicAnchors); err != nil {
		r.schemaError(err, place)
		return nil
	}
	engine.seal()
	if !r.checkBounds(t.order, root, place) {
		return nil
	}
	s := &Schema{
		root: root, libraryOnly: t.libraryOnly,
		size: w.values*bytesPerValue + len(t.order)*bytesPerNode + engine.spent*bytesPerInstruction,
	}
	if s.bindWriters(r, &t, &w); len(r.problems) > before {
		return nil
	}
	return s
}

// The approximate memory of the parts of a compiled schema.
const (
	bytesPerValue       = 100
	bytesPerNode        = 2000
	bytesPerInstruction = 100
)

func (p *Path) join(segments []string) *Path {
	for _, s := range segments {
		p = p.Key(s)
	}
	return p
}

// segmentsAt reads the place that a URL of the library names in its fragment:
// a JSON Pointer, percent-encoded.
func segmentsAt(url string) []string {
	_, fragment, _ := strings.Cut(url, "#")
	var segments []string
	for rest := percentDecoded(fragment); rest != ""; {
		var s string
		s, rest = cutSegment(rest)
		if name, ok := UnescapeSegment(s); ok {
			segments = append(segments, name)
		}
	}
	return segments
}

func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// percentEncoded writes a pointer so that any URL parser reads it back.
func percentEncoded(s string) string {
	const hexadecimal = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hexadecimal[c>>4], hexadecimal[c&15]})
		}
	}
	return b.String()
}

func shortenTo(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

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

var quotedFragment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[^"#]*(#/[^"]*)"`) })

func fragmentIn(message string) string {
	if m := quotedFragment().FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

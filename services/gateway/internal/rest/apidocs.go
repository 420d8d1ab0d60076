package rest

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// docsPage shows the OpenAPI document to people. It needs no script and loads no files.
//
//go:embed apidocs.html
var docsPage string

type (
	docs struct {
		Info    openapi.Info
		Groups  []docsGroup
		Schemas []docsSchema
	}
	docsGroup struct {
		Name, About string
		Operations  []docsOperation
	}
	docsOperation struct {
		ID, Method, Path, Summary, About string
		Params                           []docsValue
		Request                          *docsValue
		Answers                          []docsValue
	}
	// docsValue is a parameter, a body or a member: Type names its type, and Schema the
	// schema with the details.
	docsValue struct {
		Name, In, Status, About, Type, Schema, Example string
		Required                                       bool
	}
	docsSchema struct {
		Name, About string
		Members     []docsValue
		AnyRequired bool
	}
)

// docsText returns the page. It panics when it cannot be made, which is a defect of this
// package.
func docsText(doc *openapi.Document) []byte {
	var page bytes.Buffer
	if err := template.Must(template.New("docs").Parse(docsPage)).Execute(&page, docsOf(doc)); err != nil {
		panic(fmt.Errorf("rest: make the page of the API: %w", err))
	}
	return page.Bytes()
}

func docsOf(doc *openapi.Document) docs {
	byTag := map[string][]docsOperation{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if op := doc.Paths[path][method]; op != nil {
				byTag[op.Tags[0]] = append(byTag[op.Tags[0]], docsOperationOf(strings.ToUpper(method), path, op))
			}
		}
	}
	d := docs{Info: doc.Info}
	for _, tag := range doc.Tags {
		d.Groups = append(d.Groups, docsGroup{tag.Name, tag.Description, byTag[tag.Name]})
	}
	schemas := doc.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		d.Schemas = append(d.Schemas, docsSchemaOf(name, schemas[name]))
	}
	return d
}

func docsOperationOf(method, path string, op *openapi.Operation) docsOperation {
	d := docsOperation{ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, About: op.Description}
	for _, p := range op.Parameters {
		if p.Name != headerNamespace {
			d.Params = append(d.Params, docsValue{Name: p.Name, In: p.In, About: p.Description})
		}
	}
	if op.RequestBody != nil {
		body := bodyOf(op.RequestBody.Content)
		d.Request = &body
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		answer := op.Responses[status]
		body := bodyOf(answer.Content)
		body.Status, body.About = status, answer.Description
		d.Answers = append(d.Answers, body)
	}
	return d
}

// bodyOf returns the JSON of a body, or else its first other type.
func bodyOf(content map[string]*openapi.MediaType) docsValue {
	types := slices.Sorted(maps.Keys(content))
	if len(types) == 0 {
		return docsValue{}
	}
	media := content[types[0]]
	var v docsValue
	v.Type, v.Schema = typeOf(media.Schema)
	var indented bytes.Buffer
	if media.Example != nil && json.Indent(&indented, media.Example, "", "  ") == nil {
		v.Example = indented.String()
	}
	return v
}

func docsSchemaOf(name string, s *openapi.Schema) docsSchema {
	d := docsSchema{Name: name, About: s.Description, AnyRequired: len(s.Required) > 0}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		v := docsValue{Name: member, About: s.Properties[member].Description, Required: slices.Contains(s.Required, member)}
		v.Type, v.Schema = typeOf(s.Properties[member])
		d.Members = append(d.Members, v)
	}
	return d
}

// typeOf returns a schema's type in a word, and the schema that it refers to, if any.
func typeOf(s *openapi.Schema) (what, schema string) {
	switch {
	case s == nil:
		return "", ""
	case s.Ref != "":
		schema = strings.TrimPrefix(s.Ref, openapi.Prefix)
		return schema, schema
	case s.Items != nil:
		what, schema = typeOf(s.Items)
		return "list of " + cmp.Or(what, "any"), schema
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(cmp.Or(v, any("null")))
		}
		return strings.Join(values, ", "), ""
	default:
		return cmp.Or(strings.Join(s.Type, " or "), "any"), ""
	}
}

// docsHeaders keep the page from loading or running anything.
func docsHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
}

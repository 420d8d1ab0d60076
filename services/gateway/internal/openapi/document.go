// Package openapi makes OpenAPI 3.1 documents: the parts of one that the REST edge uses, and
// schemas of Go types. It knows no routes and serves nothing.
package openapi

import "encoding/json"

// Document is an OpenAPI document. The members of each part are in the order of their JSON
// names.
type Document struct {
	Components Components `json:"components"`
	Info       Info       `json:"info"`
	OpenAPI    string     `json:"openapi"`
	// Paths have the operations of each path by their method in lower case.
	Paths   map[string]map[string]*Operation `json:"paths"`
	Servers []Server                         `json:"servers"`
	Tags    []Tag                            `json:"tags"`
}

// Components are the parts that others refer to.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
}

// Info describes the API.
type Info struct {
	Description string  `json:"description"`
	License     License `json:"license"`
	Title       string  `json:"title"`
	Version     string  `json:"version"`
}

// License is that of the API.
type License struct {
	Identifier string `json:"identifier"`
	Name       string `json:"name"`
}

// Server is where the API is.
type Server struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

// Tag is a group of operations.
type Tag struct {
	Description string `json:"description"`
	Name        string `json:"name"`
}

// SecurityScheme is a way to authenticate.
type SecurityScheme struct {
	Description string `json:"description"`
	Scheme      string `json:"scheme"`
	Type        string `json:"type"`
}

// Operation is one method of one path.
type Operation struct {
	Description string                `json:"description,omitempty"`
	OperationID string                `json:"operationId"`
	Parameters  []*Parameter          `json:"parameters,omitempty"`
	RequestBody *RequestBody          `json:"requestBody,omitempty"`
	Responses   map[string]*Response  `json:"responses"`
	Security    []map[string][]string `json:"security"`
	Summary     string                `json:"summary"`
	Tags        []string              `json:"tags"`
}

// Parameter is one of an operation.
type Parameter struct {
	Description string  `json:"description,omitempty"`
	Explode     bool    `json:"explode,omitempty"`
	In          string  `json:"in"`
	Name        string  `json:"name"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
	Style       string  `json:"style,omitempty"`
}

// RequestBody is the body of a request, by its media types.
type RequestBody struct {
	Content  map[string]*MediaType `json:"content"`
	Required bool                  `json:"required,omitempty"`
}

// Response is the answer with a status, by its media types.
type Response struct {
	Content     map[string]*MediaType `json:"content,omitempty"`
	Description string                `json:"description"`
	Headers     map[string]Header     `json:"headers,omitempty"`
}

// Header is one of a response.
type Header struct {
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

// MediaType is a body of one media type.
type MediaType struct {
	Example json.RawMessage `json:"example,omitempty"`
	Schema  *Schema         `json:"schema"`
}

package rest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// Media types.
const (
	contentJSON       = "application/json"
	contentYAML       = "application/yaml"
	contentPatch      = "application/json-patch+json"  // RFC 6902
	contentMergePatch = "application/merge-patch+json" // RFC 7396
	contentEvents     = "text/event-stream"
)

// media returns the types that a body may have, and those that they go by, too.
func (b bodyRule) media() (types, also []string) {
	switch b {
	case definitionBody:
		return []string{contentJSON, contentYAML}, []string{"application/x-yaml", "text/yaml", "text/x-yaml"} // before RFC 9512
	case patchBody:
		return []string{contentJSON, contentPatch, contentMergePatch}, nil
	default:
		return []string{contentJSON}, nil
	}
}

// readBody reads the whole body of at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, newProblem(http.StatusUnsupportedMediaType, codeUnsupportedMediaType,
			"send the body without Content-Encoding").with("Accept-Encoding", "identity")
	}
	tooLarge := newProblem(http.StatusRequestEntityTooLarge, string(fault.TooLarge),
		fmt.Sprintf("the body is larger than %d bytes; send less", limit))
	if r.ContentLength > limit {
		return nil, tooLarge.with("Connection", "close")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, nil
	}
	var exceeded *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &exceeded):
		return nil, tooLarge
	case errors.As(err, &network) && network.Timeout():
		return nil, newProblem(http.StatusRequestTimeout, codeRequestTimeout,
			"the body did not arrive in time; send it again").with("Connection", "close")
	default:
		return nil, newProblem(http.StatusBadRequest, string(fault.InvalidRequest),
			"the body could not be read to its end; send it again").with("Connection", "close")
	}
}

// mediaType returns the request's media type, or a 415 that names the accepted ones.
func mediaType(r *http.Request, rule bodyRule) (string, error) {
	types, also := rule.media()
	unsupported := newProblem(http.StatusUnsupportedMediaType, codeUnsupportedMediaType,
		"set the header Content-Type: "+strings.Join(types, " or ")).with("Accept", strings.Join(types, ", "))
	if rule == patchBody {
		unsupported = unsupported.with("Accept-Patch", strings.Join(types, ", ")) // RFC 5789, section 2.2
	}
	if len(r.Header.Values("Content-Type")) != 1 {
		return "", unsupported
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return "", unsupported
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		unsupported.Detail = "send UTF-8: charset " + charset + " is not supported"
		return "", unsupported
	}
	if slices.Contains(types, kind) || slices.Contains(also, kind) {
		return kind, nil
	}
	return "", unsupported
}

// decode reads a request body into a struct, strictly: one JSON object of known
// members, each of the right type, none twice. Members of type jsontext.Value
// keep their bytes; they may nest as deep as a document may.
func decode[T any](body []byte) (T, error) { return decodeAround[T](body, 1) }

// decodeAround does the work of decode for a body that has that many levels around the
// user's document.
func decodeAround[T any](body []byte, levels int) (T, error) {
	var into T
	if err := strict(body, levels); err != nil {
		return into, err
	}
	if kind := jsontext.Value(body).Kind(); kind != '{' {
		return into, badBody(fault.InvalidRequest, inBody("", document.CodeType,
			"the body must be a JSON object, not "+kindName(kind)))
	}
	if err := json.Unmarshal(body, &into, json.RejectUnknownMembers(true)); err != nil {
		return into, badBody(fault.InvalidRequest, mistake(err))
	}
	return into, nil
}

// strict returns a 400 unless a body, which was read within its limit, is strictly valid
// JSON that nests no deeper than a document with that many levels around it.
func strict(body []byte, levels int) error {
	_, problems := document.ParseAll(body, document.Limits{Bytes: maxDocumentBody, Depth: maxDepth + levels})
	if len(problems) > 0 {
		return badText(problems)
	}
	return nil
}

// badText returns a 400 with all that is wrong with a text.
func badText(problems document.Problems) error {
	details := make([]ProblemDetail, len(problems))
	for i, p := range problems {
		details[i] = inBody(p.Pointer, p.Code, p.Message)
	}
	return badBody(fault.InvalidJSON, details...)
}

// mistake describes json's error in the caller's terms.
func mistake(err error) ProblemDetail {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return inBody("", document.CodeJSONSyntax, "the body is not valid JSON")
	}
	pointer := string(semantic.JSONPointer)
	if errors.Is(err, json.ErrUnknownName) {
		return inBody(pointer, document.CodeUnknownField, "there is no such field; remove it or correct its name")
	}
	wanted := "something else"
	if semantic.GoType != nil {
		wanted = typeName(semantic.GoType)
	}
	if semantic.JSONKind == '0' && wanted == "an integer" {
		return inBody(pointer, document.CodeType, "must be an integer of 64 bits, not "+clip(string(semantic.JSONValue)))
	}
	return inBody(pointer, document.CodeType, "must be "+wanted+", not "+kindName(semantic.JSONKind))
}

func clip(s string) string {
	if s == "" {
		return "this number"
	}
	return s[:min(len(s), 40)]
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[money]():
		return "a decimal number or a string of one"
	case t.Kind() == reflect.String:
		return "a string"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "an array"
	case t.Kind() == reflect.Struct:
		return "an object"
	default:
		return "an integer"
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	case '{':
		return "an object"
	default:
		return "this"
	}
}

// missing lists the required members that are absent or empty: pairs of pointer
// and whether it is there.
func missing(required ...requirement) error {
	var details []ProblemDetail
	for _, r := range required {
		if !r.present {
			details = append(details, inBody(r.pointer, document.CodeRequired, "is required"))
		}
	}
	if len(details) == 0 {
		return nil
	}
	return badBody(fault.InvalidRequest, details...)
}

type requirement struct {
	pointer string
	present bool
}

// object passes a user's JSON object through as it was written. Absent and null
// are none.
func object(pointer string, v jsontext.Value) ([]byte, error) {
	switch v.Kind() {
	case '{':
		return v, nil
	case 'n', jsontext.KindInvalid:
		return nil, nil
	default:
		return nil, badBody(fault.InvalidRequest,
			inBody(pointer, document.CodeType, "must be a JSON object, not "+kindName(v.Kind())))
	}
}

// money is a decimal amount as it was written, as a JSON string or number. It is
// never made a float.
type money string

// UnmarshalJSONFrom accepts a string, a number or null.
func (m *money) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case '0':
		*m = money(v)
	case 'n':
		*m = ""
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		*m = money(text)
	default:
		return &json.SemanticError{JSONKind: v.Kind(), GoType: reflect.TypeFor[money]()}
	}
	return nil
}

// Schema implements openapi.Custom.
func (money) Schema(*openapi.Schemas) *openapi.Schema {
	return &openapi.Schema{
		OneOf:       []*openapi.Schema{openapi.Of(openapi.String), openapi.Of(openapi.Number)},
		Description: `Decimal US dollars, e.g. "0.02". Kept exactly as written.`,
	}
}

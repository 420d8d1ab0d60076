package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Clients refuse a whole list for one entry that is not as the protocol has it. So each entry
// is checked here, and a bad one costs itself.

// maxOfferSize bounds the text of one tool, prompt, resource or template, and maxOfferDepth how
// deeply it nests.
const (
	maxOfferSize  = 256 << 10
	maxOfferDepth = 64
)

// check says whether a value is as the protocol has it.
type check func(document.Value) bool

func isKind(kind document.Kind) check {
	return func(v document.Value) bool { return v.Kind() == kind }
}

func isOneOf(texts ...string) check {
	return func(v document.Value) bool {
		return v.Kind() == document.String && slices.Contains(texts, v.Str())
	}
}

// isList reports whether every element passes.
func isList(each check) check {
	return func(v document.Value) bool {
		for _, element := range v.Elements() {
			if !each(element) {
				return false
			}
		}
		return v.Kind() == document.Array
	}
}

// isRecord reports whether the members that are named pass; required ones must be there.
func isRecord(shape map[string]check, required ...string) check {
	return func(v document.Value) bool {
		return v.Kind() == document.Object && flawOf(v, shape, required) == ""
	}
}

// flawOf names the first member that is missing or does not pass; empty for none.
func flawOf(v document.Value, shape map[string]check, required []string) string {
	for _, name := range required {
		if _, ok := v.Get(name); !ok {
			return name
		}
	}
	for name, value := range v.Members() {
		if passes := shape[name]; passes != nil && !passes(value) {
			return name
		}
	}
	return ""
}

var (
	text    = isKind(document.String)
	truth   = isKind(document.Bool)
	object  = isKind(document.Object)
	texts   = isList(text)
	icons   = isList(isRecord(map[string]check{"src": text, "mimeType": text, "sizes": texts, "theme": isOneOf("light", "dark")}, "src"))
	aboutIt = isRecord(map[string]check{
		"audience": isList(isOneOf("user", "assistant")), "priority": isPart, "lastModified": text,
	})
	entry = map[string]check{"name": text, "title": text, "description": text, "icons": icons, "_meta": object}

	toolShape = with(entry, map[string]check{
		"inputSchema": isSchema, "outputSchema": object,
		"annotations": isRecord(map[string]check{
			"title": text, "readOnlyHint": truth, "destructiveHint": truth, "idempotentHint": truth, "openWorldHint": truth,
		}),
		"execution": isRecord(map[string]check{"taskSupport": isOneOf("required", "optional", "forbidden")}),
	})
	promptShape = with(entry, map[string]check{
		"arguments": isList(isRecord(map[string]check{"name": text, "title": text, "description": text, "required": truth}, "name")),
	})
	resourceShape = with(entry, map[string]check{"uri": text, "mimeType": text, "size": isSize, "annotations": aboutIt})
	templateShape = with(entry, map[string]check{"uriTemplate": text, "mimeType": text, "annotations": aboutIt})
)

func with(base, more map[string]check) map[string]check {
	all := map[string]check{}
	for _, one := range []map[string]check{base, more} {
		for name, passes := range one {
			all[name] = passes
		}
	}
	return all
}

// isPart reports whether a value is a number from 0 to 1.
func isPart(v document.Value) bool {
	var part float64
	return v.Kind() == document.Number && json.Unmarshal(v.AppendJSON(nil), &part) == nil && part >= 0 && part <= 1
}

// isSize reports whether a value is a whole number that is not negative.
func isSize(v document.Value) bool {
	if v.Kind() != document.Number {
		return false
	}
	size, whole := v.Number().Int64()
	return whole && size >= 0
}

// isSchema reports whether a value is a schema of objects, as clients read one.
func isSchema(v document.Value) bool {
	kind, _ := v.Get("type")
	return isRecord(map[string]check{"type": isOneOf("object"), "required": texts, "properties": func(all document.Value) bool {
		for _, one := range all.Members() {
			if one.Kind() != document.Object && one.Kind() != document.Array {
				return false
			}
		}
		return all.Kind() == document.Object
	}}, "type")(v) && kind.Kind() == document.String
}

// entryOf reads one entry of a list. Members that are null and may be left out are left out.
func entryOf(element json.RawMessage, shape map[string]check, required ...string) (document.Value, *relay.Result, error) {
	parsed, problem := document.Parse(element, document.Limits{Bytes: maxOfferSize, Depth: maxOfferDepth})
	if problem != nil {
		return parsed, nil, fmt.Errorf("%s: %s", problem.Code, problem.Message)
	}
	if parsed.Kind() != document.Object {
		return parsed, nil, errors.New("it is not an object")
	}
	written, err := relay.ReadResult(element)
	if err != nil {
		return parsed, nil, err
	}
	nulls := false
	for name, value := range parsed.Members() {
		if value.Kind() == document.Null && shape[name] != nil && !slices.Contains(required, name) {
			written.Remove(name)
			nulls = true
		}
	}
	if nulls {
		return entryOf(written.JSON(), shape, required...)
	}
	switch flaw := flawOf(parsed, shape, required); flaw {
	case "":
		return parsed, written, nil
	case "inputSchema":
		return parsed, nil, errors.New(`its inputSchema is not a JSON Schema of an object with "type": "object"`)
	default:
		return parsed, nil, fmt.Errorf("its %s is missing or is not as MCP has it", flaw)
	}
}

// offered is one entry of a list that a server offers.
type offered[T any] struct {
	item *T
	text *relay.Result // as the server wrote it
}

// readTool reads a tool.
func readTool(element json.RawMessage) (Described, error) {
	parsed, written, err := entryOf(element, toolShape, "name")
	if err != nil {
		return Described{}, err
	}
	if written.Get("inputSchema") == nil {
		written.Set("inputSchema", anyObject)
	}
	tool := &sdk.Tool{Name: member(parsed, "name"), Description: member(parsed, "description"), InputSchema: written.Get("inputSchema")}
	d := Described{Tool: tool, text: written, digest: digestOf(written)}
	if output := written.Get("outputSchema"); output != nil {
		tool.OutputSchema = output
		schema, _ := parsed.Get("outputSchema")
		d.newer = !isSchema(schema)
	}
	if execution, ok := parsed.Get("execution"); ok {
		d.onlyAsTask = member(execution, "taskSupport") == "required"
	}
	return d, nil
}

// Described is a tool as its server describes it.
type Described struct {
	*sdk.Tool
	text   *relay.Result
	digest string
	// newer tools have a schema of their results that only clients of the stateless protocol
	// can read.
	newer      bool
	onlyAsTask bool
}

func member(v document.Value, name string) string {
	value, _ := v.Get(name)
	return value.Str()
}

// digestOf returns that of the description of a tool for agents.
func digestOf(written *relay.Result) string {
	shown := written.Clone()
	shown.Remove("_meta")
	shown.Remove("icons")
	parsed, problem := document.Parse(shown.JSON(), document.Limits{Bytes: 2 * maxOfferSize, Depth: maxOfferDepth})
	if problem != nil {
		return document.Digest(document.Value{}) // never: it was parsed before
	}
	return document.Digest(parsed)
}

func readPrompt(element json.RawMessage) (offered[sdk.Prompt], error) {
	return read[sdk.Prompt](element, promptShape, "name")
}

func readResource(element json.RawMessage) (offered[sdk.Resource], error) {
	resource, err := read[sdk.Resource](element, resourceShape, "name", "uri")
	if err == nil && misleadingURI(resource.item.URI) {
		return resource, fmt.Errorf("its URI %.256q could be read as another one, so that rules about resources could not be about it: "+
			"it has . or .. as a part, a character that does not show, or one that is escaped and needs no escape", resource.item.URI)
	}
	return resource, err
}

func readTemplate(element json.RawMessage) (offered[sdk.ResourceTemplate], error) {
	return read[sdk.ResourceTemplate](element, templateShape, "name", "uriTemplate")
}

func read[T any](element json.RawMessage, shape map[string]check, required ...string) (offered[T], error) {
	_, written, err := entryOf(element, shape, required...)
	if err != nil {
		return offered[T]{}, err
	}
	one := new(T)
	if err := json.Unmarshal(written.JSON(), one); err != nil {
		return offered[T]{}, err
	}
	return offered[T]{one, written}, nil
}

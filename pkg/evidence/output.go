package evidence

import "github.com/interlock-run/interlock/pkg/document"

// Read returns the document that a tool's result holds: the structuredContent of an MCP
// server, else the JSON in its only block of text, else the result itself. A result that
// is cut off, too large or not JSON holds none.
func Read(output []byte) (document.Value, bool) {
	if len(output) == 0 || len(output) > MostOutput {
		return document.Value{}, false
	}
	v, problem := document.Parse(output, document.Limits{})
	if problem != nil {
		return document.Value{}, false
	}
	if structured, ok := v.Get("structuredContent"); ok && structured.Kind() == document.Object {
		return structured, true
	}
	content := v
	if inner, ok := v.Get("content"); ok {
		content = inner
	}
	if text, only := onlyText(content); only {
		inner, problem := document.Parse([]byte(text), document.Limits{})
		return inner, problem == nil
	}
	return v, true
}

// onlyText returns the text of a list that is one block of text.
func onlyText(content document.Value) (string, bool) {
	if content.Kind() != document.Array || content.Len() != 1 {
		return "", false
	}
	kind, _ := content.Index(0).Get("type")
	text, _ := content.Index(0).Get("text")
	return text.Str(), kind.Str() == "text" && text.Kind() == document.String
}

// As reports that a call that was reported as ok, or as failed, with a result, ended as the
// evidence asks.
func (spec *Spec) As(ok bool, output []byte) bool {
	if ok != (spec.Outcome == OK) {
		return false
	}
	if spec.Output == nil {
		return true
	}
	return Shows(spec.Output, output)
}

// Shows reports that a result passes a test.
func Shows(test *Test, output []byte) bool {
	v, read := Read(output)
	return read && test.Holds(v)
}

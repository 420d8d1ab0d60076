package app

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
)

// parseObject reads a caller's JSON object; an empty text is a missing value.
func parseObject(field string, src []byte) (document.Value, error) {
	if len(src) == 0 {
		return document.Value{}, nil
	}
	value, problem := document.Parse(src, document.Limits{})
	if problem != nil {
		return document.Value{}, invalidField(fault.InvalidJSON, field, *problem)
	}
	if value.Kind() != document.Object {
		return document.Value{}, invalidField(fault.InvalidRequest, field, document.Problem{
			Code: "TYPE", Message: "must be a JSON object",
		})
	}
	return value, nil
}

func invalidField(reason fault.Reason, field string, p document.Problem) error {
	e := fault.New(reason, "%s: %s", field, p.Message)
	e.Violations = []fault.Violation{{Pointer: "/" + field + p.Pointer, Code: p.Code, Message: p.Message}}
	return e
}

// causeName returns the name of the consequence of a cause. A caller's key cannot equal
// it, although callers know the names of Interlock's events.
func causeName(cause string) string { return "cause/" + cause }

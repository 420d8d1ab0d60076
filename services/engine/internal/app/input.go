package app

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/once"
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

// requestKey makes a caller's request happen once, by its idempotency key; it has no name
// without that. Other keys have names of other forms (the decisions on a run's tool calls, say),
// which no caller's key may be taken for.
func requestKey(caller Caller, idempotencyKey, digest string) once.Key {
	if idempotencyKey == "" {
		return once.Key{Digest: digest}
	}
	return once.Key{Name: "request/" + once.NameBy(caller.Principal, idempotencyKey), Digest: digest}
}

// causeName returns the name of the consequence of a cause. A caller's key cannot equal
// it, although callers know the names of Interlock's events.
func causeName(cause string) string { return "cause/" + cause }

// digest binds an idempotency key to its request.
func digest(parts ...string) string {
	var room [1024]byte // most requests fit, and need no memory of their own
	asked := room[:0]
	for _, p := range parts {
		asked = append(strconv.AppendInt(asked, int64(len(p)), 10), ':')
		asked = append(append(asked, p...), ',')
	}
	sum := sha256.Sum256(asked)
	return hex.EncodeToString(sum[:])
}

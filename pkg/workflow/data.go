package workflow

import (
	"github.com/interlock-run/interlock/pkg/document"
)

// MaxContextBytes is the largest context of a run, as JSON. A run whose context
// can not be read back would be lost.
const MaxContextBytes = document.DefaultBytes

// engineKey returns a top-level key that only the engine may use (S2.6).
func engineKey(data document.Value) (string, bool) {
	for name := range data.Members() {
		if name != "" && (name[0] == '_' || name[0] == '$') {
			return name, true
		}
	}
	return "", false
}

// badData says why data can not be merged into a context, with its code; the
// code is empty when it can.
func badData(data document.Value) (RejectionCode, string) {
	switch data.Kind() {
	case document.Missing:
		return "", ""
	case document.Object:
		if key, reserved := engineKey(data); reserved {
			return RejectReservedKey, "the key " + document.Quote(key) +
				" is refused: keys that begin with _ or $ belong to the engine; choose another name"
		}
		return "", ""
	default:
		return RejectInvalidData, "it must be a JSON object, not a " + data.Kind().String()
	}
}

// merged is the context with data merged over it (S2.3), and false when that is
// too large.
func merged(context, data document.Value) (document.Value, bool) {
	context = document.MergeTop(context, data)
	if data.Len() == 0 || atMost(context) <= MaxContextBytes {
		return context, true
	}
	return context, len(context.AppendJSON(nil)) <= MaxContextBytes
}

// worstEscape is how many bytes of JSON a byte of a string becomes at most.
const worstEscape = 6

// atMost is a size that v's JSON does not exceed. It reads no text, so that it
// costs next to nothing for contexts of usual size.
func atMost(v document.Value) int {
	switch v.Kind() {
	case document.Number:
		return len(v.Number()) + 1
	case document.String:
		return worstEscape*len(v.Str()) + 3
	case document.Array:
		size := 3
		for _, e := range v.Elements() {
			size += atMost(e)
		}
		return size
	case document.Object:
		size := 3
		for name, e := range v.Members() {
			size += worstEscape*len(name) + 3 + atMost(e)
		}
		return size
	default:
		return len("false,")
	}
}

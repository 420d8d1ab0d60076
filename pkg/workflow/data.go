package workflow

import (
	"github.com/interlock-run/interlock/pkg/document"
)

// MaxContextBytes is the largest context of a run, as JSON. A run whose context
// cannot be read back would be lost.
const MaxContextBytes = document.DefaultBytes

// MaxRunBytes is the most that the contexts of a run and of all its branches have
// together, as JSON: they are one record.
const MaxRunBytes = 8 << 20

// hasRoom reports whether the contexts of a run stay within MaxRunBytes when a lane
// gets this one, and the branches of a fork that begins copies of it.
func (at *View) hasRoom(context document.Value, fork *Fork) bool {
	run := at.Run
	if run.Fork == nil && fork == nil {
		return true
	}
	copies := 1
	if fork != nil {
		copies += len(fork.Branches)
	}
	total := copies*bytesOf(context, MaxRunBytes/copies) + bytesOf(run.Context, MaxRunBytes)
	run.eachLane(func(path []int) {
		if lane := run.lane(path); lane.Entry != at.Entry {
			total += bytesOf(lane.Context, MaxRunBytes)
			if lane.Approval != nil {
				total += bytesOf(lane.Approval.Data, MaxRunBytes)
			}
		}
	})
	return total <= MaxRunBytes
}

// bytesOf returns the size of a value's JSON; or a bound of it, when that is small
// against enough, or more than enough.
func bytesOf(v document.Value, enough int) int {
	if size := atMost(v); size <= enough/64 {
		return size
	}
	return len(v.AppendJSON(nil))
}

// engineKey returns a top-level key that only the engine may use (S2.6).
func engineKey(data document.Value) (string, bool) {
	for name := range data.Members() {
		if name != "" && (name[0] == '_' || name[0] == '$') {
			return name, true
		}
	}
	return "", false
}

// badData describes why data cannot be merged into a context, with its code; the code is
// empty when it can.
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

// merged returns the context with data merged over it (S2.3), and false when that is too
// large.
func merged(context, data document.Value) (document.Value, bool) {
	context = document.MergeTop(context, data)
	if data.Len() == 0 || atMost(context) <= MaxContextBytes {
		return context, true
	}
	return context, len(context.AppendJSON(nil)) <= MaxContextBytes
}

// worstEscape is how many bytes of JSON a byte of a string becomes at most.
const worstEscape = 6

// atMost returns a size that v's JSON does not exceed. It reads no text, so that it is
// cheap for contexts of usual size.
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

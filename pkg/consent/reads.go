package consent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// MaxReads is how many places of a shared state a question can rest on.
const MaxReads = 64

// Reads are the facts that a question rests on: values of a shared state as they were when
// it was asked (S18.5).
type Reads struct {
	StateID string `json:"state_id"`
	// Version of the state. Another version is no difference; another value is.
	Version int64  `json:"version"`
	Values  []Read `json:"values"`
}

// Read is a value that was read.
type Read struct {
	Pointer string `json:"pointer"`
	// Digest is the hex SHA-256 of the canonical JSON of the value; empty where there is none.
	Digest string `json:"digest,omitempty"`
	// Shown is the value for people, cut off where it is long.
	Shown string `json:"shown,omitempty"`
}

// Bounds of the text of Moved: of a value, and of their number.
const (
	shownBytes  = 120
	shownValues = 8
)

// ReadOf notes a value; Missing where there is none.
func ReadOf(pointer string, v document.Value) Read {
	if v.IsZero() {
		return Read{Pointer: pointer}
	}
	shown := v.String()
	if len(shown) > shownBytes {
		shown = strings.ToValidUTF8(shown[:shownBytes], "") + "..."
	}
	return Read{Pointer: pointer, Digest: document.Digest(v), Shown: shown}
}

// Moved lists the values that are different now, as "/plan: 3 -> 4", or is empty when
// none is. A value that cannot be compared counts as moved.
func (r *Reads) Moved(now *Reads) string {
	if now.StateID != r.StateID {
		return fmt.Sprintf("the shared state was %s and is %s", orNone(r.StateID), orNone(now.StateID))
	}
	var moved []string
	for i, was := range r.Values {
		is := Read{Pointer: was.Pointer}
		if i < len(now.Values) && now.Values[i].Pointer == was.Pointer {
			is = now.Values[i]
		}
		if is.Digest != was.Digest {
			moved = append(moved, fmt.Sprintf("%s: %s -> %s", place(was.Pointer), orNothing(was), orNothing(is)))
		}
	}
	if len(moved) > shownValues {
		more := len(moved) - shownValues
		moved = append(moved[:shownValues], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(moved, "; ")
}

func place(pointer string) string {
	if pointer == "" {
		return "the whole state"
	}
	if len(pointer) > shownBytes {
		return strings.ToValidUTF8(pointer[:shownBytes], "") + "..."
	}
	return pointer
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

func orNothing(r Read) string {
	if r.Digest == "" {
		return "nothing"
	}
	return r.Shown
}

// Subject returns the part that approvers see, as the member "reads" of an action's
// subject: which values, by their digests. The values themselves are in the state.
func (r *Reads) Subject() document.Member {
	text := func(name, value string) document.Member {
		return document.Member{Name: name, Value: document.StringValue(value)}
	}
	values := make([]document.Value, 0, len(r.Values))
	for _, v := range r.Values {
		members := []document.Member{text("pointer", v.Pointer)}
		if v.Digest != "" {
			members = append(members, text("digest", v.Digest))
		}
		values = append(values, document.ObjectValue(members))
	}
	return document.Member{Name: "reads", Value: document.ObjectValue([]document.Member{
		text("state_id", r.StateID),
		{Name: "values", Value: document.ArrayValue(values)},
	})}
}

// Package evidence judges facts that an agent cannot claim: observed tool calls of a run,
// approvals of humans, and values of the shared state (S14).
//
// It is pure: sightings and the time come in, a standing comes out. It must never take
// a fact on anyone's word, and evidence that it cannot determine is not held.
package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// Outcome is how an observed call must have ended.
type Outcome string

// The outcomes. An unknown outcome is neither.
const (
	OK     Outcome = "ok"
	Failed Outcome = "failed"
)

// Spec is the required sighting, as a definition declares it (S14.1). Exactly one of
// Tool, State and Approval is set.
type Spec struct {
	Name string

	// Tool was called and reported with Outcome; Command, when not empty, is an entry
	// in the sense of allowed_commands that each command of its line must match, and
	// Exact asks for its words and no others.
	Tool    string
	Command string
	Exact   bool
	Outcome Outcome
	// Output tests the result; nil admits any.
	Output *Test
	// When must hold for the call that gives it; nil for every call (S21.17).
	When *condition.Condition
	// AfterEdit: a later call that may have changed files voids it; with Change only one for which that
	// condition may hold.
	AfterEdit bool
	Change    *condition.Condition
	// WithinEntry: it must have been observed in the present entry of the state.
	WithinEntry bool
	// Count is how many sightings in a row it takes; 1 or more.
	Count int

	// State tests the shared state, and Writer is the required author of the value: the
	// name of a session, or a role; empty admits any.
	State  *Test
	Writer string

	// Approval is the state in which humans have agreed to a transition of the run, or
	// the event that they agreed to.
	Approval string

	// MaxAge is how old it may be; 0 for any age.
	MaxAge time.Duration
}

// Gives reports that a call, whose facts are given, is one that may give the evidence. Doubt gives none.
func (spec *Spec) Gives(facts condition.Facts) bool {
	return spec.When == nil || facts != nil && spec.When.Judge(facts, condition.Allows) == condition.True
}

// Spares reports that a call which may change files certainly leaves the evidence as it is.
func (spec *Spec) Spares(facts condition.Facts) bool {
	return spec.Change != nil && facts != nil && spec.Change.Judge(facts, condition.Restricts) == condition.False
}

// SparedBy returns the name by which a Record counts the changes that leave the evidence as it is; empty for one that
// every change voids. Evidence with the same condition has the same name.
func (spec *Spec) SparedBy() string {
	if spec.Change == nil {
		return ""
	}
	sum := sha256.Sum256(document.Canonical(spec.Change.Value()))
	return hex.EncodeToString(sum[:8])
}

// Test compares the value at a JSON Pointer with a value (S2.5).
type Test struct {
	Pointer string
	OpName  string
	Op      condition.Operator
	Value   document.Value
}

// Holds reports that the document passes the test.
func (t *Test) Holds(v document.Value) bool {
	found, ok := document.Lookup(v, t.Pointer)
	if !ok {
		found = document.Value{}
	}
	return t.Op.Holds(found, t.Value)
}

// MostOutput is how much of a result is read, in bytes: one that is larger is none.
const MostOutput = 64 << 10

// Source is where a value of the context comes from, from the least trusted on (S14.3).
type Source string

// The sources. The zero Source is the agent's.
const (
	Agent    Source = "agent"
	Observed Source = "observed"
	Human    Source = "human"
	Operator Source = "operator"
)

// Sources returns the names of all, in order.
func Sources() []string {
	return []string{string(Agent), string(Observed), string(Human), string(Operator)}
}

// Meets reports that a source is at least as trusted as another.
func (s Source) Meets(least Source) bool { return s.rank() >= least.rank() }

func (s Source) rank() int {
	switch s {
	case Observed:
		return 1
	case Human:
		return 2
	case Operator:
		return 3
	default:
		return 0
	}
}

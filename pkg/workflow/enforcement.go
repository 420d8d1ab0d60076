package workflow

import (
	"iter"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// Enforcement decides when a run stops to enforce its rules, meta.enforcement (S2.9). The zero
// value is UntilSuccess.
type Enforcement string

// The kinds of enforcement.
const (
	// UntilSuccess is the default: an agent cannot leave a run before it has ended, a success
	// lifts enforcement, and after a failure only reading tools are allowed.
	UntilSuccess Enforcement = "until_success"
	// Always never lifts enforcement.
	Always Enforcement = "always"
	// WhileRunning lifts enforcement when an agent pauses the run, and in every final state.
	WhileRunning Enforcement = "while_running"
)

// Kinds lists every kind of enforcement.
func Kinds() []Enforcement { return []Enforcement{UntilSuccess, Always, WhileRunning} }

// Keeps reports that no agent can leave a run before it has ended (S6.6).
func (e Enforcement) Keeps() bool { return e != WhileRunning }

// Lifts reports that a final state of an outcome lifts enforcement: every tool is allowed.
func (e Enforcement) Lifts(status Status) bool {
	switch status {
	case Completed:
		return e != Always
	case Failed:
		return e == WhileRunning
	default:
		return false
	}
}

// String returns the word in a definition.
func (e Enforcement) String() string {
	if e == "" {
		return string(UntilSuccess)
	}
	return string(e)
}

// Write does the work of Effective for the text of a definition. A text that is not JSON
// stays as it is.
func (e Enforcement) Write(src []byte) []byte {
	if e != WhileRunning {
		return src
	}
	v, problem := document.Parse(src, document.Limits{})
	if problem != nil {
		return src
	}
	return e.Effective(v).AppendJSON(nil)
}

// Effective writes a deployment's default into a workflow that names no enforcement, so that a
// stored version keeps its meaning wherever it is read. With WhileRunning, approvals are then
// advisory where approval_mode does not say otherwise (S9.1). The language's own default makes
// no change.
func (e Enforcement) Effective(v document.Value) document.Value {
	if e != WhileRunning || v.Kind() != document.Object {
		return v
	}
	meta, has := v.Get("meta")
	if _, named := meta.Get("enforcement"); named || has && meta.Kind() != document.Object {
		return v
	}
	patch := []document.Member{{Name: "enforcement", Value: document.StringValue(string(e))}}
	if _, named := meta.Get("approval_mode"); !named {
		patch = append(patch, document.Member{Name: "approval_mode", Value: document.StringValue("none")})
	}
	if has {
		patch = append(slices.Collect(members(meta)), patch...)
	}
	return document.MergeTop(v, document.ObjectValue([]document.Member{{Name: "meta", Value: document.ObjectValue(patch)}}))
}

// members returns those of an object.
func members(v document.Value) iter.Seq[document.Member] {
	return func(yield func(document.Member) bool) {
		for name, value := range v.Members() {
			if !yield(document.Member{Name: name, Value: value}) {
				return
			}
		}
	}
}

// strength orders the kinds by their limits: a higher one has more.
func (e Enforcement) strength() int {
	switch e {
	case WhileRunning:
		return 0
	case Always:
		return 2
	default:
		return 1
	}
}

// AtLeast reports that e keeps all that other keeps.
func (e Enforcement) AtLeast(other Enforcement) bool { return e.strength() >= other.strength() }

package workflow

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

// String is the word in a definition.
func (e Enforcement) String() string {
	if e == "" {
		return string(UntilSuccess)
	}
	return string(e)
}

// strength orders the kinds by what they keep: a higher one keeps more.
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

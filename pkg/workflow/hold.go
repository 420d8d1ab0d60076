package workflow

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Hold keeps a run HELD, with its tool calls denied, until its cause is lifted
// (S6.2). A run has at most one hold for each cause.
type Hold struct {
	By     string
	Cause  HoldCause
	Reason string
	Since  time.Time
}

// HoldCause is why a run is held, and thereby who may lift that.
type HoldCause string

// The causes.
const (
	HoldOperator   HoldCause = "operator"
	HoldSessionEnd HoldCause = "session_end"
	// HoldStale is the silence of the agent (S25.5). Operators lift it.
	HoldStale HoldCause = "stale"
)

// Held reports that a run is held, for any cause.
func (r *Run) Held() bool { return len(r.Holds) > 0 }

// HeldFor reports that a run is held for this cause.
func (r *Run) HeldFor(cause HoldCause) bool {
	return slices.ContainsFunc(r.Holds, func(h Hold) bool { return h.Cause == cause })
}

// heldBySessionAlone reports that only the end of its session holds the run.
func (r *Run) heldBySessionAlone() bool { return r.Held() && !r.HeldFor(HoldOperator) }

// HeldBy describes who holds a run, why, and how to lift that, as a sentence without its
// end.
func HeldBy(holds []Hold) string {
	all := make([]string, len(holds))
	for i := range holds {
		all[i] = holds[i].String()
	}
	return strings.Join(all, "; ")
}

// String describes who holds a run, why, and how to lift that, as a sentence without its
// end.
func (h Hold) String() string {
	if h.Cause == HoldSessionEnd {
		return "it is held because its session has ended, until the session or an operator resumes it"
	}
	if h.Cause == HoldStale {
		return "it is held because of " + h.Reason + ", until an operator resumes it"
	}
	text := "operator " + document.Quote(h.By) + " holds it"
	if h.Reason != "" {
		text += " (" + document.Quote(h.Reason) + ")"
	}
	return text + ", until an operator resumes it"
}

package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Standing is how an evidence of a run stands.
type Standing struct {
	Name string
	Held bool
	// Since is when it was observed; zero when it is not held.
	Since time.Time
	// VoidedBy says what has voided it, or is empty.
	VoidedBy string
	// Missing says what is missing and how to get it; empty when it is held.
	Missing string
	// Needs says what it takes, without anything of the run.
	Needs string
}

// Standings are those of a run, by name. What is not among them is not held.
type Standings map[string]Standing

// Approved is a transition that humans have agreed to.
type Approved struct {
	State, Event string
	Entry        int64
	At           time.Time
	By           string
}

// Written is what the shared state says at a pointer. Unknown says why it could not be
// told; empty when it could.
type Written struct {
	Unknown string
	Value   document.Value // missing when nothing is there
	// Writers are the names of who has written it last: the principal, and the session by
	// name and id. At is when.
	Writers []string
	At      time.Time
}

// Basis is what the evidence of a run is judged by.
type Basis struct {
	Record Record
	RunID  string
	// Entry of the state that the caller works in.
	Entry    int64
	Approved []Approved
	// Written is what the shared state says, by the name of the evidence.
	Written map[string]Written
	Now     time.Time
}

// Judge tells how each evidence stands.
func (b *Basis) Judge(specs []Spec) Standings {
	if len(specs) == 0 {
		return nil
	}
	now := *b
	now.Record, _ = b.Record.Elapse(b.Now)
	all := make(Standings, len(specs))
	for i := range specs {
		all[specs[i].Name] = now.judge(&specs[i])
	}
	return all
}

func (b *Basis) judge(spec *Spec) Standing {
	s := Standing{Name: spec.Name, Needs: "needs " + spec.needs() + spec.conditions("any edit")}
	switch {
	case spec.State != nil:
		b.judgeState(spec, &s)
	case spec.Approval != "":
		b.judgeApproval(spec, &s)
	default:
		b.judgeCalls(spec, &s)
	}
	return s
}

// judgeCalls counts the observations that still stand.
func (b *Basis) judgeCalls(spec *Spec, s *Standing) {
	if c := b.Record.atWork(); spec.AfterEdit && c != nil {
		s.VoidedBy = "call " + c.String() + " of " + clock(c.At) + ", which may still change files"
		s.Missing = "needs " + spec.needs() + " after call " + c.String() + ", which was allowed at " + clock(c.At) + " and may still change files: " + c.wayOut()
		return
	}
	fact := b.Record.Fact(b.RunID, spec.Name)
	standing := 0
	for _, o := range slices.Backward(fact.Seen) {
		why := b.voids(spec, &o)
		if why != "" {
			s.VoidedBy = why
			break
		}
		standing++
		s.Since = o.At
	}
	if s.Held = standing >= spec.Count; s.Held {
		s.VoidedBy = ""
		return
	}
	s.Since = time.Time{}
	if fact.Against != nil {
		s.VoidedBy = fmt.Sprintf("call %s at %s, which ended otherwise", document.Quote(fact.Against.CallID), clock(fact.Against.At))
	}
	s.Missing = "needs " + spec.needs() + spec.conditions(b.lastEdit())
	switch claimed := fact.Claimed; {
	case claimed != nil && (len(fact.Seen) == 0 || claimed.At.After(fact.Seen[len(fact.Seen)-1].At)):
		s.Missing += fmt.Sprintf("; the report of %s came from the agent itself, which shows nothing: only what the hook, the gateway or a trusted runtime reports counts",
			clock(claimed.At))
	case s.VoidedBy != "":
		s.Missing += "; the last one was voided by " + s.VoidedBy
	case spec.Count > 1:
		s.Missing += fmt.Sprintf("; there are %d", standing)
	}
}

// voids says why an observation does not count any more, or is empty.
func (b *Basis) voids(spec *Spec, o *Observation) string {
	switch {
	case spec.AfterEdit && o.Edits != b.Record.Edits:
		return "the edit at " + b.Record.Last.String()
	case spec.WithinEntry && o.Entry != b.Entry:
		return "leaving the state"
	case spec.MaxAge > 0 && b.Now.Sub(o.At) > spec.MaxAge:
		return "its age of more than " + span(spec.MaxAge)
	default:
		return ""
	}
}

func (b *Basis) lastEdit() string {
	if b.Record.Edits == 0 {
		return "any edit"
	}
	return fmt.Sprintf("the last edit (%s)", b.Record.Last)
}

// String is when it was, and of what.
func (e Edit) String() string {
	if e.What == "" {
		return clock(e.At)
	}
	return clock(e.At) + ", " + e.What
}

func (b *Basis) judgeApproval(spec *Spec, s *Standing) {
	for _, a := range slices.Backward(b.Approved) {
		switch {
		case a.State != spec.Approval && a.Event != spec.Approval:
			continue
		case spec.MaxAge > 0 && b.Now.Sub(a.At) > spec.MaxAge:
			s.VoidedBy = "its age of more than " + span(spec.MaxAge)
		case spec.WithinEntry && a.Entry != b.Entry:
			s.VoidedBy = "leaving the state"
		default:
			s.Held, s.Since = true, a.At
			return
		}
		break
	}
	s.Missing = "needs " + spec.needs() + spec.conditions("")
	if s.VoidedBy != "" {
		s.Missing += "; the last one was voided by " + s.VoidedBy
	}
}

func (b *Basis) judgeState(spec *Spec, s *Standing) {
	s.Missing = "needs " + spec.needs() + spec.conditions("")
	w, known := b.Written[spec.Name]
	switch {
	case !known:
		s.Missing += "; it was not read"
	case w.Unknown != "":
		s.Missing += "; " + w.Unknown
	case !spec.State.Op.Holds(w.Value, spec.State.Value):
		found := "there is nothing"
		if !w.Value.IsZero() {
			found = "it is " + short(w.Value.String())
		}
		s.Missing += "; " + found
	case spec.Writer != "" && !slices.Contains(w.Writers, spec.Writer):
		s.Missing += "; it was written by " + document.Quote(w.writer())
	case spec.MaxAge > 0 && b.Now.Sub(w.At) > spec.MaxAge:
		s.VoidedBy = "its age of more than " + span(spec.MaxAge)
		s.Missing += "; the last one was voided by " + s.VoidedBy
	default:
		s.Held, s.Since, s.Missing = true, w.At, ""
	}
}

// Describe says what an evidence takes, for people.
func (spec *Spec) Describe() string { return spec.needs() + spec.conditions("any edit") }

// needs says what must be observed.
func (spec *Spec) needs() string {
	switch {
	case spec.State != nil:
		text := "the shared state to have " + spec.State.String()
		if spec.Writer != "" {
			text += ", written by " + spec.Writer
		}
		return text
	case spec.Approval != "":
		return "a human's approval of " + document.Quote(spec.Approval)
	}
	how, what := "a successful ", "call of "+spec.Tool
	if spec.Outcome == Failed {
		how = "a failed "
	}
	if spec.Command != "" {
		what = "`" + spec.Command + "`"
	}
	if spec.Output != nil {
		what += " whose result has " + spec.Output.String()
	}
	if spec.Count > 1 {
		how = fmt.Sprintf("%d times in a row ", spec.Count) + how
	}
	return how + what
}

func (spec *Spec) conditions(edit string) string {
	var b strings.Builder
	if spec.AfterEdit && edit != "" {
		b.WriteString(" after " + edit)
	}
	if spec.WithinEntry {
		b.WriteString(", since the run entered the state")
	}
	if spec.MaxAge > 0 {
		b.WriteString(", not older than " + span(spec.MaxAge))
	}
	return b.String()
}

// String is the test as messages show it.
func (t *Test) String() string {
	text := t.Pointer + " " + t.OpName
	if t.Op.TakesValue() {
		text += " " + short(t.Value.String())
	}
	return text
}

// clock is a time as messages show it: in UTC, on the day that it is.
func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

// span is a duration without parts that are zero.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// longest is the longest text, in bytes, that short gives.
const longest = 80

func short(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "..."
}

// writer names who has written a value: the session, or else the principal.
func (w *Written) writer() string {
	for _, name := range slices.Backward(w.Writers[:min(len(w.Writers), 2)]) {
		if name != "" {
			return name
		}
	}
	return "nobody"
}

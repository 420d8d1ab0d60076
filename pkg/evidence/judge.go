package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Status is the status of one evidence of a run: whether it is satisfied, and the missing step.
type Status struct {
	Name string
	Held bool
	// Since is when it was observed; zero when it is not held.
	Since time.Time
	// VoidedBy is the act that voided it, or is empty.
	VoidedBy string
	// Missing names the missing part and how to get it; empty when it is held.
	Missing string
	// Needs describes the requirement, apart from any run.
	Needs string
	// Tree is the digest of the files that it was witnessed on; empty when it is not bound to them.
	Tree string
}

// Statuses are those of a run, by name. Evidence that is not among them is not satisfied.
type Statuses map[string]Status

// Approved is a transition that humans have agreed to.
type Approved struct {
	State, Event string
	Entry        int64
	At           time.Time
	By           string
}

// Written is the value of the shared state at a pointer. Unknown is the reason why it
// could not be read; empty when it could.
type Written struct {
	Unknown string
	Value   document.Value // missing when there is no value
	// Writers are the names of who has written it last: the principal, and the session by
	// name and id. At is when.
	Writers []string
	At      time.Time
}

// Basis holds the facts that decide on the evidence of a run.
type Basis struct {
	Record Record
	RunID  string
	// Claimed: the agent itself has named the workspace of the run.
	Claimed bool
	// Homeless: the run has no workspace.
	Homeless bool
	// Entry of the state that the caller works in.
	Entry    int64
	Approved []Approved
	// Written has the values of the shared state, by the name of the evidence.
	Written map[string]Written
	Now     time.Time
	// Tree is the digest of the workspace's files now; empty when it is not known.
	Tree string
}

// Judge describes how each evidence stands.
func (b *Basis) Judge(specs []Spec) Statuses {
	if len(specs) == 0 {
		return nil
	}
	now := *b
	now.Record, _ = b.Record.Elapse(b.Now)
	all := make(Statuses, len(specs))
	for i := range specs {
		all[specs[i].Name] = now.judgeOne(&specs[i])
	}
	return all
}

func (b *Basis) judgeOne(spec *Spec) Status {
	s := Status{Name: spec.Name, Needs: "needs " + spec.needs() + spec.conditions("any edit")}
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

// judgeCalls counts the sightings that still stand.
func (b *Basis) judgeCalls(spec *Spec, s *Status) {
	fact := b.Record.Fact(b.RunID, spec.Name)
	if c := b.Record.atWork(spec); spec.AfterEdit && c != nil && !b.knows(spec, &fact) {
		s.VoidedBy = "call " + c.String() + " of " + clock(c.At) + ", which may still change files"
		s.Missing = "needs " + spec.needs() + " after call " + c.String() + ", which was allowed at " + clock(c.At) + " and may still change files: " + c.wayOut()
		return
	}
	standing := 0
	for _, o := range slices.Backward(fact.Seen) {
		why := b.voids(spec, &o)
		if why != "" {
			s.VoidedBy = why
			break
		}
		standing++
		s.Since = o.At
		if s.Tree == "" && spec.AfterEdit {
			s.Tree = o.Tree
		}
	}
	if s.Held = standing >= spec.Count; s.Held {
		s.VoidedBy = ""
		return
	}
	s.Since, s.Tree = time.Time{}, ""
	if fact.Against != nil {
		s.VoidedBy = fact.Against.against()
	}
	s.Missing = "needs " + spec.needs() + spec.conditions(b.lastEdit())
	switch claimed := fact.Claimed; {
	case claimed != nil && (len(fact.Seen) == 0 || claimed.At.After(fact.Seen[len(fact.Seen)-1].At)):
		s.Missing += fmt.Sprintf("; the report of %s came from the agent itself, which is not evidence: only reports of the hook, the gateway or a trusted runtime count",
			clock(claimed.At))
	case s.VoidedBy != "":
		s.Missing += "; the last one was voided by " + s.VoidedBy
	case spec.Count > 1:
		s.Missing += fmt.Sprintf("; there are %d", standing)
	}
	switch {
	case spec.Command == "":
	case b.Homeless:
		s.Missing += "; this run has no workspace, so a command in a folder is not evidence: whoever starts the run names its folder, " +
			"as the hook does by the \"cwd\" of its event"
	case b.Claimed:
		s.Missing += "; the agent itself has named the workspace of this run, so a command in a folder is not evidence: " +
			"have the run started by the hook, by `interlock mcp`, or by an operator"
	}
}

// voids describes why a sighting does not count any more, or is empty. A sighting on files
// that can be compared with the present ones depends on that comparison alone.
func (b *Basis) voids(spec *Spec, o *Sighting) string {
	switch {
	case !spec.AfterEdit, b.sees(o) && o.Tree == b.Tree:
	case b.sees(o) && (spec.Change == nil || o.Edits == b.Record.Edits): // with other edits the files differ at least by these
		return b.changedSince(o)
	case o.Edits-o.Spared != b.Record.Edits-b.Record.Spared[spec.SparedBy()]:
		return "the edit at " + b.Record.Last.String()
	}
	switch {
	case spec.WithinEntry && o.Entry != b.Entry:
		return "leaving the state"
	case spec.MaxAge > 0 && b.Now.Sub(o.At) > spec.MaxAge:
		return "its age of more than " + span(spec.MaxAge)
	default:
		return ""
	}
}

// sees reports that the files of a sighting can be compared with those of now (S14.9).
func (b *Basis) sees(o *Sighting) bool { return b.Tree != "" && o.Tree != "" }

// knows reports that all that an evidence takes can be compared with the files of now, so that an open
// call makes no difference.
func (b *Basis) knows(spec *Spec, fact *Fact) bool {
	last := fact.Seen[max(0, len(fact.Seen)-spec.Count):]
	return len(last) > 0 && !slices.ContainsFunc(last, func(o Sighting) bool { return !b.sees(&o) })
}

// changedSince describes files that differ from those of a sighting.
func (b *Basis) changedSince(o *Sighting) string {
	text := "a change of files since " + clock(o.At)
	if b.Record.Edits != o.Edits {
		text += " (the last edit that was seen: " + b.Record.Last.String() + ")"
	}
	return text
}

// against describes how the last call was no evidence.
func (o *Sighting) against() string {
	how := "which ended otherwise"
	if o.Changed != "" {
		how = "during which " + document.Quote(o.Changed) + " changed: it does not apply to the present files. Run it again while no program changes files, or let git ignore the files that it writes"
	}
	return fmt.Sprintf("call %s at %s, %s", document.Quote(o.CallID), clock(o.At), how)
}

func (b *Basis) lastEdit() string {
	if b.Record.Edits == 0 {
		return "any edit"
	}
	return fmt.Sprintf("the last edit (%s)", b.Record.Last)
}

// String returns its time and its object.
func (e Edit) String() string {
	if e.What == "" {
		return clock(e.At)
	}
	return clock(e.At) + ", " + e.What
}

func (b *Basis) judgeApproval(spec *Spec, s *Status) {
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

func (b *Basis) judgeState(spec *Spec, s *Status) {
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

// Describe returns the requirements of an evidence, for people.
func (spec *Spec) Describe() string { return spec.needs() + spec.conditions("any edit") }

// needs returns the required sighting.
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
	if spec.When != nil {
		b.WriteString(" for which " + short(spec.When.Value().String()) + " holds")
	}
	if spec.AfterEdit && edit != "" {
		b.WriteString(" after " + edit)
	}
	if spec.Change != nil {
		b.WriteString(" for which " + short(spec.Change.Value().String()) + " may hold")
	}
	if spec.WithinEntry {
		b.WriteString(", since the run entered the state")
	}
	if spec.MaxAge > 0 {
		b.WriteString(", not older than " + span(spec.MaxAge))
	}
	return b.String()
}

// String returns the test as messages show it.
func (t *Test) String() string {
	text := t.Pointer + " " + t.OpName
	if t.Op.TakesValue() {
		text += " " + short(t.Value.String())
	}
	return text
}

// clock returns a time as messages show it: in UTC, on the day that it is.
func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

// span returns a duration without parts that are zero.
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

package evidence

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// NoUnknownEffects is the name by which Statuses show whether the outcome of every call is
// known. No evidence can be declared by it.
const NoUnknownEffects = "no_unknown_effects"

// MostCalls bounds the calls that wait for their reports: no further one with an effect is
// allowed (S16.1).
const MostCalls = 256

// OpenCall is an allowed call whose end has not been reported. It waits for one of two reasons, or
// both: its workflow keeps account of effects (S16.1), then it has a Due; it may change files
// (S14.6), then it has Edits.
type OpenCall struct {
	ID    string `json:"id"`
	RunID string `json:"run_id"`
	Tool  string `json:"tool"`
	// The act: the name of a file, or its command line, shortened and masked.
	What string `json:"what,omitempty"`
	// Digest reports whether another call is the same.
	Digest string `json:"digest"`
	// By is who has made it.
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Due is when it becomes unknown; the zero time for one that is not accounted.
	Due time.Time `json:"due,omitzero"`
	// Unknown: it was not reported in time, or its end could not be determined.
	Unknown bool `json:"unknown,omitempty"`
	// Edits: it may still change files. Spares names the evidence that these changes leave as it is (Spec.SparedBy).
	Edits  bool     `json:"edits,omitempty"`
	Spares []string `json:"spares,omitempty"`
	// Background is the client's name of the program that it leaves in the background, or
	// Unnamed; empty for a call that ends with its report.
	Background string `json:"background,omitempty"`
}

func (c *OpenCall) accounted() bool { return !c.Due.IsZero() }

// String names a call to people.
func (c *OpenCall) String() string {
	text := document.Quote(c.ID) + " (" + c.Tool
	if c.What != "" && c.What != c.Tool {
		text += ", " + c.What
	}
	return text + ")"
}

// Open adds a call that was allowed. False: too many wait already.
func (r Record) Open(c OpenCall) (Record, bool) {
	if len(r.Calls) >= MostCalls {
		return r, false
	}
	r.Calls = append(slices.Clone(r.Calls), c)
	return r, true
}

// Close removes a call whose outcome is known from the account. False: it is not there. A call
// that may still change files stays open for that.
func (r Record) Close(id string) (Record, OpenCall, bool) {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.ID == id && c.accounted() })
	if i < 0 {
		return r, OpenCall{}, false
	}
	c := r.Calls[i]
	return r.without(i, func(rest *OpenCall) { rest.Due, rest.Unknown = time.Time{}, false }), c, true
}

// Settle removes a call for both reasons. False: it does not wait.
func (r Record) Settle(id string) (Record, OpenCall, bool) {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.ID == id })
	if i < 0 {
		return r, OpenCall{}, false
	}
	c := r.Calls[i]
	return r.without(i, func(rest *OpenCall) { rest.Due, rest.Edits = time.Time{}, false }), c, true
}

// without changes the reasons for which a call waits, and removes it when none is left.
func (r Record) without(i int, change func(*OpenCall)) Record {
	calls := slices.Clone(r.Calls)
	change(&calls[i])
	if !calls[i].accounted() && !calls[i].Edits {
		calls = slices.Delete(calls, i, i+1)
	}
	r.Calls = calls
	return r
}

// Doubt makes the calls unknown that are due, and those that are named.
func (r Record) Doubt(now time.Time, ids ...string) (Record, []OpenCall) {
	var lost []OpenCall
	calls := slices.Clone(r.Calls)
	for i := range calls {
		if c := &calls[i]; c.accounted() && !c.Unknown && (!now.Before(c.Due) || slices.Contains(ids, c.ID)) {
			c.Unknown = true
			lost = append(lost, *c)
		}
	}
	if len(lost) == 0 {
		return r, nil
	}
	r.Calls = calls
	return r, lost
}

// NextDue returns when the next call becomes unknown; the zero time when none does.
func (r *Record) NextDue() (due time.Time) {
	for i := range r.Calls {
		if c := &r.Calls[i]; c.accounted() && !c.Unknown && (due.IsZero() || c.Due.Before(due)) {
			due = c.Due
		}
	}
	return due
}

// CallsOf returns the calls of a tool that wait, of a run.
func (r *Record) CallsOf(run, tool string) iter.Seq[OpenCall] {
	return func(yield func(OpenCall) bool) {
		for i := range r.Calls {
			if c := &r.Calls[i]; c.accounted() && c.RunID == run && c.Tool == tool && !yield(*c) {
				return
			}
		}
	}
}

// Repeats returns an unknown call that another one with this digest would repeat; nil for
// none.
func (r *Record) Repeats(digest string) *OpenCall {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.Unknown && c.Digest == digest })
	if i < 0 {
		return nil
	}
	return &r.Calls[i]
}

// Effects reports whether the outcome of every call is known.
func (r *Record) Effects() Status {
	calls := slices.DeleteFunc(slices.Clone(r.Calls), func(c OpenCall) bool { return !c.accounted() })
	s := Status{Name: NoUnknownEffects, Needs: "needs the outcome of every call to be known", Held: len(calls) == 0}
	if s.Held {
		return s
	}
	const most = 3
	slices.SortStableFunc(calls, func(a, b OpenCall) int { return cmp.Compare(truth(b.Unknown), truth(a.Unknown)) })
	whats := make([]string, 0, most+1)
	for i := range calls[:min(most, len(calls))] {
		c := &calls[i]
		how := "was allowed at " + clock(c.At) + " and is not reported yet"
		if c.Unknown {
			how = "is UNKNOWN since " + clock(c.Due)
		}
		whats = append(whats, "call "+c.String()+" "+how)
	}
	if more := len(calls) - most; more > 0 {
		whats = append(whats, fmt.Sprintf("%d more", more))
	}
	s.Missing = s.Needs + "; " + strings.Join(whats, "; ") +
		". The program that runs the calls reports their end, the agent's own report does not count; an operator or approver settles the rest with `interlock call settle`"
	return s
}

package evidence

import (
	"slices"
	"time"
)

// AtWork is how long an allowed call that may change files is taken to be at work without a
// report of its end (S14.6). Processes that it leaves in the background have no such bound.
const AtWork = 15 * time.Minute

// Unnamed is the Background of a call whose client gives its program no name.
const Unnamed = "?"

// Changes opens an allowed call that may change files. No evidence is held while the call is open,
// and its end voids, so that a call that was never executed voids none. False: too many calls
// wait.
func (r Record) Changes(c OpenCall) (Record, bool) {
	c.Edits = true
	return r.Open(c)
}

// Reported returns the record after a report of a call that may change files. An observed report
// voids and ends the call, except one that leaves a program in the background, which is at work
// until that has ended. An unobserved report leaves an open call as it is.
func (r Record) Reported(e Edit, background string, observed bool) Record {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.ID == e.CallID && c.Edits })
	if i >= 0 {
		e.Spares = r.Calls[i].Spares
	}
	switch {
	case i >= 0 && !observed:
		return r
	case i >= 0 && e.What == "":
		e.What = r.Calls[i].What
	case e.What == "" && r.Last.CallID == e.CallID:
		e.What = r.Last.What
	}
	r = r.Edited(e)
	switch {
	case i < 0:
		return r
	case background != "" || r.Calls[i].Background != "":
		r.Calls = slices.Clone(r.Calls)
		if background != "" {
			r.Calls[i].Background = background
		}
		return r
	default:
		return r.without(i, func(c *OpenCall) { c.Edits = false })
	}
}

// EndsBackground returns the record after a program of the background was observed to have ended.
// It may have changed files until then.
func (r Record) EndsBackground(run, background string, now time.Time) Record {
	if background == "" || background == Unnamed {
		return r
	}
	for i := len(r.Calls) - 1; i >= 0; i-- {
		if c := r.Calls[i]; c.Edits && c.RunID == run && c.Background == background {
			r = r.Edited(Edit{At: now, CallID: c.ID, What: c.What, Spares: c.Spares}).without(i, func(c *OpenCall) { c.Edits = false })
		}
	}
	return r
}

// Elapse ends the calls that have been at work for AtWork, and reports whether there were any. They
// may have changed files until then.
func (r Record) Elapse(now time.Time) (Record, bool) {
	elapsed := false
	for i := len(r.Calls) - 1; i >= 0; i-- {
		if c := r.Calls[i]; c.Edits && c.Background == "" && now.Sub(c.At) >= AtWork {
			r = r.Edited(Edit{At: c.At.Add(AtWork), CallID: c.ID, What: c.What, Spares: c.Spares}).without(i, func(c *OpenCall) { c.Edits = false })
			elapsed = true
		}
	}
	return r, elapsed
}

// atWork returns a call whose changes of files may still void an evidence: one of the background before others, because
// only its end helps; nil for none.
func (r *Record) atWork(spec *Spec) *OpenCall {
	var found *OpenCall
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Edits && !slices.Contains(c.Spares, spec.SparedBy()) && (found == nil || c.Background != "" && found.Background == "") {
			found = c
		}
	}
	return found
}

// wayOut describes how a call ends that may still change files.
func (c *OpenCall) wayOut() string {
	if c.Background != "" {
		return "stop its background programs, or read how they ended, or have an operator or approver settle it (`interlock call settle`)"
	}
	return "report its end, wait until " + clock(c.At.Add(AtWork)) + ", or have an operator or approver settle it (`interlock call settle`)"
}

// Leaves returns the record after a client has shown that a call continues in the background.
func (r Record) Leaves(id, background string) Record {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.ID == id && c.Edits })
	if i < 0 || background == "" {
		return r
	}
	r.Calls = slices.Clone(r.Calls)
	r.Calls[i].Background = background
	return r
}

// Witnessed returns the record after a jail has seen the end of a call, and whether that left anything
// running.
func (r Record) Witnessed(e Edit, left bool) Record {
	i := slices.IndexFunc(r.Calls, func(c OpenCall) bool { return c.ID == e.CallID && c.Edits })
	if i >= 0 && !left {
		r.Calls = slices.Clone(r.Calls)
		r.Calls[i].Background = ""
	}
	return r.Reported(e, "", true)
}

package evidence

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Record holds the sightings of the calls of a run and of all that it has invoked.
// They work on the same files, so that an edit by any of them voids the evidence of all.
// It is a snapshot: each change makes another one. The zero Record is that of a run
// without sightings.
type Record struct {
	// Edits counts the ends of calls that may have changed files (S14.6). A sighting
	// belongs to the count at which its call was allowed: the order of calls is that
	// in which they were allowed, not that of their reports.
	Edits int64 `json:"edits,omitempty"`
	// Last is the last of them.
	Last Edit `json:"last,omitzero"`
	// Spared counts those that leave some evidence as it is, by Spec.SparedBy.
	Spared map[string]int64 `json:"spared,omitempty"`
	// Runs has the facts, by the id of the run and the name of the evidence.
	Runs map[string]map[string]Fact `json:"runs,omitempty"`
	// Calls are those whose outcome is not reported, oldest first, of runs whose workflow
	// keeps account of effects (S16).
	Calls []OpenCall `json:"calls,omitempty"`
	// Before is the outermost of the runs whose open calls are here (S14.8), and After that of the
	// runs that have these calls now; empty for none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// TakeOver returns the record of a run, by the id of the outermost of its family, that has the calls
// which the session's family before has left open.
func (r Record) TakeOver(run, before string, calls []OpenCall) Record {
	r.Before = before
	r.Calls = slices.Clone(r.Calls)
	for _, c := range calls {
		if slices.ContainsFunc(r.Calls, func(have OpenCall) bool { return have.ID == c.ID }) {
			continue
		}
		c.RunID = run
		r.Calls = append(r.Calls, c)
	}
	return r
}

// Left returns the record of a family that has ended, whose open calls the family of another run has
// taken over.
func (r Record) Left(after string) Record {
	r.After, r.Calls = after, nil
	return r
}

// Edit is a call that may have changed files.
type Edit struct {
	At     time.Time `json:"at"`
	CallID string    `json:"call_id"`
	// The changed object: the name of a file, or its command line, shortened.
	What string `json:"what,omitempty"`
	// Spares names the evidence that it leaves as it is; Record.Spared counts it.
	Spares []string `json:"-"`
}

// Fact is the knowledge of one evidence.
type Fact struct {
	// Seen are the last sightings, oldest first, as many as it takes.
	Seen []Sighting `json:"seen,omitempty"`
	// Against is the last call that was observed with another outcome, or during which files have
	// changed, if none has been seen with the right one since.
	Against *Sighting `json:"against,omitempty"`
	// Claimed is the last report that did not count, because it was the agent's word.
	Claimed *Sighting `json:"claimed,omitempty"`
}

// Sighting is one call that was allowed and reported.
type Sighting struct {
	At     time.Time `json:"at"`
	CallID string    `json:"call_id"`
	// By is who has reported it.
	By string `json:"by,omitempty"`
	// Edits is Record.Edits at the time that the call was allowed, Entry the entry of
	// the state that it was allowed in.
	Edits int64 `json:"edits,omitempty"`
	Entry int64 `json:"entry,omitempty"`
	// Spared is how many of them, and of those until it was reported, leave the evidence as it is.
	Spared int64 `json:"spared,omitempty"`
	// Tree is the digest of the workspace's files that the call ran on, as its jail has witnessed; empty
	// when that is not known, or they have changed in the meantime. Changed is the first file that did.
	Tree    string `json:"tree,omitempty"`
	Changed string `json:"changed,omitempty"`
}

// mostRuns bounds how many runs a record has. Dropped evidence is not held any more.
const mostRuns = 256

// Edited returns the record after files may have changed.
func (r Record) Edited(e Edit) Record {
	r.Edits++
	if len(e.Spares) > 0 {
		r.Spared = maps.Clone(r.Spared)
		if r.Spared == nil {
			r.Spared = map[string]int64{}
		}
	}
	for _, name := range e.Spares {
		if _, known := r.Spared[name]; known || len(r.Spared) < mostSpared {
			r.Spared[name]++
		}
	}
	r.Last = e
	return r
}

// mostSpared bounds the conditions that a record counts for. A change that is not counted voids.
const mostSpared = 256

// Seen returns the record after a call was observed to end as the evidence asks, or to
// end otherwise. Only calls in a row count, so that the last one decides.
func (r Record) Seen(run string, spec *Spec, o Sighting, as bool) Record {
	o.Spared = r.Spared[spec.SparedBy()]
	return r.with(run, spec.Name, func(f Fact) Fact {
		if !as {
			return Fact{Against: &o}
		}
		seen := append(slices.Clone(f.Seen), o)
		return Fact{Seen: seen[max(0, len(seen)-spec.Count):]}
	})
}

// Claims returns the record after an agent has reported a call itself, which is not
// proof.
func (r Record) Claims(run string, spec *Spec, o Sighting) Record {
	return r.with(run, spec.Name, func(f Fact) Fact {
		f.Claimed = &o
		return f
	})
}

// Fact returns the knowledge of an evidence of a run.
func (r Record) Fact(run, name string) Fact { return r.Runs[run][name] }

// OfTrees reports that some evidence of a run is bound to the files that it was witnessed on.
func (r *Record) OfTrees(run string, specs []Spec) bool {
	return slices.ContainsFunc(specs, func(spec Spec) bool {
		return spec.AfterEdit && slices.ContainsFunc(r.Runs[run][spec.Name].Seen, func(o Sighting) bool { return o.Tree != "" })
	})
}

func (r Record) with(run, name string, change func(Fact) Fact) Record {
	facts := maps.Clone(r.Runs[run])
	if facts == nil {
		facts = map[string]Fact{}
	}
	facts[name] = change(facts[name])
	runs := maps.Clone(r.Runs)
	if runs == nil {
		runs = map[string]map[string]Fact{}
	}
	runs[run] = facts
	if len(runs) > mostRuns {
		oldest := slices.MinFunc(slices.Sorted(maps.Keys(runs)), func(a, b string) int {
			if a == run || b == run {
				return cmp.Compare(truth(a == run), truth(b == run))
			}
			return latest(runs[a]).Compare(latest(runs[b]))
		})
		delete(runs, oldest)
	}
	r.Runs = runs
	return r
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// latest returns when anything was observed of a run.
func latest(facts map[string]Fact) (at time.Time) {
	later := func(o *Sighting) {
		if o != nil && o.At.After(at) {
			at = o.At
		}
	}
	for _, f := range facts {
		for i := range f.Seen {
			later(&f.Seen[i])
		}
		later(f.Against)
		later(f.Claimed)
	}
	return at
}

package app

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Bounds of what one call finds out about who has written what.
const (
	// mostAuthored is the most values of a document, and mostUndone the most versions that
	// are gone back.
	mostAuthored = 10_000
	mostUndone   = 64 * snapshotEvery
	// authorsKept is how many documents' writers are remembered.
	authorsKept = 128
)

// Author is the change that has written a value last.
type Author struct {
	Pointer                string
	Version                int64
	Actor                  string
	SessionID, SessionName string
	Time                   time.Time
}

// authors are those of all values of a state at a version.
type authors struct {
	version int64
	of      map[string]*Author // by pointer
	partial bool
}

// Authors returns who wrote each value of a state last that is at or below one of the
// pointers, as it is, or with a version as it was then, in the order of the document.
// partial is true when some are missing.
func (a *App) Authors(ctx context.Context, caller Caller, id string, version int64, pointers []string) (of int64, found []*Author, partial bool, err error) {
	st, _, err := a.State(ctx, caller, id, version, pointers)
	if err != nil {
		return 0, nil, false, err
	}
	all, err := a.authorsOf(ctx, st)
	if err != nil {
		return 0, nil, false, err
	}
	wanted, partial := document.NewWriters(st.Data, pointers, mostAuthored)
	ordered, _ := wanted.Pointers()
	for _, pointer := range ordered {
		if author := all.of[pointer]; author != nil {
			found = append(found, author)
		} else {
			partial = true
		}
	}
	return st.Version, found, partial, nil
}

// authorsOf goes back through the changes of a state until each value has its writer, or an
// earlier version that is remembered knows it.
func (a *App) authorsOf(ctx context.Context, st *State) (*authors, error) {
	known, _ := a.authors.Get(st.Key)
	if known != nil && known.version == st.Version {
		return known, nil
	}
	open, partial := document.NewWriters(st.Data, nil, mostAuthored)
	all := &authors{version: st.Version, of: make(map[string]*Author, open.Len()), partial: partial}
	past := past{app: a, key: st.Key, changes: map[int64]*Change{}, docs: map[int64]document.Value{0: document.NullValue()}}
	for v := st.Version; v > max(0, st.Version-mostUndone) && open.Len() > 0; v-- {
		if known != nil && known.version == v {
			all.take(open, known)
			break
		}
		change, before, err := past.at(ctx, v)
		if err != nil {
			return nil, err
		}
		if change == nil {
			break // what was written before is not kept
		}
		if err := all.undo(open, before, change); err != nil {
			return nil, fault.From(fmt.Errorf("state %s: version %d: %w", st.Key.ID, v, err))
		}
	}
	a.authors.Put(st.Key, all, func(old *authors) bool { return old.version > all.version })
	return all, nil
}

// undo takes one change back.
func (all *authors) undo(open *document.Writers, before document.Value, c *Change) error {
	patch, problems := document.ParsePatch(c.Patch, document.PatchLimits{Text: maxRecordBytes})
	if problems.HasErrors() {
		return problems.Err()
	}
	wrote, err := open.Undo(before, patch)
	if err != nil {
		return err
	}
	for _, pointer := range wrote {
		all.of[pointer] = &Author{
			Pointer: pointer, Version: c.Version, Actor: c.Actor, SessionID: c.SessionID, SessionName: c.SessionName, Time: c.At,
		}
	}
	return nil
}

// take gives the values that are still open the writers that an earlier version knows.
func (all *authors) take(open *document.Writers, known *authors) {
	pointers, then := open.Pointers()
	for i, pointer := range pointers {
		if author := known.of[then[i]]; author != nil {
			same := *author
			same.Pointer = pointer
			all.of[pointer] = &same
		}
	}
}

// past reads the changes of a state backwards, a stretch that begins with a whole document
// at a time, and what each of them was made on.
type past struct {
	app     *App
	key     store.Key
	changes map[int64]*Change
	docs    map[int64]document.Value // after each
}

// at is the change that made a version, and the document before it; nil when they are not
// kept.
func (p *past) at(ctx context.Context, version int64) (*Change, document.Value, error) {
	for _, v := range []int64{version, version - 1} {
		if _, ok := p.docs[v]; ok {
			continue
		}
		begin := (v - 1) / snapshotEvery * snapshotEvery
		changes, lost, err := p.app.stretch(ctx, p.key, begin, v)
		if lost != nil || err != nil {
			return nil, document.Value{}, err
		}
		doc := document.NullValue()
		for _, c := range changes {
			if doc, err = c.onto(doc); err != nil {
				return nil, doc, fault.From(fmt.Errorf("state %s: version %d: %w", p.key.ID, c.Version, err))
			}
			p.changes[c.Version], p.docs[c.Version] = c, doc
		}
	}
	change, before := p.changes[version], p.docs[version-1]
	delete(p.changes, version)
	delete(p.docs, version)
	return change, before, nil
}

package states

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Bounds of the search of one call for authors of values.
const (
	// mostAuthored is the most values of a document, and mostUndone the most versions that
	// are gone back.
	mostAuthored = 10_000
	mostUndone   = 64 * snapshotEvery
	// mostUndoing is how many steps that may take, some seconds.
	mostUndoing = 200_000_000
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
func (ss *States) Authors(ctx context.Context, caller ports.Caller, id string, version int64, pointers []string) (of int64, found []*Author, partial bool, err error) {
	st, _, err := ss.Get(ctx, caller, id, version, pointers)
	if err != nil {
		return 0, nil, false, err
	}
	all, err := ss.authorsOf(ctx, st)
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
func (ss *States) authorsOf(ctx context.Context, st *State) (*authors, error) {
	known, _ := ss.authors.Get(st.Key)
	if known != nil && known.version == st.Version {
		return known, nil
	}
	open, partial := document.NewWriters(st.Data, nil, mostAuthored)
	all := &authors{version: st.Version, of: make(map[string]*Author, open.Len()), partial: partial}
	past := past{app: ss, key: st.Key, trails: map[int64]undoing{}}
	left := mostUndoing
	for v := st.Version; v > max(0, st.Version-mostUndone) && open.Len() > 0 && left > 0; v-- {
		if known != nil && known.version == v {
			all.take(open, known)
			break
		}
		change, trail, err := past.at(ctx, v)
		if err != nil {
			return nil, err
		}
		if change == nil {
			break // earlier writes are not kept
		}
		left -= open.Cost(trail)
		all.undo(open, trail, change)
	}
	ss.authors.Put(st.Key, all, func(old *authors) bool { return old.version > all.version })
	return all, nil
}

// undo takes one change back.
func (all *authors) undo(open *document.Writers, trail document.Trail, c *Change) {
	for _, pointer := range open.Undo(trail) {
		all.of[pointer] = &Author{
			Pointer: pointer, Version: c.Version, Actor: c.Actor, SessionID: c.SessionID, SessionName: c.SessionName, Time: c.At,
		}
	}
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
// at a time.
type past struct {
	app    *States
	key    store.Key
	trails map[int64]undoing // of those that were read and not asked for yet
	whole  *Change           // the one that began the last stretch
}

// undoing is a change, and how to go back over it.
type undoing struct {
	change *Change
	trail  document.Trail
}

// at returns the change that made a version; nil when it is not kept.
func (p *past) at(ctx context.Context, version int64) (*Change, document.Trail, error) {
	if _, ok := p.trails[version]; !ok {
		if err := p.read(ctx, version); err != nil {
			return nil, nil, err
		}
	}
	found := p.trails[version]
	delete(p.trails, version)
	return found.change, found.trail, nil
}

// read reads a change, and those before it that are made on the same whole document. The
// change that brings that is made on the stretch before, and gone back over with it.
func (p *past) read(ctx context.Context, version int64) error {
	through := version
	if p.whole != nil && p.whole.Version == version {
		through--
	}
	begin := max(0, version-2) / snapshotEvery * snapshotEvery
	changes, lost, err := p.app.stretch(ctx, p.key, begin, through)
	if lost != nil || err != nil {
		return err
	}
	if through < version {
		changes = append(changes, p.whole)
	}
	doc := document.NullValue()
	if begin > 0 {
		p.whole = changes[0]
		if doc, err = p.whole.onto(doc); err != nil {
			return fault.From(fmt.Errorf("state %s: version %d: %w", p.key.ID, p.whole.Version, err))
		}
		changes = changes[1:]
	}
	replay := document.NewReplay(doc)
	for _, c := range changes {
		patch, problems := document.ParsePatch(c.Patch, document.PatchLimits{Text: ports.MaxRecordBytes})
		if err = problems.Err(); err == nil {
			var trail document.Trail
			trail, err = replay.Do(patch)
			p.trails[c.Version] = undoing{c, trail}
		}
		if err != nil {
			return fault.From(fmt.Errorf("state %s: version %d: %w", p.key.ID, c.Version, err))
		}
	}
	return nil
}

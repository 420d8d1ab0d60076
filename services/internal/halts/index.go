package halts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// text is the stored form of the halts.
type text struct {
	// Revision counts the changes.
	Revision int64  `json:"revision"`
	Halts    []Halt `json:"halts,omitempty"`
	// Lifted are those that were lifted lately: grants from before them have ended.
	Lifted []Halt `json:"lifted,omitempty"`
	// Freezes are those that were not lifted. Those that have ended are dropped with the next change.
	Freezes []Halt `json:"freezes,omitempty"`
}

// Index has the halts of a deployment, as one record, so that a decision can rest on its version. It is
// immutable.
type Index struct {
	version int64
	text    text
}

// Check returns the precondition of a decision by these halts.
func (x *Index) Check() store.Check { return store.Check{Key: key, Version: x.version} }

// Over returns the halt that a request is in the scope of; nil for none.
func (x *Index) Over(s *Subject) *Halt {
	for i := range x.text.Halts {
		if h := &x.text.Halts[i]; h.covers(s) {
			return h
		}
	}
	return nil
}

// Since reports whether a halt that was lifted has ended a grant to a subject at a time (S23.46).
func (x *Index) Since(s *Subject, granted time.Time) bool {
	return slices.ContainsFunc(x.text.Lifted, func(h Halt) bool { return !granted.After(h.At) && h.covers(s) })
}

// Has reports whether a namespace has a halt of one of these kinds, for which a subject must be read.
func (x *Index) Has(namespace string, kinds ...Kind) bool {
	return slices.ContainsFunc(x.text.Halts, func(h Halt) bool { return h.Namespace == namespace && slices.Contains(kinds, h.Kind) })
}

// In returns the halts that hold in a namespace, those of the whole deployment first.
func (x *Index) In(namespace string) []Halt {
	var all []Halt
	for _, of := range []string{"", namespace} {
		for _, h := range x.text.Halts {
			if h.Namespace == of {
				all = append(all, h)
			}
		}
	}
	return all
}

// Reader reads the halts that are in force. It is safe for concurrent use.
type Reader struct {
	store store.Store
	known *snapshot.Cache[store.Key, *Index]
}

// New returns a reader of the halts in a store.
func New(st store.Store) *Reader {
	r := &Reader{store: st, known: snapshot.New[store.Key, *Index](1)}
	st.Gate().OnTurn(r.known.Clear)
	return r
}

// key is that of the record. No caller's namespace has an underscore.
var key = store.Key{Namespace: "_deployment", Kind: "halts", ID: "halts-0"}

// Known returns the halts for a decision. They may be old, so that its commit must have their check.
func (r *Reader) Known(ctx context.Context) (*Index, error) {
	if x, ok := r.known.Get(key); ok {
		return x, nil
	}
	return r.Refresh(ctx)
}

// Refresh reads the present halts.
func (r *Reader) Refresh(ctx context.Context) (*Index, error) {
	x := &Index{}
	record, err := r.store.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		x.version = store.Absent
	case err != nil:
		return nil, fault.From(err)
	default:
		x.version = record.Version
		if err := json.Unmarshal(record.Data, &x.text); err != nil {
			return nil, fault.From(fmt.Errorf("decode the halts: %w", err))
		}
	}
	r.cache(x)
	return x, nil
}

// cache caches an index unless a newer one is cached.
func (r *Reader) cache(x *Index) {
	r.known.Put(key, x, func(old *Index) bool { return old.version > x.version })
}

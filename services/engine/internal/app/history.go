package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Position is a place in a run's history: after a version of the run, and after
// the tool result of a number.
type Position struct{ Version, Result int64 }

// History returns the changes of a run after a position, oldest first, at most limit
// entries, and the position that the next page begins after: none when there can be no
// more. A page of large entries has less than limit of them.
//
// Tool results come after the change that made the version they came at.
func (rd *Reads) History(ctx context.Context, caller ports.Caller, runID string, after Position, limit int) (entries []runcodec.Entry, next Position, err error) {
	key := runKey(caller.Namespace, runID)
	if caller.Principal.Session != "" {
		if _, err := rd.readableRun(ctx, caller, runID); err != nil {
			return nil, Position{}, err
		}
	}
	changes := &stream{store: rd.ports.Store, key: key, after: after.Version, decode: runcodec.DecodeEntry}
	results := &stream{store: rd.ports.Store, key: ledger.ResultsOf(key), after: after.Result, decode: runcodec.DecodeResult}
	for size := 0; len(entries) < limit; {
		from, err := earlier(ctx, changes, results)
		if err != nil {
			return nil, Position{}, err
		}
		if from == nil {
			if len(entries) == 0 && after == (Position{}) {
				// Distinguish a run without a history from one that never was.
				_, err = rd.runs.cached(ctx, key)
			}
			return entries, Position{}, err
		}
		entry, bytes := from.next()
		if size += bytes; size > rd.pageBytes && len(entries) > 0 {
			from.after-- // the next page begins with it
			break
		}
		entries = append(entries, entry)
	}
	return entries, Position{changes.after, results.after}, nil
}

// earlier returns the stream that the next entry comes from; nil at the end of both.
func earlier(ctx context.Context, changes, results *stream) (*stream, error) {
	change, err := changes.peek(ctx)
	if err != nil {
		return nil, err
	}
	result, err := results.peek(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case change == nil && result == nil:
		return nil, nil
	case result == nil:
		return changes, nil
	case change == nil || result.RunVersion < change.RunVersion:
		return results, nil
	default:
		return changes, nil
	}
}

// stream reads the history of one record a few entries at a time.
type stream struct {
	store  store.Store
	key    store.Key
	after  int64 // version of the last entry that was taken
	decode func(store.HistoryEntry) (runcodec.Entry, error)

	read []store.HistoryEntry
	head *runcodec.Entry // the decoded first of read
	done bool
}

func (s *stream) peek(ctx context.Context) (*runcodec.Entry, error) {
	if s.head != nil {
		return s.head, nil
	}
	if len(s.read) == 0 && !s.done {
		var err error
		if s.read, err = s.store.History(ctx, s.key, s.after, readAhead); err != nil {
			return nil, fault.From(err)
		}
		s.done = len(s.read) < readAhead
	}
	if len(s.read) == 0 {
		return nil, nil
	}
	entry, err := s.decode(s.read[0])
	if err != nil {
		return nil, fault.From(fmt.Errorf("history of %s: %w", s.key.ID, err))
	}
	s.head = &entry
	return s.head, nil
}

// next removes the entry that peek returned.
func (s *stream) next() (runcodec.Entry, int) {
	entry, stored := *s.head, s.read[0]
	s.head, s.read, s.after = nil, s.read[1:], stored.Version
	return entry, len(stored.Data)
}

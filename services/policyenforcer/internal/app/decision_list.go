package app

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// DecisionQuery selects decisions of the log. Empty fields select all.
type DecisionQuery struct {
	RunID, SessionID, Tool string
	Decision               toolcall.Decision
	// NotDecisions are those that are not asked for.
	NotDecisions []toolcall.Decision
	Code         toolcall.Code
	// Workflow is that of the run, Policy the one that has decided, and Principal who has
	// made the call.
	Workflow, Policy, Principal string
	// Since is the earliest time, and Before what is later than all.
	Since, Before time.Time
	// Shadowed selects those that a shadow would have decided otherwise.
	Shadowed bool
	// PageToken continues where a page has ended; Limit is the most of a page.
	PageToken string
	Limit     int
}

// matches reports whether a record is asked for.
func (q *DecisionQuery) matches(r *ledger.Decision) bool {
	return (q.RunID == "" || q.RunID == r.RunID || q.RunID == r.Partition) &&
		(q.SessionID == "" || q.SessionID == r.SessionID) &&
		(q.Tool == "" || q.Tool == r.Tool) &&
		(q.Decision == "" || q.Decision == r.Decision) &&
		!slices.Contains(q.NotDecisions, r.Decision) &&
		(q.Code == "" || q.Code == r.Code) &&
		(q.Workflow == "" || q.Workflow == r.Workflow) &&
		(q.Policy == "" || q.Policy == r.Policy) &&
		(q.Principal == "" || q.Principal == r.Principal) &&
		!r.Time.Before(q.Since) &&
		(q.Before.IsZero() || r.Time.Before(q.Before)) &&
		(!q.Shadowed || len(r.Shadows) > 0)
}

// scanned is the most records that one page looks at: after that many it ends, full or
// not. To look into a partition counts as much as some of its records.
const (
	scanned       = 2000
	partitionWork = 10
)

// Decisions returns decisions, newest first: partitions by the start of their root run,
// and of each the last record first. A page may be short, or empty, and not be the last.
func (a *App) Decisions(ctx context.Context, namespace string, q DecisionQuery) (found []*ledger.Decision, next string, err error) {
	from, err := readPlace(q.PageToken)
	if err != nil {
		return nil, "", err
	}
	end, err := a.scanBack(ctx, namespace, q, from, scanned, func(r *ledger.Decision) bool {
		found = append(found, r)
		return len(found) < q.Limit
	})
	if err != nil {
		return nil, "", fault.From(err)
	}
	slices.Reverse(found)
	err = a.addHashes(ctx, namespace, found)
	slices.Reverse(found)
	if err != nil {
		return nil, "", fault.From(err)
	}
	if end != nil {
		next = end.String()
	}
	return found, next, nil
}

// place is a record of the log: where a scan has ended.
type place struct {
	partition string
	sequence  int64
}

func (p place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.sequence, 10) + " " + p.partition))
}

// readPlace reads what String wrote; nothing is the beginning.
func readPlace(token string) (place, error) {
	if token == "" {
		return place{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		if number, partition, ok := strings.Cut(string(text), " "); ok {
			if sequence, err := strconv.ParseInt(number, 10, 64); err == nil && sequence >= 0 {
				return place{partition, sequence}, nil
			}
		}
	}
	return place{}, fault.New(fault.InvalidRequest, "page_token was not returned by this list; start without it").
		Violate("/page_token", "FORMAT", "not a page token")
}

// scanBack yields the records that a query selects, newest first, from before a place,
// until yield returns false or that many were looked at. It returns the place of the last
// one that it has looked at, and nil when there are no more.
func (a *App) scanBack(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*ledger.Decision) bool) (*place, error) {
	if q.RunID != "" {
		partition, err := a.partitionOf(ctx, namespace, q.RunID)
		if err != nil {
			return nil, err
		}
		if from.partition != partition {
			from = place{partition: partition}
		}
		end, _, err := a.scanPartitionBack(ctx, namespace, q, from, most, yield)
		return end, err
	}
	if from.partition != "" {
		end, looked, err := a.scanPartitionBack(ctx, namespace, q, from, most, yield)
		if end != nil || err != nil {
			return end, err
		}
		most -= looked
	}
	query := store.Query{Namespace: namespace, Kind: ledger.KindDecisions, Descending: true, After: from.partition, Limit: 20}
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, record := range page.Records {
			if most--; record.UpdatedAt.Before(q.Since.Add(-skew)) {
				continue // it has nothing that is newer
			}
			if most -= partitionWork; most <= 0 {
				return &place{partition: record.Key.ID}, nil
			}
			end, looked, err := a.scanPartitionBack(ctx, namespace, q, place{record.Key.ID, record.Version + 1}, most, yield)
			if end != nil || err != nil {
				return end, err
			}
			most -= looked
		}
		if query.After = page.Next; query.After == "" {
			return nil, nil
		}
		if most <= 0 {
			return &place{query.After, 1}, nil // which has been passed
		}
	}
}

// scanPartitionBack is scanBack in the partition of a place, whose sequence is 0 for its
// end; end is nil when there are no more in it.
func (a *App) scanPartitionBack(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*ledger.Decision) bool) (end *place, looked int, err error) {
	key := decisionsKey(namespace, from.partition)
	if from.sequence == 0 {
		record, err := a.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		from.sequence = record.Version + 1
	}
	dropped, err := a.forgottenOf(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	sift := siftOf(&q)
	for from.sequence > dropped.Through+1 {
		size := min(sealPage, most-looked)
		if size <= 0 {
			return &from, looked, nil
		}
		first := max(from.sequence-int64(size), dropped.Through+1)
		entries, err := a.store.History(ctx, key, first-1, int(from.sequence-first))
		if err != nil {
			return nil, looked, err
		}
		for _, entry := range slices.Backward(entries) {
			if entry.Version >= from.sequence {
				continue // records between are missing
			}
			from.sequence = entry.Version
			looked++
			if sift.drops(entry.Data) {
				if entry.At.Before(q.Since.Add(-skew)) {
					return nil, looked, nil
				}
				continue
			}
			r, err := ledger.DecodeDecision(from.partition, entry)
			if err != nil {
				// Anyone who reads the log must see that there is one.
				r.Message = "this record cannot be read; verify the log"
			} else if r.Time.Before(q.Since.Add(-skew)) {
				return nil, looked, nil
			}
			if (err != nil || q.matches(r)) && !yield(r) {
				return &from, looked, nil
			}
		}
		from.sequence = first
	}
	return nil, looked, nil
}

// skew is how far the clocks of a store and of an enforcer may be apart.
const skew = 5 * time.Minute

// nextPartition is the next partition of a list with records since a time; empty for
// none.
func (a *App) nextPartition(ctx context.Context, query store.Query, since time.Time) (string, error) {
	query.Kind, query.Limit = ledger.KindDecisions, 20
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return "", err
		}
		for _, record := range page.Records {
			if !record.UpdatedAt.Before(since.Add(-skew)) {
				return record.Key.ID, nil
			}
		}
		if query.After = page.Next; query.After == "" {
			return "", nil
		}
	}
}

// partitionOf is the root of a run.
func (a *App) partitionOf(ctx context.Context, namespace, runID string) (string, error) {
	_, err := a.store.Get(ctx, decisionsKey(namespace, runID))
	if err == nil {
		return runID, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	run, err := a.engine.Lane(ctx, namespace, runID, "")
	if err != nil {
		return "", err
	}
	return run.Root(), nil
}

// addHashes adds the hashes of records that are sealed. The records are in order.
func (a *App) addHashes(ctx context.Context, namespace string, records []*ledger.Decision) error {
	var s *seal // of the record before
	var of string
	for _, r := range records {
		unsealed := s != nil && s.To == 0 // so are all that follow in the partition
		if of != r.Partition || !unsealed && r.Sequence > s.To {
			var err error
			if s, err = a.sealWith(ctx, sealKey(namespace, r.Partition), r.Sequence); err != nil {
				return err
			}
			of = r.Partition
		}
		if hash, ok := s.hash(r.Sequence); ok {
			r.Hash = hash.String()
		}
	}
	return nil
}

// sealWith finds the seal of a record by halves; one that covers nothing when there
// is none.
func (a *App) sealWith(ctx context.Context, key store.Key, sequence int64) (*seal, error) {
	record, err := a.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &seal{}, nil
	}
	if err != nil {
		return nil, err
	}
	low, high := int64(1), record.Version
	for low <= high {
		middle := low + (high-low)/2
		entries, err := a.store.History(ctx, key, middle-1, 1)
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return &seal{}, nil
		}
		s, err := decodeSeal(entries[0])
		switch {
		case err != nil:
			return nil, err
		case sequence < s.From:
			high = middle - 1
		case sequence > s.To:
			low = middle + 1
		default:
			return s, nil
		}
	}
	return &seal{}, nil
}

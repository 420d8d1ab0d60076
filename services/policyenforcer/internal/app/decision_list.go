package app

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// DecisionQuery selects decisions of the log. Empty fields select all.
type DecisionQuery struct {
	RunID, SessionID, Tool string
	Decision               toolcall.Decision
	Since                  time.Time
	// Shadowed selects those that a shadow would have decided otherwise.
	Shadowed bool
	// PageToken goes on where a page has ended; Limit is the most of a page.
	PageToken string
	Limit     int
}

// matches reports whether a record is asked for.
func (q *DecisionQuery) matches(r *DecisionRecord) bool {
	return (q.RunID == "" || q.RunID == r.RunID || q.RunID == r.Partition) &&
		(q.SessionID == "" || q.SessionID == r.SessionID) &&
		(q.Tool == "" || q.Tool == r.Tool) &&
		(q.Decision == "" || q.Decision == r.Decision) &&
		!r.Time.Before(q.Since) &&
		(!q.Shadowed || len(r.Shadows) > 0)
}

// scanned is how many records one page looks at, at most: one that has looked at so
// many ends, full or not.
const scanned = 10_000

// Decisions answers decisions: those of a partition in order, partitions by their
// ids. A page may be short, or empty, and yet not be the last.
func (a *App) Decisions(ctx context.Context, namespace string, q DecisionQuery) (found []*DecisionRecord, next string, err error) {
	from, err := readPlace(q.PageToken)
	if err != nil {
		return nil, "", err
	}
	end, err := a.scan(ctx, namespace, q, from, scanned, func(r *DecisionRecord) bool {
		found = append(found, r)
		return len(found) < q.Limit
	})
	if err != nil {
		return nil, "", fault.From(err)
	}
	if err := a.addHashes(ctx, namespace, found); err != nil {
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

// scan yields the records that a query selects, after a place, until yield answers
// false or so many were looked at. It answers the place of the last one that it has
// looked at, and nil when there are no more.
func (a *App) scan(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*DecisionRecord) bool) (*place, error) {
	if q.RunID != "" {
		partition, err := a.partitionOf(ctx, namespace, q.RunID)
		if err != nil {
			return nil, err
		}
		if from.partition != partition {
			from = place{partition: partition}
		}
		end, _, err := a.scanPartition(ctx, namespace, q, from, most, yield)
		return end, err
	}
	for {
		if from.partition != "" {
			end, looked, err := a.scanPartition(ctx, namespace, q, from, most, yield)
			if end != nil || err != nil {
				return end, err
			}
			most -= looked
		}
		next, err := a.partitionAfter(ctx, namespace, from.partition, q.Since)
		if next == "" || err != nil {
			return nil, err
		}
		from = place{partition: next}
	}
}

// skew is how far the clocks of a store and of an enforcer may be apart.
const skew = 5 * time.Minute

// partitionAfter is the next partition with records since a time; empty for none.
func (a *App) partitionAfter(ctx context.Context, namespace, after string, since time.Time) (string, error) {
	for {
		page, err := a.store.List(ctx, store.Query{Namespace: namespace, Kind: kindDecisions, After: after, Limit: 20})
		if err != nil {
			return "", err
		}
		for _, record := range page.Records {
			if !record.UpdatedAt.Before(since.Add(-skew)) {
				return record.Key.ID, nil
			}
		}
		if after = page.Next; after == "" {
			return "", nil
		}
	}
}

// scanPartition is scan in the partition of a place; end is nil when there are no
// more in it.
func (a *App) scanPartition(ctx context.Context, namespace string, q DecisionQuery, from place, most int, yield func(*DecisionRecord) bool) (end *place, looked int, err error) {
	for {
		size := min(sealPage, most-looked)
		if size <= 0 {
			return &from, looked, nil
		}
		entries, err := a.store.History(ctx, decisionsKey(namespace, from.partition), from.sequence, size)
		if err != nil {
			return nil, looked, err
		}
		for _, entry := range entries {
			from.sequence = entry.Version
			looked++
			r, err := decodeDecision(from.partition, entry)
			if err != nil {
				// Whoever reads the log must see that there is one.
				r.Message = "this record cannot be read; verify the log"
			}
			if (err != nil || q.matches(r)) && !yield(r) {
				return &from, looked, nil
			}
		}
		if len(entries) < size {
			return nil, looked, nil
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
func (a *App) addHashes(ctx context.Context, namespace string, records []*DecisionRecord) error {
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

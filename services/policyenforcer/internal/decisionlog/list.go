package decisionlog

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Query selects decisions of the log. Empty fields select all.
type Query struct {
	RunID, SessionID, Tool string
	Decision               toolcall.Decision
	// NotDecisions are decisions to leave out.
	NotDecisions []toolcall.Decision
	Code         toolcall.Code
	// Workflow is that of the run, Policy the one that has decided, and Principal the caller.
	Workflow, Policy, Principal string
	// Since is the earliest time. Before is later than all selected decisions.
	Since, Before time.Time
	// Shadowed selects decisions from which a shadow differs.
	Shadowed bool
	// When selects calls for which it is true by their recorded input and by where they were made; of a call whose
	// input was not kept, nothing is true.
	When *condition.Condition
	// PageToken continues after a page. Limit bounds the page.
	PageToken string
	Limit     int
}

// matches reports whether the query selects a record.
func (q *Query) matches(r *ledger.Decision) bool {
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
		(!q.Shadowed || len(r.Shadows) > 0) &&
		(q.When == nil || q.holds(r))
}

func (q *Query) holds(r *ledger.Decision) bool {
	facts := Facts(r, toolname.Shell(r.Tool), nil)
	return facts != nil && q.When.Judge(facts, condition.Restricts) == condition.True
}

// Facts returns what a recorded call did; nil when its input is not kept as it was. shell is true for a tool that
// runs command lines.
func Facts(r *ledger.Decision, shell bool, tools facet.Tools) condition.Facts {
	s := facet.Subject{
		Tool: r.Tool, Shell: shell, Input: r.Input, Tools: tools, CallerName: r.Principal, RunState: r.State, RunWorkflow: r.Workflow,
	}
	if id := r.Identity; id != nil {
		s.CallerRole, s.CallerToken, s.CallerVia, s.Agent, s.AgentVersion = id.Role, id.Token, id.Via, id.Agent, id.AgentVersion
		if Vouched(r) {
			s.Human = &facet.Human{Name: id.Human.Name, Issuer: id.Human.Issuer, Source: id.Human.Source, Age: -1}
		}
	}
	return facet.OfRecord(s)
}

// Vouched reports that the human of a record was known when the call was made, by the word of an issuer or an operator.
func Vouched(r *ledger.Decision) bool {
	if r.Identity == nil || r.Identity.Human == nil {
		return false
	}
	h := r.Identity.Human
	return auth.Source(h.Source).AtLeast(auth.Issuer) && (h.Expires.IsZero() || r.Time.Before(h.Expires))
}

// scanned bounds the records that one page reads; a page then ends even if it is not full. partitionWork is
// the cost of a partition, in records.
const (
	scanned       = 2000
	partitionWork = 10
)

// List returns decisions, newest first: partitions by the start of their root run,
// and of each the last record first. A page may be short, or empty, and not be the last.
func (l *Log) List(ctx context.Context, namespace string, q Query) (found []*ledger.Decision, next string, err error) {
	from, err := readPlace(q.PageToken)
	if err != nil {
		return nil, "", err
	}
	end, err := l.scanBack(ctx, namespace, q, from, scanned, func(r *ledger.Decision) bool {
		found = append(found, r)
		return len(found) < q.Limit
	})
	if err != nil {
		return nil, "", fault.From(err)
	}
	slices.Reverse(found)
	err = l.AddHashes(ctx, namespace, found)
	slices.Reverse(found)
	if err != nil {
		return nil, "", fault.From(err)
	}
	if end != nil {
		next = end.String()
	}
	return found, next, nil
}

// Place is the place of a record in the log.
type Place struct {
	partition string
	sequence  int64
}

func (p Place) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.sequence, 10) + " " + p.partition))
}

// readPlace parses the form of String. An empty token is the beginning.
func readPlace(token string) (Place, error) {
	if token == "" {
		return Place{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		if number, partition, ok := strings.Cut(string(text), " "); ok {
			if sequence, err := strconv.ParseInt(number, 10, 64); err == nil && sequence >= 0 {
				return Place{partition, sequence}, nil
			}
		}
	}
	return Place{}, fault.New(fault.InvalidRequest, "page_token was not returned by this list; start without it").
		Violate("/page_token", "FORMAT", "not a page token")
}

// scanBack yields the selected records before a place, newest first, until yield returns false or most
// records were read. It returns the place of the last record that it has read, or nil at the end.
func (l *Log) scanBack(ctx context.Context, namespace string, q Query, from Place, most int, yield func(*ledger.Decision) bool) (*Place, error) {
	if q.RunID != "" {
		partition, err := l.partitionOf(ctx, namespace, q.RunID)
		if err != nil {
			return nil, err
		}
		if from.partition != partition {
			from = Place{partition: partition}
		}
		end, _, err := l.scanPartitionBack(ctx, namespace, q, from, most, yield)
		return end, err
	}
	if from.partition != "" {
		end, looked, err := l.scanPartitionBack(ctx, namespace, q, from, most, yield)
		if end != nil || err != nil {
			return end, err
		}
		most -= looked
	}
	query := store.Query{Namespace: namespace, Kind: ledger.KindDecisions, Descending: true, After: from.partition, Limit: 20}
	for {
		page, err := l.store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, record := range page.Records {
			if most--; record.UpdatedAt.Before(q.Since.Add(-skew)) {
				continue // it has no newer record
			}
			if most -= partitionWork; most <= 0 {
				return &Place{partition: record.Key.ID}, nil
			}
			end, looked, err := l.scanPartitionBack(ctx, namespace, q, Place{record.Key.ID, record.Version + 1}, most, yield)
			if end != nil || err != nil {
				return end, err
			}
			most -= looked
		}
		if query.After = page.Next; query.After == "" {
			return nil, nil
		}
		if most <= 0 {
			return &Place{query.After, 1}, nil // which has been passed
		}
	}
}

// scanPartitionBack does the work of scanBack in one partition. Sequence 0 is its end.
func (l *Log) scanPartitionBack(ctx context.Context, namespace string, q Query, from Place, most int, yield func(*ledger.Decision) bool) (end *Place, looked int, err error) {
	key := PartitionKey(namespace, from.partition)
	if from.sequence == 0 {
		record, err := l.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		from.sequence = record.Version + 1
	}
	dropped, err := l.forgottenOf(ctx, key)
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
		entries, err := l.store.History(ctx, key, first-1, int(from.sequence-first))
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

// skew bounds the difference between the clocks of a store and of an enforcer.
const skew = 5 * time.Minute

// nextPartition returns the next partition with records since a time, or "".
func (l *Log) nextPartition(ctx context.Context, query store.Query, since time.Time) (string, error) {
	query.Kind, query.Limit = ledger.KindDecisions, 20
	for {
		page, err := l.store.List(ctx, query)
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

// partitionOf returns the root of a run.
func (l *Log) partitionOf(ctx context.Context, namespace, runID string) (string, error) {
	_, err := l.store.Get(ctx, PartitionKey(namespace, runID))
	if err == nil {
		return runID, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	run, err := l.runs.Lane(ctx, namespace, runID, "")
	if err != nil {
		return "", err
	}
	return run.Root(), nil
}

// AddHashes adds the hashes of sealed records. The records must be in order.
func (l *Log) AddHashes(ctx context.Context, namespace string, records []*ledger.Decision) error {
	var s *seal // of the record before
	var of string
	for _, r := range records {
		unsealed := s != nil && s.To == 0 // so are all that follow in the partition
		if of != r.Partition || !unsealed && r.Sequence > s.To {
			var err error
			if s, err = l.sealWith(ctx, sealKey(namespace, r.Partition), r.Sequence); err != nil {
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

// sealWith finds the seal of a record by binary search. It returns an empty seal if there is none.
func (l *Log) sealWith(ctx context.Context, key store.Key, sequence int64) (*seal, error) {
	record, err := l.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return &seal{}, nil
	}
	if err != nil {
		return nil, err
	}
	low, high := int64(1), record.Version
	for low <= high {
		middle := low + (high-low)/2
		entries, err := l.store.History(ctx, key, middle-1, 1)
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

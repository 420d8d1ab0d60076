package app

import (
	"context"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
)

const (
	// pageBytes ends a page early: data are up to 1 MiB each, and an answer must stay
	// within the limits of clients.
	pageBytes = 8 << 20
	// readAhead is how many records are read from the store at once.
	readAhead = 64
)

// Get returns an approval as it stands.
func (a *App) Get(ctx context.Context, caller Caller, id string) (*Record, error) {
	if caller.Principal.Role == auth.Relay {
		if err := a.checkRelay(caller.Principal); err != nil {
			return nil, err
		}
	}
	r, err := a.load(ctx, approvalKey(caller.Namespace, id))
	if err != nil {
		return nil, err
	}
	if !r.readable(caller.Principal) {
		return nil, unknown(id)
	}
	return r.at(a.now()), nil
}

// askedWithin is how long a run may wait for an approval that the engine has not asked for yet,
// because it ended or could not reach this service in between.
const askedWithin = 15 * time.Second

// NotYet replaces the error about an approval that is not there, or not for the caller, and whose id was
// minted just now: a run has the id before its approval is asked for. The engine's own calls learn that it is missing.
func (a *App) NotYet(by Caller, id string, err error) error {
	if !notFound(err) || by.Principal.Role == auth.Service {
		return err
	}
	if age := a.now().Sub(typeid.Time(id)); age < -askedWithin || age > askedWithin {
		return err
	}
	return fault.New(fault.Unavailable, "approval %s is not there yet: its run may wait for it already, and it is asked for within %s; try again",
		document.Quote(id), askedWithin).Wrap(err)
}

// readable reports whether a caller may read the approval: all but agents that have not
// asked: for others an approval is as if there were none. Credentials of a session see
// its approvals, and those of the tree that it is the root of.
func (r *Record) readable(p auth.Principal) bool {
	if !p.Role.Drives() {
		return true
	}
	return p.Name == r.Asker.Principal &&
		(p.Session == "" || p.Session == r.Asker.SessionID || p.Session == r.Asker.RootSession)
}

// Query selects approvals; empty fields select all.
type Query struct {
	Standing consent.Status
	RunID    string
	// Prefix is how the ids begin; After then has that prefix, or is above all that do.
	Prefix string
	After  string
	Limit  int
}

// List returns a page of approvals, newest first, and where the next one begins after:
// empty when there is none. A page of large approvals has less than Limit of them.
func (a *App) List(ctx context.Context, caller Caller, q Query) (records []*Record, next string, err error) {
	if caller.Principal.Role == auth.Relay {
		if err := a.checkRelay(caller.Principal); err != nil {
			return nil, "", err
		}
	}
	query := store.Query{Namespace: caller.Namespace, Kind: KindApproval, Labels: map[string]string{}, Descending: true, After: q.After}
	if q.Standing != "" {
		query.Labels["status"] = string(q.Standing)
	}
	if q.RunID != "" {
		query.Labels["run_id"] = q.RunID
	}
	now := a.now()
	for size := 0; ; {
		query.Limit = min(q.Limit-len(records), readAhead)
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			if !strings.HasPrefix(record.Key.ID, q.Prefix) {
				return records, "", nil
			}
			if size += len(record.Data); size > a.pageBytes && len(records) > 0 {
				return records, query.After, nil
			}
			r, err := decode(record)
			if err != nil {
				return nil, "", err
			}
			query.After = r.ID
			// Expiry may not be recorded yet.
			if r = r.at(now); q.Standing == "" || r.Standing() == q.Standing {
				records = append(records, r)
			}
		}
		if page.Next == "" || len(records) >= q.Limit {
			return records, page.Next, nil
		}
	}
}

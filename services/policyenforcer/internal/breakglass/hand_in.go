package breakglass

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	grants "github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// account counts the calls that were handed in of a grant. It lives in the shard of the records.
type account struct {
	Calls   int64                    `json:"calls"`
	Altered bool                     `json:"altered,omitempty"`
	Spools  map[string]*spoolAccount `json:"spools,omitempty"`
}

// spoolAccount counts the calls that were handed in of one spool.
type spoolAccount struct {
	// Recorded are the places of the calls that have a record.
	Recorded []int64 `json:"recorded,omitempty"`
	// Lines is how many lines there were, and Head the hash of the last.
	Lines int    `json:"lines"`
	Head  string `json:"head"`
	// Altered says why it does not hold; empty for one that does.
	Altered string `json:"altered,omitempty"`
}

// partition returns the partition of the log that has the calls of a grant.
func partition(g *Grant) string { return enforcer.WithoutRun(g.Namespace, g.ID).ID }

func accountOf(g *Grant) store.Key {
	return store.Key{Namespace: g.Namespace, Kind: kind, ID: partition(g)}
}

// HandedIn is the outcome of a hand-in.
type HandedIn struct {
	Recorded, Known int
	// Altered says why the spool does not hold; empty for one that does.
	Altered string
}

// HandIn records the calls of a spool, each once (S23.52).
func (k *Keeper) HandIn(ctx context.Context, caller enforcer.Caller, id string, lines []string) (*HandedIn, error) {
	g, err := k.Get(ctx, caller.Namespace, id)
	if err != nil {
		return nil, err
	}
	if p := caller.Principal; p.Name != g.Principal && p.Role != auth.Operator {
		return nil, fault.New(fault.PermissionDenied, "break-glass grant %s is for %s: hand its spool in with the token of that principal, or of an operator", g.ID, document.Quote(g.Principal))
	}
	spool := grants.ReadSpool(g.ID, lines)
	if len(spool.Entries) == 0 {
		return nil, fault.New(fault.InvalidRequest, "nothing was handed in: none of the %d lines can be read as one of a spool of grant %s", len(lines), g.ID).
			Violate("/lines", "FORMAT", "not lines of a spool")
	}
	out := &HandedIn{}
	for i := range spool.Entries {
		if e := &spool.Entries[i]; e.Kind == grants.Used {
			recorded, err := k.record(ctx, caller, g, spool, e)
			if err != nil {
				return nil, err
			}
			if recorded {
				out.Recorded++
			} else {
				out.Known++
			}
		}
	}
	out.Altered, err = k.settle(ctx, caller, g, spool, out.Recorded)
	return out, err
}

// changeAccount commits an edit of the account of a grant; nil for none.
func (k *Keeper) changeAccount(ctx context.Context, g *Grant, edit func(*account, int64) (*store.Batch, error)) error {
	return retry.Run(ctx, "break-glass grant "+g.ID, func() error {
		var a account
		version, err := readRecord(ctx, k.Store, accountOf(g), &a)
		if err != nil {
			return err
		}
		if a.Spools == nil {
			a.Spools = map[string]*spoolAccount{}
		}
		batch, err := edit(&a, version+1)
		if err != nil || batch == nil {
			return err
		}
		data, err := json.Marshal(a)
		if err != nil {
			return fault.From(fmt.Errorf("encode the account of a grant: %w", err))
		}
		batch.Puts = []store.Put{{Key: accountOf(g), Expect: version, Data: data}}
		_, err = k.Store.Commit(ctx, *batch)
		return retry.Fault(err)
	})
}

// of returns the account of a spool, and makes it.
func (a *account) of(id string) (*spoolAccount, error) {
	s, ok := a.Spools[id]
	if !ok {
		if len(a.Spools) >= mostSpools {
			return nil, fault.New(fault.LimitReached, "%d spools of this grant were handed in, which is the limit", mostSpools)
		}
		s = &spoolAccount{}
		a.Spools[id] = s
	}
	return s, nil
}

// record records one call; false if it has a record.
func (k *Keeper) record(ctx context.Context, caller enforcer.Caller, g *Grant, spool *grants.Spool, e *grants.Entry) (recorded bool, err error) {
	err = k.changeAccount(ctx, g, func(a *account, _ int64) (*store.Batch, error) {
		s, err := a.of(e.Spool)
		if err != nil {
			return nil, err
		}
		recorded = !slices.Contains(s.Recorded, e.Sequence)
		if !recorded {
			return nil, nil
		}
		s.Recorded = append(s.Recorded, e.Sequence)
		a.Calls++
		now := k.Clock().UTC()
		root := partition(g)
		d := k.decision(g, spool, e, caller)
		event, err := k.Announce.Decided(g.Namespace, root, d)
		if err != nil {
			return nil, fault.From(err)
		}
		event.Entry = decisionlog.PartitionKey(g.Namespace, root)
		return &store.Batch{
			Appends: []store.Append{decisionlog.Append(g.Namespace, root, d)}, Events: []store.Event{event},
			SetTimers: []store.Timer{decisionlog.SealTimer(g.Namespace, root, now)},
		}, nil
	})
	return recorded, err
}

// decision returns the record of a call.
func (k *Keeper) decision(g *Grant, spool *grants.Spool, e *grants.Entry, by enforcer.Caller) *ledger.Decision {
	d := &ledger.Decision{
		Principal: g.Principal, SessionID: e.Session, CallID: fmt.Sprintf("%s.%.8s.%d", g.ID, e.Spool, e.Sequence), Tool: e.Tool,
		Decision: toolcall.Allow, Code: toolcall.CodeUngoverned, InputDigest: toolcall.InputDigest(e.Tool, e.Input), Grant: g.ID, MadeAt: e.Time.UTC(),
		Identity: &ledger.Identity{},
	}
	if len(e.Input) > 0 {
		d.Input = k.Masks.Input(e.Input)
	}
	said := []string{fmt.Sprintf("Made without contact by break-glass grant %s of %s (%s), handed in by %s.", g.ID, document.Quote(g.By), g.Reason, document.Quote(by.Principal.Name))}
	if _, lets := g.Lets(e.Tool, e.Input); !lets && (g.Commands == nil || len(e.Input) > 0) {
		said = append(said, "The grant does not name it.")
	}
	switch {
	case g.Pending:
		said = append(said, "The grant was not confirmed.")
	case e.Time.Before(g.CreatedAt().Add(-time.Minute)) || !e.Time.Before(g.Until()):
		said = append(said, "The grant was not in force then.")
	case g.RevokedBy != "" && e.Time.After(g.RevokedAt):
		said = append(said, "The grant was revoked before, by "+document.Quote(g.RevokedBy)+".")
	}
	if spool.Altered != "" {
		said = append(said, "Its spool was altered: "+spool.Altered+".")
	}
	d.Message = strings.Join(said, " ")
	return d
}

// settle keeps how far a spool was handed in, and announces it. It returns why the spool does not hold.
func (k *Keeper) settle(ctx context.Context, caller enforcer.Caller, g *Grant, spool *grants.Spool, recorded int) (why string, err error) {
	err = k.changeAccount(ctx, g, func(a *account, version int64) (*store.Batch, error) {
		s, err := a.of(spool.Entries[0].Spool)
		if err != nil {
			return nil, err
		}
		why = spool.Altered
		if why == "" && !spool.Continues(s.Lines, s.Head) {
			why = fmt.Sprintf("it does not have the %d lines that were handed in before", s.Lines)
		}
		lines := spool.Lines()
		if recorded == 0 && why == s.Altered && (why != "" || lines == s.Lines) {
			return nil, nil // as it was handed in before
		}
		if a.Altered = a.Altered || why != ""; why == "" {
			s.Lines, s.Head = lines, spool.Head
		}
		s.Altered = why
		event, err := k.Announce.BreakGlassChanged(g.Namespace, caller.Principal.Name,
			&Change{Type: "handed_in", Grant: g, Version: version, Recorded: int64(recorded), Why: why}, k.Clock().UTC())
		if err != nil {
			return nil, fault.From(err)
		}
		event.Key = accountOf(g)
		return &store.Batch{Events: []store.Event{event}}, nil
	})
	return why, err
}

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Report is the result of a tool call (S3.9).
type Report struct {
	Target       Target
	CallID       string
	Tool         string
	OK           bool
	FilesChanged []string
	ResultBytes  int64
	CostUSD      string
}

// Reported is a report that was taken.
type Reported struct {
	Report
	RunID      string
	RunVersion int64
	// Accounted is false when no such call had been allowed.
	Accounted bool
}

// Report records the result of a call. Reports are idempotent by call id; one
// for a call that was never allowed is taken, and announced as unaccounted.
func (a *App) Report(ctx context.Context, caller Caller, req Report) (*Reported, error) {
	if !validCost(req.CostUSD) {
		return nil, fault.New(fault.InvalidRequest, `cost_usd must be a decimal number of US dollars such as "0.02", not %q`, req.CostUSD).
			Violate("/cost_usd", "NUMBER", "not a decimal number")
	}
	s, err := a.cached(ctx, caller.Namespace, req.Target)
	if err != nil {
		return nil, fault.From(err)
	}
	key := runKey(caller.Namespace, s.run.ID)
	allowed, err := a.wasAllowed(ctx, key, req)
	if err != nil {
		return nil, fault.From(err)
	}
	reported := &Reported{Report: req, RunID: s.run.ID, RunVersion: s.run.Version, Accounted: allowed}
	event, err := a.announce.Reported(caller.Namespace, caller.Principal.Name, reported, a.clock().UTC())
	if err != nil {
		return nil, fault.From(err)
	}
	_, err = a.store.Commit(ctx, store.Batch{
		Idempotency: &store.Idempotency{
			Owner: key, Name: reportName(req.CallID), Digest: req.digest(), TTL: callsKept,
		},
		Events: []store.Event{event},
	})
	if err != nil {
		return nil, fault.From(err)
	}
	return reported, nil
}

func reportName(callID string) string { return "report/" + callID }

func (a *App) wasAllowed(ctx context.Context, key store.Key, req Report) (bool, error) {
	data, err := a.store.Answer(ctx, key, callName(req.CallID))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c, err := decodeCall(data)
	return err == nil && c.Verdict.Decision == toolcall.Allow, err
}

func (r *Report) digest() string {
	return digest(r.Tool, fmt.Appendf(nil, "%t %d %s %q", r.OK, r.ResultBytes, r.CostUSD, r.FilesChanged))
}

// validCost is true for nothing and for plain decimals: money is never a float.
func validCost(s string) bool {
	if s == "" {
		return true
	}
	whole, fraction, dotted := strings.Cut(s, ".")
	return digits(whole) && (!dotted || digits(fraction))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Bounds of the questions about calls that wait at once, of one run, so that an agent
// does not drown approvers in variations of one call. Callers that ask at the
// same time may exceed them by as many as they are.
const (
	mostPending      = 100
	mostPendingBytes = 8 << 20
	// roomAhead is how many are read at once: each may have a MiB of data.
	roomAhead = 8
)

// labelAskedIn is of approvals without a run: where they were asked.
const labelAskedIn = "asked_in"

// crowd returns a label that those have in common who share room: a run's, or else those
// of the asker's tree of sessions.
func crowd(runID string, asker consent.Asker) (name, value string) {
	switch {
	case runID != "":
		return "run_id", runID
	case asker.RootSession != "":
		return labelAskedIn, "session " + asker.RootSession
	case asker.SessionID != "":
		return labelAskedIn, "session " + asker.SessionID
	default:
		return labelAskedIn, "principal " + asker.Principal
	}
}

// quotaWaiting is the count of a principal: its questions about calls that wait.
const quotaWaiting = "waiting"

// counted returns the effect of the change on the quota of its asker.
func (t *transaction) counted() []store.Counter {
	if t.after.Action.Kind != consent.ToolCall {
		return nil
	}
	sum := sha256.Sum256([]byte(t.after.Asker.Principal))
	c := store.Counter{
		Owner: store.Key{Namespace: t.after.Namespace, Kind: "approval_quota", ID: hex.EncodeToString(sum[:])},
		Name:  quotaWaiting, Delta: -1, Limit: store.NoLimit,
	}
	switch {
	case t.before == nil:
		c.Delta = 1
		if t.app.quota > 0 {
			c.Limit = t.app.quota
		}
	case !t.decided():
		return nil
	}
	return []store.Counter{c}
}

// tooMany returns the refusal of the quota, or the error as it is.
func tooMany(err error) error {
	var limit *store.LimitError
	if errors.As(err, &limit) && limit.Name == quotaWaiting {
		return fault.New(fault.QuotaExceeded,
			"%d questions of yours are pending, and a principal may have %d (--approvals-per-principal); wait until people have decided some",
			limit.Value, limit.Limit)
	}
	return err
}

// room refuses one question too many.
func (a *App) room(ctx context.Context, namespace, runID string, asker consent.Asker) error {
	name, value := crowd(runID, asker)
	query := store.Query{
		Namespace: namespace, Kind: KindApproval, Limit: roomAhead,
		Labels: map[string]string{name: value, "status": string(consent.Pending)},
	}
	for count, size := 0, 0; ; {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return fault.From(err)
		}
		count += len(page.Records)
		for i := range page.Records {
			size += len(page.Records[i].Data)
		}
		switch {
		case count >= mostPending || size >= mostPendingBytes:
			where := fmt.Sprintf("run %s", runID)
			if runID == "" {
				where = document.Quote(value)
			}
			return fault.New(fault.LimitReached, "%d approvals of %s are already pending, with %d bytes; wait until people have decided some", count, where, size)
		case page.Next == "":
			return nil
		}
		query.After = page.Next
	}
}

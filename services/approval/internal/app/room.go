package app

import (
	"context"
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

// crowd is a label that those have in common who share room: a run's, or else those
// of the asker's tree of sessions.
func crowd(runID string, asker consent.Asker) (name, value string) {
	switch {
	case runID != "":
		return "run_id", runID
	case asker.RootID != "":
		return labelAskedIn, "session " + asker.RootID
	case asker.SessionID != "":
		return labelAskedIn, "session " + asker.SessionID
	default:
		return labelAskedIn, "principal " + asker.Principal
	}
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

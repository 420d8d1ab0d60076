package suggest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/suggest"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/traced"
)

// loadObserved makes a first workflow of the allowed calls of sessions that drove no run, and those sessions as runs of it.
func (c *Command) loadObserved(ctx context.Context, io console.Streams) (text []byte, traces []*conform.Trace, err error) {
	terms := []listing.Term{{Key: "decision", Value: "ALLOW"}, {Key: "session_id", Value: c.Session}}
	if c.Since != "" {
		at, err := decisions.Since(c.Since, time.Now())
		if err != nil {
			return nil, nil, fmt.Errorf("--since %w", err)
		}
		terms = append(terms, listing.Term{Key: "since", Value: at.UTC().Format(time.RFC3339Nano)})
	}
	calls := map[string][]conform.Traced{}
	err = c.AskAs(ctx, auth.Observer, io, client.Refusals, func(conn grpc.ClientConnInterface) error {
		return decisions.Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: listing.Filter(terms...)}, func(r *policyv1.DecisionRecord) error {
			if r.GetRunId() == "" && len(r.GetInput()) > 0 { // inputs are kept of observed calls
				view := jsonview.DecisionRecordOf(r)
				calls[view.SessionID] = append(calls[view.SessionID], traced.Decision(&view))
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	var sessions []suggest.Observation
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		slices.SortFunc(calls[id], func(a, b conform.Traced) int { return int(a.Sequence - b.Sequence) })
		sessions = append(sessions, suggest.Observation{Session: id, Calls: calls[id]})
	}
	if len(sessions) == 0 {
		return nil, nil, errors.New("the log has no observed call: run `interlock init claude-code --observe`, and let the agent work")
	}
	first, err := suggest.FromObserved(c.Name, sessions)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(io.Err, "observed: %s in %s\n", show.Counted(first.Calls, "call"), show.Counted(len(sessions), "session"))
	for _, code := range slices.Sorted(maps.Keys(first.Left)) {
		fmt.Fprintf(io.Err, "left out: %s that this workflow denies (%s)\n", show.Counted(first.Left[code], "call"), code)
	}
	return first.Text.AppendJSON(nil), first.Traces, nil
}

package decisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// Why explains one decision.
type Why struct {
	client.Connection
	show.Printer
	ID string `arg:"" optional:"" name:"call" help:"Id of a call; of a run, for its newest refused call; or @last for the newest refused call of all." default:"@last"`
}

// Run prints the decision with its explanation.
func (c *Why) Run(ctx context.Context, streams console.Streams) error {
	return c.AskAs(ctx, auth.Observer, streams, client.Refusals, func(conn grpc.ClientConnInterface) error {
		found, err := c.find(ctx, conn, time.Now())
		if err != nil {
			return err
		}
		if found == nil {
			return errors.New("the log has no refused call: no call was denied, and none waits for a person; `interlock decisions` lists all calls")
		}
		req := &policyv1.GetDecisionRequest{RunId: found.GetRunId(), CallId: found.GetCallId(), Sequence: found.GetSequence(), Explain: true}
		if found.GetRunId() == "" {
			req.SessionId = found.GetSessionId()
		}
		resp, err := policyv1.NewDecisionServiceClient(conn).GetDecision(ctx, req)
		if err != nil {
			return err
		}
		view := decisionDetail{jsonview.DecisionRecordOf(resp.GetDecision()), jsonview.ExplanationOf(resp.GetExplanation()), nil}
		view.Votes = votesOn(ctx, conn, view.ApprovalID)
		return c.Print(streams.Out, view, func(w *show.Sheet) {
			again := view.Policy == "" || view.Explanation != nil && view.Explanation.InputKept
			if !again { // conditions on an input that was not kept are all in doubt, and the message says what was not
				view.Explanation = nil
			}
			if view.table(w); !again {
				fmt.Fprintln(w, "\nThe log does not have the input of this call, so its rules are not evaluated again. To keep inputs, set meta.capture_output in the workflow, or start with --log-inputs all.")
			}
		})
	})
}

// refusedOnly selects calls that were denied or asked about.
var refusedOnly = listing.Term{Key: "not_decision", Value: listing.List("ALLOW")}

// find returns the record that the ID names; nil for none that was refused.
func (c *Why) find(ctx context.Context, conn grpc.ClientConnInterface, now time.Time) (*policyv1.DecisionRecord, error) {
	if c.ID == client.Last {
		return Newest(ctx, conn, now, refusedOnly)
	}
	if strings.HasPrefix(c.ID, typeid.Run+"_") {
		run, err := client.RunID(ctx, conn, c.ID)
		if err != nil {
			return nil, err
		}
		return first(ctx, conn, refusedOnly, listing.Term{Key: "run_id", Value: run})
	}
	return c.byCall(ctx, conn)
}

// windows are the times within which the newest call is looked for, one after the other; the last is all of the log.
var windows = []time.Duration{time.Hour, 24 * time.Hour, 0}

// Newest returns the newest record that terms select; nil for none. A list is by runs, and not by time.
func Newest(ctx context.Context, conn grpc.ClientConnInterface, now time.Time, selected ...listing.Term) (newest *policyv1.DecisionRecord, err error) {
	for _, window := range windows {
		terms := slices.Clone(selected)
		if window > 0 {
			terms = append(terms, listing.Term{Key: "since", Value: now.Add(-window).UTC().Format(time.RFC3339Nano)})
		}
		err := Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: listing.Filter(terms...)}, func(r *policyv1.DecisionRecord) error {
			if newest == nil || r.GetTime().AsTime().After(newest.GetTime().AsTime()) {
				newest = r
			}
			return nil
		})
		if newest != nil || err != nil {
			return newest, err
		}
	}
	return nil, nil
}

// first returns the first record of a list; nil for none.
func first(ctx context.Context, conn grpc.ClientConnInterface, terms ...listing.Term) (found *policyv1.DecisionRecord, err error) {
	err = Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: listing.Filter(terms...)}, func(r *policyv1.DecisionRecord) error {
		found = r
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// byCall returns the newest record of a call ID.
func (c *Why) byCall(ctx context.Context, conn grpc.ClientConnInterface) (found *policyv1.DecisionRecord, err error) {
	err = Each(ctx, conn, &policyv1.ListDecisionsRequest{}, func(r *policyv1.DecisionRecord) error {
		if r.GetCallId() != c.ID {
			return nil
		}
		found = r
		return errEnough
	})
	switch {
	case found != nil:
		return found, nil
	case err != nil:
		return nil, err
	default:
		return nil, fmt.Errorf("the log has no call %q: give the id of a call or of a run (`interlock decisions` lists them), or @last", c.ID)
	}
}

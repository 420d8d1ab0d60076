package replayed

import (
	"context"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// Filter says which runs are replayed. Empty fields select all.
type Filter struct{ Workflow, Status, Session string }

// Newest returns the ids of at most that many runs, the newest first, and whether there are
// more.
func Newest(ctx context.Context, runs enginev1.RunServiceClient, f Filter, most int) (ids []string, more bool, err error) {
	req := &enginev1.ListRunsRequest{Filter: listing.Filter(
		listing.Term{Key: "workflow", Value: f.Workflow}, listing.Term{Key: "status", Value: f.Status}, listing.Term{Key: "session_id", Value: f.Session},
	)}
	for len(ids) < most {
		req.PageSize = int32(min(1000, most-len(ids)))
		page, err := runs.ListRuns(ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, run := range page.GetRuns() {
			ids = append(ids, run.GetRunId())
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return ids, false, nil
		}
	}
	return ids, true, nil
}

// Each reads runs one after the other, and replays them. Gone counts those of which something
// is no longer stored. It ends with the context: with the runs until then, and its error.
func Each(ctx context.Context, from recorded.Sources, ids []string, by *conform.Candidate) (all []conform.Replayed, gone int, err error) {
	for _, id := range ids {
		r, err := recorded.Load(ctx, from, id, false)
		if ctx.Err() != nil {
			return all, gone, ctx.Err()
		}
		if fault.ReasonOf(err) == fault.NotFound {
			gone++
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		trace, err := r.Trace()
		if err != nil {
			return nil, 0, fault.New(fault.FailedPrecondition, "run %s cannot be replayed: %v", id, err)
		}
		all = append(all, conform.Replay(trace, by))
	}
	return all, gone, nil
}

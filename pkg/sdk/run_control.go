package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// RunFilter says which runs to list; all without a member.
type RunFilter struct {
	Workflow, SessionID string
	Status              RunStatus
	// StaleFor lists active runs that have made no progress for so long, at least a second, the most silent first; it goes with Workflow
	// and Most, at most 1000 of them.
	StaleFor time.Duration
	// Most to return, the newest first; 0 for all.
	Most int
}

// ListRuns returns runs of the namespace that the caller may see, newest first, without the parts
// of single runs: context, rules and evidence.
func (g *runGroup) ListRuns(ctx context.Context, f RunFilter) ([]*Run, error) {
	filter := terms("workflow", f.Workflow, "session_id", f.SessionID, "status", string(f.Status))
	var stale *durationpb.Duration
	if f.StaleFor > 0 {
		stale = durationpb.New(f.StaleFor)
	}
	return page(ctx, f.Most, func(ctx context.Context, size int32, token string) ([]*Run, string, error) {
		resp, err := retry(ctx, g.runs.ListRuns, &enginev1.ListRunsRequest{PageSize: size, PageToken: token, Filter: filter, StaleFor: stale})
		return each(resp.GetRuns(), runOf), resp.GetNextPageToken(), err
	})
}

// runID returns the run that an id means: the client's when it is empty, else the one that its
// session drives.
func (g *runGroup) runID(ctx context.Context, id string) (string, error) {
	if id != "" || g.run != "" {
		return first(id, g.run), nil
	}
	resp, err := retry(ctx, g.runs.GetRun, &enginev1.GetRunRequest{SessionId: g.session})
	return resp.GetRun().GetRunId(), err
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// PauseRun pauses a run, by default the client's. An agent that is held to its workflow may not.
func (g *runGroup) PauseRun(ctx context.Context, id, reason string, opts ...ChangeOption) (*Run, error) {
	id, err := g.runID(ctx, id)
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.runs.PauseRun, &enginev1.PauseRunRequest{RunId: id, Reason: reason, IdempotencyKey: keyOf(opts)})
	return runOrError(resp.GetRun(), err)
}

// ResumeRun resumes a run that is paused, by default the client's.
func (g *runGroup) ResumeRun(ctx context.Context, id string, opts ...ChangeOption) (*Run, error) {
	id, err := g.runID(ctx, id)
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.runs.ResumeRun, &enginev1.ResumeRunRequest{RunId: id, IdempotencyKey: keyOf(opts)})
	return runOrError(resp.GetRun(), err)
}

// CancelRun ends a run, by default the client's.
func (g *runGroup) CancelRun(ctx context.Context, id, reason string, opts ...ChangeOption) (*Run, error) {
	id, err := g.runID(ctx, id)
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.runs.CancelRun, &enginev1.CancelRunRequest{RunId: id, Reason: reason, IdempotencyKey: keyOf(opts)})
	return runOrError(resp.GetRun(), err)
}

func runOrError(run *enginev1.Run, err error) (*Run, error) {
	if err != nil {
		return nil, err
	}
	return runOf(run), nil
}

// ForceState sets the state of a run, by default the client's, past its rules: for operators, and
// for agents where the workflow has meta.debug. data, a JSON object or a value that encodes to
// one, merges into the context. A refusal is a [*RejectedError].
func (g *runGroup) ForceState(ctx context.Context, id, state string, data any, opts ...ChangeOption) (*Run, error) {
	body, err := encode("data", data)
	if err != nil {
		return nil, err
	}
	if id, err = g.runID(ctx, id); err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.runs.ForceState, &enginev1.ForceStateRequest{RunId: id, State: state, Context: body, IdempotencyKey: keyOf(opts)})
	switch {
	case err != nil:
		return nil, err
	case !resp.GetAccepted():
		return nil, rejected(resp.GetRejection())
	default:
		return runOf(resp.GetRun()), nil
	}
}

// WatchRun yields a run, by default the client's, as it is and after each change. It ends with the
// run, with an error, or when ctx ends, which is an error too.
func (g *runGroup) WatchRun(ctx context.Context, id string) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		id, err := g.runID(ctx, id)
		if err != nil {
			yield(nil, err)
			return
		}
		for run, err := range follow(ctx, g.log, "run "+id, func(ctx context.Context) (func() (*Run, error), error) {
			stream, err := g.runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: id})
			return func() (*Run, error) {
				resp, err := stream.Recv()
				return runOf(resp.GetRun()), err
			}, err
		}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(run, nil) || run.Ended() {
				return
			}
		}
	}
}

// WaitRun waits until a run, by default the client's, is as until says, and returns it; nil waits
// for its end. A run that has ended otherwise is returned, too: it changes no more. It ends with
// ctx, which is an error.
func (g *runGroup) WaitRun(ctx context.Context, id string, until func(*Run) bool) (*Run, error) {
	for run, err := range g.WatchRun(ctx, id) {
		if err != nil {
			return nil, err
		}
		if run.Ended() || until != nil && until(run) {
			return run, nil
		}
	}
	return nil, errors.New("unreachable")
}

// HistoryEntry is one change of a run, or one result of a tool.
type HistoryEntry struct {
	// Type is UPPER_SNAKE, such as "TRANSITIONED" or "TOOL_RESULT".
	Type string
	Time time.Time
	// RunVersion is that of the run after the change.
	RunVersion int64
	Actor      string
	// Event, From, To and Data are of a transition.
	Event, From, To string
	Data            json.RawMessage
	Rationale       string
	Status          RunStatus
	Reason, Branch  string
	ApprovalID      string
	// Interrupt is the one that fired; empty for none.
	Interrupt string
	// Tool, CallID, OK and Output are of a result of a tool.
	Tool, CallID string
	OK           bool
	Output       []byte
}

// GetRunHistory returns the history of a run, by default the client's, oldest first.
func (g *runGroup) GetRunHistory(ctx context.Context, id string) ([]HistoryEntry, error) {
	id, err := g.runID(ctx, id)
	if err != nil {
		return nil, err
	}
	all := []HistoryEntry{}
	for version, result := int64(0), int64(0); ; {
		resp, err := retry(ctx, g.runs.GetRunHistory, &enginev1.GetRunHistoryRequest{RunId: id, AfterVersion: version, AfterResult: result})
		if err != nil {
			return nil, err
		}
		all = append(all, each(resp.GetEntries(), entryOf)...)
		if version, result = resp.GetNextAfterVersion(), resp.GetNextAfterResult(); version == 0 && result == 0 {
			return all, nil
		}
	}
}

func entryOf(e *enginev1.HistoryEntry) HistoryEntry {
	r := e.GetToolResult()
	return HistoryEntry{
		Type: word(e.GetType(), "HISTORY_TYPE_"), Time: timeOf(e.GetTime()), RunVersion: e.GetRunVersion(), Actor: e.GetActor(),
		Event: e.GetEvent(), From: e.GetFrom(), To: e.GetTo(), Data: e.GetData(), Rationale: e.GetRationale(),
		Status: RunStatus(word(e.GetStatus(), "RUN_STATUS_")), Reason: e.GetReason(), Branch: e.GetBranch(), ApprovalID: e.GetApprovalId(),
		Interrupt: e.GetInterrupt(), Tool: r.GetTool(), CallID: r.GetCallId(), OK: r.GetOk(), Output: r.GetOutput(),
	}
}

package owntools

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

const (
	// longestWait is less than the minute after which many clients give up.
	longestWait = 55 * time.Second
	defaultWait = 30 * time.Second
)

// wait returns when a waiting run has changed, or after a time.
func (t *runTools) wait(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	at, none := t.findLoaded(ctx, c)
	if none != nil {
		return none
	}
	if !brief.Waits(at.Run) {
		return t.answerWaited(ctx, c, at, "The run does not wait.")
	}
	limit := cmp.Or(time.Duration(args.Integer("timeout_seconds"))*time.Second, defaultWait)
	if err := t.awaitChange(ctx, at.Run, limit); err != nil {
		return reply.Fault(err, "Not waited").Result()
	}
	before := at.Run
	if at, none = t.findLoaded(ctx, c); none != nil {
		return none
	}
	switch {
	case at.Run.GetRunId() == before.GetRunId() && at.Run.GetVersion() == before.GetVersion():
		return t.answerWaited(ctx, c, at, "No change yet; call "+t.cfg.ToolPrefix+"wait again.")
	case brief.Waits(at.Run):
		return t.answerWaited(ctx, c, at, "Something has changed, and the run still waits.")
	default:
		return t.answerWaited(ctx, c, at, "The run continues.")
	}
}

func (t *runTools) answerWaited(ctx context.Context, c caller.Caller, at caller.Position, lead string) *sdk.CallToolResult {
	return reply.Answer(lead+"\n"+t.describe(ctx, c, at.Run, at.Target), map[string]any{"waiting": brief.Waits(at.Run), "run": viewRun(at.Run)})
}

// awaitChange watches a run until it is at another version than it was seen at,
// has ended, or time is up. It ends early when the server drains.
func (t *runTools) awaitChange(ctx context.Context, seen *enginev1.Run, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(t.cfg.Ends, cancel)()
	watch, err := t.cfg.Runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: seen.GetRunId()})
	for err == nil {
		var now *enginev1.WatchRunResponse
		if now, err = watch.Recv(); err == nil && now.GetRun().GetVersion() != seen.GetVersion() {
			return nil
		}
	}
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

package mcp

import (
	"context"
	"errors"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

const (
	// longestWait is less than the minute after which many clients give up.
	longestWait = 55 * time.Second
	defaultWait = 30 * time.Second
)

// wait answers when a run that waits has changed, or after a time.
func (s *Server) wait(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	at, none := s.loaded(ctx, c)
	if none != nil {
		return none
	}
	if !brief.Waits(at.run) {
		return s.waited(at.run, "The run waits for nobody.")
	}
	limit := time.Duration(args.integer("timeout_seconds")) * time.Second
	if limit == 0 {
		limit = defaultWait
	}
	if err := s.awaitChange(ctx, at.run, limit); err != nil {
		return refuseFault(err, "Not waited").result()
	}
	before := at.run
	if at, none = s.loaded(ctx, c); none != nil {
		return none
	}
	switch {
	case at.run.GetRunId() == before.GetRunId() && at.run.GetVersion() == before.GetVersion():
		return s.waited(at.run, "Nothing has changed yet; call "+s.cfg.ToolPrefix+"wait again.")
	case brief.Waits(at.run):
		return s.waited(at.run, "Something has changed, and the run still waits.")
	default:
		return s.waited(at.run, "The run goes on.")
	}
}

func (s *Server) waited(run *enginev1.Run, lead string) *sdk.CallToolResult {
	return answer(lead+"\n"+brief.State(run, s.cfg.ToolPrefix), map[string]any{"waiting": brief.Waits(run), "run": viewRun(run)})
}

// awaitChange watches a run until it is at another version than it was seen at,
// has ended, or time is up. It ends early when the server drains.
func (s *Server) awaitChange(ctx context.Context, seen *enginev1.Run, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.streams, cancel)()
	watch, err := s.cfg.Runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: seen.GetRunId()})
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

package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

const (
	// longestWait is less than the minute after which many clients give up.
	longestWait = 55 * time.Second
	defaultWait = 30 * time.Second
)

// wait returns when a waiting run has changed, or after a time.
func (s *Server) wait(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	at, none := s.loaded(ctx, c)
	if none != nil {
		return none
	}
	if !brief.Waits(at.run) {
		return s.waited(ctx, c, at, "The run does not wait.")
	}
	limit := cmp.Or(time.Duration(args.integer("timeout_seconds"))*time.Second, defaultWait)
	if err := s.awaitChange(ctx, at.run, limit); err != nil {
		return refuseFault(err, "Not waited").result()
	}
	before := at.run
	if at, none = s.loaded(ctx, c); none != nil {
		return none
	}
	switch {
	case at.run.GetRunId() == before.GetRunId() && at.run.GetVersion() == before.GetVersion():
		return s.waited(ctx, c, at, "No change yet; call "+s.cfg.ToolPrefix+"wait again.")
	case brief.Waits(at.run):
		return s.waited(ctx, c, at, "Something has changed, and the run still waits.")
	default:
		return s.waited(ctx, c, at, "The run continues.")
	}
}

func (s *Server) waited(ctx context.Context, c caller, at position, lead string) *sdk.CallToolResult {
	return answer(lead+"\n"+s.described(ctx, c, at.run, at.asked), map[string]any{"waiting": brief.Waits(at.run), "run": viewRun(at.run)})
}

// awaitChange watches a run until it is at another version than it was seen at,
// has ended, or time is up. It ends early when the server drains.
func (s *Server) awaitChange(ctx context.Context, seen *enginev1.Run, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.life.streams, cancel)()
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

// countProgress notifies a client that asked for it how long a wait has taken, until
// stopped.
func (s *Server) countProgress(ctx context.Context, call *sdk.CallToolRequest, limit time.Duration, message string) (stop func()) {
	if call == nil || call.Session == nil || call.Params.GetProgressToken() == nil {
		return func() {}
	}
	box, flush := newOutbox(ctx, call.Session)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.cfg.progressEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			box.put(asParams(&sdk.ProgressNotificationParams{
				ProgressToken: call.Params.GetProgressToken(), Message: message,
				Progress: time.Since(began).Seconds(), Total: limit.Seconds(),
			}))
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		flush()
	}
}

// outbox sends progress to a client that may not read. It drops messages without room.
type outbox chan *relay.Result

// newOutbox sends until flush, which gives its messages a moment to go out. It takes no
// messages afterwards.
func newOutbox(ctx context.Context, session *sdk.ServerSession) (box outbox, flush func()) {
	box = make(outbox, 64)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for params := range box {
			upstream.Notify(ctx, session, "notifications/progress", params) //nolint:errcheck // progress is a courtesy
		}
	}()
	return box, func() {
		close(box)
		select {
		case <-sent:
		case <-time.After(flushProgress):
		}
	}
}

func (box outbox) put(params *relay.Result) {
	select {
	case box <- params:
	default:
	}
}

// flushProgress is how long a result waits for progress that goes before it.
const flushProgress = time.Second

package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// steady is how long a stream lasts that counts as no failure when it breaks.
const steady = 10 * time.Second

// Change is one version of a state.
type Change struct {
	StateID string
	Version int64
	Time    time.Time
	// SessionID and SessionName are of the session that acted; empty for none.
	SessionID, SessionName string
	// Actor is the principal.
	Actor string
	// Type is "created", "updated" or "migrated".
	Type string
	// Patch is a JSON Patch (RFC 6902) from the version before.
	Patch         json.RawMessage
	SchemaVersion int64
	// Deleted says that the state is gone; no event follows, and of the rest only StateID
	// is set.
	Deleted bool
}

// WatchState yields every change of a state, by default the session's, after a version,
// then those that come; after -1 only those that come. Versions are in order and
// none is twice. One is missing only where the server keeps no such old ones. The
// state must be there and readable to begin with.
//
// It ends with the state's deletion, with an error, or when ctx ends, which is an error
// too. A temporary failure is not an error: it continues from the last version.
func (c *Client) WatchState(ctx context.Context, id string, after int64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		// No part is asked for, so this answers which state it is and its version.
		st, err := c.ReadState(ctx, id, "/")
		if err != nil {
			yield(Change{}, err)
			return
		}
		if after < 0 {
			after = st.Version
		}
		w := watch{client: c, id: st.ID, after: after, yield: yield}
		for failures := 0; ; {
			begun := time.Now()
			err := w.stream(ctx)
			if w.over {
				return
			}
			if ctx.Err() != nil {
				yield(Change{}, context.Cause(ctx))
				return
			}
			f := fault.From(err)
			if !transient(f.Reason) {
				yield(Change{}, f)
				return
			}
			if time.Since(begun) > steady {
				failures = 0
			}
			failures++
			c.log.LogAttrs(ctx, slog.LevelInfo, "a watch is opened again", slog.String("state", w.id), slog.Any("error", f))
			if pause(ctx, delay(failures, f.RetryAfter)) != nil {
				yield(Change{}, context.Cause(ctx))
				return
			}
		}
	}
}

// watch is a state that is watched.
type watch struct {
	client *Client
	id     string
	after  int64
	yield  func(Change, error) bool
	over   bool
}

// stream yields changes until the stream breaks, or the watch is over.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.client.states.WatchState(ctx, &statev1.WatchStateRequest{
		StateId: w.id, Session: w.client.session, AfterVersion: w.after,
	})
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		switch {
		case fault.ReasonOf(err) == fault.NotFound: // it was deleted in the meantime
			w.end()
			return nil
		case err != nil:
			return broken(err)
		case resp.GetDeleted():
			w.end()
			return nil
		case resp.GetChange().GetVersion() <= w.after:
			continue
		}
		w.after = resp.GetChange().GetVersion()
		if !w.yield(changeOf(w.id, resp.GetChange()), nil) {
			w.over = true
			return nil
		}
	}
}

func (w *watch) end() {
	w.over = true
	w.yield(Change{StateID: w.id, Deleted: true}, nil)
}

// broken returns the error of a stream that ended without one where it should not.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Unavailable, "the stream has ended").Wrap(fmt.Errorf("receive: %w", err))
	}
	return err
}

func changeOf(id string, v *statev1.StateVersion) Change {
	return Change{
		StateID: id, Version: v.GetVersion(), Time: timeOf(v.GetTime()), SessionID: v.GetSessionId(), SessionName: v.GetSessionName(),
		Actor: v.GetActor(), Type: strings.ToLower(word(v.GetType(), "STATE_CHANGE_TYPE_")), Patch: v.GetPatch(), SchemaVersion: v.GetSchemaVersion(),
	}
}

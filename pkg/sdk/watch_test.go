package sdk

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

type watchStream = grpc.ServerStreamingServer[statev1.WatchStateResponse]

func version(n int64) *statev1.WatchStateResponse {
	return &statev1.WatchStateResponse{StateId: "wfstate_1", Change: &statev1.StateVersion{
		Version: n, Type: statev1.StateChangeType_STATE_CHANGE_TYPE_UPDATED, Patch: []byte(`[]`), SessionName: "s", Actor: "agent",
	}}
}

// watched collects what a watch yields.
func watched(ctx context.Context, c *Client, after int64) (versions []int64, deleted bool, err error) {
	for change, problem := range c.WatchState(ctx, "", after) {
		switch {
		case problem != nil:
			err = problem
		case change.Deleted:
			deleted = true
		default:
			versions = append(versions, change.Version)
		}
	}
	return versions, deleted, err
}

func upTo(first, last int64) []int64 {
	var all []int64
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// However often the stream breaks, and even when the server repeats itself, every
// version comes once and in order.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(rt *rapid.T) {
		const last = 12
		// Each number is how many changes a stream carries before it breaks.
		carries := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 8).Draw(rt, "carries")
		overlap := rapid.Int64Range(0, 2).Draw(rt, "overlap")
		breaks := rapid.SampledFrom([]error{nil, fault.New(fault.Unavailable, "going away"), fault.New(fault.DeadlineExceeded, "late")}).Draw(rt, "breaks")
		states := newStates(t, `{}`)
		states.watch = func(req *statev1.WatchStateRequest, stream watchStream) error {
			most := last
			if len(carries) > 0 {
				most, carries = carries[0], carries[1:]
			}
			sent := 0
			for n := max(1, req.GetAfterVersion()+1-overlap); n <= last; n++ {
				if sent == most && n > req.GetAfterVersion() {
					return breaks
				}
				if err := stream.Send(version(n)); err != nil {
					return err
				}
				if n > req.GetAfterVersion() {
					sent++
				}
			}
			return stream.Send(&statev1.WatchStateResponse{StateId: "wfstate_1", Deleted: true})
		}
		var versions []int64
		var deleted bool
		var err error
		synctest.Test(t, func(t *testing.T) {
			versions, deleted, err = watched(t.Context(), New(connect(t, fakes{states: states}), Options{Session: "s"}), 0)
		})
		if err != nil || !deleted || !slices.Equal(versions, upTo(1, last)) {
			rt.Fatalf("%v, deleted %t, %v", versions, deleted, err)
		}
	})
}

// What changes while nobody is connected is not missed, from the first moment on.
func TestWatchFromNow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{}`)
		states.version = 5
		opened := 0
		states.watch = func(req *statev1.WatchStateRequest, stream watchStream) error {
			if opened++; opened == 1 {
				return fault.New(fault.Unavailable, "not yet")
			}
			if req.GetStateId() != "wfstate_1" || req.GetSession() != "s" {
				t.Errorf("watches %v", req)
			}
			for n := req.GetAfterVersion() + 1; n <= 7; n++ {
				if err := stream.Send(version(n)); err != nil {
					return err
				}
			}
			return fault.New(fault.NotFound, "it was deleted in the meantime")
		}
		versions, deleted, err := watched(t.Context(), New(connect(t, fakes{states: states}), Options{Session: "s"}), -1)
		if err != nil || !deleted || !slices.Equal(versions, upTo(6, 7)) {
			t.Errorf("%v, deleted %t, %v", versions, deleted, err)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		states := newStates(t, `{}`)
		c := New(connect(t, fakes{states: states}), Options{Session: "s"})

		states.watch = func(*statev1.WatchStateRequest, watchStream) error {
			return fault.New(fault.PermissionDenied, "another tree")
		}
		if versions, _, err := watched(t.Context(), c, 0); Reason(err) != fault.PermissionDenied || versions != nil {
			t.Errorf("refused: %v, %v", versions, err)
		}

		states.watch = func(_ *statev1.WatchStateRequest, stream watchStream) error {
			if err := stream.Send(version(1)); err != nil {
				return err
			}
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if versions, _, err := watched(ctx, c, 0); !errors.Is(err, context.DeadlineExceeded) || len(versions) != 1 {
			t.Errorf("its context ended: %v, %v", versions, err)
		}

		for change, err := range c.WatchState(t.Context(), "", 0) {
			if err != nil || change.StateID != "wfstate_1" || change.Actor != "agent" || change.SessionName != "s" || string(change.Patch) != "[]" {
				t.Errorf("%+v, %v", change, err)
			}
			break
		}

		down := errors.New("shutting down")
		ended, end := context.WithCancelCause(t.Context())
		states.watch = func(*statev1.WatchStateRequest, watchStream) error {
			return fault.New(fault.Unavailable, "for a long time")
		}
		time.AfterFunc(time.Hour, func() { end(down) })
		if _, _, err := watched(ended, c, 0); !errors.Is(err, down) {
			t.Errorf("its context ended while it waited: %v", err)
		}

		states.way.ahead = slices.Repeat([]trouble{lostRequest}, 100)
		if _, _, err := watched(t.Context(), c, 0); Reason(err) != fault.Unavailable {
			t.Errorf("there is no such state: %v", err)
		}
	})
}

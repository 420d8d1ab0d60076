package rest

import (
	"context"
	"math"
	"net/http"
	"reflect"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// fromNow is the version to continue after for changes to come only.
const fromNow = -1

var afterVersionParam = intQuery("after_version", "Changes of a state with a greater version; those to come when absent.")

func (h *events) stateRoutes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/states/{state_id}/events", id: "watchState", summary: "Live changes of a state",
		about: "Server-sent events. Each has the state's version as its id and {event_type, state_id, version, updated_by_session, " +
			"timestamp} as its data; comments keep an idle connection open. A client that comes back with Last-Event-ID misses " +
			"nothing. The stream ends with the state.",
		params: []param{
			statePath, afterVersionParam, {name: headerLastEvent, in: "header", about: "Resume after this version."}, sessionParam,
		},
		answers: map[int]reflect.Type{http.StatusOK: nil},
		stream:  func(c *call) error { return h.streamState(c, c.path("state_id")) },
	})
}

// streamState serves the changes of one state.
func (h *events) streamState(c *call, id string) error {
	after, err := c.changesAfter()
	if err != nil {
		return err
	}
	return serveFeed(c, func(ctx context.Context) (*feed, error) {
		return h.feeds.ofState(ctx, &statev1.WatchStateRequest{StateId: id, Session: c.header(headerSession), AfterVersion: after})
	})
}

// changesAfter returns the version that the client has seen, or fromNow. Where it came
// back to goes before where it began.
func (c *call) changesAfter() (int64, error) {
	last, resumes, err := c.lastEvent()
	if err != nil {
		return 0, err
	}
	if resumes {
		return int64(last), nil // of 63 bits
	}
	if !c.query.Has("after_version") {
		return fromNow, nil
	}
	return wholeNumber("after_version", c.query.Get("after_version"), math.MaxInt64)
}

// ofState follows the changes of a state. Changes to come are those after the
// version that it has now, so that none falls between the question and the watch.
func (h *feeds) ofState(ctx context.Context, req *statev1.WatchStateRequest) (*feed, error) {
	now, err := h.mayWatch(ctx, req)
	if err != nil {
		return nil, err
	}
	switch {
	case req.AfterVersion == fromNow:
		req.AfterVersion = now
	case req.AfterVersion > now:
		// The state-store refuses that too, but when this answer has begun.
		return nil, fault.New(fault.InvalidRequest, "state %s is at version %d: version %d is in the future",
			req.GetStateId(), now, req.AfterVersion).Violate("/after_version", "RANGE", "must be an existing version")
	}
	changes, err := h.states.WatchState(ctx, req)
	if err != nil {
		return nil, err
	}
	events := make(chan Event)
	go func() {
		defer close(events)
		last := now
		for {
			resp, err := changes.Recv()
			if err != nil {
				return // the reader comes back and gets the reason
			}
			ev, version, err := stateChange(resp, last)
			if err != nil {
				return
			}
			last = version
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
			if resp.GetDeleted() {
				return
			}
		}
	}()
	return &feed{
		events: events, version: req.AfterVersion,
		allowed: func(ctx context.Context) error {
			_, err := h.mayWatch(ctx, req)
			return err
		},
	}, nil
}

// mayWatch asks the state-store for as little of a state as there is: anyone who may
// read it may watch it. It answers the state's version.
func (h *feeds) mayWatch(ctx context.Context, req *statev1.WatchStateRequest) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := h.states.GetState(ctx, &statev1.GetStateRequest{
		StateId: req.GetStateId(), Session: req.GetSession(), Pointers: []string{"/-"}, // an element that is never there
	})
	return resp.GetState().GetVersion(), err
}

// stateChange returns a change as an event, and the version that was its last then. A
// deletion has no version of its own: it comes after the last.
func stateChange(resp *statev1.WatchStateResponse, last int64) (Event, int64, error) {
	if resp.GetDeleted() {
		data, err := encode(jsonview.StateEvent{
			EventType: jsonview.StateDeleted, StateID: resp.GetStateId(), Version: last, Timestamp: time.Now().UTC(),
		})
		return Event{Data: data}, last, err
	}
	change := resp.GetChange()
	data, err := encode(jsonview.StateEventOf(resp.GetStateId(), change))
	return Event{Seq: uint64(change.GetVersion()), Data: data}, change.GetVersion(), err // from 1
}

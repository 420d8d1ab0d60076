package rest

import (
	"math"
	"net/http"
	"reflect"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// LockStateRequest takes the lock on a state.
type LockStateRequest struct {
	Holder     string `json:"holder" doc:"Who holds it, for others to see."`
	TTLSeconds int32  `json:"ttl_seconds" doc:"1 second to 1 hour."`
}

// RenewLockRequest keeps the lock that is held.
type RenewLockRequest struct {
	Holder       string `json:"holder"`
	TTLSeconds   int32  `json:"ttl_seconds" doc:"1 second to 1 hour, from now."`
	FencingToken int64  `json:"fencing_token" doc:"Of the lock that is held."`
}

// UnlockStateRequest gives the lock back.
type UnlockStateRequest struct {
	FencingToken int64 `json:"fencing_token,omitzero" doc:"Of the lock that is held; the query or the header can say it instead."`
}

// HeldLock is a lock with its token.
type HeldLock struct {
	FencingToken int64     `json:"fencing_token" doc:"For writes while the lock is held. It only grows."`
	ExpiresAt    time.Time `json:"expires_at"`
}

// locks serves the locks of states.
type locks struct {
	states statev1.StateServiceClient
}

func (h *locks) routes(add func(route)) {
	const path = "/v1/states/{state_id}/lock"
	add(route{
		method: http.MethodPost, path: path, id: "lockState", summary: "Lock a state",
		about: "While the lock is held only writes with its fencing token are accepted, 423 otherwise. It lapses after its time. " +
			"Until then no other caller can take it, with any holder.",
		params: []param{statePath, sessionParam, idempotencyParam}, body: jsonBody, request: reflect.TypeFor[LockStateRequest](),
		answers: answers[HeldLock](http.StatusCreated), serve: taking(h.lock),
	})
	add(route{
		method: http.MethodPut, path: path, id: "renewStateLock", summary: "Renew the lock on a state",
		params: []param{statePath, fencingParam, sessionParam}, body: jsonBody, request: reflect.TypeFor[RenewLockRequest](),
		answers: answers[HeldLock](http.StatusOK), serve: taking(h.renew),
	})
	add(route{
		method: http.MethodDelete, path: path, id: "unlockState", summary: "Unlock a state",
		about:  "A lock that has lapsed is no error; another token than that of the lock is 423.",
		params: []param{statePath, intQuery("fencing_token", "Of the lock that is held."), fencingParam, sessionParam},
		body:   optionalJSON, request: reflect.TypeFor[UnlockStateRequest](),
		answers: noContent(), serve: taking(h.unlock),
	})
}

func (h *locks) lock(c *call, in LockStateRequest) (*answer, error) {
	return h.take(c, http.StatusCreated, in.Holder, in.TTLSeconds, 0)
}

func (h *locks) renew(c *call, in RenewLockRequest) (*answer, error) {
	token, err := c.fencing(in.FencingToken)
	if err != nil {
		return nil, err
	}
	// Without a token it would be taken, not renewed.
	if err := missing(requirement{"/fencing_token", token != 0}); err != nil {
		return nil, err
	}
	return h.take(c, http.StatusOK, in.Holder, in.TTLSeconds, token)
}

// take takes the lock, or renews the one that the token is of.
func (h *locks) take(c *call, status int, holder string, ttlSeconds int32, token int64) (*answer, error) {
	if err := missing(requirement{"/holder", holder != ""}, requirement{"/ttl_seconds", ttlSeconds != 0}); err != nil {
		return nil, err
	}
	resp, err := h.states.LockState(c.ctx, &statev1.LockStateRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), Holder: holder, Ttl: &durationpb.Duration{Seconds: int64(ttlSeconds)}, FencingToken: token,
		IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return &answer{status: status, body: HeldLock{
		FencingToken: resp.GetFencingToken(), ExpiresAt: jsonview.Time(resp.GetExpiresAt()),
	}}, nil
}

func (h *locks) unlock(c *call, in UnlockStateRequest) (*answer, error) {
	token, err := c.fencing(in.FencingToken)
	if err != nil {
		return nil, err
	}
	if err := missing(requirement{"/fencing_token", token != 0}); err != nil {
		return nil, err
	}
	return done(h.states.UnlockState(c.ctx, &statev1.UnlockStateRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), FencingToken: token,
	}))
}

// fencing returns the token of the lock that the caller holds, which the body, the header
// and the query may have; 0 for none.
func (c *call) fencing(asked int64) (int64, error) {
	const parameter = "fencing_token"
	if asked < 0 {
		return 0, badBody(fault.InvalidRequest, inBody("/"+parameter, document.CodeRange,
			"must not be negative; leave it out without a lock"))
	}
	for name, text := range map[string]string{headerFencing: c.header(headerFencing), parameter: c.query.Get(parameter)} {
		if text == "" {
			continue
		}
		token, err := wholeNumber(name, text, math.MaxInt64)
		if err != nil {
			return 0, err
		}
		if asked != 0 && asked != token {
			return 0, badParameter(name, "CONFLICT", "another fencing token is given elsewhere; send one")
		}
		asked = token
	}
	return asked, nil
}

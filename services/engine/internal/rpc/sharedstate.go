package rpc

import (
	"context"
	"fmt"
	"strings"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/app"
)

// SharedState reads shared states through the state-store's contract.
type SharedState struct {
	sessions statev1.SessionServiceClient
	states   statev1.StateServiceClient
}

var _ app.SharedState = (*SharedState)(nil)

// NewSharedState makes an adapter with the credentials of the service's own connection.
func NewSharedState(sessions statev1.SessionServiceClient, states statev1.StateServiceClient) *SharedState {
	return &SharedState{sessions, states}
}

// mostChanges bounds how far back the writer of a value is looked for.
const mostChanges = 1000

// Written implements app.SharedState.
func (s *SharedState) Written(ctx context.Context, namespace, session, pointer string, byWhom bool) (w evidence.Written, err error) {
	ctx = rpc.InNamespace(ctx, namespace)
	of, err := s.sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: session})
	if fault.ReasonOf(err) == fault.NotFound || err == nil && of.GetSession().GetWorkflowStateId() == "" {
		return evidence.Written{Unknown: "session " + document.Quote(session) + " has no shared state"}, nil
	}
	if err != nil {
		return w, err
	}
	id := of.GetSession().GetWorkflowStateId()
	got, err := s.states.GetState(ctx, &statev1.GetStateRequest{StateId: id, Pointers: []string{pointer}})
	if err != nil {
		return w, err
	}
	w.At = got.GetState().GetUpdatedAt().AsTime()
	if parts := got.GetParts(); len(parts) == 1 && parts[0].GetFound() {
		value, problem := document.Parse(parts[0].GetValue(), document.Limits{Bytes: len(parts[0].GetValue()) + 1})
		if problem != nil {
			return w, fmt.Errorf("read %s of state %s: %s", pointer, id, problem.Message)
		}
		w.Value = value
	}
	if !byWhom {
		return w, nil
	}
	version := got.GetState().GetVersion()
	found := false
	for after := max(0, version-mostChanges); after >= 0 && after < version; {
		page, err := s.states.GetStateHistory(ctx, &statev1.GetStateHistoryRequest{StateId: id, AfterVersion: after, PageSize: mostChanges})
		if err != nil {
			return w, err
		}
		for _, v := range page.GetVersions() {
			if v.GetVersion() <= version && touches(v.GetPatch(), pointer) {
				found = true
				w.At, w.Writers = v.GetTime().AsTime(), []string{v.GetActor(), v.GetSessionName(), v.GetSessionId()}
			}
		}
		if after = page.GetNextAfterVersion(); after == 0 {
			break
		}
	}
	if !found {
		w.Unknown = "its writer is not known any more"
	}
	return w, nil
}

// touches reports that a patch may have changed the value at a pointer.
func touches(patch []byte, pointer string) bool {
	v, problem := document.Parse(patch, document.Limits{Bytes: len(patch) + 1})
	if problem != nil {
		return true
	}
	for _, op := range v.Elements() {
		for _, name := range []string{"path", "from"} {
			at, ok := op.Get(name)
			if ok && (within(at.Str(), pointer) || within(pointer, at.Str())) {
				return true
			}
		}
	}
	return false
}

// within reports that a pointer is at another, or inside it.
func within(inner, outer string) bool { return inner == outer || strings.HasPrefix(inner, outer+"/") }

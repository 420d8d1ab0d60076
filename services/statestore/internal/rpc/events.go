package rpc

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// Announcer writes the state-store's changes as events of event.v1.
type Announcer struct{}

var _ app.Announcer = Announcer{}

// mostPointers bounds how many pointers an event names.
const mostPointers = 32

// SchemaEvent implements app.Announcer.
func (Announcer) SchemaEvent(namespace, actor string, v *schemas.Schema) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "schema", EntityId: v.Name, Type: "registered",
		Version: v.Number, Time: timestamppb.New(v.CreatedAt), Actor: actor,
		Payload: &eventv1.Event_SchemaRegistered{SchemaRegistered: &eventv1.SchemaRegistered{
			SchemaId: v.ID, SchemaName: v.Name, SchemaVersion: v.Number, Digest: v.Digest,
		}},
	})
}

// StateEvent implements app.Announcer.
func (Announcer) StateEvent(namespace, actor string, st *states.State, c *states.Change) (store.Event, error) {
	pointers := c.Pointers
	if len(pointers) > mostPointers {
		pointers = pointers[:mostPointers]
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: ports.KindState, EntityId: st.Key.ID, Type: c.Type,
		Version: c.Version, Time: timestamppb.New(c.At), Actor: actor,
		Payload: &eventv1.Event_StateChanged{StateChanged: &eventv1.StateChanged{
			SchemaName: st.SchemaName, SchemaVersion: st.SchemaVersion, RootSessionId: st.RootID,
			SessionId: c.SessionID, SessionName: c.SessionName, Pointers: bus.ClipAll(pointers),
		}},
	})
}

// StateDeleted implements app.Announcer.
func (Announcer) StateDeleted(namespace, actor string, st *states.State, forced bool, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: ports.KindState, EntityId: st.Key.ID, Type: "deleted",
		Version: st.Version + 1, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_StateDeleted{StateDeleted: &eventv1.StateDeleted{
			SchemaName: st.SchemaName, RootSessionId: st.RootID, Forced: forced,
		}},
	})
}

// StateLocked implements app.Announcer.
func (Announcer) StateLocked(namespace, actor, stateID string, lease store.Lease, locked bool, at time.Time) (store.Event, error) {
	kind := "unlocked"
	payload := &eventv1.StateLocked{Holder: bus.Clip(lease.Holder)}
	if locked {
		kind, payload.ExpiresAt = "locked", timestamppb.New(lease.Expires)
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: ports.KindState, EntityId: stateID, Type: kind,
		Version: lease.Token, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_StateLocked{StateLocked: payload},
	})
}

// SessionCreated implements app.Announcer.
func (Announcer) SessionCreated(namespace, actor string, s *session.Session) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: member.Kind, EntityId: s.ID, Type: "created",
		Version: s.Version, Time: timestamppb.New(s.CreatedAt), Actor: actor,
		Payload: &eventv1.Event_SessionCreated{SessionCreated: &eventv1.SessionCreated{
			Name: s.Name, ParentSessionId: s.ParentID, RootSessionId: s.RootID, WorkflowStateId: s.StateID,
		}},
	})
}

// SessionEvent implements app.Announcer.
func (Announcer) SessionEvent(namespace, actor string, s *session.Session, ev session.Event) (store.Event, error) {
	if ev.Task != nil {
		return taskEvent(namespace, actor, s, ev)
	}
	switch ev.Type {
	case session.EventTokenMinted, session.EventTokenRevoked, session.EventTokensRevoked, session.EventNarrowed:
		return boundedEvent(namespace, actor, s, ev)
	}
	changed := &eventv1.SessionChanged{
		Name: s.Name, Status: string(s.Status), StateUpdateStatus: string(s.Update), Attempts: int32(s.Attempts), // bounded by the configuration
		Error: bus.Clip(s.Error), ParentSessionId: s.ParentID, RootSessionId: s.RootID,
	}
	out := &eventv1.Event{
		Namespace: namespace, Entity: member.Kind, EntityId: s.ID, Type: ev.Type,
		Version: s.Version, Time: timestamppb.New(s.UpdatedAt), Actor: actor,
		Payload: &eventv1.Event_SessionChanged{SessionChanged: changed},
	}
	if cb := ev.Callback; cb != nil {
		changed.CallbackId, changed.ChildSessionId, changed.Error = cb.ID, cb.SessionID, bus.Clip(cb.Error)
		changed.StateUpdateStatus = string(cb.Update)
	}
	return bus.Encode(out)
}

func boundedEvent(namespace, actor string, s *session.Session, ev session.Event) (store.Event, error) {
	bounded := &eventv1.SessionBounded{Name: s.Name, TokenId: bus.Clip(ev.Token)}
	only := s.Only
	if i := slices.IndexFunc(s.Tokens, func(t session.Token) bool { return t.ID == ev.Token }); i >= 0 && ev.Type == session.EventTokenMinted {
		t := &s.Tokens[i]
		bounded.TokenName, bounded.ExpiresAt, only = t.Name, timestamppb.New(t.Expires), t.Only
	}
	if ev.Type == session.EventTokenMinted || ev.Type == session.EventNarrowed {
		entries, _, _ := workflow.ReadNarrowing(only)
		bounded.Entries = int32(len(entries)) //nolint:gosec // at most 32
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: member.Kind, EntityId: s.ID, Type: ev.Type,
		Version: s.Version, Time: timestamppb.New(s.UpdatedAt), Actor: actor,
		Payload: &eventv1.Event_SessionBounded{SessionBounded: bounded},
	})
}

func taskEvent(namespace, actor string, s *session.Session, ev session.Event) (store.Event, error) {
	t := ev.Task
	changed := &eventv1.TaskChanged{
		SessionId: s.ID, Kind: string(t.Kind), Attempt: int32(t.Attempt), Runner: bus.Clip(t.Runner), Error: bus.Clip(t.Error), // bounded
	}
	for _, cb := range t.Callbacks {
		if len(changed.CallbackIds) < mostPointers {
			changed.CallbackIds = append(changed.CallbackIds, cb.ID)
		}
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "task", EntityId: t.ID, Type: ev.Type,
		Version: s.Version, Time: timestamppb.New(s.UpdatedAt), Actor: actor,
		Payload: &eventv1.Event_TaskChanged{TaskChanged: changed},
	})
}

// SessionGranted implements app.Announcer.
func (Announcer) SessionGranted(namespace, actor string, s *session.Session, stateID string, revoked bool) (store.Event, error) {
	kind := "granted"
	if revoked {
		kind = "revoked"
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: member.Kind, EntityId: s.ID, Type: kind,
		Version: s.Version, Time: timestamppb.New(s.UpdatedAt), Actor: actor,
		Payload: &eventv1.Event_SessionGranted{SessionGranted: &eventv1.SessionGranted{StateId: stateID}},
	})
}

// ComponentEvent implements app.Announcer.
func (Announcer) ComponentEvent(namespace, actor, kind string, c *components.Component, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "component", EntityId: c.Slug, Type: kind,
		Version: c.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ComponentChanged{ComponentChanged: &eventv1.ComponentChanged{Name: c.Name, Persistence: string(c.Persistence)}},
	})
}

// CommittedEvent implements app.Announcer.
func (Announcer) CommittedEvent(namespace, actor string, ex *components.Execution, at time.Time) (store.Event, error) {
	out := &eventv1.Event{
		Namespace: namespace, Entity: "component", EntityId: ex.Slug, Type: "committed",
		Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ComponentCommitted{ComponentCommitted: &eventv1.ComponentCommitted{
			ExecutionId: ex.ID, SessionId: ex.SessionID, Subject: bus.Clip(ex.Subject), ValuesVersion: ex.Version,
		}},
	}
	out.Id = bus.EventID(out) + "." + ex.ID
	return bus.Encode(out)
}

package protomap

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

// CatalogEvent returns the event of a change of the live version of a definition, or of a set.
func CatalogEvent(namespace, actor string, c *catalog.Change, at time.Time) (store.Event, error) {
	event := &eventv1.Event{
		Namespace: namespace, Entity: "workflow", EntityId: c.Name, Type: c.Type,
		Version: c.Revision, Time: timestamppb.New(at), Actor: actor,
	}
	switch {
	case c.Applied == nil && c.Kind.Returns():
		event.Entity, event.Payload = string(c.Kind), &eventv1.Event_DefinitionChanged{DefinitionChanged: &eventv1.DefinitionChanged{
			DefinitionVersion: c.Version, Digest: c.Digest, Reason: bus.Clip(c.Reason), Set: c.Set,
		}}
		return bus.Encode(event)
	case c.Applied == nil:
		event.Payload = &eventv1.Event_WorkflowChanged{WorkflowChanged: &eventv1.WorkflowChanged{
			WorkflowVersion: c.Version, Digest: c.Digest, Reason: bus.Clip(c.Reason), Set: c.Set,
		}}
		return bus.Encode(event)
	}
	applied := &eventv1.SetApplied{SetVersion: c.Version, Repo: bus.Clip(c.Applied.Repo), Commit: bus.Clip(c.Applied.Commit)}
	if s := c.Applied.Shadow; s != nil {
		applied = &eventv1.SetApplied{SetVersion: c.Version, Repo: bus.Clip(s.Repo), Commit: bus.Clip(s.Commit), ShadowUntil: timestamppb.New(s.Until)}
		for object := range s.Objects {
			applied.Objects = append(applied.Objects, object.String())
		}
	} else {
		for object := range c.Applied.Objects {
			applied.Objects = append(applied.Objects, object.String())
		}
	}
	slices.Sort(applied.Objects)
	applied.Objects = bus.ClipAll(applied.Objects)
	event.Entity, event.Payload = "set", &eventv1.Event_SetApplied{SetApplied: applied}
	return bus.Encode(event)
}

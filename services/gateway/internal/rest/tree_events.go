package rest

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// treeEntities are those whose events describe trees of sessions: their names, their
// writes and questions, and how they have failed. An agent reads its own tree only
// (S10.9), and a subject names none.
var treeEntities = map[string]bool{"state": true, "session": true, "task": true, "component": true, "approval": true, "policy": true, "audit": true, "call": true, "schedule": true, "freeze": true}

// entityOf returns the entity of a subject, or a filter's part in its place.
func entityOf(subject string) string {
	tokens := strings.SplitN(subject, ".", 4) // root, namespace, entity, id
	if len(tokens) < 3 {
		return ""
	}
	return tokens[2]
}

// mayFollow asks the services whether the caller may follow the events that the filter
// matches. all is false for a caller that is to get it without the events of trees.
func (h *readers) mayFollow(ctx context.Context, namespace, filter string) (all bool, err error) {
	if err := h.mayRead(ctx, namespace); err != nil {
		return false, err
	}
	if err := h.unbound(ctx); err != nil {
		return false, err
	}
	entity := entityOf(filter)
	wild := entity == "*" || entity == ">"
	if !wild && !treeEntities[entity] {
		return true, nil
	}
	all, err = h.mayReadTrees(ctx, namespace)
	if err == nil && !all && !wild {
		return false, newProblem(http.StatusForbidden, string(fault.PermissionDenied),
			"events of the entity "+entity+" cover all trees, which this token may not read; follow one state by its state_id instead of a subject, or ask for one approval")
	}
	return all, err
}

// unbound refuses a caller that may act in one session only: events are not separated by
// session.
func (h *readers) unbound(ctx context.Context) error {
	if h.identify == nil {
		return nil
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	token := ""
	if values := md.Get(metaAuthorization); len(values) == 1 {
		token = strings.TrimPrefix(values[0], "Bearer ")
	}
	if token == "" {
		return nil // anonymous callers are not bound
	}
	p, err := h.identify(ctx, token)
	if err != nil {
		return fault.From(err)
	}
	if p.Session != "" {
		return newProblem(http.StatusForbidden, string(fault.PermissionDenied),
			"this token is bound to session "+p.Session+", and events cover others too; read your run, or follow one state by its state_id")
	}
	return nil
}

// mayReadTrees asks the state-store whether the caller may read sessions of all
// trees: agents are refused unless they name a session.
func (h *readers) mayReadTrees(ctx context.Context, namespace string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := h.sessions.ListSessions(inNamespace(ctx, namespace), &statev1.ListSessionsRequest{PageSize: 1})
	if err == nil {
		return true, nil
	}
	if reason := fault.ReasonOf(err); reason == fault.SessionRequired || reason == fault.PermissionDenied {
		return false, nil
	}
	return false, err
}

// withoutTrees leaves the events of trees out. Like its source it ends with ctx.
func withoutTrees(ctx context.Context, events <-chan Event) <-chan Event {
	others := make(chan Event)
	go func() {
		defer close(others)
		for ev := range events {
			if treeEntities[entityOf(ev.Subject)] {
				continue
			}
			select {
			case others <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return others
}

package member

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
)

// Work is what a halt may refuse.
type Work struct {
	By auth.Principal
	// Humans are those on whose behalf it is, besides those of the sessions. It may have nil elements.
	Humans []*auth.Human
	// Agent is that of a session that is not there yet; empty for none.
	Agent string
	// Sessions are those that it is of, by names and ids. Empty ones do not count.
	Sessions []string
}

// Unhalted refuses work in the scope of a halt: a new session, a runner's task, a lock, or a write of a shared state. The check is
// the precondition of its commit (S23.43).
func (ms *Members) Unhalted(ctx context.Context, namespace string, work Work) (store.Check, error) {
	all, err := ms.Halts(ctx, true)
	if err != nil {
		return store.Check{}, err
	}
	return ms.UnhaltedBy(ctx, all, namespace, work)
}

// Halts returns the halts. Unless they are fresh they may be old, and so may be a refusal.
func (ms *Members) Halts(ctx context.Context, fresh bool) (*halts.Index, error) {
	if fresh {
		return ms.halts.Refresh(ctx)
	}
	return ms.halts.Known(ctx)
}

// UnhaltedBy refuses work in the scope of one of these halts.
func (ms *Members) UnhaltedBy(ctx context.Context, all *halts.Index, namespace string, work Work) (store.Check, error) {
	subject := &halts.Subject{Namespace: namespace, Principal: work.By, Humans: work.Humans}
	if work.Agent != "" {
		subject.Agents = []string{work.Agent}
	}
	for _, name := range append(work.Sessions, work.By.Session, work.By.Parent) {
		if name == "" || !all.Has(namespace, halts.OfSessions()...) {
			continue
		}
		place, err := ms.places.Place(ctx, namespace, name, "")
		if err != nil {
			return store.Check{}, err
		}
		subject.In(place)
	}
	if h := all.Over(subject); h != nil {
		return store.Check{}, h.Refusal()
	}
	return all.Check(), nil
}

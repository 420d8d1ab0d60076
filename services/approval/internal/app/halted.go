package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
)

// unhalted refuses a vote for an action in the scope of a halt: it stays pending, and can be rejected (S23.44). The
// check is the precondition of the vote.
func (a *App) unhalted(ctx context.Context, r *Record) (store.Check, error) {
	all, err := a.halts.Refresh(ctx)
	if err != nil {
		return store.Check{}, err
	}
	subject := &halts.Subject{Namespace: r.Namespace, Principal: auth.Principal{Name: r.Asker.Principal, Person: r.Asker.Person}, Workflows: []string{r.Because().Workflow}}
	for _, name := range []string{r.Asker.SessionID, r.Asker.RootSession} {
		if name == "" || !all.Has(r.Namespace, halts.OfSessions()...) {
			continue
		}
		place, err := a.sessions.Place(ctx, r.Namespace, name, "")
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

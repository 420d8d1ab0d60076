package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// DeleteSession removes a session that has ended, with cascade all that are below it, and
// with a root the state of its tree (S15.11). It answers their names, those below first: the
// order in which they go, so that a removal that was cut short is taken up by the next.
func (a *App) DeleteSession(ctx context.Context, caller Caller, name string, cascade bool) ([]string, error) {
	m, err := a.Member(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	tree, err := a.below(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(tree) > 1 && !cascade {
		return nil, fault.New(fault.FailedPrecondition, "session %q has %d sessions below it; delete them first, or all with cascade", clip(m.Name), len(tree)-1)
	}
	for _, each := range tree {
		if each.Status != session.Ended {
			return nil, fault.New(fault.FailedPrecondition, "session %q has not ended (it is %s); end it first", clip(each.Name), each.Status)
		}
	}
	if m.Root() && m.StateID != "" {
		if !cascade {
			return nil, fault.New(fault.FailedPrecondition, "session %q is the root of state %s; delete the state first, or both with cascade", clip(m.Name), m.StateID)
		}
		err := a.DeleteState(ctx, caller, m.StateID, 0, false)
		if err != nil && fault.ReasonOf(err) != fault.NotFound {
			return nil, err
		}
	}
	var names []string
	for _, each := range tree {
		if err := a.removeMember(ctx, each.Key); err != nil {
			return names, err
		}
		names = append(names, each.Name)
	}
	a.log.InfoContext(ctx, "sessions are deleted", "namespace", caller.Namespace, "by", caller.Principal.Name, "sessions", names)
	return names, nil
}

// below returns a session with all below it, the deepest first.
func (a *App) below(ctx context.Context, m *Member) ([]*Member, error) {
	inside := map[string]bool{m.Key.ID: true}
	var all []*Member
	query := store.Query{Namespace: m.Key.Namespace, Kind: KindSession, Labels: map[string]string{"root": m.RootID}, Limit: 1000}
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, fault.From(err)
		}
		for _, record := range page.Records {
			each, err := decodeMember(record)
			if err != nil {
				return nil, err
			}
			all = append(all, each)
		}
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(x, y *Member) int { return x.Depth - y.Depth })
	tree := []*Member{m}
	for _, each := range all {
		if each.Key.ID != m.Key.ID && inside[each.ParentHome] {
			inside[each.Key.ID] = true
			tree = append(tree, each)
		}
	}
	slices.Reverse(tree)
	return tree, nil
}

// removeMember removes one session that has ended. Its names, which live in other shards,
// are closed before: they never make a session again.
func (a *App) removeMember(ctx context.Context, key store.Key) error {
	return a.contest(ctx, key, "session "+key.ID, func() error {
		m, err := a.loadMember(ctx, key)
		switch {
		case fault.ReasonOf(err) == fault.NotFound:
			return nil
		case err != nil:
			return err
		case m.Status != session.Ended:
			return fault.New(fault.FailedPrecondition, "session %q works again; end it first", clip(m.Name))
		}
		for _, name := range []string{m.Name, m.ID} {
			if err := a.closeName(ctx, m, name); err != nil {
				return err
			}
		}
		_, err = a.store.Commit(ctx, store.Batch{
			Deletes:     []store.Check{{Key: key, Version: m.Version}, {Key: sessionValuesKey(m), Version: store.AnyVersion}},
			ClearTimers: []store.TimerID{{Key: key, Name: "session"}},
		})
		if err != nil {
			return retry.Fault(err)
		}
		a.sessions.Drop(key)
		return nil
	})
}

// closeName makes a name of a session stand for one that is removed.
func (a *App) closeName(ctx context.Context, m *Member, name string) error {
	at := refKey(m.Key.Namespace, name)
	return retry.Run(ctx, "session "+m.Name, func() error {
		in, err := a.intent(ctx, at)
		if err != nil || in == nil || in.Home != m.Key.ID || in.Deleted {
			return err
		}
		in.Deleted = true
		data, err := json.Marshal(in)
		if err != nil {
			return fault.From(fmt.Errorf("encode session name: %w", err))
		}
		_, err = a.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: at, Expect: in.version, Data: data}}})
		return retry.Fault(err)
	})
}

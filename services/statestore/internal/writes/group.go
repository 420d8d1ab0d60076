package writes

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// writeTimeout bounds the commit of edits.
const writeTimeout = 30 * time.Second

// writeGroup commits edits of one state and reports to each its outcome.
func (ed *Editor) writeGroup(key store.Key, group []*edit) {
	defer ed.recoverGroup(group)
	// The facts behind the edits are of the same era of the store, as long as this is not over.
	ctx, cancel := context.WithTimeout(group[0].work, writeTimeout)
	defer cancel()
	fresh := false
	err := retry.Until(ctx, func() (err error) {
		var st *states.State
		if !fresh {
			st, err = ed.states.Cached(ctx, key)
		} else if err = ed.refresh(ctx, group); err == nil {
			st, err = ed.states.Load(ctx, key)
		}
		if err != nil {
			return err
		}
		group, err = (&write{a: ed, before: st, key: key, group: group, fresh: fresh}).try(ctx)
		fresh = true
		return err
	})
	for _, e := range group {
		e.done <- outcome{err: fault.From(err)}
	}
}

// recoverGroup keeps one bad edit from ending the process: no handler is around it.
func (ed *Editor) recoverGroup(group []*edit) {
	cause := recover()
	if cause == nil {
		return
	}
	ed.ports.Log.Error("a change of a state panicked", "cause", cause, "stack", string(debug.Stack()))
	for _, e := range group {
		select {
		case e.done <- outcome{err: fault.New(fault.Internal, "")}:
		default: // it has its outcome
		}
	}
}

// refresh reads the sessions that act anew.
func (ed *Editor) refresh(ctx context.Context, group []*edit) error {
	read := map[store.Key]*member.Member{}
	for _, e := range group {
		if e.acting == nil {
			continue
		}
		m, ok := read[e.acting.Key]
		if !ok {
			var err error
			if m, err = ed.members.Load(ctx, e.acting.Key); err != nil {
				return err
			}
			read[e.acting.Key] = m
		}
		e.acting = m
	}
	return nil
}

// write is one attempt to commit edits of a state.
type write struct {
	a      *Editor
	key    store.Key
	before *states.State
	group  []*edit
	fresh  bool // the records are read anew
	halts  *halts.Index

	after    *states.State
	accepted []*edit
	states   []*states.State // after each accepted edit
	refused  map[*edit]error
	entries  [][]byte
	batch    store.Batch
	tree     *member.Tree
	counts   map[auth.Principal][]store.Check // under which the tokens of callers count
}

// try commits the edits, or refuses them. It returns those that have no outcome yet, with
// a lost race as long as they may come out otherwise by the present records.
func (w *write) try(ctx context.Context) (rest []*edit, err error) {
	if err := w.decide(ctx); err != nil {
		return w.group, err
	}
	if len(w.accepted) == 0 {
		if !w.fresh {
			return w.group, store.ErrConflict // the refusals may rest on an old version
		}
		w.answer()
		return nil, nil
	}
	result, err := w.commit(ctx)
	switch {
	case retry.Lost(err):
		return w.group, err
	case errors.Is(err, store.ErrFenced) && !w.fresh && len(w.refused) > 0:
		return w.group, store.ErrConflict // the lock refuses the rest; but refusals may rest on an old version
	case err != nil:
		w.fail(err)
		return nil, nil
	case result.Replayed:
		if rest = w.withoutKeyed(ctx, result.Answer); len(rest) > 0 {
			return rest, store.ErrConflict
		}
		return nil, nil
	default:
		w.answer()
		return nil, nil
	}
}

// decide applies the edits in their order, each to the result of those before.
func (w *write) decide(ctx context.Context) error {
	w.after = w.before
	w.refused = map[*edit]error{}
	rules, err := w.a.schemas.Compile(ctx, w.key.Namespace, w.before.SchemaName, w.before.SchemaVersion)
	if err != nil {
		return err
	}
	if w.halts, err = w.a.members.Halts(ctx, w.fresh); err != nil {
		return err
	}
	for _, e := range w.group {
		if w.tree == nil {
			w.tree = w.a.members.NewTree(e.caller)
		}
		if err := w.edit(ctx, e, &rules); err != nil {
			w.refused[e] = err
		}
	}
	return nil
}

func (w *write) edit(ctx context.Context, e *edit, rules **schemas.Compiled) error {
	cur := w.after
	if err := states.MayWrite(e.acting, cur); err != nil {
		return err
	}
	if err := w.counting(ctx, e.caller.Principal); err != nil {
		return err
	}
	if _, err := w.a.members.UnhaltedBy(ctx, w.halts, w.key.Namespace, cur.Work(e.caller, e.acting)); err != nil {
		return err
	}
	next, patch, touched, err := e.apply(cur, (*rules).Rules, w.a.ports.Config.MaxStateBytes, func(data document.Value) error {
		return w.permit(ctx, e, cur, (*rules).Rules, data)
	})
	if err != nil {
		return err
	}
	next.Version, next.UpdatedAt, next.UpdatedBy = cur.Version+1, w.tree.Clock.Now, e.caller.Principal.Name
	change := &states.Change{
		Version: next.Version, Type: states.Updated, At: next.UpdatedAt, Actor: e.caller.Principal.Name, Patch: patch, Pointers: touched,
	}
	if e.acting != nil {
		change.SessionID, change.SessionName = e.acting.ID, e.acting.Name
		next.UpdatedBy = e.acting.Name
	}
	if e.target != nil {
		next.SchemaVersion, next.SchemaID, change.Type = e.target.Number, e.target.ID, states.Migrated
	}
	change.SchemaVersion = next.SchemaVersion
	if next.Since += len(patch); next.Wants() {
		change.Data, next.Base, next.Since = next.Data.AppendJSON(nil), next.Version, 0
	}
	event, err := w.a.announce.StateEvent(w.key.Namespace, change.Actor, &next, change)
	if err != nil {
		return fault.From(err)
	}
	// A patch without writes is not a report.
	if e.patch == nil || len(touched) > 0 {
		if err := w.acted(ctx, e); err != nil {
			return err
		}
	}
	if e.target != nil {
		*rules = e.target // for the edits after it: only once this one cannot be refused
	}
	w.after = &next
	w.accepted = append(w.accepted, e)
	w.states = append(w.states, &next)
	w.entries = append(w.entries, states.EncodeChange(change))
	w.batch.Events = append(w.batch.Events, event)
	if e.once.Name != "" {
		w.batch.Idempotency, err = next.Keep(e.once, w.key)
	}
	return err
}

// counting refuses a caller whose token was revoked.
func (w *write) counting(ctx context.Context, by auth.Principal) error {
	if _, known := w.counts[by]; known || by.Kind != auth.OfSession {
		return nil
	}
	checks, err := w.a.ports.Counts(ctx, by)
	if err != nil {
		return err
	}
	if w.counts == nil {
		w.counts = map[auth.Principal][]store.Check{}
	}
	w.counts[by] = checks
	return nil
}

// permit decides whether an edit may make its writes (S18.2), by the schema and, in a
// migration, by the one that it leads to.
func (w *write) permit(ctx context.Context, e *edit, cur *states.State, rules *document.Schema, data document.Value) (err error) {
	if e.guards, err = w.a.permits.restricted(ctx, e, cur, rules, data); err != nil || e.target == nil {
		return err
	}
	if err := mayReplaceSchema(e.caller, cur, rules); err != nil {
		return err
	}
	more, err := w.a.permits.restricted(ctx, e, cur, e.target.Rules, data)
	e.guards = append(e.guards, more...)
	return err
}

// acted notifies the session that acts of its update, in the same commit (S11.2).
func (w *write) acted(ctx context.Context, e *edit) error {
	if e.acting == nil {
		return nil
	}
	m := w.tree.MemberOr(e.acting)
	if m.StateID != w.key.ID {
		return nil
	}
	w.tree.Caller = e.caller
	return w.tree.Apply(ctx, m, m.StateUpdated(w.tree.Clock))
}

// commit stores the accepted edits, as that many versions.
func (w *write) commit(ctx context.Context) (store.Result, error) {
	last := len(w.entries) - 1
	w.batch.Puts = []store.Put{{
		Key: w.key, Expect: w.before.Version, Data: w.after.Encode(), Labels: w.after.Labels(),
		Earlier: w.entries[:last], History: w.entries[last],
	}}
	w.batch.Fence = &store.Fence{Key: states.LockKey(w.key), Token: w.accepted[0].Token}
	if through := w.a.states.Forgotten(w.before.Version, w.after.Version); through > 0 {
		w.batch.Forget = []store.Forget{{Key: w.key, Through: through}}
	}
	if err := w.tree.Puts(); err != nil {
		return store.Result{}, err
	}
	w.batch.Puts = append(w.batch.Puts, w.tree.Batch.Puts...)
	w.batch.Events = append(w.batch.Events, w.tree.Batch.Events...)
	w.batch.SetTimers, w.batch.ClearTimers = w.tree.Batch.SetTimers, w.tree.Batch.ClearTimers
	w.batch.Checks = w.checks()
	result, err := w.a.ports.Store.Commit(ctx, w.batch)
	if err == nil && !result.Replayed {
		w.tree.Committed()
		w.a.states.Remember(w.after)
		w.a.ports.Changes.Wake(w.key)
	}
	return result, err
}

// checks demand that the sessions that act are as they were when it was decided, of
// refused edits too. Those of other trees are refused in any case, and live in other
// shards.
func (w *write) checks() []store.Check {
	checks := []store.Check{w.halts.Check()}
	seen := map[store.Key]bool{}
	for _, m := range w.tree.Now {
		seen[m.Key] = true
	}
	for _, e := range w.group {
		if m := e.acting; m != nil && m.SameTree(w.before.RootID) && !seen[m.Key] {
			seen[m.Key] = true
			checks = append(checks, store.Check{Key: m.Key, Version: m.Version})
		}
	}
	for _, e := range w.accepted {
		for _, guard := range slices.Concat(e.guards, w.counts[e.caller.Principal]) {
			if !seen[guard.Key] {
				seen[guard.Key] = true
				checks = append(checks, guard)
			}
		}
	}
	return checks
}

// answer sends each edit its outcome.
func (w *write) answer() {
	for i, e := range w.accepted {
		e.done <- outcome{state: w.states[i]}
	}
	for e, err := range w.refused {
		e.done <- outcome{err: err}
	}
}

// fail sends all edits the error of the commit.
func (w *write) fail(err error) {
	answer := fault.From(err)
	var fenced *store.FencedError
	if errors.As(err, &fenced) {
		answer = states.LockedFault(w.key.ID, fenced, w.a.ports.Now())
	}
	for _, e := range w.group {
		if refusal, ok := w.refused[e]; ok && fenced != nil {
			e.done <- outcome{err: refusal}
			continue
		}
		e.done <- outcome{err: answer}
	}
}

// withoutKeyed handles the repeat of a request that was carried out before, and
// the others, which are tried again.
func (w *write) withoutKeyed(ctx context.Context, stored []byte) []*edit {
	var rest []*edit
	for _, e := range w.group {
		if e.once.Name == "" {
			rest = append(rest, e)
			continue
		}
		st, err := w.a.replayed(ctx, w.key, e, stored)
		e.done <- outcome{state: st, err: err}
	}
	return rest
}

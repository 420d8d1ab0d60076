package app

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// writeTimeout bounds the commit of edits.
const writeTimeout = 30 * time.Second

// writeGroup commits edits of one state and reports to each its outcome.
func (a *App) writeGroup(key store.Key, group []*edit) {
	defer a.recoverGroup(group)
	// The facts behind the edits are of the same era of the store, as long as this is not over.
	ctx, cancel := context.WithTimeout(group[0].work, writeTimeout)
	defer cancel()
	fresh := false
	err := retry.Until(ctx, func() (err error) {
		var st *State
		if !fresh {
			st, err = a.cachedState(ctx, key)
		} else if err = a.refresh(ctx, group); err == nil {
			st, err = a.loadState(ctx, key)
		}
		if err != nil {
			return err
		}
		group, err = (&write{a: a, before: st, key: key, group: group}).try(ctx, fresh)
		fresh = true
		return err
	})
	for _, e := range group {
		e.done <- outcome{err: fault.From(err)}
	}
}

// recoverGroup keeps one bad edit from ending the process: no handler is around it.
func (a *App) recoverGroup(group []*edit) {
	cause := recover()
	if cause == nil {
		return
	}
	a.log.Error("a change of a state panicked", "cause", cause, "stack", string(debug.Stack()))
	for _, e := range group {
		select {
		case e.done <- outcome{err: fault.New(fault.Internal, "")}:
		default: // it has its outcome
		}
	}
}

// refresh reads the sessions that act anew.
func (a *App) refresh(ctx context.Context, group []*edit) error {
	read := map[store.Key]*Member{}
	for _, e := range group {
		if e.acting == nil {
			continue
		}
		m, ok := read[e.acting.Key]
		if !ok {
			var err error
			if m, err = a.loadMember(ctx, e.acting.Key); err != nil {
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
	a      *App
	key    store.Key
	before *State
	group  []*edit

	after    *State
	accepted []*edit
	states   []*State // after each accepted edit
	refused  map[*edit]error
	entries  [][]byte
	batch    store.Batch
	tree     *tree
}

// try commits the edits, or refuses them. It returns those that have no outcome yet, with
// a lost race as long as they may come out otherwise by the present records.
func (w *write) try(ctx context.Context, fresh bool) (rest []*edit, err error) {
	if err := w.decide(ctx); err != nil {
		return w.group, err
	}
	if len(w.accepted) == 0 {
		if !fresh {
			return w.group, store.ErrConflict // the refusals may rest on an old version
		}
		w.answer()
		return nil, nil
	}
	result, err := w.commit(ctx)
	switch {
	case retry.Lost(err):
		return w.group, err
	case errors.Is(err, store.ErrFenced) && !fresh && len(w.refused) > 0:
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
	rules, err := w.a.compile(ctx, w.key.Namespace, w.before.SchemaName, w.before.SchemaVersion)
	if err != nil {
		return err
	}
	for _, e := range w.group {
		if w.tree == nil {
			w.tree = w.a.newTree(e.caller)
		}
		if err := w.edit(ctx, e, &rules); err != nil {
			w.refused[e] = err
		}
	}
	return nil
}

func (w *write) edit(ctx context.Context, e *edit, rules **compiled) error {
	cur := w.after
	if err := mayWrite(e.acting, cur); err != nil {
		return err
	}
	next, patch, touched, err := e.apply(cur, (*rules).rules, w.a.cfg.MaxStateBytes, func(data document.Value) error {
		return w.permit(ctx, e, cur, (*rules).rules, data)
	})
	if err != nil {
		return err
	}
	next.Version, next.UpdatedAt, next.UpdatedBy = cur.Version+1, w.tree.clock.Now, e.caller.Principal.Name
	change := &Change{
		Version: next.Version, Type: Updated, At: next.UpdatedAt, Actor: e.caller.Principal.Name, Patch: patch, Pointers: touched,
	}
	if e.acting != nil {
		change.SessionID, change.SessionName = e.acting.ID, e.acting.Name
		next.UpdatedBy = e.acting.Name
	}
	if e.target != nil {
		next.SchemaVersion, next.SchemaID, change.Type = e.target.Number, e.target.ID, Migrated
	}
	change.SchemaVersion = next.SchemaVersion
	if next.Since += len(patch); next.wants() {
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
	w.entries = append(w.entries, encodeChange(change))
	w.batch.Events = append(w.batch.Events, event)
	if e.once.Name != "" {
		w.batch.Idempotency, err = next.keep(e.once, w.key)
	}
	return err
}

// permit decides whether an edit may make its writes (S18.2), by the schema and, in a
// migration, by the one that it leads to.
func (w *write) permit(ctx context.Context, e *edit, cur *State, rules *document.Schema, data document.Value) (err error) {
	if e.guards, err = w.a.restricted(ctx, e, cur, rules, data); err != nil || e.target == nil {
		return err
	}
	if err := mayReplaceSchema(e.caller, cur, rules); err != nil {
		return err
	}
	more, err := w.a.restricted(ctx, e, cur, e.target.rules, data)
	e.guards = append(e.guards, more...)
	return err
}

// acted notifies the session that acts of its update, in the same commit (S11.2).
func (w *write) acted(ctx context.Context, e *edit) error {
	if e.acting == nil {
		return nil
	}
	m := w.tree.memberOr(e.acting)
	if m.StateID != w.key.ID {
		return nil
	}
	w.tree.caller = e.caller
	return w.tree.apply(ctx, m, m.StateUpdated(w.tree.clock))
}

// memberOr returns a session as the change has left it so far, or as it was given.
func (t *tree) memberOr(given *Member) *Member {
	for _, m := range t.now {
		if m.Key == given.Key {
			return m
		}
	}
	return given
}

// commit stores the accepted edits, as that many versions.
func (w *write) commit(ctx context.Context) (store.Result, error) {
	last := len(w.entries) - 1
	w.batch.Puts = []store.Put{{
		Key: w.key, Expect: w.before.Version, Data: w.after.encode(), Labels: w.after.labels(),
		Earlier: w.entries[:last], History: w.entries[last],
	}}
	w.batch.Fence = &store.Fence{Key: lockKey(w.key), Token: w.accepted[0].Token}
	if through := w.a.forgotten(w.before.Version, w.after.Version); through > 0 {
		w.batch.Forget = []store.Forget{{Key: w.key, Through: through}}
	}
	if err := w.tree.puts(); err != nil {
		return store.Result{}, err
	}
	w.batch.Puts = append(w.batch.Puts, w.tree.batch.Puts...)
	w.batch.Events = append(w.batch.Events, w.tree.batch.Events...)
	w.batch.SetTimers, w.batch.ClearTimers = w.tree.batch.SetTimers, w.tree.batch.ClearTimers
	w.batch.Checks = w.checks()
	result, err := w.a.store.Commit(ctx, w.batch)
	if err == nil && !result.Replayed {
		w.tree.committed()
		w.a.rememberState(w.after)
		w.a.changes.Wake(w.key)
	}
	return result, err
}

// checks demand that the sessions that act are as they were when it was decided, of
// refused edits too. Those of other trees are refused in any case, and live in other
// shards.
func (w *write) checks() []store.Check {
	var checks []store.Check
	seen := map[store.Key]bool{}
	for _, m := range w.tree.now {
		seen[m.Key] = true
	}
	for _, e := range w.group {
		if m := e.acting; m != nil && m.SameTree(w.before.RootID) && !seen[m.Key] {
			seen[m.Key] = true
			checks = append(checks, store.Check{Key: m.Key, Version: m.Version})
		}
	}
	for _, e := range w.accepted {
		for _, guard := range w.a.within(w.key, e.guards) {
			if !seen[guard.Key] {
				seen[guard.Key] = true
				checks = append(checks, guard)
			}
		}
	}
	return checks
}

// within returns those conditions that a commit of a record can have: of its shard, and of
// all where the store spans shards. The others were read just now.
func (a *App) within(key store.Key, checks []store.Check) []store.Check {
	if a.store.Spans() {
		return checks
	}
	shards := a.store.Shards()
	return slices.DeleteFunc(slices.Clone(checks), func(c store.Check) bool { return c.Key.Shard(shards) != key.Shard(shards) })
}

// forgotten returns the version through which history is dropped when a state goes from
// one version to another, 0 for none: whole stretches, so that the rest begins with a
// whole document.
func (a *App) forgotten(from, to int64) int64 {
	keep := a.cfg.HistoryVersions
	boundary := func(version int64) int64 {
		if keep <= 0 || version <= keep {
			return 0
		}
		return (version - keep) / snapshotEvery * snapshotEvery
	}
	if through := boundary(to); through > boundary(from) {
		return through
	}
	return 0
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
		answer = lockedFault(w.key.ID, fenced, w.a.now())
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

// encodeChange writes a Change by hand, for it is on the path of every update.
func encodeChange(c *Change) []byte {
	w := jsonobject.New(len(c.Patch) + len(c.Data) + 256)
	w.Open()
	w.Text("type", c.Type)
	w.Time("at", c.At)
	w.OptionalText("session_id", c.SessionID)
	w.OptionalText("session_name", c.SessionName)
	w.Text("actor", c.Actor)
	w.Integer("schema_version", c.SchemaVersion)
	w.Raw("patch", c.Patch)
	if c.Data != nil {
		w.Raw("data", c.Data)
	}
	w.Close()
	return w.Bytes()
}

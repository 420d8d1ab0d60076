package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/placeholder"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// anyTask is the record that runners wait for: some task has become ready.
var anyTask = store.Key{Kind: "task"}

// Task is one piece of work for a runner, with the session that it is for.
type Task struct {
	*session.Task
	Member *Member
	// Prompt is the text for the agent, as of the time when the task was given, and Instructions
	// those of the agent that the session was started from.
	Prompt, Instructions string
	// Execution is the use of the component that the session refers to; nil for
	// none (S12.4).
	Execution *Execution
}

// Runner asks for tasks.
type Runner struct {
	Name   string
	Labels map[string]string
	// MaxInFlight is how many tasks it has at a time.
	MaxInFlight int
}

// fits reports whether a runner has all labels of a session.
func (r Runner) fits(m *Member) bool {
	for name, value := range m.Labels {
		if got, ok := r.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// pollTasks bounds how late a runner learns of a task when no wake-up reached this
// process, and of one of its own that has ended elsewhere.
const pollTasks = 500 * time.Millisecond

// Claim gives a runner tasks until ctx ends or send fails (S11.5).
func (a *App) Claim(ctx context.Context, caller Caller, r Runner, send func(*Task) error) error {
	if r.MaxInFlight <= 0 {
		r.MaxInFlight = 1
	}
	ready, stop := a.changes.Wait(anyTask)
	defer stop()
	ticker := time.NewTicker(pollTasks)
	defer ticker.Stop()
	held := map[store.Key]int64{} // the tasks of this runner, by the claim's token
	for {
		if err := a.stillHeld(ctx, held); err != nil {
			return err
		}
		if len(held) < r.MaxInFlight {
			err := a.giveReady(ctx, caller, r, held, send)
			if err != nil {
				return err
			}
		}
		select {
		case <-ready:
		case <-ticker.C:
		case <-ctx.Done():
			return fault.From(ctx.Err())
		}
	}
}

// stillHeld forgets tasks that have ended, or lapsed.
func (a *App) stillHeld(ctx context.Context, held map[store.Key]int64) error {
	for key, token := range held {
		m, err := a.loadMember(ctx, key)
		if err != nil && fault.ReasonOf(err) != fault.NotFound {
			return err
		}
		if err != nil || !m.Task.Claimed() || m.Task.Token != token {
			delete(held, key)
		}
	}
	return nil
}

// giveReady claims the tasks that are ready to a runner, as many as it takes.
func (a *App) giveReady(ctx context.Context, caller Caller, r Runner, held map[store.Key]int64, send func(*Task) error) error {
	query := store.Query{Namespace: caller.Namespace, Kind: KindSession, Labels: map[string]string{"task": TaskReady}, Limit: 100}
	for len(held) < r.MaxInFlight {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return fault.From(err)
		}
		for _, record := range page.Records {
			m, err := decodeMember(record)
			if err != nil {
				return err
			}
			if len(held) >= r.MaxInFlight || !r.fits(m) {
				continue
			}
			task, err := a.claimTask(ctx, caller, r, m)
			switch {
			case storeFails(err):
				return err
			case err != nil: // one task must not keep the runner from the others
				a.log.LogAttrs(ctx, slog.LevelWarn, "a task cannot be claimed", slog.String("of", m.Key.String()), slog.Any("cause", err))
				continue
			case task == nil:
				continue // another runner was faster
			}
			held[m.Key] = task.Token
			if err := send(task); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		query.After = page.Next
	}
	return nil
}

// storeFails reports an error that is not the fault of a request.
func storeFails(err error) bool {
	switch fault.ReasonOf(err) {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded, fault.Cancelled:
		return true
	default:
		return false
	}
}

// claimTask gives one session's task to a runner, or answers nil when it is gone.
func (a *App) claimTask(ctx context.Context, caller Caller, r Runner, m *Member) (*Task, error) {
	t := a.newTree(caller)
	result := m.Claim(r.Name, t.clock)
	if !result.Changed {
		return nil, nil
	}
	prompt, err := a.promptOf(ctx, m, result.Session)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, a.withdraw(ctx, caller, m.Key)
	}
	if err != nil {
		return nil, err
	}
	instructions, err := a.instructionsOf(ctx, m)
	if err != nil {
		return nil, err
	}
	execution, err := a.beginFor(ctx, caller, m, result.Session)
	if err != nil {
		return nil, err
	}
	if err := t.apply(ctx, m, result); err != nil {
		return nil, err
	}
	if _, err := t.commit(ctx); retry.Lost(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	next := t.now[0]
	return &Task{Task: next.Task, Member: next, Prompt: prompt, Instructions: instructions, Execution: execution}, nil
}

// withdraw ends the task of a session that was to update a state which is gone.
func (a *App) withdraw(ctx context.Context, caller Caller, at store.Key) error {
	_, err := a.step(ctx, caller, at, once.Key{}, func(m *Member, c session.Clock) (session.Result, error) {
		if m.StateID != "" || m.Task == nil || m.Task.Kind != session.KindStateUpdate || m.Task.Claimed() {
			return session.Result{Session: m.Session}, nil
		}
		return m.Stop(session.Stop{Error: m.Error}, c), nil
	})
	return err
}

// promptOf returns the text for an agent in the task that its session is to have next.
func (a *App) promptOf(ctx context.Context, m *Member, next *session.Session) (string, error) {
	switch next.Task.Kind {
	case session.KindStateUpdate:
		return a.updatePrompt(ctx, m, next.Task.Attempt)
	case session.KindCallback:
		return session.CallbackPrompt(next.Task.Callbacks, a.cfg.ToolPrefix), nil
	default:
		return a.filled(ctx, m, next.Prompt)
	}
}

// instructionsOf returns the instructions of the agent that a session was started from, filled in
// as a prompt is; empty for none, and of an agent that was deleted.
func (a *App) instructionsOf(ctx context.Context, m *Member) (string, error) {
	if m.Agent == "" {
		return "", nil
	}
	_, agent, err := a.findAgent(ctx, m.Key.Namespace, m.Agent)
	if agent == nil || err != nil {
		return "", err
	}
	return a.filled(ctx, m, agent.Instructions)
}

// filled puts values of the state and of components into the places of a prompt that refer
// to them (S15.2). There is no run, so there is no context.
func (a *App) filled(ctx context.Context, m *Member, prompt string) (string, error) {
	if !placeholder.Has(prompt) {
		return prompt, nil
	}
	caller := Caller{Namespace: m.Key.Namespace, Principal: auth.Principal{Name: m.Owner, Role: auth.Operator}, Session: m.ID}
	known := map[placeholder.Reference]document.Value{}
	for _, r := range placeholder.References(prompt) {
		v, err := a.referred(ctx, caller, m, r)
		switch fault.ReasonOf(err) {
		case "":
			known[r] = v
		case fault.NotFound, fault.InvalidRequest, fault.PermissionDenied, fault.SessionEnded: // it is missing
		default:
			return "", err
		}
	}
	return placeholder.Fill(prompt, func(r placeholder.Reference) (document.Value, bool) {
		v := known[r]
		return v, !v.IsZero()
	}), nil
}

// referred returns the value of a reference in a session's prompt; missing if there is
// none.
func (a *App) referred(ctx context.Context, caller Caller, m *Member, r placeholder.Reference) (document.Value, error) {
	switch {
	case r.Kind == placeholder.State && m.StateID != "":
		st, err := a.loadState(ctx, stateKey(m.Key.Namespace, m.StateID))
		if err != nil {
			return document.Value{}, err
		}
		v, _ := placeholder.Lookup(st.Data, r.Name)
		return v, nil
	case r.Kind == placeholder.Component:
		execution, err := a.ReadValues(ctx, caller, Scope{Slug: r.Slug})
		if err != nil {
			return document.Value{}, err
		}
		v, _ := placeholder.Lookup(execution.Values, r.Name)
		return v, nil
	default:
		return document.Value{}, nil
	}
}

// nothingToUpdate is the text for an agent whose state was deleted just after it was
// asked to update it.
const nothingToUpdate = "The workflow state was deleted: no update is needed. You may stop.\n"

// updatePrompt asks for the report of a session, with the state and the schema as
// they are now. NOT_FOUND when the state is gone.
func (a *App) updatePrompt(ctx context.Context, m *Member, attempt int) (string, error) {
	st, err := a.loadState(ctx, stateKey(m.Key.Namespace, m.StateID))
	if err != nil {
		return "", err
	}
	schema, err := a.compile(ctx, m.Key.Namespace, st.SchemaName, st.SchemaVersion)
	if err != nil {
		return "", err
	}
	return session.UpdatePrompt(attempt, a.cfg.Session.MaxAttempts, session.Shared{
		Data: st.Data.String(), Schema: string(schema.Text), Version: st.Version, Prefix: a.cfg.ToolPrefix,
	}), nil
}

// ExtendTask keeps a claim for another claim time.
func (a *App) ExtendTask(ctx context.Context, caller Caller, id string, token int64) (time.Time, error) {
	m, err := a.onTask(ctx, caller, id, func(m *Member, c session.Clock) session.Result { return m.Extend(token, c) })
	if err != nil {
		return time.Time{}, err
	}
	return m.Task.Expires, nil
}

// AckTask ends a task whose agent has run and stopped. A repeat answers the session
// as it is.
// message is the final one of the agent, as JSON, or nil (S15.3).
func (a *App) AckTask(ctx context.Context, caller Caller, id string, token int64, message []byte) (*Member, error) {
	message, err := resultOf(message)
	if err != nil {
		return nil, err
	}
	return a.onTask(ctx, caller, id, func(m *Member, c session.Clock) session.Result { return m.Ack(token, message, c) })
}

// FailTask ends a task whose agent has failed, or did not run at all.
func (a *App) FailTask(ctx context.Context, caller Caller, id string, token int64, reason string, retry bool) (*Member, error) {
	return a.onTask(ctx, caller, id, func(m *Member, c session.Clock) session.Result {
		return m.Fail(token, reason, retry, c)
	})
}

// onTask applies a report of the holder of a task.
func (a *App) onTask(ctx context.Context, caller Caller, id string, decide func(*Member, session.Clock) session.Result) (*Member, error) {
	m, done, err := a.taskOwner(ctx, caller.Namespace, id)
	if err != nil || done {
		return m, err
	}
	return a.step(ctx, caller, m.Key, once.Key{}, func(m *Member, c session.Clock) (session.Result, error) {
		if m.Task == nil || m.Task.ID != id {
			if m.LastTask == id {
				return session.Result{Session: m.Session}, nil // a repeat
			}
			return session.Result{}, noTask(id)
		}
		r := decide(m, c)
		if !r.Changed {
			return r, fault.New(fault.Fenced, "the claim on task %s is no longer held with this token: it expired, and the task is given to another runner", id)
		}
		return r, nil
	})
}

func noTask(id string) error {
	return fault.New(fault.NotFound, "task %s no longer exists: it was done, dropped, or took too long", id)
}

// taskOwner returns the session of a task, and whether the task was done.
func (a *App) taskOwner(ctx context.Context, namespace, id string) (m *Member, done bool, err error) {
	for _, label := range []string{"task_id", "done_task"} {
		page, err := a.store.List(ctx, store.Query{Namespace: namespace, Kind: KindSession, Labels: map[string]string{label: id}, Limit: 1})
		if err != nil {
			return nil, false, fault.From(err)
		}
		if len(page.Records) > 0 {
			m, err := decodeMember(page.Records[0])
			return m, label == "done_task", err
		}
	}
	return nil, false, noTask(id)
}

// TaskQuery selects tasks; empty fields select all.
type TaskQuery struct {
	Session string
	Status  string
	After   string
	Limit   int
}

// Tasks returns a page of open tasks, newest session first.
func (a *App) Tasks(ctx context.Context, caller Caller, q TaskQuery) ([]*Task, string, error) {
	if q.Session != "" {
		m, err := a.Member(ctx, caller.Namespace, q.Session)
		if err != nil || m.Task == nil || q.Status != "" && StatusOf(m.Task) != q.Status {
			return nil, "", err
		}
		return []*Task{{Task: m.Task, Member: m}}, "", nil
	}
	statuses := []string{TaskDelayed, TaskReady, TaskClaimed}
	if q.Status != "" {
		statuses = []string{q.Status}
	}
	// Each status is listed by itself, and the newest of all are the page.
	owners, more := map[string]*Member{}, false
	for _, status := range statuses {
		page, err := a.store.List(ctx, store.Query{
			Namespace: caller.Namespace, Kind: KindSession, Labels: map[string]string{"task": status},
			Descending: true, After: q.After, Limit: q.Limit,
		})
		if err != nil {
			return nil, "", fault.From(err)
		}
		more = more || page.Next != ""
		for _, record := range page.Records {
			m, err := decodeMember(record)
			if err != nil {
				return nil, "", err
			}
			owners[m.Key.ID] = m // one that has changed its status since is there once
		}
	}
	ids := slices.Sorted(maps.Keys(owners))
	slices.Reverse(ids)
	next := ""
	if more || len(ids) > q.Limit {
		ids = ids[:min(len(ids), q.Limit)]
		next = ids[len(ids)-1]
	}
	var tasks []*Task
	for _, id := range ids {
		if m := owners[id]; m.Task != nil {
			tasks = append(tasks, &Task{Task: m.Task, Member: m})
		}
	}
	return tasks, next, nil
}

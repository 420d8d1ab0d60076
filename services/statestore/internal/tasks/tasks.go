// Package tasks gives runners the tasks of sessions, and ends them (S11.5).
package tasks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/statestore/internal/prompts"
)

// Tasks gives runners the tasks of sessions.
type Tasks struct {
	ports      *ports.Ports
	members    *member.Members
	names      *member.Names
	executions *components.Executions
	prompts    *prompts.Prompts
}

// New returns the tasks of a store.
func New(p *ports.Ports, members *member.Members, names *member.Names, executions *components.Executions, prompts *prompts.Prompts) *Tasks {
	return &Tasks{ports: p, members: members, names: names, executions: executions, prompts: prompts}
}

// Task is one piece of work for a runner, with the session that it is for.
type Task struct {
	*session.Task
	Member *member.Member
	// Prompt is the text for the agent, as of the time when the task was given, and Instructions
	// those of the agent that the session was started from.
	Prompt, Instructions string
	// Execution is the use of the component that the session refers to; nil for
	// none (S12.4).
	Execution *components.Execution
}

// Runner asks for tasks.
type Runner struct {
	Name   string
	Labels map[string]string
	// MaxInFlight is how many tasks it has at a time.
	MaxInFlight int
}

// fits reports whether a runner has all labels of a session.
func (r Runner) fits(m *member.Member) bool {
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
func (ts *Tasks) Claim(ctx context.Context, caller ports.Caller, r Runner, send func(*Task) error) error {
	if r.MaxInFlight <= 0 {
		r.MaxInFlight = 1
	}
	ready, stop := ts.ports.Changes.Wait(member.AnyTask)
	defer stop()
	ticker := time.NewTicker(pollTasks)
	defer ticker.Stop()
	held := map[store.Key]int64{} // the tasks of this runner, by the claim's token
	for {
		if err := ts.stillHeld(ctx, held); err != nil {
			return err
		}
		if len(held) < r.MaxInFlight {
			err := ts.giveReady(ctx, caller, r, held, send)
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
func (ts *Tasks) stillHeld(ctx context.Context, held map[store.Key]int64) error {
	for key, token := range held {
		m, err := ts.members.Load(ctx, key)
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
func (ts *Tasks) giveReady(ctx context.Context, caller ports.Caller, r Runner, held map[store.Key]int64, send func(*Task) error) error {
	query := store.Query{Namespace: caller.Namespace, Kind: member.Kind, Labels: map[string]string{"task": member.TaskReady}, Limit: 100}
	for len(held) < r.MaxInFlight {
		page, err := ts.ports.Store.List(ctx, query)
		if err != nil {
			return fault.From(err)
		}
		for _, record := range page.Records {
			m, err := member.Decode(record)
			if err != nil {
				return err
			}
			if len(held) >= r.MaxInFlight || !r.fits(m) {
				continue
			}
			task, err := ts.claimTask(ctx, caller, r, m)
			switch {
			case storeFails(err):
				return err
			case err != nil: // one task must not keep the runner from the others
				ts.ports.Log.LogAttrs(ctx, slog.LevelWarn, "a task cannot be claimed", slog.String("of", m.Key.String()), slog.Any("cause", err))
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
func (ts *Tasks) claimTask(ctx context.Context, caller ports.Caller, r Runner, m *member.Member) (*Task, error) {
	t := ts.members.NewTree(caller)
	result := m.Claim(r.Name, t.Clock)
	if !result.Changed {
		return nil, nil
	}
	unhalted, err := ts.members.Unhalted(ctx, m.Key.Namespace, member.Work{By: caller.Principal, Agent: m.Agent, Sessions: []string{m.ID}})
	if fault.ReasonOf(err) == fault.Halted {
		return nil, nil // it waits
	}
	if err != nil {
		return nil, err
	}
	prompt, err := ts.prompts.Of(ctx, m, result.Session)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, ts.withdraw(ctx, caller, m.Key)
	}
	if err != nil {
		return nil, err
	}
	instructions, err := ts.prompts.Instructions(ctx, m)
	if err != nil {
		return nil, err
	}
	execution, err := ts.executions.BeginFor(ctx, caller, m, result.Session)
	if err != nil {
		return nil, err
	}
	t.Batch.Checks = append(t.Batch.Checks, unhalted)
	if err := t.Apply(ctx, m, result); err != nil {
		return nil, err
	}
	if _, err := t.Commit(ctx); retry.Lost(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	next := t.Now[0]
	return &Task{Task: next.Task, Member: next, Prompt: prompt, Instructions: instructions, Execution: execution}, nil
}

// withdraw ends the task of a session that was to update a state which is gone.
func (ts *Tasks) withdraw(ctx context.Context, caller ports.Caller, at store.Key) error {
	_, err := ts.members.Step(ctx, caller, at, idempotency.Key{}, func(m *member.Member, c session.Clock) (session.Result, error) {
		if m.StateID != "" || m.Task == nil || m.Task.Kind != session.KindStateUpdate || m.Task.Claimed() {
			return session.Result{Session: m.Session}, nil
		}
		return m.Stop(session.Stop{Error: m.Error}, c), nil
	})
	return err
}

// Extend keeps a claim for another claim time.
func (ts *Tasks) Extend(ctx context.Context, caller ports.Caller, id string, token int64) (time.Time, error) {
	m, err := ts.onTask(ctx, caller, id, func(m *member.Member, c session.Clock) session.Result { return m.Extend(token, c) })
	if err != nil {
		return time.Time{}, err
	}
	return m.Task.Expires, nil
}

// Ack ends a task whose agent has run and stopped. A repeat answers the session
// as it is.
// message is the final one of the agent, as JSON, or nil (S15.3).
func (ts *Tasks) Ack(ctx context.Context, caller ports.Caller, id string, token int64, message []byte) (*member.Member, error) {
	message, err := member.ResultOf(message)
	if err != nil {
		return nil, err
	}
	return ts.onTask(ctx, caller, id, func(m *member.Member, c session.Clock) session.Result { return m.Ack(token, message, c) })
}

// Fail ends a task whose agent has failed, or did not run at all.
func (ts *Tasks) Fail(ctx context.Context, caller ports.Caller, id string, token int64, reason string, retry bool) (*member.Member, error) {
	return ts.onTask(ctx, caller, id, func(m *member.Member, c session.Clock) session.Result {
		return m.Fail(token, reason, retry, c)
	})
}

// onTask applies a report of the holder of a task.
func (ts *Tasks) onTask(ctx context.Context, caller ports.Caller, id string, decide func(*member.Member, session.Clock) session.Result) (*member.Member, error) {
	m, done, err := ts.owner(ctx, caller.Namespace, id)
	if err != nil || done {
		return m, err
	}
	return ts.members.Step(ctx, caller, m.Key, idempotency.Key{}, func(m *member.Member, c session.Clock) (session.Result, error) {
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

// owner returns the session of a task, and whether the task was done.
func (ts *Tasks) owner(ctx context.Context, namespace, id string) (m *member.Member, done bool, err error) {
	for _, label := range []string{"task_id", "done_task"} {
		page, err := ts.ports.Store.List(ctx, store.Query{Namespace: namespace, Kind: member.Kind, Labels: map[string]string{label: id}, Limit: 1})
		if err != nil {
			return nil, false, fault.From(err)
		}
		if len(page.Records) > 0 {
			m, err := member.Decode(page.Records[0])
			return m, label == "done_task", err
		}
	}
	return nil, false, noTask(id)
}

// Query selects tasks; empty fields select all.
type Query struct {
	Session string
	Status  string
	After   string
	Limit   int
}

// List returns a page of open tasks, newest session first.
func (ts *Tasks) List(ctx context.Context, caller ports.Caller, q Query) ([]*Task, string, error) {
	if q.Session != "" {
		m, err := ts.names.Find(ctx, caller.Namespace, q.Session)
		if err != nil || m.Task == nil || q.Status != "" && member.StatusOf(m.Task) != q.Status {
			return nil, "", err
		}
		return []*Task{{Task: m.Task, Member: m}}, "", nil
	}
	statuses := []string{member.TaskDelayed, member.TaskReady, member.TaskClaimed}
	if q.Status != "" {
		statuses = []string{q.Status}
	}
	// Each status is listed by itself, and the newest of all are the page.
	owners, more := map[string]*member.Member{}, false
	for _, status := range statuses {
		page, err := ts.ports.Store.List(ctx, store.Query{
			Namespace: caller.Namespace, Kind: member.Kind, Labels: map[string]string{"task": status},
			Descending: true, After: q.After, Limit: q.Limit,
		})
		if err != nil {
			return nil, "", fault.From(err)
		}
		more = more || page.Next != ""
		for _, record := range page.Records {
			m, err := member.Decode(record)
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

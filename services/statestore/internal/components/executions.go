package components

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Executions begins and ends the uses of components.
type Executions struct {
	ports    *ports.Ports
	announce Announcer
	registry *Registry
	members  *member.Members
	names    *member.Names
	rights   *member.Rights
}

// NewExecutions returns the executions of components.
func NewExecutions(p *ports.Ports, announce Announcer, registry *Registry, members *member.Members, names *member.Names, rights *member.Rights) *Executions {
	return &Executions{ports: p, announce: announce, registry: registry, members: members, names: names, rights: rights}
}

// executionsKept is how long an execution may take.
const executionsKept = 24 * time.Hour

// Execution is one use of a component's values (S12.3).
type Execution struct {
	ID          string
	Slug        string
	Persistence document.Persistence
	Values      document.Value
	Unset       []string
	// Version of the values, 0 while none were kept.
	Version   int64
	SessionID string
	Subject   string
}

// Scope says whose values of a component are meant.
type Scope struct {
	// Slug is empty for the component that the session refers to.
	Slug    string
	Subject string
}

// executionRecord is the stored form of an execution that has begun.
type executionRecord struct {
	Slug    string `json:"slug"`
	Session string `json:"session,omitempty"` // its home
	Subject string `json:"subject,omitempty"`
	Version int64  `json:"version"`
	// Persistence is the mode of the component, Born which one of its slug it is;
	// Ends is how often the session had ended.
	Persistence document.Persistence `json:"persistence"`
	Born        int64                `json:"born"`
	Ends        int                  `json:"ends,omitempty"`
}

// Begin starts an execution and answers the values it starts with (S12.3).
func (xs *Executions) Begin(ctx context.Context, caller ports.Caller, scope Scope) (*Execution, error) {
	return retry.Do(ctx, "component "+scope.Slug, func() (*Execution, error) {
		v, err := xs.valuesFor(ctx, caller, scope)
		if err != nil {
			return nil, err
		}
		return xs.beginWith(ctx, caller, v)
	})
}

func (xs *Executions) beginWith(ctx context.Context, caller ports.Caller, v *values) (*Execution, error) {
	unhalted, err := v.unhalted(ctx, caller)
	if err != nil {
		return nil, err
	}
	ex, err := v.execution(ctx)
	if err != nil {
		return nil, err
	}
	key := store.Key{Namespace: v.key.Namespace, Kind: KindExecution}
	if ex.ID, err = typeid.NewWhere(typeid.Execution, func(id string) bool {
		key.ID = id
		return key.Shard(xs.ports.Store.Shards()) == v.key.Shard(xs.ports.Store.Shards())
	}); err != nil {
		return nil, fault.From(err)
	}
	record := executionRecord{
		Slug: ex.Slug, Subject: ex.Subject, Version: ex.Version, Persistence: ex.Persistence, Born: v.component.record.Born,
	}
	if v.session != nil {
		record.Session, record.Ends = v.session.Key.ID, v.session.Ends
	}
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode execution: %w", err))
	}
	_, err = xs.ports.Commit(ctx, caller.Principal, store.Batch{
		Checks:    []store.Check{unhalted},
		Puts:      []store.Put{{Key: key, Expect: store.Absent, Data: data}},
		SetTimers: []store.Timer{{TimerID: store.TimerID{Key: key, Name: "abandon"}, Due: xs.ports.Now().Add(executionsKept)}},
	})
	return ex, retry.Fault(err)
}

// BeginFor begins the execution of a session whose task is being claimed (S12.4).
func (xs *Executions) BeginFor(ctx context.Context, caller ports.Caller, m *member.Member, next *session.Session) (*Execution, error) {
	if m.StateRef == "" {
		return nil, nil
	}
	caller.Session = m.ID
	ex, err := xs.Begin(ctx, caller, Scope{Slug: m.StateRef})
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil // the component was deleted
	}
	if err == nil {
		next.Task.Execution = ex.ID
	}
	return ex, err
}

// Read returns the values that the next execution would start with.
func (xs *Executions) Read(ctx context.Context, caller ports.Caller, scope Scope) (*Execution, error) {
	v, err := xs.valuesFor(ctx, caller, scope)
	if err != nil {
		return nil, err
	}
	return v.execution(ctx)
}

// Outcome is how an execution leaves its values: exactly one of them, or none to
// leave them as they were.
type Outcome struct{ Values, Patch, Merge []byte }

// End ends an execution, and keeps its values as long as the component says. It
// is a conflict when another execution has committed since it began (S12.3).
func (xs *Executions) End(ctx context.Context, caller ports.Caller, id string, out Outcome) (*Execution, error) {
	key := store.Key{Namespace: caller.Namespace, Kind: KindExecution, ID: id}
	record, err := xs.ports.Store.Get(ctx, key)
	if ports.NotFound(err) {
		return nil, fault.New(fault.NotFound, "execution %s is not open: it was committed, or began more than %s ago", ports.Clip(id), executionsKept)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	var begun executionRecord
	if err := json.Unmarshal(record.Data, &begun); err != nil {
		return nil, fault.From(fmt.Errorf("decode execution: %w", err))
	}
	v, err := xs.valuesOf(ctx, caller, begun)
	if err != nil {
		return nil, err
	}
	var ex *Execution
	err = xs.members.Contest(ctx, v.key, "component "+begun.Slug, func() (err error) {
		ex, err = v.commit(ctx, caller, record, begun, out)
		if !retry.Lost(err) {
			return err
		}
		if _, gone := xs.ports.Store.Get(ctx, key); ports.NotFound(gone) {
			return fault.New(fault.NotFound, "execution %s was committed in between", ports.Clip(id))
		}
		if v.session == nil {
			return err
		}
		now, failed := xs.members.Load(ctx, v.session.Key)
		if failed != nil {
			return failed
		}
		v.session = now
		return err
	})
	if err != nil {
		return nil, err
	}
	return ex, nil
}

// Abandon forgets an execution that was never committed.
func (xs *Executions) Abandon(ctx context.Context, timer store.Timer) error {
	_, err := xs.ports.Store.Commit(ctx, store.Batch{
		Deletes: []store.Check{{Key: timer.Key, Version: store.AnyVersion}}, ClearTimers: []store.TimerID{timer.TimerID},
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// change returns the values afterwards.
func (o Outcome) change(before document.Value) (document.Value, error) {
	switch {
	case o.Values != nil:
		v, problems := document.ParseAll(o.Values, document.Limits{})
		if problems.HasErrors() {
			return v, ports.BadJSON("values", problems)
		}
		return v, nil
	case o.Patch != nil:
		patch, problems := document.ParsePatch(o.Patch, document.PatchLimits{})
		if problems.HasErrors() {
			return before, ports.BadJSON("operations", problems)
		}
		v, failed := patch.Apply(before, document.PatchLimits{})
		if failed != nil {
			return v, fault.New(ports.PatchReason(failed.Code), "the patch does not apply: operation %d (%s %s): %s", failed.Operation, failed.Op, ports.Clip(failed.Path), failed.Message).
				Violate("/operations"+failed.Problem().Pointer, failed.Code, failed.Message)
		}
		return v, nil
	case o.Merge != nil:
		merge, problems := document.ParseAll(o.Merge, document.Limits{})
		if problems.HasErrors() {
			return before, ports.BadJSON("merge", problems)
		}
		v, problem := document.MergePatch(before, merge, document.PatchLimits{})
		if problem != nil {
			return v, fault.New(ports.PatchReason(problem.Code), "the patch does not apply: %s", problem.Message)
		}
		return v, nil
	default:
		return before, nil
	}
}

// KindExecution is a use of a component that has begun.
const KindExecution = "component_execution"

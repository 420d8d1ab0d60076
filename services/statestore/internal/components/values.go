package components

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// values are where the values of a component are kept: under a subject, or with
// those of all components in one record next to the session, so that both change in
// one commit; or nowhere.
type values struct {
	a         *Executions
	component *Component
	// session executes; nil for none.
	session *member.Member
	subject string
	key     store.Key
}

// kept is the stored form of values.
type kept struct {
	Values  json.RawMessage `json:"values"`
	Unset   []string        `json:"unset,omitempty"`
	Version int64           `json:"version"`
	// Born identifies the component: the values of one that was deleted are out of reach
	// for the next of its slug.
	Born int64 `json:"born"`
}

// valuesFor finds the values that a caller means.
func (xs *Executions) valuesFor(ctx context.Context, caller ports.Caller, scope Scope) (*values, error) {
	v := &values{a: xs, subject: scope.Subject}
	if caller.Session != "" {
		var err error
		if v.session, err = xs.names.Find(ctx, caller.Namespace, caller.Session); err != nil {
			return nil, err
		}
		if scope.Slug == "" {
			scope.Slug = v.session.StateRef
		}
	}
	if scope.Slug == "" {
		return nil, fault.New(fault.InvalidRequest, "name the component: give its slug, or a session that refers to one by state_ref")
	}
	var err error
	if v.component, err = xs.registry.Get(ctx, caller.Namespace, scope.Slug); err != nil {
		return nil, err
	}
	return v, v.locate(caller)
}

// valuesOf finds the values of an execution that has begun.
func (xs *Executions) valuesOf(ctx context.Context, caller ports.Caller, begun executionRecord) (*values, error) {
	v := &values{a: xs, subject: begun.Subject}
	var err error
	if begun.Session != "" {
		if v.session, err = xs.members.Load(ctx, member.KeyOf(caller.Namespace, begun.Session)); err != nil {
			return nil, err
		}
		if err := xs.rights.MayTouch(ctx, caller, v.session); err != nil {
			return nil, err
		}
	}
	if v.component, err = xs.registry.Get(ctx, caller.Namespace, begun.Slug); err != nil {
		return nil, err
	}
	return v, v.locate(caller)
}

// locate decides where values are kept, and refuses invalid places.
func (v *values) locate(caller ports.Caller) error {
	switch v.component.Persistence {
	case document.PersistSession:
		if v.session == nil {
			return fault.New(fault.SessionRequired, "component %q keeps its values for a session: name it (session)", v.component.Slug)
		}
		v.key = member.ValuesKey(v.session)
		v.subject = ""
	case document.PersistLongTerm:
		switch own := v.session != nil && (v.subject == "" || v.subject == v.session.Subject); {
		case own:
			v.subject = v.session.Subject
		case v.subject == "":
			return fault.New(fault.InvalidRequest, "component %q keeps its values for a subject: name it (subject), or name the session", v.component.Slug)
		case caller.Agent():
			return fault.New(fault.PermissionDenied, "an agent can only use the values of its session's own subject")
		default:
			if err := ports.PlainName("subject", v.subject); err != nil {
				return err
			}
		}
		v.key = store.Key{Namespace: caller.Namespace, Kind: kindValues, ID: v.component.Slug + "/" + v.subject}
	default:
		v.key, v.subject = ledger.ComponentOf(caller.Namespace, v.component.Slug), ""
	}
	return nil
}

// read returns the stored values, and the version of their record. Missing ones are
// version 0 of the values.
func (v *values) read(ctx context.Context) (mine kept, all map[string]kept, version int64, err error) {
	all = map[string]kept{}
	if v.component.Persistence == document.PersistNone {
		return mine, all, 0, nil
	}
	record, err := v.a.ports.Store.Get(ctx, v.key)
	if ports.NotFound(err) {
		return mine, all, store.Absent, nil
	}
	if err != nil {
		return mine, all, 0, fault.From(err)
	}
	if err := json.Unmarshal(record.Data, &all); err != nil {
		return mine, all, 0, fault.From(fmt.Errorf("decode values: %w", err))
	}
	if mine = all[v.component.Slug]; mine.Born != v.component.record.Born {
		mine = kept{}
	}
	return mine, all, record.Version, nil
}

// instance returns the stored values in the form of the component's present definition:
// fields that it no longer declares are gone, new ones begin as for a new instance.
func (v *values) instance(mine kept) (document.Instance, error) {
	fresh := v.component.Start()
	if mine.Version == 0 {
		return fresh, nil
	}
	known, problem := document.Parse(mine.Values, document.Limits{Bytes: ports.MaxRecordBytes})
	if problem != nil {
		return fresh, fault.From(fmt.Errorf("decode values: %s", problem.Message))
	}
	out := document.Instance{}
	members := make([]document.Member, 0, fresh.Values.Len())
	unset := map[string]bool{}
	for _, name := range mine.Unset {
		unset[name] = true
	}
	for name, value := range fresh.Values.Members() {
		if old, ok := known.Get(name); ok {
			value = old
			if unset[name] {
				out.Unset = append(out.Unset, name)
			}
		} else if value.Kind() == document.Null {
			out.Unset = append(out.Unset, name)
		}
		members = append(members, document.Member{Name: name, Value: value})
	}
	out.Values = document.ObjectValue(members)
	return out, nil
}

// execution returns the values as an execution begins with them.
func (v *values) execution(ctx context.Context) (*Execution, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	mine, _, _, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	now, err := v.instance(mine)
	if err != nil {
		return nil, err
	}
	return v.answer(now, mine.Version), nil
}

func (v *values) answer(now document.Instance, version int64) *Execution {
	ex := &Execution{
		Slug: v.component.Slug, Persistence: v.component.Persistence, Values: now.Values, Unset: now.Unset,
		Version: version, Subject: v.subject,
	}
	if v.session != nil {
		ex.SessionID = v.session.ID
	}
	return ex
}

// unhalted refuses an execution in the scope of a halt, and returns the precondition of its commit (S23.47).
func (v *values) unhalted(ctx context.Context, caller ports.Caller) (store.Check, error) {
	work := member.Work{By: caller.Principal, Humans: []*auth.Human{caller.For}}
	if v.session != nil {
		work.Sessions = []string{v.session.ID}
	}
	return v.a.members.Unhalted(ctx, v.key.Namespace, work)
}

// goesOn refuses the end of an execution whose values are not those that it began with,
// regardless of their version.
func (v *values) goesOn(begun executionRecord) error {
	switch {
	case begun.Persistence != v.component.Persistence || begun.Born != v.component.record.Born:
		return fault.New(fault.VersionConflict, "component %q was created again, or its persistence changed, since this execution began; begin again", v.component.Slug)
	case begun.Persistence == document.PersistSession && begun.Ends != v.session.Ends:
		return fault.New(fault.SessionEnded, "session %q has ended since this execution began, and its stored values are deleted; begin again", ports.Clip(v.session.Name))
	}
	return nil
}

// usable refuses the values of a session that has ended: they are gone.
func (v *values) usable() error {
	if v.component.Persistence == document.PersistSession && v.session.Status == session.Ended {
		return fault.New(fault.SessionEnded, "session %q has ended, and its stored values are deleted", ports.Clip(v.session.Name))
	}
	return nil
}

// commit makes one attempt to end an execution.
func (v *values) commit(ctx context.Context, caller ports.Caller, record store.Record, begun executionRecord, out Outcome) (*Execution, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	if err := v.goesOn(begun); err != nil {
		return nil, err
	}
	unhalted, err := v.unhalted(ctx, caller)
	if err != nil {
		return nil, err
	}
	mine, all, version, err := v.read(ctx)
	if err != nil {
		return nil, err
	}
	if mine.Version != begun.Version {
		return nil, fault.New(fault.VersionConflict, "another execution has changed the values of %q since this one began: they are at version %d, not %d; begin again",
			v.component.Slug, mine.Version, begun.Version).Meta("current_version", fmt.Sprint(mine.Version))
	}
	before, err := v.instance(mine)
	if err != nil {
		return nil, err
	}
	changed, err := out.change(before.Values)
	if err != nil {
		return nil, err
	}
	after, problems := v.component.Check(before, changed)
	if problems.HasErrors() {
		return nil, ports.Violations(fault.New(fault.SchemaViolation, "the values do not conform to component %q, so no value was stored: %s", v.component.Slug, ports.First(problems)), "", problems)
	}
	if size := document.Size(after.Values, v.a.ports.Config.MaxStateBytes+1); size > v.a.ports.Config.MaxStateBytes {
		return nil, fault.New(fault.TooLarge, "the values would be larger than %d bytes; no value was stored", v.a.ports.Config.MaxStateBytes)
	}
	ex := v.answer(after, mine.Version+1)
	ex.ID = record.Key.ID
	batch := store.Batch{
		Checks:      []store.Check{unhalted},
		Deletes:     []store.Check{{Key: record.Key, Version: record.Version}},
		ClearTimers: []store.TimerID{{Key: record.Key, Name: "abandon"}},
	}
	if v.component.Persistence == document.PersistNone {
		ex.Version = 0
	} else if err := v.put(&batch, all, after, ex.Version, version); err != nil {
		return nil, err
	}
	event, err := v.a.announce.CommittedEvent(caller.Namespace, caller.Principal.Name, ex, v.a.ports.Now())
	if err != nil {
		return nil, fault.From(err)
	}
	event.Key = record.Key // in the shard of the values
	batch.Events = []store.Event{event}
	_, err = v.a.ports.Commit(ctx, caller.Principal, batch)
	return ex, retry.Fault(err)
}

// put adds the values to the batch: those of a session only while it continues.
func (v *values) put(batch *store.Batch, all map[string]kept, after document.Instance, number, version int64) error {
	all[v.component.Slug] = kept{Values: after.Values.AppendJSON(nil), Unset: after.Unset, Version: number, Born: v.component.record.Born}
	data, err := json.Marshal(all)
	if err != nil {
		return fault.From(fmt.Errorf("encode values: %w", err))
	}
	batch.Puts = []store.Put{{Key: v.key, Expect: version, Data: data}}
	if v.component.Persistence == document.PersistSession {
		batch.Checks = append(batch.Checks, store.Check{Key: v.session.Key, Version: v.session.Version})
	}
	return nil
}

// kindValues are the values of a component that are kept.
const kindValues = "component_values"

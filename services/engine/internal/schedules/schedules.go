package schedules

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionread"
)

// Announcer turns changes of schedules into the events that are committed with them.
type Announcer interface {
	// ScheduleChanged announces a change by an operator, at the version of the record.
	ScheduleChanged(namespace, actor, change string, version int64, s *Schedule, at time.Time) (store.Event, error)
	// ScheduleHandled announces the outcome of times.
	ScheduleHandled(namespace, actor string, version int64, s *Schedule, o *Outcome) (store.Event, error)
}

// Runs starts runs, and reads them.
type Runs interface {
	Scheduled(ctx context.Context, caller ports.Caller, start ports.ScheduledStart) (*workflow.Run, error)
	// Find returns a run; nil if there is none.
	Find(ctx context.Context, key store.Key) (*workflow.Run, error)
}

// Schedules keeps schedules, and starts their runs.
type Schedules struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     Runs
	announce Announcer
	halts    *halts.Reader
	sessions *sessionread.Reader
}

// New returns the schedules of a store.
func New(p *ports.Ports, registry *registry.Registry, runs Runs, announce Announcer) *Schedules {
	return &Schedules{
		ports: p, registry: registry, runs: runs, announce: announce, halts: halts.New(p.Store), sessions: sessionread.New(p.Store),
	}
}

// find reads the record of a name: its version, and nil for none that counts.
func (ss *Schedules) find(ctx context.Context, key store.Key) (version int64, s *Schedule, err error) {
	record, err := ss.ports.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Absent, nil, nil
	}
	if err != nil {
		return 0, nil, fault.From(err)
	}
	s, err = decode(record.Data, record.Version)
	return record.Version, s, err
}

func (ss *Schedules) load(ctx context.Context, key store.Key) (*Schedule, error) {
	_, s, err := ss.find(ctx, key)
	if err == nil && s == nil {
		return nil, fault.New(fault.NotFound, "there is no schedule %s; add it first: interlock schedule add NAME --workflow NAME --cron EXPRESSION", document.Quote(key.ID))
	}
	return s, err
}

// Get returns a schedule by its name, or with a number its version as it was when it was put.
func (ss *Schedules) Get(ctx context.Context, namespace, name string, number int64) (*Schedule, error) {
	key := keyOf(namespace, name)
	now, err := ss.load(ctx, key)
	if err != nil || number == 0 || number == now.Number {
		return now, err
	}
	for after := int64(0); ; {
		entries, err := ss.ports.Store.History(ctx, key, after, 100)
		if err != nil {
			return nil, fault.From(err)
		}
		for _, entry := range entries {
			s, err := decode(entry.Data, entry.Version)
			if err != nil {
				return nil, err
			}
			if s != nil && s.ID == now.ID && s.Number == number {
				return s, nil
			}
			after = entry.Version
		}
		if len(entries) == 0 {
			return nil, fault.New(fault.NotFound, "schedule %s has no version %d; the latest is %d", name, number, now.Number)
		}
	}
}

// List returns a page of schedules by name.
func (ss *Schedules) List(ctx context.Context, namespace, after string, limit int) ([]*Schedule, string, error) {
	query := store.Query{Namespace: namespace, Kind: kind, After: after, Limit: limit}
	var found []*Schedule
	for {
		page, err := ss.ports.Store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			s, err := decode(record.Data, record.Version)
			switch {
			case err != nil:
				return nil, "", err
			case s == nil:
				continue
			case len(found) == limit:
				return found, found[limit-1].Name, nil
			}
			found = append(found, s)
		}
		if page.Next == "" {
			return found, "", nil
		}
		query.After = page.Next
	}
}

// Create stores a schedule under its name, from now on. The same again answers the same schedule.
func (ss *Schedules) Create(ctx context.Context, caller ports.Caller, spec Spec, paused bool) (*Schedule, error) {
	if err := ss.check(ctx, caller, &spec); err != nil {
		return nil, err
	}
	return retry.Do(ctx, "schedule "+spec.Name, func() (*Schedule, error) {
		version, known, err := ss.find(ctx, keyOf(caller.Namespace, spec.Name))
		switch {
		case err != nil:
			return nil, err
		case known != nil && known.Spec == spec && known.Paused == paused:
			return known, nil
		case known != nil:
			return nil, fault.New(fault.NameTaken, "schedule %s already exists; replace it with PUT or --replace, or choose another name", spec.Name)
		}
		now := ss.ports.Clock().UTC()
		s := &Schedule{
			Spec: spec, ID: typeid.New(typeid.Schedule), Number: 1, Paused: paused, By: creatorOf(caller.Principal),
			CreatedAt: now, UpdatedAt: now, Handled: now, version: version,
		}
		return ss.put(ctx, caller, s, "created")
	})
}

// Update replaces the definition of a schedule. From now on it acts as the caller. Other times count from now on.
func (ss *Schedules) Update(ctx context.Context, caller ports.Caller, spec Spec, expected int64) (*Schedule, error) {
	if err := ss.check(ctx, caller, &spec); err != nil {
		return nil, err
	}
	return ss.change(ctx, caller, spec.Name, expected, "updated", func(s *Schedule, now time.Time) bool {
		by := creatorOf(caller.Principal)
		if s.Spec == spec && s.By.Name == by.Name {
			return false
		}
		if s.Cron != spec.Cron || s.Zone != spec.Zone {
			s.Handled, s.Waiting = now, time.Time{}
		}
		s.Spec, s.By = spec, by
		return true
	})
}

// Pause keeps a schedule from starting runs.
func (ss *Schedules) Pause(ctx context.Context, caller ports.Caller, name string) (*Schedule, error) {
	return ss.change(ctx, caller, name, 0, "paused", func(s *Schedule, _ time.Time) bool {
		paused := !s.Paused
		s.Paused = true
		return paused
	})
}

// Resume lets a paused schedule go on. Times that have passed were missed (S25.23).
func (ss *Schedules) Resume(ctx context.Context, caller ports.Caller, name string) (*Schedule, error) {
	return ss.change(ctx, caller, name, 0, "resumed", func(s *Schedule, _ time.Time) bool {
		resumed := s.Paused
		s.Paused = false
		return resumed
	})
}

// Delete removes a schedule. Its runs go on.
func (ss *Schedules) Delete(ctx context.Context, caller ports.Caller, name string, expected int64) error {
	_, err := ss.change(ctx, caller, name, expected, "deleted", func(*Schedule, time.Time) bool { return true })
	return err
}

// check refuses a spec that is not valid, that has no times any more, or whose workflow is not registered.
func (ss *Schedules) check(ctx context.Context, caller ports.Caller, spec *Spec) error {
	if err := spec.check(ss.ports.Quotas.RequireSessions); err != nil {
		return err
	}
	if !spec.Until.IsZero() && !spec.Until.After(ss.ports.Clock()) {
		return invalid("until", "the end %s has passed; give a later one, or leave it out for no end", spec.Until.UTC().Format(time.RFC3339))
	}
	if spec.Only != "" && ss.ports.Sessions == nil {
		return fault.New(fault.FailedPrecondition, "this engine has no state-store, which creates the sessions that only narrows; leave only out, or configure its address")
	}
	_, err := ss.registry.Workflow(ctx, caller.Namespace, spec.Workflow, spec.WorkflowVersion)
	return err
}

// change edits a schedule; an edit that returns false makes no change.
func (ss *Schedules) change(ctx context.Context, caller ports.Caller, name string, expected int64, change string, edit func(*Schedule, time.Time) bool) (*Schedule, error) {
	return retry.Do(ctx, "schedule "+name, func() (*Schedule, error) {
		s, err := ss.load(ctx, keyOf(caller.Namespace, name))
		if err != nil {
			return nil, err
		}
		if expected != 0 && expected != s.Number {
			e := fault.New(fault.VersionConflict, "schedule %s is at version %d, not %d; read it and decide again", name, s.Number, expected)
			return nil, e.Meta("current_version", strconv.FormatInt(s.Number, 10))
		}
		now := ss.ports.Clock().UTC()
		if !edit(s, now) {
			return s, nil
		}
		s.Number, s.UpdatedAt = s.Number+1, now
		return ss.put(ctx, caller, s, change)
	})
}

// put commits a change by an operator.
func (ss *Schedules) put(ctx context.Context, caller ports.Caller, s *Schedule, change string) (*Schedule, error) {
	key := keyOf(caller.Namespace, s.Name)
	data, err := s.encode()
	if err != nil {
		return nil, err
	}
	after, err := decode(data, s.version+1)
	if err != nil {
		return nil, err
	}
	event, err := ss.announce.ScheduleChanged(caller.Namespace, caller.Principal.Name, change, after.version, after, s.UpdatedAt)
	if err != nil {
		return nil, fault.From(err)
	}
	batch := store.Batch{Puts: []store.Put{{Key: key, Expect: s.version, Data: data, History: data}}, Events: []store.Event{event}}
	if change == "deleted" {
		batch.Puts[0].Data, batch.Puts[0].History = []byte("{}"), nil
		batch.Forget = []store.Forget{{Key: key, Through: after.version}}
		batch.ClearTimers = []store.TimerID{timerOf(key)}
		batch.Counters = []store.Counter{ports.CountSchedules(caller.Namespace, -1)}
	} else {
		after.rearm(&batch, key, s.UpdatedAt)
	}
	if change == "created" {
		batch.Counters = []store.Counter{ports.CountSchedules(caller.Namespace, 1)}
	}
	_, err = ss.ports.Commit(ctx, batch)
	return after, retry.Fault(err)
}

// rearm sets the timer of a schedule to when it has work next, or clears it.
func (s *Schedule) rearm(batch *store.Batch, key store.Key, now time.Time) {
	id := timerOf(key)
	at, due := s.rules.Due(s.progress(), now)
	if s.Paused || !due {
		batch.ClearTimers = append(batch.ClearTimers, id)
		return
	}
	batch.SetTimers = append(batch.SetTimers, store.Timer{TimerID: id, Due: at})
}

// Times returns the next times of a schedule, at most so many, and the name of its zone.
func (ss *Schedules) Times(ctx context.Context, namespace, name string, most int) ([]time.Time, string, error) {
	s, err := ss.load(ctx, keyOf(namespace, name))
	if err != nil {
		return nil, "", err
	}
	after := ss.ports.Clock()
	if s.Handled.After(after) {
		after = s.Handled
	}
	return s.rules.List(after, most), s.Zone, nil
}

package schedules

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/schedule"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

const (
	// fireInterval is how late a schedule may be.
	fireInterval = 250 * time.Millisecond
	// firePage is how many timers of a shard are read at once, and fireSlots how many schedules are at work at once.
	firePage  = 64
	fireSlots = 64
	fireLimit = 10 * time.Second
	// mostSteps bounds the steps of one timer: the rest follows in the next sweep.
	mostSteps = 32
)

// Sweeper fires the timers of schedules.
func (ss *Schedules) Sweeper() *sweep.Sweeper {
	return &sweep.Sweeper{
		Store: ss.ports.Store, Clock: ss.ports.Clock, Log: ss.ports.Log, Kinds: []string{kind}, Fire: ss.fire,
		Interval: fireInterval, Page: firePage, Slots: fireSlots, Limit: fireLimit, Watch: ss.ports.Timers,
		Again: func(store.Timer, time.Time) time.Duration { return time.Second },
	}
}

// fire carries out the due steps of a schedule, and sets the timer anew.
func (ss *Schedules) fire(ctx context.Context, timer store.Timer) error {
	key := timer.Key
	return retry.Run(ctx, "schedule "+key.ID, func() error {
		for range mostSteps {
			version, s, err := ss.find(ctx, key)
			switch {
			case err != nil:
				return err
			case s == nil || s.Paused:
				return sweep.Clear(ctx, ss.ports.Store, timer.TimerID, store.Check{Key: key, Version: version})
			}
			if idle, err := ss.step(ctx, key, s); idle || err != nil {
				return err
			}
		}
		return nil
	})
}

// step carries out the next step of a schedule; idle where there is none now.
func (ss *Schedules) step(ctx context.Context, key store.Key, s *Schedule) (idle bool, err error) {
	now := ss.ports.Clock().UTC()
	busy, err := ss.busy(ctx, key.Namespace, s)
	if err != nil {
		return false, err
	}
	step := s.rules.Decide(s.progress(), now, busy)
	o := &Outcome{Nominal: step.At, At: now, Count: 1}
	switch step.Act {
	case schedule.Miss:
		o.Result, o.Count, o.First = Missed, int64(step.Count), step.First
		o.Reason = fmt.Sprintf("no run was started at the time, by missed: %s", s.Missed)
	case schedule.Skip:
		o.Result, o.RunID, o.Reason = Skipped, s.LastRun, fmt.Sprintf("run %s has not ended, by overlap: %s", s.LastRun, s.Overlap)
	case schedule.Queue:
		o.Result, o.RunID, o.Reason = Queued, s.LastRun, fmt.Sprintf("it waits for the end of run %s", s.LastRun)
	case schedule.Start:
		return false, ss.start(ctx, key, s, step)
	case schedule.Wait, schedule.End:
		batch := store.Batch{Checks: []store.Check{{Key: key, Version: s.version}}}
		s.rearm(&batch, key, now)
		_, err := ss.ports.Store.Commit(ctx, batch)
		return true, retry.Fault(err)
	}
	return false, ss.handled(ctx, key, s, step.Progress, o)
}

// busy reports that the last run of a schedule has not ended.
func (ss *Schedules) busy(ctx context.Context, namespace string, s *Schedule) (bool, error) {
	if s.LastRun == "" || s.Overlap == schedule.OverlapAllow {
		return false, nil
	}
	run, err := ss.runs.Find(ctx, ledger.Run(namespace, s.LastRun))
	return run != nil && !run.Status.Ended(), err
}

// handled commits the outcome of a time, without a start.
func (ss *Schedules) handled(ctx context.Context, key store.Key, s *Schedule, progress schedule.Progress, o *Outcome) error {
	var batch store.Batch
	if err := ss.advance(&batch, key, s, progress, o); err != nil {
		return err
	}
	_, err := ss.ports.Store.Commit(ctx, batch)
	if err == nil {
		ss.count(o)
	}
	return retry.Fault(err)
}

// advance adds to a batch that a time was handled: the progress, the next timer, and the event.
func (ss *Schedules) advance(batch *store.Batch, key store.Key, s *Schedule, progress schedule.Progress, o *Outcome) error {
	after := *s
	after.Handled, after.Waiting, after.Last = progress.Handled, progress.Queued, o
	switch o.Result {
	case Started:
		after.LastRun = o.RunID
		after.Counts.Started++
	case Missed:
		after.Counts.Missed += o.Count
	case Skipped:
		after.Counts.Skipped++
	case Refused:
		after.Counts.Refused++
	case Queued:
	}
	data, err := after.encode()
	if err != nil {
		return err
	}
	actor := ports.System(key.Namespace).Principal.Name
	if o.Result == Started {
		actor = cmp.Or(o.TriggeredBy, s.By.Name)
	}
	event, err := ss.announce.ScheduleHandled(key.Namespace, actor, s.version+1, &after, o)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: s.version, Data: data})
	batch.Events = append(batch.Events, event)
	after.rearm(batch, key, o.At)
	return nil
}

func (ss *Schedules) count(o *Outcome) {
	if ss.ports.Scheduled == nil {
		return
	}
	ss.ports.Scheduled(string(o.Result), o.Count, o.At.Sub(o.Nominal))
}

// start starts the run of a time, or notes why that is refused. The id of the run follows from the schedule and the time: a
// start that was cut short is found (S25.22).
func (ss *Schedules) start(ctx context.Context, key store.Key, s *Schedule, step schedule.Step) error {
	session := s.sessionAt(step.At)
	o := &Outcome{Result: Started, Nominal: step.At, At: ss.ports.Clock().UTC(), Count: 1, Session: session}
	err := ss.run(ctx, key, s, started{Outcome: o, progress: step.Progress, cause: workflow.DueSchedule, which: step.At.UTC().Format(time.RFC3339)})
	if err == nil || !final(err) {
		return err
	}
	o.Result, o.RunID, o.Session = Refused, "", ""
	o.Code, o.Reason = fault.ReasonOf(err), fault.From(err).Message
	return ss.handled(ctx, key, s, step.Progress, o)
}

// sessionAt returns the session of the run of a time. Its end follows from the id of the schedule, which agents do not read: no agent
// can take the name before the time, and schedules with one prefix have different ones (S25.22).
func (s *Schedule) sessionAt(at time.Time) string {
	if s.SessionID != "" {
		return s.SessionID
	}
	nominal := at.UTC().Format("20060102T1504Z")
	sum := sha256.Sum256([]byte(s.ID + "\x00" + nominal))
	return fmt.Sprintf("%s-%s-%x", s.SessionPrefix, nominal, sum[:4])
}

// final reports that a start is refused, and would be again.
func final(err error) bool {
	if retry.Lost(err) {
		return false
	}
	switch fault.ReasonOf(err) {
	case fault.Unavailable, fault.DeadlineExceeded, fault.Cancelled, fault.CommitUncertain, fault.StoreRolledBack, fault.StoreFull,
		fault.Internal, fault.VersionConflict:
		return false
	default:
		return true
	}
}

// started is a start of a run of a schedule.
type started struct {
	*Outcome
	// progress is that of the schedule afterwards.
	progress schedule.Progress
	cause    workflow.DueKind
	// which distinguishes the run from the others of the schedule.
	which string
	// request makes a trigger happen once; nil for none. Its answer is the id of the run.
	request *store.Idempotency
	// checks are further preconditions.
	checks []store.Check
}

// run starts a run of a schedule, in the commit that advances the schedule.
func (ss *Schedules) run(ctx context.Context, key store.Key, s *Schedule, of started) error {
	of.RunID = ss.runID(key.Namespace, s.ID, of.Session, of.which, of.Nominal)
	run, err := ss.runs.Find(ctx, ledger.Run(key.Namespace, of.RunID))
	switch {
	case err != nil:
		return err
	case run != nil: // a start that was cut short
		return ss.handled(ctx, key, s, of.progress, of.Outcome)
	}
	caller := s.caller(key.Namespace)
	if err := ss.standing(ctx, key.Namespace, s, caller); err != nil {
		return err
	}
	if s.Only != "" { // a session that was created and drives no run is found by the next try
		if err := ss.ports.Sessions.Open(ctx, key.Namespace, of.Session, []byte(s.Only)); err != nil {
			return fault.From(err)
		}
	}
	start := ports.ScheduledStart{
		Workflow: s.Workflow, Version: s.WorkflowVersion, SessionID: of.Session, Context: []byte(s.Context), Workspace: s.Workspace,
		RunID: of.RunID, Schedule: s.Name, Cause: workflow.Cause{Kind: of.cause, Due: of.Nominal}, Reason: "by schedule " + s.Name,
		Join: func(batch *store.Batch) error {
			if of.request != nil {
				of.request.Answer = []byte(of.RunID)
				batch.Idempotency = of.request
			}
			batch.Checks = append(batch.Checks, of.checks...)
			batch.Across = true
			return ss.advance(batch, key, s, of.progress, of.Outcome)
		},
	}
	if of.TriggeredBy != "" {
		start.Reason += ", triggered by " + document.Quote(of.TriggeredBy)
	}
	if _, err := ss.runs.Scheduled(ctx, caller, start); err != nil {
		return err
	}
	ss.count(of.Outcome)
	return nil
}

// standing refuses a start on behalf of an operator who is none any more.
func (ss *Schedules) standing(ctx context.Context, namespace string, s *Schedule, caller ports.Caller) error {
	if ss.ports.Standing == nil {
		return nil
	}
	why, err := ss.ports.Standing.Counts(ctx, namespace, caller.Principal)
	if err != nil {
		return fault.From(err)
	}
	if why != "" {
		return fault.New(fault.PermissionDenied, "the schedule acts as %s, who has put it, and %s; another operator puts it again: interlock schedule add %s --replace", document.Quote(s.By.Name), why, s.Name)
	}
	return nil
}

// runID returns the id of a run of a schedule, in the shard of its session.
func (ss *Schedules) runID(namespace, id, session, which string, at time.Time) string {
	shards := ss.ports.Store.Shards()
	home := ledger.BindingOf(namespace, session).Shard(shards)
	for n := uint64(0); ; n++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(id+"\x00"+which+"\x00"), n))
		if run := typeid.At(typeid.Run, at, sum[:]); ledger.Run(namespace, run).Shard(shards) == home {
			return run
		}
	}
}

// Triggered is the run of a trigger.
type Triggered struct {
	*Schedule
	RunID, SessionID string
}

// Trigger starts a run of a schedule now, also of one that is paused. A repeat with the same key starts none.
func (ss *Schedules) Trigger(ctx context.Context, caller ports.Caller, name, idempotencyKey string) (*Triggered, error) {
	key := keyOf(caller.Namespace, name)
	asked := ports.RequestKey(caller, idempotencyKey, ports.Digest("trigger", name))
	which := cmp.Or(asked.Name, typeid.New(typeid.Event))
	return retry.Do(ctx, "schedule "+name, func() (*Triggered, error) {
		s, err := ss.load(ctx, key)
		if err != nil {
			return nil, err
		}
		request := s.own(asked)
		planned, err := ss.planned(ctx, key, request)
		if err != nil {
			return nil, err
		}
		if planned != nil {
			first, err := idempotency.Answer(ctx, ss.ports.Store, ledger.BindingOf(key.Namespace, planned.Session), request.Name)
			if first != nil || err != nil {
				return &Triggered{s, string(first), planned.Session}, err
			}
		}
		if busy, err := ss.busy(ctx, key.Namespace, s); busy || err != nil {
			if err == nil {
				err = fault.New(fault.FailedPrecondition, "run %s of schedule %s has not ended; cancel it, or let runs overlap: --overlap allow", s.LastRun, name)
			}
			return nil, err
		}
		if planned == nil {
			if planned, err = ss.plan(ctx, key, s, request, which); err != nil {
				return nil, err
			}
		}
		owner := ledger.BindingOf(key.Namespace, planned.Session)
		checks, err := ss.halted(ctx, caller)
		if err != nil {
			return nil, err
		}
		o := &Outcome{
			Result: Started, Nominal: planned.At, At: ss.ports.Clock().UTC(), Count: 1, Session: planned.Session, TriggeredBy: caller.Principal.Name,
		}
		if err := ss.run(ctx, key, s, started{
			Outcome: o, progress: s.progress(), cause: workflow.DueTrigger, which: which, request: request.KeepAnswer(owner, nil), checks: checks,
		}); err != nil {
			return nil, err
		}
		after, err := ss.load(ctx, key)
		return &Triggered{after, o.RunID, planned.Session}, err
	})
}

// own makes an idempotency key one of the schedule: a schedule that is put again under its name has others.
func (s *Schedule) own(key idempotency.Key) idempotency.Key {
	if key.Name != "" {
		key.Name = "trigger/" + s.ID + "/" + key.Name
	}
	return key
}

// plan is where and when the run of a trigger starts. It is kept before the start, under the idempotency key, in the shard of the
// schedule: so repeats mean the same session and run, also after a change of the schedule.
type plan struct {
	Digest  string    `json:"digest"`
	Session string    `json:"session_id"`
	At      time.Time `json:"at"`
}

// planned returns the plan that was kept for a trigger; nil for none.
func (ss *Schedules) planned(ctx context.Context, key store.Key, request idempotency.Key) (*plan, error) {
	kept, err := idempotency.Answer(ctx, ss.ports.Store, key, request.Name)
	if kept == nil || err != nil {
		return nil, err
	}
	return readPlan(key, request, kept)
}

func readPlan(key store.Key, request idempotency.Key, kept []byte) (*plan, error) {
	p := &plan{}
	if err := json.Unmarshal(kept, p); err != nil {
		return nil, fault.From(fmt.Errorf("decode the plan of a trigger: %w", err))
	}
	return p, request.Same(key, p.Digest)
}

// plan makes the plan of a trigger, and keeps it where the trigger has an idempotency key. The plan of a faster trigger with the
// key counts.
func (ss *Schedules) plan(ctx context.Context, key store.Key, s *Schedule, request idempotency.Key, which string) (*plan, error) {
	p := &plan{
		Digest: request.Digest, At: ss.ports.Clock().UTC(),
		Session: cmp.Or(s.SessionID, s.SessionPrefix+"-trigger-"+shortDigest(s.ID+"\x00"+which)),
	}
	if request.Name == "" {
		return p, nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode the plan of a trigger: %w", err))
	}
	result, err := ss.ports.Store.Commit(ctx, store.Batch{
		Idempotency: request.KeepAnswer(key, data), Checks: []store.Check{{Key: key, Version: s.version}},
	})
	switch {
	case err != nil:
		return nil, retry.Fault(err)
	case result.Replayed:
		return readPlan(key, request, result.Answer)
	}
	return p, nil
}

// halted refuses a trigger by a halted caller: the start judges halts of the schedule's operator. It returns the preconditions
// of a commit.
func (ss *Schedules) halted(ctx context.Context, caller ports.Caller) ([]store.Check, error) {
	all, err := ss.halts.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	subject := &halts.Subject{Namespace: caller.Namespace, Principal: caller.Principal}
	if name := caller.Principal.Session; name != "" && all.Has(caller.Namespace, halts.OfSessions()...) {
		place, err := ss.sessions.Place(ctx, caller.Namespace, name, caller.Principal.Parent)
		if err != nil {
			return nil, err
		}
		subject.In(place)
	}
	if h := all.Over(subject); h != nil {
		return nil, h.Refusal()
	}
	return []store.Check{all.Check()}, nil
}

// shortDigest returns 12 characters of a digest.
func shortDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:12]
}

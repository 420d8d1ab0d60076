package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // for machines without time zones

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/schedule"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

const report = `{"id": "report", "initial": "writing", "context": {"n": 1}, "states": {"writing": {"on": {"DONE": "done"}}, "done": {"type": "final"}}}`

var (
	olga = ports.Caller{Namespace: "default", Vouched: true, Principal: auth.Principal{Name: "olga", Role: auth.Operator, Kind: auth.Static}}
	pete = ports.Caller{Namespace: "default", Vouched: true, Principal: auth.Principal{Name: "pete", Role: auth.Operator, Kind: auth.Static}}
)

// backends opens a store for any number of replicas.
var backends = map[string]func(*testing.T, *storetest.Clock) func() store.Store{
	"sqlite": func(t *testing.T, clock *storetest.Clock) func() store.Store {
		st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return func() store.Store { return st }
	},
	"redis": func(t *testing.T, clock *storetest.Clock) func() store.Store {
		return openRedis(t, redistest.Shared(t).URL(), clock)
	},
}

func openRedis(t *testing.T, url string, clock *storetest.Clock) func() store.Store {
	t.Helper()
	prefix := redistest.Prefix()
	return func() store.Store {
		st, err := redisstore.Open(context.Background(), redisstore.Config{URL: url, Prefix: prefix, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return st
	}
}

// rig is an engine with a clock that is turned.
type rig struct {
	*testing.T
	*app.App
	clock *storetest.Clock
	store *storetest.Faulty
	open  func() store.Store
}

func newRig(t *testing.T, backend string) *rig {
	t.Helper()
	r := &rig{T: t, clock: storetest.NewClock()}
	r.open = backends[backend](t, r.clock)
	r.store = &storetest.Faulty{Store: r.open()}
	r.App = r.replica(r.store)
	if _, _, _, err := r.Registry.Register(t.Context(), olga, []byte(report), ""); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) replica(st store.Store) *app.App {
	return app.New(st, rpc.Announcer{}, r.clock.Now, slog.New(slog.DiscardHandler))
}

func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for name := range backends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, name))
		})
	}
}

// daily is a schedule of seven o'clock.
func daily() schedules.Spec {
	return schedules.Spec{Name: "daily", Workflow: "report", Cron: "0 7 * * *"}
}

func (r *rig) put(spec schedules.Spec) {
	r.Helper()
	if _, err := r.Schedules.Create(r.Context(), olga, spec, false); err != nil {
		r.Fatal(err)
	}
}

// pass turns the clock, and sweeps.
func (r *rig) pass(d time.Duration) {
	r.Helper()
	r.clock.Advance(d)
	r.Upkeep.SweepOnce(r.Context())
}

func (r *rig) get(name string) *schedules.Schedule {
	r.Helper()
	s, err := r.Schedules.Get(r.Context(), "default", name, 0)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// runs returns the runs of a schedule, the oldest first.
func (r *rig) runs(name string) []*workflow.Run {
	r.Helper()
	views, _, err := r.Reads.List(r.Context(), olga, app.ListQuery{Schedule: name, Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	var runs []*workflow.Run
	for _, v := range views {
		runs = append(runs, v.Run)
	}
	slices.Reverse(runs)
	return runs
}

// mark is the end of a session's name that follows from the id of the schedule.
var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{8}\b`) })

// sessions returns those of the runs, each with # for its mark.
func (r *rig) sessions(name string) string {
	r.Helper()
	var all []string
	for _, run := range r.runs(name) {
		all = append(all, run.SessionID)
	}
	return mark().ReplaceAllString(strings.Join(all, " "), "-#")
}

// finish ends the last run of a schedule.
func (r *rig) finish(name string) {
	r.Helper()
	id := r.get(name).LastRun
	if outcome, err := r.Moves.Transition(r.Context(), olga, app.Transition{Target: ports.Target{RunID: id}, Event: "DONE"}); err != nil || outcome.Rejection != nil {
		r.Fatalf("run %s: %+v, %v", id, outcome, err)
	}
}

// events returns the events of schedules: their types, in the order of each schedule.
func (r *rig) events() string {
	r.Helper()
	after := map[int]int64{}
	for shard := range r.store.Shards() {
		after[shard] = 0
	}
	entries, err := r.store.Tail(r.Context(), after, 1000, 0)
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		if len(entry.Payload) == 0 { // of a halt
			continue
		}
		event, err := bus.Decode(entry.Payload)
		if err != nil {
			r.Fatal(err)
		}
		if event.GetEntity() == "schedule" {
			text := event.GetType()
			if n := event.GetScheduleHandled().GetCount(); n > 1 {
				text += fmt.Sprint(" ", n)
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// due returns when the timers of schedules are due.
func (r *rig) due() string {
	r.Helper()
	timers, err := r.store.Due(r.Context(), r.clock.Now().Add(100_000*time.Hour), 100, "schedule")
	if err != nil {
		r.Fatal(err)
	}
	var all []string
	for _, timer := range timers {
		all = append(all, timer.Key.ID+" "+timer.Due.UTC().Format("02 15:04:05"))
	}
	return strings.Join(all, ", ")
}

// S25.20, S25.22: a run starts at each time, with its session, its owner and its cause.
func TestRunsStartAtTheirTimes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		spec := daily()
		spec.Zone, spec.Context, spec.Overlap = "Europe/Berlin", `{"of": "yesterday"}`, schedule.OverlapAllow
		r.put(spec)
		r.pass(6*time.Hour - time.Second)
		if got := r.sessions("daily"); got != "" {
			t.Errorf("before the time there is %s", got)
		}
		r.pass(3 * time.Second)
		r.pass(time.Hour)
		r.pass(23 * time.Hour)
		if got := r.sessions("daily"); got != "daily-20260101T0600Z-# daily-20260102T0600Z-#" {
			t.Errorf("the sessions are %s", got)
		}
		run := r.runs("daily")[0]
		if run.Owner != "olga" || run.Schedule != "daily" || run.Context.String() != `{"n":1,"of":"yesterday"}` {
			t.Errorf("the run is %+v", run)
		}
		entries, _, err := r.Reads.History(t.Context(), olga, run.ID, app.Position{}, 10)
		if err != nil || len(entries) != 1 || entries[0].Cause == nil || entries[0].Cause.Kind != workflow.DueSchedule ||
			entries[0].Time.Sub(entries[0].Cause.Due) != 2*time.Second || entries[0].Actor != "olga" {
			t.Errorf("the history is %+v, %v", entries, err)
		}
		s := r.get("daily")
		if s.Counts != (schedules.Counts{Started: 2}) || s.Last.Result != schedules.Started || s.LastRun != r.runs("daily")[1].ID {
			t.Errorf("the schedule has %+v, last %+v", s.Counts, s.Last)
		}
		if got := r.events(); got != "created, fired, fired" {
			t.Errorf("the events are %s", got)
		}
		if got := r.due(); got != "daily 03 06:00:00" {
			t.Errorf("the timers are %s", got)
		}
		if _, _, err := r.Starts.Start(t.Context(), olga, app.Start{Workflow: "report", SessionID: "other"}); err != nil {
			t.Fatal(err)
		}
		// Receivers outside of Interlock learn of starts by schedules, and of no others.
		if notices, err := r.store.Due(t.Context(), r.clock.Now(), 100, runnotice.Kind); err != nil || len(notices) != 2 {
			t.Errorf("there are %d notices, %v", len(notices), err)
		}
		if run.ID >= r.runs("daily")[1].ID {
			t.Error("the ids are not in the order of the times")
		}
	})
}

// S25.23: times without a server, by each rule.
func TestMissedTimes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		missed  schedule.Missed
		overlap schedule.Overlap
		started int
		counts  schedules.Counts
		events  string
	}{
		"skip": {schedule.MissedSkip, schedule.OverlapSkip, 0, schedules.Counts{Missed: 5}, "created, missed 5"},
		"once": {schedule.MissedOnce, schedule.OverlapSkip, 1, schedules.Counts{Started: 1, Missed: 4}, "created, missed 4, fired"},
		"all":  {schedule.MissedAll, schedule.OverlapAllow, 5, schedules.Counts{Started: 5}, "created, fired, fired, fired, fired, fired"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "sqlite")
			spec := daily()
			spec.Missed, spec.Overlap = tc.missed, tc.overlap
			r.put(spec)
			r.pass(4*24*time.Hour + 12*time.Hour)
			r.pass(0)
			if got := r.get("daily").Counts; len(r.runs("daily")) != tc.started || got != tc.counts || r.events() != tc.events {
				t.Errorf("%d runs, %+v, events %s", len(r.runs("daily")), got, r.events())
			}
			if got := r.due(); got != "daily 06 07:00:00" {
				t.Errorf("the timers are %s", got)
			}
			// After the clock has gone back, no time starts a second run.
			r.pass(-3 * 24 * time.Hour)
			r.pass(2 * 24 * time.Hour)
			if got := r.get("daily").Counts; got != tc.counts {
				t.Errorf("after the clock went back: %+v", got)
			}
		})
	}
}

// S25.23: at most a hundred times are caught up, in several sweeps.
func TestCatchUpIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	r.put(schedules.Spec{Name: "often", Workflow: "report", Cron: "*/10 * * * *", Missed: schedule.MissedAll, Overlap: schedule.OverlapAllow})
	r.pass(20 * time.Hour)
	for range 3 {
		r.pass(0)
	}
	if got := r.get("often").Counts; got != (schedules.Counts{Started: 100, Missed: 20}) {
		t.Errorf("there are %+v", got)
	}
}

// S25.24: a time during the last run, by each rule.
func TestOverlap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		for _, overlap := range []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapQueue, schedule.OverlapAllow} {
			spec := daily()
			spec.Name, spec.Overlap = string(overlap), overlap
			r.put(spec)
		}
		r.pass(7 * time.Hour)
		r.pass(24 * time.Hour)
		r.pass(24 * time.Hour)
		for name, want := range map[string]schedules.Counts{"skip": {Started: 1, Skipped: 2}, "queue": {Started: 1, Skipped: 1}, "allow": {Started: 3}} {
			if got := r.get(name); got.Counts != want {
				t.Errorf("%s: %+v, last %+v", name, got.Counts, got.Last)
			}
		}
		if s := r.get("skip"); s.Last.RunID != s.LastRun || !strings.Contains(s.Last.Reason, s.LastRun+" has not ended") {
			t.Errorf("the last skipped is %+v", s.Last)
		}
		r.finish("queue")
		r.pass(schedule.QueueLook)
		if got := r.sessions("queue"); got != "queue-20260101T0700Z-# queue-20260102T0700Z-#" || !r.get("queue").Waiting.IsZero() {
			t.Errorf("the queued one's turn: %s", got)
		}
		r.finish("skip")
		r.pass(24*time.Hour - schedule.QueueLook)
		if got := r.sessions("skip"); got != "skip-20260101T0700Z-# skip-20260104T0700Z-#" {
			t.Errorf("after the end: %s", got)
		}
	})
}

// S25.22: of any number of replicas, one starts the run.
func TestReplicasStartOneRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		spec := daily()
		spec.Overlap = schedule.OverlapAllow
		r.put(spec)
		replicas := []*app.App{r.replica(r.open()), r.replica(r.open()), r.replica(r.open())}
		for day := range 5 {
			r.clock.Advance(map[bool]time.Duration{true: 7 * time.Hour, false: 24 * time.Hour}[day == 0])
			var all sync.WaitGroup
			for _, a := range replicas {
				all.Go(func() { a.Upkeep.SweepOnce(t.Context()) })
			}
			all.Wait()
			r.pass(0)
			if n := len(r.runs("daily")); n != day+1 {
				t.Fatalf("on day %d there are %d runs", day, n)
			}
		}
		if got := r.events(); got != "created, fired, fired, fired, fired, fired" {
			t.Errorf("the events are %s", got)
		}
	})
}

// S25.22: wherever the engine is killed, a time starts one run, and it is announced once.
func TestKillsAreMadeGood(t *testing.T) {
	t.Parallel()
	for name := range backends {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %t", name, late), func(t *testing.T) {
				t.Parallel()
				for at := 1; ; at++ {
					if !killed(newRig(t, name), at, late) {
						if at < 2 {
							t.Error("no commit was cut")
						}
						return
					}
				}
			})
		}
	}
}

// killed cuts the nth commit of a start and all that follow; late cuts the answer of that commit. It is false where there
// are fewer.
func killed(r *rig, at int, late bool) bool {
	r.Helper()
	r.put(daily())
	r.clock.Advance(7 * time.Hour)
	before := r.store.Commits()
	r.store.Decide = func(n int, _ *store.Batch) storetest.Fault {
		switch n -= before; {
		case n < at:
			return storetest.Healthy
		case n == at && late:
			return storetest.FailedButApplied
		default:
			return storetest.Failed
		}
	}
	r.Upkeep.SweepOnce(r.Context())
	cut := r.store.Commits()-before >= at
	r.store.Decide = nil
	r.App = r.replica(r.store) // as it starts again
	for range 4 {
		r.pass(5 * time.Second)
	}
	where := fmt.Sprintf("cut at %d, late %t", at, late)
	if got := r.sessions("daily"); got != "daily-20260101T0700Z-#" {
		r.Errorf("%s: the sessions are %q", where, got)
	}
	if s := r.get("daily"); s.Counts != (schedules.Counts{Started: 1}) || s.LastRun != r.runs("daily")[0].ID {
		r.Errorf("%s: %+v", where, s.Counts)
	}
	if got := r.events(); got != "created, fired" {
		r.Errorf("%s: the events are %s", where, got)
	}
	if got := r.due(); got != "daily 02 07:00:00" {
		r.Errorf("%s: the timers are %s", where, got)
	}
	return cut
}

// register says who counts.
type register map[string]string

func (g register) Counts(_ context.Context, namespace string, was auth.Principal) (string, error) {
	if g[was.Name] == "down" {
		return "", errors.New("the register is down")
	}
	return g[was.Name], nil
}

type silent struct{}

func (silent) HaltChanged(_, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return store.Event{ID: c.Type + c.ID, Subject: "halt"}, nil
}

// S25.25: a start that is refused is noted with its reason, and the next time comes.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		people := register{"olga": "this person is not registered any more"}
		r.Standing = people
		r.put(daily())
		r.pass(7 * time.Hour)
		s := r.get("daily")
		if s.Last.Code != fault.PermissionDenied || !strings.HasPrefix(s.Last.Reason, `the schedule acts as "olga"`) || !strings.Contains(s.Last.Reason, "--replace") {
			t.Errorf("the last is %+v", s.Last)
		}
		if _, err := r.Schedules.Trigger(t.Context(), pete, "daily", ""); fault.ReasonOf(err) != fault.PermissionDenied {
			t.Errorf("triggered by another: %v", err)
		}
		people["olga"] = "down" // in doubt it is tried again
		r.pass(24 * time.Hour)
		people["olga"] = ""
		keeper := halts.NewKeeper(halts.New(r.store), silent{}, r.clock.Now)
		halt, _, err := keeper.Create(t.Context(), halts.Caller{Namespace: "default", Principal: olga.Principal}, halts.Scope{Kind: halts.Workflow, Name: "report"}, "look")
		if err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		if s = r.get("daily"); s.Last.Code != fault.Halted || !strings.Contains(s.Last.Reason, "look") || s.Counts != (schedules.Counts{Refused: 2}) {
			t.Errorf("the last is %+v of %+v", s.Last, s.Counts)
		}
		if _, err := keeper.Lift(t.Context(), halts.Caller{Namespace: "default", Principal: olga.Principal}, halt.ID, "seen"); err != nil {
			t.Fatal(err)
		}
		r.pass(24*time.Hour - time.Second)
		if got := r.events(); r.get("daily").Counts.Started != 1 || got != "created, refused, refused, fired" {
			t.Errorf("the events are %s", got)
		}
	})
}

// S25.26: a trigger starts a run at once, once for a key.
func TestTrigger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.put(daily())
		if _, err := r.Schedules.Pause(t.Context(), olga, "daily"); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Hour)
		first, err := r.Schedules.Trigger(t.Context(), pete, "daily", "k")
		if err != nil || !strings.HasPrefix(first.SessionID, "daily-trigger-") || first.LastRun != first.RunID {
			t.Fatalf("%+v, %v", first, err)
		}
		r.clock.Advance(time.Hour)
		again, err := r.Schedules.Trigger(t.Context(), pete, "daily", "k")
		if err != nil || again.RunID != first.RunID || again.SessionID != first.SessionID {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := r.Schedules.Trigger(t.Context(), pete, "daily", ""); fault.ReasonOf(err) != fault.FailedPrecondition || !strings.Contains(err.Error(), first.RunID) {
			t.Errorf("while it runs: %v", err)
		}
		run := r.runs("daily")[0]
		entries, _, err := r.Reads.History(t.Context(), olga, run.ID, app.Position{}, 10)
		if err != nil || run.Owner != "olga" || entries[0].Cause.Kind != workflow.DueTrigger || entries[0].Reason != `by schedule daily, triggered by "pete"` {
			t.Errorf("%+v, %v", entries, err)
		}
		r.finish("daily")
		if _, err := r.Schedules.Trigger(t.Context(), pete, "daily", "l"); err != nil {
			t.Error(err)
		}
		if got := r.events(); len(r.runs("daily")) != 2 || got != "created, paused, fired, fired" {
			t.Errorf("%d runs, %s", len(r.runs("daily")), got)
		}
	})
}

// S25.26: a halted operator triggers no schedule, also where the operator of the schedule is not halted.
func TestHaltedTrigger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.put(daily())
		keeper := halts.NewKeeper(halts.New(r.store), silent{}, r.clock.Now)
		by := halts.Caller{Namespace: "default", Principal: olga.Principal}
		halt, _, err := keeper.Create(t.Context(), by, halts.Scope{Kind: halts.Principal, Name: "pete"}, "look")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Schedules.Trigger(t.Context(), pete, "daily", "k"); fault.ReasonOf(err) != fault.Halted || !strings.Contains(err.Error(), "look") {
			t.Errorf("by a halted operator: %v", err)
		}
		if _, err := keeper.Lift(t.Context(), by, halt.ID, "seen"); err != nil {
			t.Fatal(err)
		}
		if first, err := r.Schedules.Trigger(t.Context(), pete, "daily", "k"); err != nil || len(r.runs("daily")) != 1 {
			t.Errorf("after the halt: %+v, %v", first, err)
		}
	})
}

// S25.26: an idempotency key belongs to one schedule, and to no other of its name
// under its name; after a change it starts no second run.
func TestTriggerKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		trigger := func(name string) string {
			t.Helper()
			done, err := r.Schedules.Trigger(t.Context(), pete, name, "k")
			if err != nil {
				t.Fatal(err)
			}
			return done.RunID
		}
		spec, other := daily(), daily()
		spec.SessionID, other.SessionID, other.Name = "desk", "desk", "other"
		r.put(spec)
		r.put(other)
		first := trigger("daily")
		if second := trigger("other"); second == first || r.runs("other")[0].ID != second {
			t.Errorf("the key of daily answers for other: %s", second)
		}
		for _, change := range []struct{ session, prefix string }{{"room", ""}, {"", "p"}, {"", "q"}} {
			if spec.SessionID, spec.SessionPrefix = change.session, change.prefix; change.session == "" {
				spec.Overlap = schedule.OverlapAllow
			}
			if _, err := r.Schedules.Update(t.Context(), olga, spec, 0); err != nil {
				t.Fatal(err)
			}
			if again := trigger("daily"); again != first || len(r.runs("daily")) != 1 {
				t.Errorf("with %+v the key starts run %s", change, again)
			}
		}
		if err := r.Schedules.Delete(t.Context(), olga, "daily", 0); err != nil {
			t.Fatal(err)
		}
		r.put(spec)
		if anew := trigger("daily"); anew == first || len(r.runs("daily")) != 2 {
			t.Errorf("put again, the schedule answers with run %s of the one before", anew)
		}
	})
}

// S25.26: triggers with one key at the same time start one run.
func TestTriggersRace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		spec := daily()
		spec.Overlap = schedule.OverlapAllow
		r.put(spec)
		var all sync.WaitGroup
		for range 4 {
			a := r.replica(r.open())
			all.Go(func() {
				if _, err := a.Schedules.Trigger(t.Context(), pete, "daily", "k"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(r.runs("daily")); n != 1 {
			t.Errorf("there are %d runs", n)
		}
	})
}

// S25.20: a schedule has versions; a pause, a change and a deletion count at once.
func TestChanges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.put(daily())
		if again, err := r.Schedules.Create(t.Context(), pete, daily(), false); err != nil || again.Number != 1 {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		other := daily()
		other.Cron = "0 8 * * *"
		if _, err := r.Schedules.Create(t.Context(), olga, other, false); fault.ReasonOf(err) != fault.NameTaken {
			t.Errorf("another under its name: %v", err)
		}
		if _, err := r.Schedules.Pause(t.Context(), olga, "daily"); err != nil {
			t.Fatal(err)
		}
		r.pass(12 * time.Hour)
		if got := r.due(); got != "" || len(r.runs("daily")) != 0 {
			t.Errorf("paused, it has the timers %s", got)
		}
		if _, err := r.Schedules.Resume(t.Context(), olga, "daily"); err != nil {
			t.Fatal(err)
		}
		r.pass(0)
		if got := r.get("daily").Counts; got != (schedules.Counts{Missed: 1}) {
			t.Errorf("after the pause: %+v", got)
		}
		if _, err := r.Schedules.Update(t.Context(), pete, other, 2); fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("at another version: %v", err)
		}
		if s, err := r.Schedules.Update(t.Context(), pete, other, 3); err != nil || s.Number != 4 || s.By.Name != "pete" {
			t.Errorf("%+v, %v", s, err)
		}
		if s, err := r.Schedules.Get(t.Context(), "default", "daily", 1); err != nil || s.Cron != "0 7 * * *" || s.By.Name != "olga" {
			t.Errorf("the first version: %+v, %v", s, err)
		}
		if _, err := r.Schedules.Get(t.Context(), "default", "daily", 9); fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("a version that never was: %v", err)
		}
		r.pass(20 * time.Hour)
		if got := r.sessions("daily"); got != "daily-20260102T0800Z-#" || r.runs("daily")[0].Owner != "pete" {
			t.Errorf("changed, it has %s", got)
		}
		if err := r.Schedules.Delete(t.Context(), olga, "daily", 0); err != nil {
			t.Fatal(err)
		}
		if found, _, err := r.Schedules.List(t.Context(), "default", "", 10); err != nil || len(found) != 0 {
			t.Errorf("deleted, it is listed: %v, %v", found, err)
		}
		r.pass(48 * time.Hour)
		if got := r.due(); got != "" || len(r.runs("daily")) != 1 {
			t.Errorf("deleted, it has the timers %s", got)
		}
		r.put(daily())
		if _, err := r.Schedules.Get(t.Context(), "default", "daily", 4); fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("a version of the deleted one: %v", err)
		}
		if got := r.events(); got != "created, paused, resumed, missed, updated, fired, deleted, created" {
			t.Errorf("the events are %s", got)
		}
	})
}

// S25.20: a change of all but the times leaves no time out.
func TestChangeAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	r.put(daily())
	r.clock.Advance(7*time.Hour + time.Second)
	changed := daily()
	changed.Context = `{"a":1}`
	if _, err := r.Schedules.Update(t.Context(), olga, changed, 0); err != nil {
		t.Fatal(err)
	}
	r.pass(0)
	if runs := r.runs("daily"); len(runs) != 1 || runs[0].Context.String() != `{"a":1,"n":1}` && runs[0].Context.String() != `{"n":1,"a":1}` {
		t.Errorf("the runs are %+v", runs)
	}
}

// S25.20: an invalid spec is refused, with the field.
func TestInvalidSpecs(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	for name, tc := range map[string]struct {
		set   func(*schedules.Spec)
		field string
		words string
	}{
		"the name":             {func(s *schedules.Spec) { s.Name = "Daily Report" }, "/name", "a-z, 0-9 and -"},
		"the expression":       {func(s *schedules.Spec) { s.Cron = "0 7 * *" }, "/cron", "has 4 fields"},
		"the zone":             {func(s *schedules.Spec) { s.Zone = "CEST" }, "/zone", "Europe/Berlin"},
		"all without overlap":  {func(s *schedules.Spec) { s.Missed = schedule.MissedAll }, "/missed", "overlap"},
		"two kinds of session": {func(s *schedules.Spec) { s.SessionID, s.SessionPrefix = "a", "b" }, "/session_prefix", "leave one out"},
		"one session twice":    {func(s *schedules.Spec) { s.SessionID, s.Overlap = "a", schedule.OverlapAllow }, "/overlap", "session_prefix"},
		"the session":          {func(s *schedules.Spec) { s.SessionID = " a" }, "/session_id", "printable"},
		"the prefix":           {func(s *schedules.Spec) { s.SessionPrefix = "a b" }, "/session_prefix", "letters, digits"},
		"no JSON":              {func(s *schedules.Spec) { s.Context = "{" }, "/context", ""},
		"no object":            {func(s *schedules.Spec) { s.Context = "[]" }, "/context", "object"},
		"a large context":      {func(s *schedules.Spec) { s.Context = `{"a":"` + strings.Repeat("a", 70_000) + `"}` }, "/context", "at most"},
		"an end of the past":   {func(s *schedules.Spec) { s.Until = r.clock.Now().Add(-time.Second) }, "/until", "has passed; give a later one"},
		"an end of now":        {func(s *schedules.Spec) { s.Until = r.clock.Now() }, "/until", "has passed; give a later one"},
		"no such workflow":     {func(s *schedules.Spec) { s.Workflow = "other" }, "", "other"},
		"no such version":      {func(s *schedules.Spec) { s.WorkflowVersion = 7 }, "", "7"},
	} {
		spec := daily()
		tc.set(&spec)
		_, err := r.Schedules.Create(t.Context(), olga, spec, false)
		var of *fault.Error
		if !errors.As(err, &of) || !strings.Contains(of.Message, tc.words) || tc.field != "" && (len(of.Violations) != 1 || of.Violations[0].Pointer != tc.field) {
			t.Errorf("%s: %+v", name, err)
		}
	}
	r.Quotas.RequireSessions = true
	if _, err := r.Schedules.Create(t.Context(), olga, daily(), false); fault.ReasonOf(err) != fault.SessionRequired {
		t.Errorf("where sessions are created first: %v", err)
	}
}

// S25.22: a schedule with a session of its own pauses the run that the session drives.
func TestOneSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		spec := daily()
		spec.SessionID = "desk"
		r.put(spec)
		if _, _, err := r.Starts.Start(t.Context(), olga, app.Start{Workflow: "report", SessionID: "desk"}); err != nil {
			t.Fatal(err)
		}
		r.pass(7 * time.Hour)
		view, err := r.Reads.Get(t.Context(), olga, ports.Target{SessionID: "desk"}, true)
		if err != nil || view.Run.ID != r.get("daily").LastRun {
			t.Errorf("the session drives %+v, %v", view, err)
		}
	})
}

// S25.22: schedules with one prefix have different sessions at a time, and one that is put again has others.
func TestSessionsOfOnePrefix(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	spec, other := daily(), daily()
	spec.SessionPrefix, other.SessionPrefix, other.Name = "night", "night", "other"
	r.put(spec)
	r.put(other)
	r.pass(7 * time.Hour)
	seen := map[string]bool{}
	for _, name := range []string{"daily", "other"} {
		if got := r.sessions(name); got != "night-20260101T0700Z-#" {
			t.Errorf("%s has the sessions %s", name, got)
		}
		session := r.runs(name)[0].SessionID
		seen[session] = true
		if s := r.get(name); s.Last.Session != session || strings.Contains(session, s.ID) {
			t.Errorf("%s has %s, last %+v", name, session, s.Last)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the sessions are %v", seen)
	}
}

// S25.22: a start into a session that has ended is refused, announced and not counted as one; after the session is resumed runs start.
func TestSessionHasEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		spec := daily()
		spec.SessionID = "desk"
		r.put(spec)
		if err := r.Ends.SessionEnded(t.Context(), "default", "c1", "desk"); err != nil {
			t.Fatal(err)
		}
		r.pass(7 * time.Hour)
		s := r.get("daily")
		if s.Last.Code != fault.SessionEnded || !strings.Contains(s.Last.Reason, `"desk" has ended`) || s.Counts != (schedules.Counts{Refused: 1}) || s.LastRun != "" {
			t.Errorf("the last is %+v of %+v", s.Last, s.Counts)
		}
		if _, err := r.Schedules.Trigger(t.Context(), pete, "daily", ""); fault.ReasonOf(err) != fault.SessionEnded {
			t.Errorf("triggered: %v", err)
		}
		if err := r.Ends.SessionResumed(t.Context(), "default", "c2", "desk"); err != nil {
			t.Fatal(err)
		}
		r.pass(24 * time.Hour)
		// The state-store knows of an end before the binding does.
		r.finish("daily")
		for _, put := range []store.Put{
			{Key: ledger.SessionRef("default", "desk"), Data: []byte(`{"id": "ses_1", "name": "desk", "home": "ses_1"}`)},
			{Key: ledger.SessionOf("default", "ses_1"), Data: []byte(`{"id": "ses_1", "name": "desk", "status": "ENDED"}`)},
		} {
			if _, err := r.store.Commit(t.Context(), store.Batch{Puts: []store.Put{put}}); err != nil {
				t.Fatal(err)
			}
		}
		r.pass(24 * time.Hour)
		if got := r.get("daily").Counts; got != (schedules.Counts{Started: 1, Refused: 2}) || r.events() != "created, refused, fired, refused" {
			t.Errorf("%+v, the events are %s", got, r.events())
		}
	})
}

// S25.20: a namespace has a bounded number of schedules; one that is removed makes room.
func TestMostSchedules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		r.put(daily())
		if err := r.Schedules.Delete(t.Context(), olga, "daily", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Commit(t.Context(), store.Batch{Counters: []store.Counter{ports.CountSchedules("default", ports.MostSchedules-1)}}); err != nil {
			t.Fatal(err)
		}
		r.put(daily())
		more := daily()
		more.Name = "more"
		for range 2 {
			if _, err := r.Schedules.Create(t.Context(), olga, more, false); fault.ReasonOf(err) != fault.LimitReached || !strings.Contains(err.Error(), "at most 1000; remove one") {
				t.Errorf("one too many: %v", err)
			}
		}
		if _, err := r.Schedules.Create(t.Context(), olga, daily(), false); err != nil {
			t.Errorf("one that is there already: %v", err)
		}
		if err := r.Schedules.Delete(t.Context(), olga, "daily", 0); err != nil {
			t.Fatal(err)
		}
		r.put(more)
	})
}

// S25.20: the next times of a schedule, and its end.
func TestTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	spec := daily()
	spec.Zone, spec.Until = "America/New_York", r.clock.Now().Add(60*time.Hour)
	r.put(spec)
	text := func(times []time.Time, zone string, err error) string {
		if err != nil {
			return err.Error()
		}
		for _, at := range times {
			zone += at.UTC().Format(" 02T15:04")
		}
		return zone
	}
	if got := text(r.Schedules.Times(t.Context(), "default", "daily", 5)); got != "America/New_York 01T12:00 02T12:00 03T12:00" {
		t.Errorf("the times are %s", got)
	}
	if got := text(r.Schedules.Times(t.Context(), "default", "none", 2)); !strings.Contains(got, "no schedule") {
		t.Errorf("of none: %s", got)
	}
	r.pass(70 * time.Hour)
	if _, more := r.get("daily").Next(); more || r.due() != "" {
		t.Errorf("after the end there are the timers %s", r.due())
	}
}

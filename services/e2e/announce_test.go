package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/bustest"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// events reads the events on NATS, from the first event of a subject on.
type events struct {
	ctx     context.Context
	js      jetstream.JetStream
	filter  string
	watcher *bus.Watcher
	seen    map[string]bool
	// again reports that a version may be announced once more: the event of an unanswered write that a
	// failover has taken back is out already.
	again bool
}

// events begins to read; an empty field of the subject is any.
func (w *world) events(t testing.TB, about bus.Subject) *events {
	t.Helper()
	nc := must[*nats.Conn](t)(w.nats.Connect("e2e"))
	t.Cleanup(nc.Close)
	js := must[jetstream.JetStream](t)(jetstream.New(nc))
	e := &events{ctx: within(t), js: js, filter: about.Filter(), seen: map[string]bool{}, again: w.failsOver}
	eventually(t, "the stream is there", func() error {
		var err error
		e.watcher, err = bus.Watch(e.ctx, js, bus.WatchConfig{Subjects: []string{e.filter}, From: 1})
		return err
	})
	t.Cleanup(e.watcher.Stop)
	return e
}

// next is the next event that was not delivered before: delivery is at least
// once.
func (e *events) next(t testing.TB) *eventv1.Event {
	t.Helper()
	for {
		m, err := e.watcher.Next(e.ctx)
		if err != nil {
			t.Fatalf("after %d events no more came: %v; the stream holds %v", len(e.seen), err, e.holds(t))
		}
		ev := must[*eventv1.Event](t)(bus.Decode(m.Payload))
		bustest.Valid(t, bus.AsyncAPI, m.Payload)
		if id, era, ok := strings.Cut(m.ID, "@"); !ok || era == "" || ev.GetId() != id {
			t.Fatalf("the message's id is %q and the event's %q", m.ID, ev.GetId())
		}
		if !e.seen[m.ID] {
			e.seen[m.ID] = true
			return ev
		}
	}
}

// holds counts the stream's events of each subject.
func (e *events) holds(t testing.TB) map[string]uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream := must[jetstream.Stream](t)(e.js.Stream(ctx, bus.DefaultStream))
	return must[*jetstream.StreamInfo](t)(stream.Info(ctx, jetstream.WithSubjectFilter(e.filter))).State.Subjects
}

// announced reads a run's events until the version of its history's end, and
// fails unless every entry has its event, in order, and none is missing or
// invented.
func (e *events) announced(t testing.TB, id string, history []*enginev1.HistoryEntry) {
	t.Helper()
	for i := 0; i < len(history); {
		ev := e.next(t)
		if !isEntry[ev.GetType()] {
			continue
		}
		if e.again && ev.GetVersion() <= int64(i) {
			continue
		}
		want := history[i]
		if ev.GetEntityId() != id || ev.GetVersion() != want.GetRunVersion() || ev.GetType() != protomap.HistoryWord(want.GetType()) {
			t.Fatalf("entry %d of %s is %s at version %d; NATS carries %s at version %d of %s",
				i, id, want.GetType(), want.GetRunVersion(), ev.GetType(), ev.GetVersion(), ev.GetEntityId())
		}
		if got := ev.GetRunTransitioned(); got != nil &&
			(got.GetEvent() != want.GetEvent() || got.GetFrom() != want.GetFrom() || got.GetTo() != want.GetTo()) {
			t.Fatalf("version %d is announced as %v, the history has %v", want.GetRunVersion(), got, want)
		}
		i++
	}
}

// isEntry are the types of events that announce one entry of a history.
var isEntry = map[string]bool{"started": true, "transitioned": true, "paused": true, "resumed": true, "cancelled": true}

// historyIsAnnounced makes all kinds of changes and compares.
func historyIsAnnounced(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	one.register(t, pingPong)
	id := one.start(t, "ping-pong").GetRunId()
	for i := range 40 {
		c := []*caller{one, other}[i%2]
		c.move(t, id, "GO")
		switch i % 10 {
		case 3:
			if c.fire(t, id, "NO_SUCH_EVENT", "").GetAccepted() {
				t.Fatal("an unknown event is accepted")
			}
		case 7:
			must[*enginev1.PauseRunResponse](t)(c.runs.PauseRun(within(t), &enginev1.PauseRunRequest{RunId: id, Reason: "lunch"}))
			must[*enginev1.ResumeRunResponse](t)(other.runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: id}))
		}
	}
	one.move(t, id, "END")
	history := other.history(t, id)
	contiguous(t, id, history)
	if len(history) != 1+40+4*2+1 {
		t.Errorf("the history has %d entries", len(history))
	}
	w.events(t, bus.Subject{Namespace: w.namespace, Entity: "run", ID: id}).announced(t, id, history)

	counts := map[string]int{}
	events := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "run", ID: id})
	for counts["completed"] == 0 {
		counts[events.next(t).GetType()]++
	}
	if counts["rejected"] != 4 || counts["completed"] != 1 || counts["transitioned"] != 41 {
		t.Errorf("the events are %v", counts)
	}
}

// decisionsAreAnnounced expects one event per decision, in the order in which
// they were answered, with their subject and never the input itself.
func decisionsAreAnnounced(t *testing.T, w *world) {
	c := w.as(t, auth.Agent)
	c.register(t, bugfix)
	id := c.start(t, "bugfix").GetRunId()
	type decision struct{ call, tool, verdict string }
	var asked []decision
	for _, tool := range []string{"Read", "Edit", "Read", "Bash"} {
		d := c.check(t, id, tool)
		asked = append(asked, decision{d.GetCallId(), tool, d.GetDecision().String()[len("DECISION_"):]})
	}
	events := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "toolcall", ID: id})
	for i, want := range asked {
		got := events.next(t).GetToolcallDecided()
		if (decision{got.GetCallId(), got.GetTool(), got.GetDecision()}) != want {
			t.Errorf("decision %d is announced as %v, want %v", i, got, want)
		}
	}
	registered := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "workflow", ID: "bugfix"}).next(t)
	if registered.GetType() != "registered" || registered.GetActor() != "agent" || registered.GetTime() == nil {
		t.Errorf("the registration is announced as %v", registered)
	}
}

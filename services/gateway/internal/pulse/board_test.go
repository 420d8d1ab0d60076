package pulse

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// apply puts an event on a board as NATS brings it.
func apply(t *testing.T, b *Board, after time.Duration, e *eventv1.Event) {
	t.Helper()
	e.Time, e.Namespace = timestamppb.New(noon.Add(after)), "default"
	payload, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	read, err := decode(payload)
	if err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	b.Apply(read)
}

func decided(run, decision, tool string) *eventv1.Event {
	return &eventv1.Event{
		Entity: "toolcall", EntityId: run, Type: "denied", Actor: "agent",
		Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
			Tool: tool, Decision: decision, Code: "TOOL_NOT_ALLOWED", State: "planning",
		}},
	}
}

func started(run string) *eventv1.Event {
	return &eventv1.Event{
		Entity: "run", EntityId: run, Type: "started", Actor: "agent",
		Payload: &eventv1.Event_RunStarted{RunStarted: &eventv1.RunStarted{Workflow: "fix", WorkflowVersion: 3, State: "planning"}},
	}
}

func transitioned(run, from, event, to string) *eventv1.Event {
	return &eventv1.Event{
		Entity: "run", EntityId: run, Type: "transitioned", Actor: "agent",
		Payload: &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{From: from, Event: event, To: to}},
	}
}

func TestRatesAreOfTenSecondsEach(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	for i := range 25 {
		apply(t, b, time.Duration(i)*time.Second, decided("run_1", []string{"ALLOW", "ASK", "DENY"}[i%3], "Edit"))
	}
	apply(t, b, -time.Second, decided("run_1", "ALLOW", "Edit")) // comes late
	rates := b.Rates(noon.Add(25 * time.Second))
	if len(rates) != slots {
		t.Fatalf("%d rates", len(rates))
	}
	got := fmt.Sprint(rates[slots-4:])
	at := noon.Add
	want := fmt.Sprint([]Rate{{at(-10 * time.Second), 1, 0, 0}, {noon, 4, 3, 3}, {at(10 * time.Second), 3, 4, 3}, {at(20 * time.Second), 2, 1, 2}})
	if got != want {
		t.Errorf("the last rates are\n%s, want\n%s", got, want)
	}
	if old := b.Rates(noon.Add(time.Hour)); old[slots-1].Allow != 0 || old[0].Allow != 0 {
		t.Errorf("an hour later rates are %v", old)
	}
}

func TestDecisionsOlderThanTheWindowAreNotCounted(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	apply(t, b, 0, decided("run_1", "ALLOW", "Edit"))
	apply(t, b, -slots*slot, decided("run_1", "ALLOW", "Edit")) // would have the same place
	if last := b.Rates(noon)[slots-1]; last.Allow != 1 {
		t.Errorf("the last rate is %+v", last)
	}
}

func TestLoops(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	for i := range 4 {
		apply(t, b, time.Duration(i)*time.Second, decided("run_1", "DENY", "Bash"))
		apply(t, b, time.Duration(i)*time.Second, decided("run_2", "DENY", "Edit"))
	}
	apply(t, b, 5*time.Second, decided("run_1", "DENY", "Write"))
	apply(t, b, 0, decided("run_3", "DENY", "Edit"))
	loops := b.Loops(noon.Add(time.Minute), 10)
	if len(loops) != 2 || loops[0].RunID != "run_1" || loops[0].Count != 5 || loops[0].Tool != "Write" || loops[0].State != "planning" {
		t.Fatalf("loops are %+v", loops)
	}
	if some := b.Loops(noon.Add(time.Minute), 1); len(some) != 1 {
		t.Errorf("at most one, but %d", len(some))
	}
	apply(t, b, 6*time.Second, decided("run_1", "ALLOW", "Read"))
	apply(t, b, 6*time.Second, transitioned("run_2", "planning", "GO", "working"))
	if loops := b.Loops(noon.Add(time.Minute), 10); len(loops) != 0 {
		t.Errorf("after an allowed call and a transition there are loops: %+v", loops)
	}
	for range 3 {
		apply(t, b, 0, decided("run_4", "DENY", "Edit"))
	}
	if loops := b.Loops(noon.Add(loopIdle+time.Second), 10); len(loops) != 0 {
		t.Errorf("a loop that nobody was in for long is still one: %+v", loops)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	apply(t, b, 0, started("run_1"))
	apply(t, b, 1, transitioned("run_1", "planning", "GO", "working"))
	apply(t, b, 2, transitioned("run_1", "working", "FIX", "planning"))
	apply(t, b, 3, &eventv1.Event{Entity: "run", EntityId: "run_1", Type: "forced", Payload: &eventv1.Event_RunForced{
		RunForced: &eventv1.RunForced{From: "planning", To: "done"},
	}})
	apply(t, b, 4, transitioned("run_unknown", "planning", "GO", "working"))
	c := b.CoverageOf("fix", 3)
	if c.Runs != 1 || c.Entries["planning"] != 2 || c.Entries["done"] != 1 {
		t.Errorf("coverage is %+v", c)
	}
	for taken, want := range map[Taken]int64{
		{"planning", "GO", "working"}: 1, {"working", "FIX", "planning"}: 1, {"planning", "$force", "done"}: 1,
	} {
		if got := c.Transitions[taken]; got != want {
			t.Errorf("%v was taken %d times", taken, got)
		}
	}
	if c.UnderWay != 1 {
		t.Errorf("under way are %d", c.UnderWay)
	}
	apply(t, b, 5, &eventv1.Event{Entity: "run", EntityId: "run_1", Type: "migrated", Payload: &eventv1.Event_RunMigrated{
		RunMigrated: &eventv1.RunMigrated{From: "done", To: "over", FromVersion: 3, ToVersion: 4},
	}})
	if old, now := b.CoverageOf("fix", 3), b.CoverageOf("fix", 4); old.UnderWay != 0 || now.UnderWay != 1 || now.Entries["over"] != 1 {
		t.Errorf("after a move: %+v, %+v", old, now)
	}
	for range 2 { // an event may come twice
		apply(t, b, 5, &eventv1.Event{Entity: "run", EntityId: "run_1", Type: "ended", Payload: &eventv1.Event_RunEnded{RunEnded: &eventv1.RunEnded{}}})
	}
	if c := b.CoverageOf("fix", 3); c.UnderWay != 0 || c.Runs != 1 {
		t.Errorf("after the end: %+v", c)
	}
	if other := b.CoverageOf("fix", 2); other.Runs != 0 {
		t.Errorf("another version has %+v", other)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	apply(t, b, 0, started("run_1"))
	apply(t, b, time.Second, decided("run_1", "DENY", "Edit"))
	apply(t, b, 2*time.Second, transitioned("run_1", "planning", "GO", "working"))
	apply(t, b, 3*time.Second, &eventv1.Event{Entity: "approval", EntityId: "apr_1", Type: "voted", Actor: "ann", Payload: &eventv1.Event_ApprovalChanged{
		ApprovalChanged: &eventv1.ApprovalChanged{By: "ann", Approve: true},
	}})
	people := b.People()
	if len(people) != 2 || people[0].Name != "ann" || people[0].Approvals != 1 {
		t.Fatalf("people are %+v", people)
	}
	if agent := people[1]; agent.Deny != 1 || agent.Transitions != 1 || agent.Changes != 1 || !agent.LastAt.Equal(noon.Add(2*time.Second)) {
		t.Errorf("the agent is %+v", agent)
	}
}

func TestIncidents(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	for i := range mostIncidents + 5 {
		apply(t, b, time.Duration(i)*time.Second, &eventv1.Event{
			Entity: "toolcall", EntityId: "run_1", Type: "unaccounted",
			Payload: &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{
				CallId: fmt.Sprintf("call_%d", i), Tool: "Bash", Unaccounted: true,
			}},
		})
	}
	got := b.Incidents()
	if len(got) != mostIncidents || got[0].CallID != fmt.Sprintf("call_%d", mostIncidents+4) || got[0].RunID != "run_1" {
		t.Errorf("%d incidents, the first %+v", len(got), got[0])
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	for i := range mostLoops + 10 {
		e := decided(fmt.Sprintf("run_%d", i), "DENY", "Edit")
		e.Actor = fmt.Sprintf("agent-%d", i)
		apply(t, b, time.Duration(i), e)
	}
	if len(b.loops) > mostLoops || len(b.loops) < mostLoops/2 {
		t.Errorf("%d loops are kept", len(b.loops))
	}
	if len(b.people) > mostNames {
		t.Errorf("%d people are kept", len(b.people))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"namespace":"default","entity":"run","toolcall_decided":{"decision":"ALLOW"}}`))
	f.Add([]byte(`{"time":"0001-01-01T00:00:00Z","toolcall_decided":{}}`))
	f.Add([]byte(`{"run_started":{"workflow_version":"3"}}`))
	f.Fuzz(func(_ *testing.T, payload []byte) {
		if e, err := decode(payload); err == nil {
			NewBoard().Apply(e)
		}
	})
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	if d := b.Delivery(); d != nil {
		t.Fatalf("without events it is %+v", d)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.Stored(at, at.Add(40*time.Millisecond))
	b.Stored(at.Add(-time.Second), at.Add(time.Hour)) // an older one that comes late says nothing of now
	if d := b.Delivery(); d.LagMs != 40 || !d.LastAt.Equal(at) {
		t.Errorf("it is %+v", d)
	}
	b.Stored(at.Add(time.Second), at) // clocks differ
	if d := b.Delivery(); d.LagMs != 0 {
		t.Errorf("it is %+v", d)
	}
}

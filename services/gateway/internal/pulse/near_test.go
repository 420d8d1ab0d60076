package pulse

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
)

func limited(run string, limits ...*eventv1.LimitUsed) *eventv1.Event {
	e := decided(run, "ALLOW", "Edit")
	e.GetToolcallDecided().Limits = limits
	return e
}

func TestNearLimits(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	calls := func(used int64, until time.Duration) *eventv1.LimitUsed {
		return &eventv1.LimitUsed{
			Policy: "gate", Rule: "/allow/0", Measure: "calls", Scope: "policy", Used: used, Max: 10, Until: timestamppb.New(noon.Add(until)),
		}
	}
	iterations := &eventv1.LimitUsed{Measure: "iterations", Scope: "entry", Subject: "1", Used: 5, Max: 5}
	apply(t, b, 0, started("run_1"))
	apply(t, b, 1, limited("run_1", calls(9, time.Hour), iterations))
	apply(t, b, 2, limited("run_2", iterations))
	apply(t, b, 3, limited("run_2", calls(10, time.Hour)))
	near := b.NearLimits(noon, 10)
	got := ""
	for _, n := range near {
		got += fmt.Sprintf("%s %s %s %s %d/%d %.1f %s; ", n.Kind, n.RunID, n.Workflow, n.Measure, n.Used, n.Max, n.Part, n.State)
	}
	if want := "policy run_2  calls 10/10 1.0 planning; state run_2  iterations 5/5 1.0 planning; state run_1 fix iterations 5/5 1.0 planning; "; got != want {
		t.Errorf("near are %s, want %s", got, want)
	}
	if some := b.NearLimits(noon, 1); len(some) != 1 {
		t.Errorf("at most one, but %d", len(some))
	}
	apply(t, b, 4, transitioned("run_1", "planning", "GO", "working")) // leaves the state
	apply(t, b, 5, &eventv1.Event{Entity: "run", EntityId: "run_2", Type: "completed", Payload: &eventv1.Event_RunEnded{RunEnded: &eventv1.RunEnded{}}})
	if near := b.NearLimits(noon, 10); len(near) != 1 || near[0].Policy != "gate" {
		t.Errorf("after the states were left there are %+v", near)
	}
	if near := b.NearLimits(noon.Add(time.Hour), 10); len(near) != 0 {
		t.Errorf("after the window there are %+v", near)
	}
}

func TestNearLimitsAreBounded(t *testing.T) {
	t.Parallel()
	b := NewBoard()
	for i := range mostNear + 10 {
		b.Apply(&Event{EntityID: fmt.Sprint(i), Time: noon.Add(time.Duration(i)), Decided: &Decided{Limits: []Limit{{Scope: "entry", Used: 9, Max: 10}}}})
	}
	if len(b.near) > mostNear || len(b.near) < mostNear/2-20 {
		t.Errorf("%d are kept", len(b.near))
	}
}

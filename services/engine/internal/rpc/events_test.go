package rpc

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Every event of the core is announced, in the payload that subscribers of its type
// read.
func TestEventsHavePayloads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, want string }{
		{workflow.EventTransitioned, "run.run_1.transitioned"},
		{workflow.EventWarned, "run.run_1.warned"},
		{workflow.EventBlocked, "run.run_1.blocked"},
		{workflow.EventParked, "run.run_1.approval.parked"},
		{workflow.EventApprovalRejected, "run.run_1.approval.rejected"},
		{workflow.EventApprovalExpired, "run.run_1.approval.expired"},
		{workflow.EventApprovalCancelled, "run.run_1.approval.cancelled"},
		{workflow.EventStale, "run.run_1.approval.stale"},
	} {
		run := &workflow.Run{ID: "run_1", Version: 3, Status: workflow.Blocked, Lane: workflow.Lane{State: "$blocked"}}
		ev := &workflow.Event{Type: tt.kind, Event: "SHIP", From: "a", To: "b", ApprovalID: "apr_1", Reason: "why", Guards: []string{"g"}}
		event, err := (Announcer{}).RunEvent("default", "amir", run, ev, time.Now())
		if err != nil || event.Subject != "interlock.default."+tt.want {
			t.Errorf("%s: %s, %v", tt.kind, event.Subject, err)
			continue
		}
		got, err := bus.Decode(event.Payload)
		if err != nil {
			t.Fatal(err)
		}
		switch tt.kind {
		case workflow.EventTransitioned, workflow.EventWarned:
			if p := got.GetRunTransitioned(); p.GetEvent() != "SHIP" || p.GetTo() != "b" {
				t.Errorf("%s: %v", tt.kind, got)
			}
		case workflow.EventBlocked:
			if p := got.GetRunEnded(); p.GetStatus() != "BLOCKED" || p.GetState() != "$blocked" {
				t.Errorf("%s: %v", tt.kind, got)
			}
		default:
			p := got.GetRunApprovalChanged()
			if p.GetApprovalId() != "apr_1" || p.GetEvent() != "SHIP" || p.GetFrom() != "a" || p.GetTo() != "b" || p.GetReason() != "why" || len(p.GetGuards()) != 1 {
				t.Errorf("%s: %v", tt.kind, got)
			}
		}
	}
	if _, err := (Announcer{}).RunEvent("default", "amir", &workflow.Run{ID: "run_1"}, &workflow.Event{Type: "unheard of"}, time.Now()); err == nil {
		t.Error("an unknown event is announced")
	}
}

package demo

import (
	"fmt"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
)

// detail returns the interesting part of an event, in a few words.
func detail(ev *eventv1.Event) string {
	switch p := ev.GetPayload().(type) {
	case *eventv1.Event_RunTransitioned:
		return fmt.Sprintf("%s: %s -> %s", p.RunTransitioned.GetEvent(), p.RunTransitioned.GetFrom(), p.RunTransitioned.GetTo())
	case *eventv1.Event_RunRejected:
		return fmt.Sprintf("%s: %s %v", p.RunRejected.GetEvent(), p.RunRejected.GetCode(), p.RunRejected.GetGuards())
	case *eventv1.Event_RunEnded:
		return p.RunEnded.GetStatus()
	case *eventv1.Event_ToolcallDecided:
		return fmt.Sprintf("%s in %s %s", p.ToolcallDecided.GetTool(), p.ToolcallDecided.GetState(), p.ToolcallDecided.GetCode())
	default:
		return ""
	}
}

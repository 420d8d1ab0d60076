package app

import (
	"slices"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// firstLook is when the timer looks after an approval first: when no call that was
// made at once is under way any more.
const firstLook = 5 * time.Second

// approvalTimer returns the timer that looks after an approval.
func approvalTimer(run store.Key, approvalID string) store.TimerID {
	return store.TimerID{Key: run, Name: timerPrefix + approvalID}
}

const timerPrefix = "approval/"

// newTimer looks after an approval from due on. since is when it was asked for.
func newTimer(run store.Key, approvalID string, since, due time.Time) store.Timer {
	return store.Timer{
		TimerID: approvalTimer(run, approvalID), Due: due, Data: strconv.AppendInt(nil, since.UnixNano(), 10),
	}
}

// timers returns the timers set by the commit of a step: for the approvals that it has
// parked, and, when the run is resumed, for those granted in the meantime.
func (s *step) timers(now time.Time) []store.Timer {
	var timers []store.Timer
	before, resumed := s.waited(), s.before != nil && s.before.Status.Stopped() && !s.out.Run.Status.Stopped()
	for _, id := range s.out.Run.Approvals() {
		at, _ := s.out.Run.Asking(id)
		switch parked := !slices.Contains(before, id); {
		case parked:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now.Add(firstLook)))
		case resumed:
			timers = append(timers, newTimer(s.key, id, at.Approval.Since, now))
		}
	}
	return timers
}

// waited returns the approvals that the run waited for before the step.
func (s *step) waited() []string {
	if s.before == nil {
		return nil
	}
	return s.before.Approvals()
}

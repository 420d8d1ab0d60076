package ledger

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const (
	// KindClock is of the timers of runs that the engine fires (S25). There is no record of that kind.
	KindClock = "clock"
	// KindActivity is of timers that are never fired: each is due when its run has made progress last, so that the silent runs
	// are listed by Due.
	KindActivity = "activity"
)

// The names of timers of a run.
const (
	dueName      = "due"
	silentPrefix = "silent/"
	activityName = "last"
)

// DueTimer returns the timer of what clocks make due next in a run.
func DueTimer(run store.Key, due time.Time) store.Timer {
	return store.Timer{TimerID: DueTimerID(run), Due: due}
}

// DueTimerID names that timer.
func DueTimerID(run store.Key) store.TimerID {
	run.Kind = KindClock
	return store.TimerID{Key: run, Name: dueName}
}

// SilenceTimerID names the timer of the silence of a branch of a run.
func SilenceTimerID(run store.Key, branch string) store.TimerID {
	run.Kind = KindClock
	return store.TimerID{Key: run, Name: silentPrefix + branch}
}

// parked is how far the timer of a silence is put off while its clock stands still.
const parked = 100 * 365 * 24 * time.Hour

// ParkSilence lets the timer of a silence stand still.
func ParkSilence(t store.Timer, now time.Time) store.Timer {
	t.Due = t.Due.Add(parked)
	t.Data = append(append(slices.Clip(t.Data), ' '), instant(now)...)
	return t
}

// ResumeSilence lets it run on, with the time that was left, and a second at least; false of one that does not stand still.
func ResumeSilence(t store.Timer, now time.Time) (store.Timer, bool) {
	since, stopped, stands := strings.Cut(string(t.Data), " ")
	if !stands {
		return t, false
	}
	stood := max(0, now.Sub(instantIn(stopped)))
	t.Due = t.Due.Add(stood - parked)
	if soonest := now.Add(time.Second); t.Due.Before(soonest) {
		t.Due = soonest
	}
	t.Data = []byte(instant(instantIn(since).Add(stood)))
	return t, true
}

// SilentBranch returns the branch of a timer of silence, and since when it makes no progress; false of any other timer.
func SilentBranch(t store.Timer) (branch string, since time.Time, ok bool) {
	if len(t.Name) < len(silentPrefix) || t.Name[:len(silentPrefix)] != silentPrefix {
		return "", since, false
	}
	since = instantIn(string(t.Data))
	return t.Name[len(silentPrefix):], since, !since.IsZero()
}

// ActivityTimer returns the note that a run has made progress, to the second: so a busy run is noted once in each.
func ActivityTimer(run store.Key, now time.Time) store.Timer {
	return store.Timer{TimerID: ActivityTimerID(run), Due: now.Truncate(time.Second)}
}

// ActivityTimerID names that note.
func ActivityTimerID(run store.Key) store.TimerID {
	run.Kind = KindActivity
	return store.TimerID{Key: run, Name: activityName}
}

// Progress returns the timers that note the progress of a branch (S25.5). open says that a call is open in it from now on.
func Progress(run store.Key, branch string, stale *workflow.Stale, open bool, now time.Time) []store.Timer {
	timers := []store.Timer{ActivityTimer(run, now)}
	if stale != nil {
		timers = append(timers, SilenceTimer(run, branch, stale, open, now))
	}
	return timers
}

// SilenceTimer returns the timer of the silence of a branch that makes progress now.
func SilenceTimer(run store.Key, branch string, stale *workflow.Stale, open bool, now time.Time) store.Timer {
	wait := stale.After
	if open {
		wait = max(wait, stale.CallLimit)
	}
	return store.Timer{TimerID: SilenceTimerID(run, branch), Due: now.Add(wait), Data: []byte(instant(now))}
}

// ClockWatch knows of gaps in which no replica looked at the clocks.
type ClockWatch struct {
	// Gap is the end of the last one; Restored is when the store was restored from a backup. Zero for none.
	Gap, Restored time.Time
}

// kindClockWatch is of a timer that is never fired: it is due when a replica looked last.
const kindClockWatch = "clockwatch"

// ClockWatchID names the timer of the watch.
func ClockWatchID() store.TimerID {
	return store.TimerID{Key: store.Key{Namespace: "_deployment", Kind: kindClockWatch, ID: "all"}, Name: "seen"}
}

// Timer returns the timer that notes the watch, and that a replica looks now.
func (w ClockWatch) Timer(now time.Time) store.Timer {
	return store.Timer{TimerID: ClockWatchID(), Due: now, Data: []byte(instant(w.Gap) + " " + instant(w.Restored))}
}

// ReadClockWatch reads that timer.
func ReadClockWatch(t store.Timer) (w ClockWatch) {
	gap, restored, _ := strings.Cut(string(t.Data), " ")
	return ClockWatch{Gap: instantIn(gap), Restored: instantIn(restored)}
}

// instant writes a time as nanoseconds since 1970, and 0 for none.
func instant(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

func instantIn(text string) time.Time {
	nanos, err := strconv.ParseInt(text, 10, 64)
	if err != nil || nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

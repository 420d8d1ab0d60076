package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// S10.9: a session ends itself and those below it, no others; nothing is created
// below one that has ended; agents do not choose whose values they read.
func TestRightsWithinATree(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.state("root", anything, `{}`)
		r.session(app.NewSession{Name: "child", Parent: "root"})
		r.session(app.NewSession{Name: "sibling", Parent: "root"})
		end := func(as, name string) error {
			_, _, err := r.StopSession(r.Context(), agent(as), name, session.Stop{End: true}, "")
			return err
		}
		r.refused(end("child", "root"), fault.PermissionDenied)
		r.refused(end("child", "sibling"), fault.PermissionDenied)
		if err := end("root", "sibling"); err != nil {
			r.Errorf("a parent ends its child: %v", err)
		}
		if err := end("child", "child"); err != nil {
			r.Errorf("a session ends itself: %v", err)
		}
		_, _, err := r.create(app.NewSession{Name: "late", Parent: "child"})
		r.refused(err, fault.SessionEnded)
		_, _, err = r.CreateSession(r.Context(), agent(""), app.NewSession{Name: "spy", Subject: "alice"})
		r.refused(err, fault.PermissionDenied)
		spy, _, err := r.CreateSession(r.Context(), agent(""), app.NewSession{Name: "alice"})
		if err != nil || spy.Subject == "alice" {
			r.Errorf("an agent's root has the subject of its own name: %+v, %v", spy, err)
		}
	})
}

// S6.5: a key that comes back with another request is refused, and nothing dropped.
func TestKeysOfStopAndResume(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "s"})
		resume := func(prompt string) error {
			_, err := r.ResumeSession(r.Context(), operator, "s", prompt, "k")
			return err
		}
		if err := resume("one"); err != nil {
			r.Fatal(err)
		}
		if err := resume("one"); err != nil {
			r.Errorf("the same again: %v", err)
		}
		r.refused(resume("two"), fault.IdempotencyMismatch)
		stop := func(end bool) error {
			_, _, err := r.StopSession(r.Context(), operator, "s", session.Stop{End: end}, "k")
			return err
		}
		if err := stop(false); err != nil {
			r.Fatal(err)
		}
		r.refused(stop(true), fault.IdempotencyMismatch)
	})
}

// S11.2: a patch that writes nothing is a version, and no report.
func TestAnEmptyPatchIsNoReport(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.family()
		r.session(app.NewSession{Name: "empty", Parent: "root"})
		r.stop("empty", session.Stop{})
		r.update(agent("empty"), patch("", `[]`))
		r.is("empty", "FINISHED PENDING 1 STATE_UPDATE READY")
		r.update(agent("empty"), patch("", `[{"op":"add","path":"/report","value":1}]`))
		r.is("empty", "FINISHED COMPLETED 1")
	})
}

// A version of the future can not be waited for: it may mean another state.
func TestWatchFromTheFuture(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.refused(r.Watch(r.Context(), operator, id, 2, func(string, *app.Change) error { return nil }), fault.InvalidRequest)
	})
}

// S10.5: a repeat with its key takes the lock anew, and nobody else's does.
func TestLockKeys(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		first, err := r.Lock(r.Context(), operator, id, "h", time.Minute, 0, "k")
		if err != nil {
			r.Fatal(err)
		}
		again, err := r.Lock(r.Context(), operator, id, "h", time.Minute, 0, "k")
		if err != nil || again.Token <= first.Token {
			r.Errorf("the repeat: %+v, %v", again, err)
		}
		_, err = r.Lock(r.Context(), operator, id, "h", time.Minute, 0, "other")
		r.refused(err, fault.Locked)
	})
}

// S10.8: a state whose retention can not end, for it is locked, is tried again later,
// not at once and for ever.
func TestATimerThatFailsIsPutOff(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{Retention: time.Minute}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.stop("root", session.Stop{})
		r.sweep()
		if _, err := r.Lock(r.Context(), operator, id, "h", time.Hour, 0, ""); err != nil {
			r.Fatal(err)
		}
		r.advance(2 * time.Minute)
		r.read(id)
		if due, err := r.store.Due(r.Context(), r.clock.Now(), 10, app.Swept...); err != nil || len(due) > 0 {
			r.Errorf("due again at once: %v, %v", due, err)
		}
		r.advance(2 * time.Hour)
		r.gone(id)
	})
}

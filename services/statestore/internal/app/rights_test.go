package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S10.9: a session ends itself and those below it, no others; nothing is created
// below one that has ended; agents do not choose whose values they read.
func TestRightsWithinATree(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.state("root", anything, `{}`)
		r.session(opening.Request{Name: "child", Parent: "root"})
		r.session(opening.Request{Name: "sibling", Parent: "root"})
		end := func(as, name string) error {
			_, _, err := r.Sessions.Stop(r.Context(), agent(as), name, session.Stop{End: true}, "")
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
		_, _, err := r.create(opening.Request{Name: "late", Parent: "child"})
		r.refused(err, fault.SessionEnded)
		_, _, err = r.Opener.Create(r.Context(), agent(""), opening.Request{Name: "spy", Subject: "alice"})
		r.refused(err, fault.PermissionDenied)
		spy, _, err := r.Opener.Create(r.Context(), agent(""), opening.Request{Name: "alice"})
		if err != nil || spy.Subject == "alice" {
			r.Errorf("an agent's root has the subject of its own name: %+v, %v", spy, err)
		}
	})
}

// A token that is bound to a session makes that session and those below it, under names
// that no other token is bound to, and stops and resumes no others.
func TestBoundTokens(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		bound := func(session string) ports.Caller {
			caller := agent(session)
			caller.Principal.Session = session
			return caller
		}
		create := func(as string, req opening.Request) error {
			_, _, err := r.Opener.Create(r.Context(), bound(as), req)
			return err
		}
		allowed := func(what string, err error) {
			if err != nil {
				r.Errorf("%s: %v", what, err)
			}
		}
		denied := func(what string, err error) {
			if fault.ReasonOf(err) != fault.PermissionDenied {
				r.Errorf("%s: %v", what, err)
			}
		}
		for range 2 {
			allowed("itself", create("mine", opening.Request{Name: "mine"}))
		}
		denied("itself below another's", create("early", opening.Request{Name: "early", Parent: "mine"}))
		denied("before it is there", create("early", opening.Request{Name: "early/a", Parent: "mine"}))
		allowed("itself, without a name", create("mine", opening.Request{}))
		allowed("itself, by its id", create("by id", opening.Request{ID: "by id"}))
		allowed("itself, with its state", func() error {
			r.schema("any", anything)
			_, err := r.Creator.Create(r.Context(), bound("stated"), writes.NewState{Schema: "any", Data: []byte(`{}`)})
			return err
		}())
		r.session(opening.Request{Name: "root"})
		r.session(opening.Request{ID: "x", Name: "team", Parent: "root"})
		r.session(opening.Request{Name: "sibling", Parent: "root"})
		for what, req := range map[string]opening.Request{
			"another's root":           {Name: "victim"},
			"another's id":             {Name: "x", ID: "victim"},
			"an id of its own as well": {Name: "x", ID: "x/1"},
			"another root":             {Name: "x/root"},
			"another's name":           {Name: "victim", Parent: "x"},
			"another's id below":       {Name: "x/1", ID: "victim", Parent: "x"},
			"a name alike":             {Name: "xx/1", Parent: "x"},
			"a sibling's":              {Name: "sibling/1", Parent: "x"},
			"below a sibling":          {Name: "x/1", Parent: "sibling"},
			"below the root":           {Parent: "root"},
		} {
			denied(what, create("x", req))
		}
		if _, err := r.Names.Find(r.Context(), "default", "victim"); fault.ReasonOf(err) != fault.NotFound {
			r.Errorf("there is another's session: %v", err)
		}
		allowed("below itself", create("x", opening.Request{Name: "x/1", Parent: "x"}))
		allowed("by its other name", create("x", opening.Request{Name: "team/1", ID: "x/one", Parent: "team"}))
		allowed("without a name", create("x", opening.Request{Parent: "x"}))
		allowed("below what it has made", create("x", opening.Request{Name: "x/1/1", Parent: "x/1"}))
		allowed("itself again, below its parent", create("sibling", opening.Request{Name: "sibling", Parent: "root"}))

		stop := func(as, name string, end bool) error {
			_, _, err := r.Sessions.Stop(r.Context(), bound(as), name, session.Stop{End: end, InPlace: true}, "")
			return err
		}
		resume := func(as, name string) error {
			_, err := r.Sessions.Resume(r.Context(), bound(as), name, "", "")
			return err
		}
		for _, name := range []string{"root", "sibling", "mine"} {
			denied("stop "+name, stop("x", name, false))
			denied("end "+name, stop("x", name, true))
			denied("resume "+name, resume("x", name))
		}
		denied("stop what is above", stop("x/1", "x", false))
		for _, name := range []string{"x/1/1", "x"} {
			allowed("stop "+name, stop("x", name, false))
			allowed("resume "+name, resume("x", name))
			allowed("end "+name, stop("x", name, true))
		}
		if _, _, err := r.Sessions.Stop(r.Context(), agent("sibling"), "root", session.Stop{}, ""); err != nil {
			r.Errorf("one that is not bound: %v", err)
		}
	})
}

// S6.5: a key that comes back with another request is refused, and nothing dropped.
func TestKeysOfStopAndResume(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "s"})
		resume := func(prompt string) error {
			_, err := r.Sessions.Resume(r.Context(), operator, "s", prompt, "k")
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
			_, _, err := r.Sessions.Stop(r.Context(), operator, "s", session.Stop{End: end}, "k")
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
	everywhere(t, ports.Config{}, func(r *rig) {
		r.family()
		r.session(opening.Request{Name: "empty", Parent: "root"})
		r.stop("empty", session.Stop{})
		r.update(agent("empty"), patch("", `[]`))
		r.is("empty", "FINISHED PENDING 1 STATE_UPDATE READY")
		r.update(agent("empty"), patch("", `[{"op":"add","path":"/report","value":1}]`))
		r.is("empty", "FINISHED COMPLETED 1")
	})
}

// A version of the future cannot be waited for: it may mean another state.
func TestWatchFromTheFuture(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.refused(r.States.Watch(r.Context(), operator, id, 2, func(string, *states.Change) error { return nil }), fault.InvalidRequest)
	})
}

// S10.5: a repeat with its key takes the lock anew, and nobody else's does.
func TestLockKeys(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		first, err := r.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, "k")
		if err != nil {
			r.Fatal(err)
		}
		again, err := r.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, "k")
		if err != nil || again.Token <= first.Token {
			r.Errorf("the repeat: %+v, %v", again, err)
		}
		_, err = r.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, "other")
		r.refused(err, fault.Locked)
	})
}

// S10.8: a state whose retention cannot end, for it is locked, is tried again later,
// not at once and forever.
func TestATimerThatFailsIsPutOff(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{Retention: time.Minute}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.stop("root", session.Stop{})
		r.sweep()
		if _, err := r.Locks.Lock(r.Context(), operator, id, "h", time.Hour, 0, ""); err != nil {
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

package app_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// bound is an agent whose token is bound to a session.
func bound(session string) ports.Caller {
	caller := agent(session)
	caller.Principal.Session = session
	return caller
}

// S11.1: that a session had stopped by itself does not make the end that a session above
// sets afterwards its own to lift.
func TestAnEndFromAboveOutranksItsOwn(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]session.Stop{"stopped": {InPlace: true}, "ended": {InPlace: true, End: true}} {
		everywhere(t, ports.Config{}, func(r *rig) {
			r.session(opening.Request{Name: "root"})
			r.session(opening.Request{Name: "x", Parent: "root"})
			stop := func(as string, cmd session.Stop) {
				r.Helper()
				if _, _, err := r.Sessions.Stop(r.Context(), bound(as), "x", cmd, ""); err != nil {
					r.Fatal(err)
				}
			}
			resume := func(as string) error {
				_, err := r.Sessions.Resume(r.Context(), bound(as), "x", "", "")
				return err
			}
			stop("x", own)
			if err := resume("x"); err != nil {
				r.Errorf("%s by itself: %v", name, err)
			}
			stop("x", own)
			stop("root", session.Stop{End: true})
			stop("x", own) // again, which takes nothing back
			r.refused(resume("x"), fault.PermissionDenied)
			if err := resume("root"); err != nil {
				r.Errorf("by the one above: %v", err)
			}
		})
	}
}

// S11.1: an operator's end that comes while the agent resumes its session stands.
func TestAnEndWhileItsAgentResumes(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "x"})
		if _, _, err := r.Sessions.Stop(r.Context(), bound("x"), "x", session.Stop{InPlace: true}, ""); err != nil {
			r.Fatal(err)
		}
		late := r.before(puts(member.Kind), func() {
			if _, _, err := r.Sessions.Stop(r.Context(), operator, "x", session.Stop{End: true}, ""); err != nil {
				r.Error(err)
			}
		})
		_, err := late.Sessions.Resume(r.Context(), bound("x"), "x", "", "k")
		r.refused(err, fault.PermissionDenied)
		if m, err := r.Names.Find(r.Context(), "default", "x"); err != nil || m.Status != session.Ended {
			r.Errorf("the session is %+v, %v", m, err)
		}
	})
}

// S11.1: to resume a session takes back the ends of those above it, so an agent does that
// only where it may resume those too.
func TestAChildIsNoWayBack(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "x"})
		r.session(opening.Request{Name: "x/1", Parent: "x"})
		end := func(as ports.Caller, name string) {
			r.Helper()
			if _, _, err := r.Sessions.Stop(r.Context(), as, name, session.Stop{End: true, InPlace: true}, ""); err != nil {
				r.Fatal(err)
			}
		}
		resume := func(as ports.Caller, name string) error {
			_, err := r.Sessions.Resume(r.Context(), as, name, "", "")
			return err
		}
		end(bound("x/1"), "x/1")
		end(operator, "x")
		for _, as := range []string{"x", "x/1"} {
			r.refused(resume(bound(as), "x/1"), fault.PermissionDenied)
		}
		if m, err := r.Names.Find(r.Context(), "default", "x"); err != nil || m.Status != session.Ended {
			r.Errorf("the session is %+v, %v", m, err)
		}
		if err := resume(operator, "x/1"); err != nil {
			r.Errorf("by an operator: %v", err)
		}
		end(bound("x/1"), "x/1")
		if err := resume(operator, "x"); err != nil {
			r.Errorf("by an operator: %v", err)
		}
		end(bound("x"), "x")
		if err := resume(bound("x/1"), "x/1"); err != nil {
			r.Errorf("where each has ended by itself: %v", err)
		}
	})
}

package app_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/sessionend"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// S11.1: the commit that ends a session, or has it work again, leaves the engine a word of
// that, with a timer that is due; those below it are told of too.
func TestEndsAreLeftForTheEngine(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		words := func() map[string]bool {
			r.Helper()
			timers, err := r.store.Due(r.Context(), r.clock.Now(), 10, sessionend.Kind)
			if err != nil {
				r.Fatal(err)
			}
			said := map[string]bool{}
			for _, timer := range timers {
				record, err := r.store.Get(r.Context(), timer.Key)
				if err != nil {
					r.Fatal(err)
				}
				word, err := sessionend.Read(record)
				if err != nil || word.Cause == "" || word.ID == "" {
					r.Fatalf("%+v, %v", word, err)
				}
				said[word.Name] = word.Ended
			}
			return said
		}
		r.session(opening.Request{Name: "root"})
		if said := words(); len(said) != 0 {
			r.Errorf("a session that begins: %v", said)
		}
		r.stop("root", session.Stop{InPlace: true})
		if said := words(); len(said) != 0 {
			r.Errorf("a session that stops: %v", said)
		}
		r.stop("root", session.Stop{InPlace: true, End: true})
		if said := words(); len(said) != 1 || !said["root"] {
			r.Errorf("a session that ends: %v", said)
		}
		if _, err := r.Sessions.Resume(r.Context(), operator, "root", "", ""); err != nil {
			r.Fatal(err)
		}
		if said := words(); len(said) != 1 || said["root"] {
			r.Errorf("a session that works again: %v", said)
		}
	})
}

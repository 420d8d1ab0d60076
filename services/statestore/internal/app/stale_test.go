package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// Whatever a replica has cached, it refuses nothing that is right as things are, and
// accepts nothing that is not.
func TestStaleReplicasJudgeByWhatIs(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.schema("of root", `{"properties":{"n":{"maximum":5}}}`)
		st, err := r.Creator.Create(r.Context(), as("root"), writes.NewState{Schema: "of root", Data: []byte(`{"n":0}`)})
		if err != nil {
			r.Fatal(err)
		}
		id := st.Key.ID
		stale := r.replica(r.open())
		// Each step: the state is changed elsewhere, then asked of the replica that is behind.
		for i, step := range []struct {
			elsewhere writes.Update
			update    writes.Update
			reason    fault.Reason
		}{
			{merge(id, `{"n":1}`), writes.Update{StateID: id, Merge: []byte(`{"n":2}`), Expected: 3}, ""},
			{merge(id, `{"n":3}`), writes.Update{StateID: id, Merge: []byte(`{"n":2}`), Expected: 4}, fault.VersionConflict},
			{merge(id, `{"m":1}`), patch(id, `[{"op":"test","path":"/m","value":1}]`), ""},
			{merge(id, `{"m":2}`), patch(id, `[{"op":"test","path":"/m","value":1}]`), fault.PatchFailed},
			{merge(id, `{"l":[1]}`), patch(id, `[{"op":"remove","path":"/l/0"}]`), ""},
			{replace(id, `{"n":4}`), patch(id, `[{"op":"remove","path":"/l"}]`), fault.PatchFailed},
			{writes.Update{StateID: id, Migrate: true}, merge(id, `{"n":6}`), ""}, // the newer schema admits it
			{merge(id, `{"n":7}`), writes.Update{StateID: id, Migrate: true}, fault.FailedPrecondition},
		} {
			if step.elsewhere.Migrate {
				r.schema("of root", `{"properties":{"n":{"maximum":9}}}`)
			}
			if _, err := stale.Editor.Update(r.Context(), operator, patch(id, `[]`)); err != nil {
				r.Fatal(err)
			} // and that version is in its cache
			before := r.update(operator, step.elsewhere)
			if step.update.Expected != 0 {
				step.update.Expected = before.Version
				if step.reason != "" {
					step.update.Expected--
				}
			}
			_, err := stale.Editor.Update(r.Context(), operator, step.update)
			if fault.ReasonOf(err) != step.reason {
				r.Errorf("step %d: %v, want %q", i, err, step.reason)
			}
		}
	})
}

func TestStaleSessions(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		stale := r.replica(r.open())
		r.session(opening.Request{Name: "root"})
		_, _, err := stale.States.Get(r.Context(), agent("root"), "", 0, nil)
		r.refused(err, fault.NotFound) // and the session is in its cache, without a state

		first := r.state("root", anything, `{"first":1}`)
		if st, err := stale.Editor.Update(r.Context(), agent("root"), merge("", `{"a":1}`)); err != nil || st.Key != first.Key {
			r.Errorf("the state of the session: %+v, %v", st, err)
		}
		// Another one in its place.
		if err := r.Remover.Delete(r.Context(), operator, first.Key.ID, 0, true); err != nil {
			r.Fatal(err)
		}
		second := r.state("root", anything, `{"second":1}`)
		if st, err := stale.Editor.Update(r.Context(), agent("root"), merge("", `{"b":1}`)); err != nil || st.Key != second.Key {
			r.Errorf("the next state of the session: %+v, %v", st, err)
		}
		if st, _, err := stale.States.Get(r.Context(), agent("root"), "", 0, nil); err != nil || st.Data.String() != `{"second":1,"b":1}` {
			r.Errorf("it reads %+v, %v", st, err)
		}

		// Ended and resumed elsewhere.
		for range 2 {
			r.stop("root", session.Stop{})
			_, err = stale.Locks.Lock(r.Context(), agent("root"), second.Key.ID, "h", time.Minute, 0, "")
			r.refused(err, fault.SessionEnded)
			_, err = stale.Editor.Update(r.Context(), agent("root"), merge("", `{"c":1}`))
			r.refused(err, fault.SessionEnded)
			if _, err := r.Sessions.Resume(r.Context(), operator, "root", "", ""); err != nil {
				r.Fatal(err)
			}
			lease, err := stale.Locks.Lock(r.Context(), agent("root"), second.Key.ID, "h", time.Minute, 0, "")
			if err != nil {
				r.Errorf("a lock after it was resumed: %v", err)
			}
			if err := stale.Locks.Unlock(r.Context(), agent("root"), second.Key.ID, lease.Token); err != nil {
				r.Error(err)
			}
			if _, err := stale.Editor.Update(r.Context(), agent("root"), merge("", `{"d":1}`)); err != nil {
				r.Errorf("after it was resumed: %v", err)
			}
		}
	})
}

// A refusal that rests on an old version is not told because a lock refuses the rest.
func TestStaleRefusalUnderALock(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		l := r.line(id) // its replica has version 2 in its cache, once that is committed
		lease, err := r.Locks.Lock(r.Context(), operator, id, "holder", time.Hour, 0, "")
		if err != nil {
			r.Fatal(err)
		}
		// Version 2 is lost to the holder of the lock; the one that is held up is refused.
		st := r.update(operator, writes.Update{StateID: id, Merge: []byte(`{"a":1}`), Token: lease.Token})
		right := l.queue(r.Context(), operator, writes.Update{StateID: id, Merge: []byte(`{}`), Expected: st.Version})
		plain := l.queue(r.Context(), operator, merge(id, `{}`))
		wrong := l.queue(r.Context(), operator, writes.Update{StateID: id, Merge: []byte(`{}`), Expected: st.Version + 1})
		l.held = fault.Locked
		l.finish()
		r.refused((<-right).err, fault.Locked)
		r.refused((<-plain).err, fault.Locked)
		r.refused((<-wrong).err, fault.VersionConflict)
		r.unchanged(st)
	})
}

package app_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S10.7: a state moves to a newer version of its schema when its data, patched if
// asked for, conform to that; otherwise nothing changes.
func TestMigration(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", `{"required":["old"]}`, `{"old":1}`)
		id := st.Key.ID
		migrate := func(version int64, ops string) writes.Update {
			u := writes.Update{StateID: id, Migrate: true, SchemaVersion: version}
			if ops != "" {
				u.Patch = []byte(ops)
			}
			return u
		}
		refused := func(u writes.Update, reason fault.Reason) {
			r.Helper()
			_, err := r.Editor.Update(r.Context(), operator, u)
			r.refused(err, reason)
			r.unchanged(st)
			if got := r.read(id); got.SchemaVersion != st.SchemaVersion || got.SchemaID != st.SchemaID {
				r.Errorf("it conforms to version %d now", got.SchemaVersion)
			}
		}
		const rename = `[{"op":"move","from":"/old","path":"/new"}]`
		refused(migrate(0, ""), fault.FailedPrecondition) // it conforms to the latest
		second := r.schema("of root", `{"required":["new"],"properties":{"new":{"maximum":5}}}`)
		r.schema("of root", `{"required":["newer"]}`)
		refused(migrate(1, ""), fault.FailedPrecondition)
		refused(migrate(4, ""), fault.NotFound)
		refused(migrate(2, ""), fault.SchemaViolation)
		refused(migrate(0, rename), fault.SchemaViolation) // of the latest
		refused(migrate(2, `[{"op":"move","from":"/none","path":"/new"}]`), fault.PatchFailed)
		refused(migrate(2, `{`), fault.InvalidJSON)
		u := migrate(2, rename)
		u.Expected = 2
		refused(u, fault.VersionConflict)
		refused(merge(id, `{"old":null}`), fault.SchemaViolation) // by the old one

		u.Expected, u.Key = 1, "k"
		for range 2 { // and once only
			var err error
			if st, err = r.Editor.Update(r.Context(), agent("root"), u); err != nil {
				r.Fatal(err)
			}
			if st.Version != 2 || st.SchemaVersion != 2 || st.SchemaID != second.ID || st.Data.String() != `{"new":1}` {
				r.Errorf("migrated: %+v", st)
			}
		}
		r.unchanged(st)
		if old := r.readAt(id, 1); old.SchemaVersion != 1 || old.Data.String() != `{"old":1}` {
			r.Errorf("version 1 is %+v", old)
		}
		changes, _, err := r.States.History(r.Context(), operator, id, 1, 10)
		if err != nil || len(changes) != 1 || changes[0].Type != states.Migrated || changes[0].SchemaVersion != 2 || string(changes[0].Patch) != rename {
			r.Errorf("the history is %+v, %v", changes, err)
		}
		refused(migrate(2, ""), fault.FailedPrecondition)
		refused(merge(id, `{"new":6}`), fault.SchemaViolation) // by the new one

		// In one commit with what comes before and after: each is judged by the schema of then.
		l := r.line(id)
		before := l.queue(r.Context(), operator, merge(id, `{"new":6}`))
		then := l.queue(r.Context(), operator, migrate(0, `[{"op":"add","path":"/newer","value":1}]`))
		after := l.queue(r.Context(), operator, merge(id, `{"new":6}`))
		last := l.queue(r.Context(), operator, merge(id, `{"newer":null}`))
		l.finish()
		r.refused((<-before).err, fault.SchemaViolation)
		r.refused((<-last).err, fault.SchemaViolation)
		if got := <-then; got.err != nil || got.state.SchemaVersion != 3 {
			r.Errorf("the migration: %+v, %v", got.state, got.err)
		}
		if got := <-after; got.err != nil || got.state.Data.String() != `{"new":6,"held":1,"newer":1}` || got.state.SchemaVersion != 3 {
			r.Errorf("after it: %+v, %v", got.state, got.err)
		}
		if l.commits != 2 {
			r.Errorf("%d commits", l.commits)
		}
	})
}

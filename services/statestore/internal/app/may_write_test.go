package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// guarded says who writes each member of a state.
const guarded = `{"properties":{
	"by_session":{"x-interlock-writers":["session:lead/rev-*"]},
	"by_role":{"x-interlock-writers":["role:operator"]},
	"by_human":{"x-interlock-writers":["source:human"]},
	"by_state":{"x-interlock-writers":["state:reviewing","session:boss"]},
	"by_flow":{"x-interlock-writers":["state:gate/reviewing","state:coding/gate"]},"by_another":{"x-interlock-writers":["state:other/reviewing"]},
	"frozen":{"x-interlock-writers":[]},
	"n":{"type":"integer"}}}`

func set(name, value string) writes.Update {
	return writes.Update{Patch: []byte(`[{"op":"add","path":"/` + name + `","value":` + value + `}]`)}
}

// without is an object without a member, as JSON.
func without(v document.Value, name string) string {
	var members []document.Member
	for member, value := range v.Members() {
		if member != name {
			members = append(members, document.Member{Name: member, Value: value})
		}
	}
	return document.ObjectValue(members).String()
}

// drives binds a session to a run that is in a state.
func (r *rig) drives(session, run, state string) {
	r.Helper()
	for key, data := range map[store.Key]string{
		ledger.BindingOf("default", session): run,
		ledger.Run("default", run):           fmt.Sprintf(`{"id":%q,"workflow":"gate","status":"RUNNING","state":%q}`, run, state),
	} {
		if _, err := r.store.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, Data: []byte(data)}}}); err != nil {
			r.Fatal(err)
		}
	}
}

// Who may write, by each kind of writer and each way of changing a state (S18.2).
func TestMayWrite(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", guarded, `{"frozen":1,"n":0}`)
		for _, name := range []string{"lead/rev-1", "lead/lint", "lead/busy"} {
			r.session(opening.Request{Name: name, Parent: "lead"})
		}
		r.drives("lead/lint", "run_1", "reviewing")
		r.drives("lead/busy", "run_2", "coding")
		tries := 0
		boundOperator := ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "bot", Role: auth.Operator, Session: "lead"}, Session: "lead"}
		runtime := ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "rt", Role: auth.Runtime}, Session: "lead/rev-1"}
		for _, c := range []struct {
			name   string
			caller ports.Caller
			may    string
		}{
			{"an agent in another session", agent("lead"), "n"},
			{"a session of the pattern", agent("lead/rev-1"), "n by_session"},
			{"a runtime in it", runtime, "n by_session"},
			{"a run in the state", agent("lead/lint"), "n by_state by_flow"},
			{"a run in another state", agent("lead/busy"), "n"},
			{"an operator", operator, "n by_role by_human"},
			{"an operator as a session", as("lead/rev-1"), "n by_role by_human by_session"},
			{"an operator's token of a session", boundOperator, "n by_role"},
		} {
			for _, field := range []string{"n", "by_session", "by_role", "by_human", "by_state", "by_flow", "by_another", "frozen"} {
				may := strings.Contains(" "+c.may+" ", " "+field+" ")
				for way, u := range map[string]writes.Update{
					"patch":   set(field, "2"),
					"merge":   {Merge: []byte(`{"` + field + `":` + fmt.Sprint(1000+tries) + `}`)},
					"replace": {},
				} {
					before := r.read(st.Key.ID)
					tries++
					if way == "replace" { // all else as it is
						u.Data = []byte(strings.TrimSuffix(without(before.Data, field), "}") + `,"` + field + `":` + fmt.Sprint(10+tries) + `}`)
					}
					u.StateID = st.Key.ID
					_, err := r.Editor.Update(r.Context(), c.caller, u)
					if may && err != nil || !may && fault.ReasonOf(err) != fault.NotAWriter {
						t.Fatalf("%s: %s of %s: %v", c.name, way, field, err)
					}
					if !may {
						r.unchanged(before)
						if e := fault.From(err); len(e.Violations) == 0 || e.Violations[0].Pointer != "/"+field || !strings.Contains(e.Message, "may write") {
							t.Errorf("%s: %s of %s: says %q %v", c.name, way, field, e.Message, e.Violations)
						}
					}
				}
			}
		}
	})
}

// The refusal comes before validation, and says who may and who asked (S18.2).
func TestNotAWriterTeaches(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", `{"properties":{"v":{"type":"string","x-interlock-writers":["session:rev-*","state:reviewing"]}}}`, `{}`)
		r.drives("lead", "run_1", "coding")
		u := set("v", "1") // which does not conform either
		u.StateID = st.Key.ID
		_, err := r.Editor.Update(r.Context(), agent("lead"), u)
		want := `the change touches /v, which only session:rev-*, state:reviewing may write; ` +
			`the role agent in session "lead" whose run of "gate" is in state "coding" asked, so no change was made. Leave it out, or let one of those write it`
		if got := r.refused(err, fault.NotAWriter).Message; got != want {
			t.Errorf("says %q", got)
		}
	})
}

// The state of a run is a condition of the commit: a run that leaves the state just before
// is in time (S18.3). Of 50 such races each ends in the only consistent way.
func TestStateMovesBeforeTheCommit(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", guarded, `{}`)
		for round := range 50 {
			r.drives("lead", "run_1", "reviewing")
			value := fmt.Sprint(round)
			leaves := r.before(puts(ports.KindState), func() {
				switch round % 3 {
				case 0: // the run leaves the state
					r.drives("lead", "run_1", "coding")
				case 1: // the session leaves the run
					r.drives("lead", "run_2", "coding")
				case 2: // nothing that matters
					r.drives("lead", "run_1", "reviewing")
				}
			})
			u := set("by_state", value)
			u.StateID = st.Key.ID
			before := r.read(st.Key.ID)
			_, err := leaves.Editor.Update(r.Context(), agent("lead"), u)
			if round%3 == 2 {
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			r.refused(err, fault.NotAWriter)
			r.unchanged(before)
		}
	})
}

// A session that drives nothing, a run that has ended and one that is gone are in no state; a
// session that is bound by its name and by its id must be in it by both (S18.3).
func TestNoState(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", guarded, `{}`)
		id := r.member("lead").ID
		try := func(value string) error {
			u := set("by_state", value)
			u.StateID = st.Key.ID
			_, err := r.Editor.Update(r.Context(), agent("lead"), u)
			return err
		}
		put := func(key store.Key, data string) {
			if _, err := r.store.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, Data: []byte(data)}}}); err != nil {
				t.Fatal(err)
			}
		}
		r.refused(try("1"), fault.NotAWriter)
		put(ledger.BindingOf("default", "lead"), "run_gone")
		r.refused(try("2"), fault.NotAWriter)
		r.drives("lead", "run_1", "reviewing")
		put(ledger.Run("default", "run_1"), `{"status":"COMPLETED","state":"reviewing"}`)
		r.refused(try("3"), fault.NotAWriter)
		r.drives("lead", "run_1", "reviewing")
		if err := try("4"); err != nil {
			t.Fatal(err)
		}
		r.drives(id, "run_2", "coding")
		r.refused(try("5"), fault.NotAWriter)
		r.drives(id, "run_2", "reviewing")
		if err := try("6"); err != nil {
			t.Fatal(err)
		}
		put(ledger.BindingOf("default", id), "ended run_2")
		if err := try("7"); err != nil {
			t.Fatal(err)
		}
		put(ledger.Run("default", "run_1"), `{`)
		r.refused(try("8"), fault.Internal)
	})
}

// There is no way round: another version of the schema, the state's end, another state, an
// old version as a whole, and writers of other values in the same commit (S18.4).
func TestNoWayRoundWriters(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", `{"properties":{"v":{"x-interlock-writers":["role:operator"]},"n":{}}}`, `{"v":1}`)
		r.schema("of lead", `{"properties":{"v":{}}}`)
		id := st.Key.ID
		_, err := r.Editor.Update(r.Context(), agent("lead"), writes.Update{StateID: id, Migrate: true})
		r.refused(err, fault.NotAWriter)
		_, err = r.Editor.Update(r.Context(), agent("lead"), writes.Update{StateID: id, Migrate: true, Patch: []byte(`[{"op":"add","path":"/n","value":1}]`)})
		r.refused(err, fault.NotAWriter)
		r.unchanged(st)

		// An old version, as a whole.
		st = r.update(operator, writes.Update{StateID: id, Data: []byte(`{"v":2}`)})
		_, err = r.Editor.Update(r.Context(), agent("lead"), writes.Update{StateID: id, Data: []byte(r.readAt(id, 1).Data.String())})
		r.refused(err, fault.NotAWriter)
		r.unchanged(st)

		// A second state of the same session, and the end of the first.
		_, err = r.Creator.Create(r.Context(), agent("lead"), writes.NewState{Schema: "of lead", Data: []byte(`{"v":9}`)})
		r.refused(err, fault.FailedPrecondition)
		r.stop("lead", session.Stop{End: true})
		r.refused(r.Remover.Delete(r.Context(), agent("lead"), id, 0, false), fault.NotAWriter)
		if err := r.Remover.Delete(r.Context(), operator, id, 0, false); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Sessions.Resume(r.Context(), operator, "lead", "continue", ""); err != nil {
			t.Fatal(err)
		}
		again, err := r.Creator.Create(r.Context(), agent("lead"), writes.NewState{Schema: "of lead", SchemaVersion: 1, Data: []byte(`{"v":9}`)})
		if err != nil || again.Key.ID == id {
			t.Fatalf("the state is %v again, %v", again, err)
		}

		// An operator moves it; the lists of the new version count for what changes with it.
		r.schema("of lead", `{"properties":{"v":{"x-interlock-writers":[]}}}`)
		_, err = r.Editor.Update(r.Context(), operator, writes.Update{StateID: again.Key.ID, Migrate: true, Patch: []byte(`[{"op":"add","path":"/v","value":3}]`)})
		r.refused(err, fault.NotAWriter)
		moved := r.update(operator, writes.Update{StateID: again.Key.ID, Migrate: true})
		if moved.SchemaVersion != 3 {
			t.Errorf("moved to version %d", moved.SchemaVersion)
		}
	})
}

// An agent moves a state to a version that begins to name writers, and deletes a state whose
// values it may write all (S18.4).
func TestWritersThatPermit(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", `{}`, `{"v":1}`)
		r.schema("of lead", `{"properties":{"v":{"x-interlock-writers":["session:lead"]}}}`)
		r.update(agent("lead"), writes.Update{StateID: st.Key.ID, Migrate: true})
		r.update(agent("lead"), writes.Update{StateID: st.Key.ID, Data: []byte(`{"v":2}`)})
		r.stop("lead", session.Stop{End: true})
		if err := r.Remover.Delete(r.Context(), agent("lead"), st.Key.ID, 0, false); err != nil {
			t.Error(err)
		}
	})
}

// Concurrent writers on two replicas, some of whom may not: nothing of theirs is ever in
// the document, and nothing of the others is lost (S18.2).
func TestWritersStorm(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", `{"properties":{"good":{"x-interlock-writers":["session:lead/rev"]},"log":{"type":"array"}}}`, `{"good":0,"log":[]}`)
		for _, name := range []string{"lead/rev", "lead/lint"} {
			r.session(opening.Request{Name: name, Parent: "lead"})
		}
		const each = 30
		var wg sync.WaitGroup
		for i, a := range r.replicas(2) {
			for _, who := range []string{"lead/rev", "lead/lint"} {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for n := range each {
						patch := fmt.Sprintf(`[{"op":"replace","path":"/good","value":%d},{"op":"add","path":"/log/-","value":%q}]`, n, who)
						_, err := a.Editor.Update(r.Context(), agent(who), writes.Update{StateID: st.Key.ID, Patch: []byte(patch)})
						if want := who == "lead/rev"; want && err != nil || !want && fault.ReasonOf(err) != fault.NotAWriter {
							t.Errorf("replica %d: %s: %v", i, who, err)
						}
					}
				}()
			}
		}
		wg.Wait()
		if got := r.read(st.Key.ID).Data.String(); strings.Count(got, "lead/rev") != 2*each || strings.Contains(got, "lint") {
			t.Errorf("the state is %.300s", got)
		}
	})
}

// Without lists nothing else is read or checked than before.
func TestUnrestrictedCostsNothing(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", counter, `{"n":1}`)
		checks := 0
		watched := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
			for _, c := range batch.Checks {
				if c.Key.Kind != member.Kind && c.Key.Kind != "halts" {
					checks++
				}
			}
			return storetest.Healthy
		})
		if _, err := watched.Editor.Update(r.Context(), agent("lead"), writes.Update{StateID: st.Key.ID, Data: []byte(`{"n":2}`)}); err != nil || checks > 0 {
			t.Errorf("%d more conditions, %v", checks, err)
		}
	})
}

// A token that is bound to a branch writes what the state of that branch permits, and not
// what that of another one does (S18.3).
func TestStateOfTheTokensBranch(t *testing.T) {
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("lead", `{"properties":{"lint":{"x-interlock-writers":["state:linting"]},"types":{"x-interlock-writers":["state:typing"]}}}`, `{}`)
		r.drives("lead", "run_1", "checking")
		if _, err := r.store.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", "run_1"), Expect: store.AnyVersion, Data: []byte(
			`{"id":"run_1","status":"RUNNING","state":"checking","session_id":"lead","fork":{"current":"lint","branches":[` +
				`{"name":"lint","status":"ACTIVE","state":"linting"},{"name":"types","status":"ACTIVE","state":"typing"}]}}`)}}}); err != nil {
			r.Fatal(err)
		}
		for branch, may := range map[string]string{"": "lint", "lint": "lint", "types": "types", "gone": ""} {
			caller := agent("lead")
			caller.Principal.Session, caller.Principal.Branch = "lead", branch
			for _, field := range []string{"lint", "types"} {
				u := set(field, "1")
				u.StateID = st.Key.ID
				_, err := r.Editor.Update(r.Context(), caller, u)
				if may == field && err != nil || may != field && fault.ReasonOf(err) != fault.NotAWriter {
					r.Errorf("with a token of branch %q, %s: %v", branch, field, err)
				}
			}
		}
	})
}

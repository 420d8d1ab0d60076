package rpc_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/rpc"
)

// desk is the services over one store, and who calls them.
type desk struct {
	*testing.T
	ctx        context.Context
	store      *sqlitestore.Store
	schemas    *rpc.Schemas
	states     *rpc.States
	sessions   *rpc.Sessions
	components *rpc.Components
	tasks      *rpc.Tasks
}

func open(t *testing.T) *desk {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	a := app.New(st, rpc.Announcer{}, time.Now, slog.New(slog.DiscardHandler), ports.Config{})
	return &desk{
		T: t, ctx: auth.WithPrincipal(t.Context(), auth.Principal{Name: "olga", Role: auth.Operator}), store: st,
		schemas: &rpc.Schemas{App: a}, states: &rpc.States{App: a}, sessions: &rpc.Sessions{App: a},
		components: &rpc.Components{App: a}, tasks: &rpc.Tasks{App: a},
	}
}

// ok returns what a call returned, which must be no error.
func ok[T any](d *desk, answer T, err error) T {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
	return answer
}

// state creates a state of a session that is made for it.
func (d *desk) state(session, data string) *statev1.State {
	d.Helper()
	_, err := d.schemas.RegisterSchema(d.ctx, &statev1.RegisterSchemaRequest{Name: "any", JsonSchema: []byte(`true`)})
	ok(d, 0, err)
	made, err := d.states.CreateState(d.ctx, &statev1.CreateStateRequest{SchemaName: "any", Data: []byte(data), Session: session})
	return ok(d, made, err).State
}

// The change that was meant is the one that is made, also when it is empty, and the
// document comes only where it was asked for.
func TestUpdateIsTheChangeThatWasMeant(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := d.state("root", `{"a":1}`).StateId
	update := func(req *statev1.UpdateStateRequest) (*statev1.State, error) {
		req.StateId = id
		resp, err := d.states.UpdateState(d.ctx, req)
		return resp.GetState(), err
	}
	for name, req := range map[string]*statev1.UpdateStateRequest{
		"data":  {Change: &statev1.UpdateStateRequest_Data{}},
		"patch": {Change: &statev1.UpdateStateRequest_Patch{}},
		"merge": {Change: &statev1.UpdateStateRequest_MergePatch{}},
	} {
		if _, err := update(req); fault.ReasonOf(err) != fault.InvalidJSON {
			t.Errorf("empty %s: %v", name, err)
		}
	}
	for i, req := range []*statev1.UpdateStateRequest{
		{Change: &statev1.UpdateStateRequest_Data{Data: []byte(`{"a":2}`)}, ExpectedVersion: 1},
		{Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(`[{"op":"add","path":"/b","value":1}]`)}, WithData: true},
		{Change: &statev1.UpdateStateRequest_MergePatch{MergePatch: []byte(`{"b":null}`)}, WithData: true, Session: "root"},
	} {
		st, err := update(req)
		ok(d, st, err)
		want := []string{"", `{"a":2,"b":1}`, `{"a":2}`}[i]
		if string(st.Data) != want || st.Version != int64(i+2) || st.UpdatedBy != []string{"olga", "olga", "root"}[i] {
			t.Errorf("update %d answers %v", i, st)
		}
	}
	got, err := d.states.GetState(d.ctx, &statev1.GetStateRequest{Session: "root", Pointers: []string{"/a", "/b"}})
	ok(d, got, err)
	want := []*statev1.Part{{Pointer: "/a", Found: true, Value: []byte(`2`)}, {Pointer: "/b"}}
	if len(got.State.Data) != 0 || !slices.EqualFunc(got.Parts, want, func(a, b *statev1.Part) bool { return proto.Equal(a, b) }) {
		t.Errorf("parts: %v", got)
	}
	list, err := d.states.ListStates(d.ctx, &statev1.ListStatesRequest{})
	if ok(d, list, err); len(list.States) != 1 || len(list.States[0].Data) != 0 {
		t.Errorf("list: %v", list)
	}
	history, err := d.states.GetStateHistory(d.ctx, &statev1.GetStateHistoryRequest{StateId: id, AfterVersion: 1, PageSize: 2})
	if ok(d, history, err); len(history.Versions) != 2 || history.NextAfterVersion != 3 || history.Versions[1].Type != statev1.StateChangeType_STATE_CHANGE_TYPE_UPDATED {
		t.Errorf("history: %v", history)
	}
}

func TestLockOverTheContract(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := d.state("root", `{}`).StateId
	lock, err := d.states.LockState(d.ctx, &statev1.LockStateRequest{StateId: id, Holder: "me", Ttl: durationpb.New(time.Minute)})
	if ok(d, lock, err); lock.FencingToken < 1 || time.Until(lock.ExpiresAt.AsTime()) > time.Minute {
		t.Errorf("lock: %v", lock)
	}
	got, err := d.states.GetState(d.ctx, &statev1.GetStateRequest{StateId: id})
	if ok(d, got, err); got.State.Lock.GetHolder() != "me" || !got.State.Lock.GetExpiresAt().AsTime().Equal(lock.ExpiresAt.AsTime()) {
		t.Errorf("a reader sees %v", got.State.Lock)
	}
	_, err = d.states.UnlockState(d.ctx, &statev1.UnlockStateRequest{StateId: id, FencingToken: lock.FencingToken})
	ok(d, 0, err)
	if got, err = d.states.GetState(d.ctx, &statev1.GetStateRequest{StateId: id}); ok(d, got, err).State.Lock != nil {
		t.Errorf("a reader sees %v", got.State.Lock)
	}
}

// Every status of the core has its word in the contract.
func TestSessionsInTheContractsWords(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.state("root", `{}`)
	child, err := d.sessions.CreateSession(d.ctx, &statev1.CreateSessionRequest{Name: "child", Parent: "root", Labels: map[string]string{"os": "linux"}})
	ok(d, child, err)
	is := func(s *statev1.Session, status statev1.SessionStatus, update statev1.StateUpdateStatus) {
		t.Helper()
		if s.Status != status || s.StateUpdateStatus != update {
			t.Errorf("it is %v %v, want %v %v", s.Status, s.StateUpdateStatus, status, update)
		}
	}
	is(child.Session, statev1.SessionStatus_SESSION_STATUS_RUNNING, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_NONE)
	if s := child.Session; !child.Created || s.ParentSessionName != "root" || s.Depth != 1 || s.StateUpdate != statev1.StateUpdate_STATE_UPDATE_REQUIRED || s.EndedAt != nil {
		t.Errorf("the child is %v", s)
	}
	stop, err := d.sessions.StopSession(d.ctx, &statev1.StopSessionRequest{SessionId: "child", InPlace: true})
	is(ok(d, stop, err).Session, statev1.SessionStatus_SESSION_STATUS_RUNNING, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_PENDING)
	if !strings.Contains(stop.Prompt, "state_patch") || stop.Session.Attempts != 1 {
		t.Errorf("it is told %q", stop.Prompt)
	}
	stop, err = d.sessions.StopSession(d.ctx, &statev1.StopSessionRequest{SessionId: "child"})
	is(ok(d, stop, err).Session, statev1.SessionStatus_SESSION_STATUS_FINISHED, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_PENDING)
	tasks, err := d.tasks.ListTasks(d.ctx, &statev1.ListTasksRequest{Filter: "session=child"})
	ok(d, tasks, err)
	if task := tasks.Tasks[0]; task.TaskId != stop.Session.TaskId || task.Kind != statev1.TaskKind_TASK_KIND_STATE_UPDATE || task.Attempt != 2 ||
		task.Status != statev1.TaskStatus_TASK_STATUS_DELAYED || task.Labels["os"] != "linux" {
		t.Errorf("its task is %v", task)
	}
	stop, err = d.sessions.StopSession(d.ctx, &statev1.StopSessionRequest{SessionId: "child", End: true, Error: "enough"})
	is(ok(d, stop, err).Session, statev1.SessionStatus_SESSION_STATUS_ENDED, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED)
	if s := stop.Session; s.Error != "enough" || s.EndedAt == nil || s.TaskId != "" {
		t.Errorf("it has ended as %v", s)
	}
	list, err := d.sessions.ListSessions(d.ctx, &statev1.ListSessionsRequest{Filter: "status=ENDED"})
	if ok(d, list, err); len(list.Sessions) != 1 || list.Sessions[0].Name != "child" {
		t.Errorf("ended: %v", list)
	}
	root, err := d.sessions.GetSession(d.ctx, &statev1.GetSessionRequest{SessionId: "root"})
	is(ok(d, root, err).Session, statev1.SessionStatus_SESSION_STATUS_RUNNING, statev1.StateUpdateStatus_STATE_UPDATE_STATUS_SKIPPED)
	if cb := root.Session.Callbacks; len(cb) != 1 || cb[0].SessionName != "child" || cb[0].StateUpdateStatus != statev1.StateUpdateStatus_STATE_UPDATE_STATUS_FAILED {
		t.Errorf("the callbacks are %v", cb)
	}
}

func TestComponentsInTheContractsWords(t *testing.T) {
	t.Parallel()
	d := open(t)
	for mode, want := range map[string]statev1.Persistence{
		"none": statev1.Persistence_PERSISTENCE_NONE, "session": statev1.Persistence_PERSISTENCE_SESSION, "long_term": statev1.Persistence_PERSISTENCE_LONG_TERM,
	} {
		definition := []byte(`{"name":"C","slug":"` + strings.ReplaceAll(mode, "_", "-") + `","persistence":"` + mode + `","schema_definition":{"n":{"type":"integer"}},"tags":["t"]}`)
		for range 2 { // with its key it is one
			made, err := d.components.CreateComponent(d.ctx, &statev1.CreateComponentRequest{Definition: definition, IdempotencyKey: "k"})
			if c := ok(d, made, err).Component; c.Persistence != want || c.Version != 1 || string(c.SchemaDefinition) != `{"n":{"type":"integer"}}` || c.Tags[0] != "t" {
				t.Errorf("%s is %v", mode, c)
			}
		}
	}
	scope := &statev1.BeginExecutionRequest{Slug: "long-term", Subject: "ann"}
	begun, err := d.components.BeginExecution(d.ctx, scope)
	ex := ok(d, begun, err).Execution
	if string(ex.Values) != `{"n":null}` || !slices.Equal(ex.Unset, []string{"n"}) || ex.Subject != "ann" || ex.Version != 0 {
		t.Errorf("it begins with %v", ex)
	}
	done, err := d.components.CommitExecution(d.ctx, &statev1.CommitExecutionRequest{
		ExecutionId: ex.ExecutionId, Change: &statev1.CommitExecutionRequest_MergePatch{MergePatch: []byte(`{"n":1}`)},
	})
	if ex = ok(d, done, err).Execution; string(ex.Values) != `{"n":1}` || ex.Version != 1 {
		t.Errorf("it ends with %v", ex)
	}
}

func TestPageTokensThatNoListGave(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.state("root", `{}`)
	for _, token := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		_, err := d.schemas.ListSchemaVersions(d.ctx, &statev1.ListSchemaVersionsRequest{Name: "any", PageToken: token})
		if fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("versions after %q: %v", token, err)
		}
	}
	for _, token := range []string{"", "x", "9", "\xff", "0\x00", "2zzz"} {
		if tasks, err := d.tasks.ListTasks(d.ctx, &statev1.ListTasksRequest{PageToken: token}); err != nil || len(tasks.Tasks) != 0 || tasks.NextPageToken != "" {
			t.Errorf("tasks after %q: %v, %v", token, tasks, err)
		}
	}
}

// What is announced can be read, and says what it is about; names and pointers that
// agents choose cannot make an event that cannot be stored.
func TestEventsAreReadable(t *testing.T) {
	t.Parallel()
	d := open(t)
	odd := "a.b *>\u00e9/" + strings.Repeat("x", 200)
	id := d.state(odd, `{}`).StateId
	patch := `[{"op":"add","path":"/` + strings.Repeat("p", 4000) + `","value":1}`
	for i := range 100 {
		patch += `,{"op":"add","path":"/` + strings.Repeat("q", i+1) + `","value":1}`
	}
	_, err := d.states.UpdateState(d.ctx, &statev1.UpdateStateRequest{
		StateId: id, Session: odd, Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(patch + "]")},
	})
	ok(d, 0, err)
	_, err = d.sessions.CreateSession(d.ctx, &statev1.CreateSessionRequest{SessionId: odd[:100], Name: odd + "2", Parent: odd, Prompt: "go"})
	ok(d, 0, err)
	_, err = d.sessions.StopSession(d.ctx, &statev1.StopSessionRequest{SessionId: odd[:100], End: true, Error: strings.Repeat("e", 4096)})
	ok(d, 0, err)
	_, err = d.states.DeleteState(d.ctx, &statev1.DeleteStateRequest{StateId: id, Force: true})
	ok(d, 0, err)

	after := map[int]int64{}
	for shard := range d.store.Shards() {
		after[shard] = 0
	}
	entries, err := d.store.Tail(d.ctx, after, 1000, 0)
	ok(d, entries, err)
	seen := map[string]*eventv1.Event{}
	for _, entry := range entries {
		ev, err := bus.Decode(entry.Payload)
		if err != nil || ev.GetActor() != "olga" || ev.GetNamespace() != "default" || ev.GetTime() == nil {
			t.Fatalf("%s: %v, %v", entry.ID, ev, err)
		}
		seen[ev.GetEntity()+" "+ev.GetType()] = ev
	}
	for _, want := range []string{"schema registered", "session created", "state created", "state updated", "task queued", "task dropped", "session ended", "state deleted"} {
		if seen[want] == nil {
			t.Errorf("nothing says %s", want)
		}
	}
	if changed := seen["state updated"].GetStateChanged(); changed.GetSessionName() != odd || len(changed.GetPointers()) > 40 || len(changed.GetPointers()) == 0 {
		t.Errorf("the change is announced as %v", changed)
	}
	if deleted := seen["state deleted"].GetStateDeleted(); !deleted.GetForced() {
		t.Errorf("the deletion is announced as %v", deleted)
	}
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// drill is a store that is backed up, lost, and restored.
type drill struct {
	*world
	// store are the flags of commands on it, and stream those that name its NATS too.
	store, stream []string
	// lose takes the store away, and leaves NATS.
	lose func()
	// serve makes the services serve again.
	serve func()
}

// interlock runs a command, which must end with a code.
func (d *drill) interlock(t testing.TB, code int, args ...string) string {
	t.Helper()
	return runCommand(t, code, append(args, d.store...)...)
}

func runCommand(t testing.TB, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(within(t), binary(t, "interlock"), args...)
	cmd.Env = cleanEnv()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == code || err == nil && code == 0 {
		return string(out)
	}
	t.Fatalf("interlock %s: %v, not code %d\n%s", strings.Join(args, " "), err, code, out)
	return ""
}

// TestBackupDrill is the drill of docs/backup.md, with a copy that lacks later answers to people: a
// decision of theirs, a session, a lock, a request with a key, and events that NATS has.
func TestBackupDrill(t *testing.T) {
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		u := startUp(t)
		data := []string{"--data-dir", string(u.data)}
		drilled(t, &drill{
			world: &world{shape: &u.shape, namespace: "drill"}, store: data, stream: data,
			lose: func() {
				u.process.drain(t)
				for _, suffix := range []string{"", "-wal", "-shm"} {
					if err := os.Remove(u.data.Database() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				}
			},
			serve: func() { u.restart(t) },
		})
	})
	t.Run("separate", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		redis := redistest.StartIn(t, dir)
		s := startSeparateOn(t, []string{"--store", redis.URL()})
		flags := []string{"--store", redis.URL()}
		drilled(t, &drill{
			world: &world{shape: &s.shape, namespace: "drill"}, store: flags, stream: append(flags, "--nats-url", s.nats.URL),
			lose: func() {
				redis.Kill()
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, "appendonlydir")), redis.Restart()); err != nil {
					t.Fatal(err)
				}
			},
			serve: func() {}, // they continue by themselves
		})
	})
}

const drillWorkflow = `{"id": "drill", "initial": "a", "meta": {"approval_mode": "ui"}, "states": {
	"a": {"allowed_tools": ["InA"], "on": {"GO": "b", "ASK": {"target": "b", "requires_approval": true}}},
	"b": {"allowed_tools": ["InB"], "on": {"GO": "c"}},
	"c": {"type": "final"}}}`

// ask sends a request with an idempotency key, which may be empty.
func (d *drill) ask(t testing.TB, method, path, key, body string) reply {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), method, d.http+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+d.tokens[auth.Operator])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Interlock-Namespace", d.namespace)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return d.roundTrip(t, req)
}

// done is ask of a request that must succeed.
func (d *drill) done(t testing.TB, method, path, key, body string) reply {
	t.Helper()
	got := d.ask(t, method, path, key, body)
	if got.status >= 300 {
		t.Fatalf("%s %s: %v", method, path, got)
	}
	return got
}

func drilled(t *testing.T, d *drill) {
	file := filepath.Join(t.TempDir(), "backup")
	d.done(t, "POST", "/v1/workflows", "", drillWorkflow)
	waiting := fmt.Sprint(d.done(t, "POST", "/v1/runs", "", `{"workflow":"drill"}`).field("run_id"))
	moved := fmt.Sprint(d.done(t, "POST", "/v1/runs", "", `{"workflow":"drill"}`).field("run_id"))
	d.done(t, "POST", "/v1/runs/"+waiting+"/transition", "", `{"event":"ASK"}`)
	d.done(t, "POST", "/v1/schemas", "", `{"name":"s","json_schema":{"type":"object"}}`)
	state := fmt.Sprint(d.done(t, "POST", "/v1/states", "",
		`{"schema_name":"s","session_name":"lead","initial_data":{"list":[]}}`).field("state_id"))
	patch := func(key, value string) reply {
		t.Helper()
		return d.done(t, "PATCH", "/v1/states/"+state, key,
			`{"operations":[{"op":"add","path":"/list/-","value":"`+value+`"}]}`)
	}
	patch("before", "kept")
	call := func(id string) reply {
		t.Helper()
		return d.done(t, "POST", "/v1/runs/"+moved+"/check", "", `{"tool":"InA","call_id":"`+id+`"}`)
	}
	call("call-before")
	approval := d.pending(t)

	d.interlock(t, 0, "backup", "create", file)
	runCommand(t, 0, "backup", "verify", file)

	// The data that the copy does not have.
	d.decide(t, approval)
	eventually(t, "the transition is made", func() error { return d.in(t, waiting, "b") })
	lock := d.done(t, "POST", "/v1/states/"+state+"/lock", "", `{"holder":"me","ttl_seconds":3600}`)
	token := fmt.Sprintf("%.0f", lock.field("fencing_token"))
	lost := d.done(t, "PATCH", "/v1/states/"+state, "after",
		`{"operations":[{"op":"add","path":"/list/-","value":"lost"}],"fencing_token":`+token+`}`)
	session := fmt.Sprint(d.done(t, "POST", "/v1/sessions", "", `{"session_name":"late"}`).field("session_id"))
	call("call-after")
	d.done(t, "POST", "/v1/runs/"+moved+"/transition", "", `{"event":"GO"}`)
	if got := d.done(t, "POST", "/v1/runs/"+moved+"/check", "", `{"tool":"InB"}`); got.field("decision") != "ALLOW" {
		t.Fatalf("%v", got)
	}
	told := d.events(t, bus.Subject{Namespace: d.namespace})
	for seen := map[string]bool{}; !seen["granted"] || !seen["sealed"] || !seen["locked"]; { // NATS has them
		seen[told.next(t).GetType()] = true
	}

	d.lose()
	out := runCommand(t, 0, append([]string{"backup", "restore", file}, d.stream...)...)
	if !strings.Contains(out, "1 approval waits for people, who are asked again") {
		t.Errorf("the restore says %s", out)
	}
	d.serve()
	d.serving(t)
	told = d.events(t, bus.Subject{Namespace: d.namespace}) // NATS may be at another address

	// People see the question again, learn why, and decide once more.
	eventually(t, "the question is asked again", func() error {
		got := d.ask(t, "GET", "/v1/approvals/"+approval, "", "")
		if got.field("status") != "PENDING" || !strings.Contains(fmt.Sprint(got.field("outcome")), "is asked again: the store was restored") {
			return errors.New(got.String())
		}
		return nil
	})
	if err := d.in(t, waiting, "a"); err != nil {
		t.Error(err)
	}
	for again := false; !again; {
		ev := told.next(t)
		again = ev.GetEntityId() == approval && ev.GetType() == "restored" && wordsOfRestore(ev)
	}
	d.decide(t, approval)
	eventually(t, "the transition is made again", func() error { return d.in(t, waiting, "b") })

	// Requests that rest on the lost history are refused.
	if got := d.ask(t, "PATCH", "/v1/states/"+state, "", `{"operations":[],"fencing_token":`+token+`}`); got.code() != "FENCED" {
		t.Errorf("a write with a lost lock: %v", got)
	}
	if got := d.ask(t, "GET", "/v1/sessions/"+session, "", ""); got.status != http.StatusNotFound {
		t.Errorf("a lost session: %v", got)
	}
	if got := d.done(t, "POST", "/v1/runs/"+moved+"/check", "", `{"tool":"InB"}`); got.field("decision") == "ALLOW" {
		t.Errorf("a tool of a lost state: %v", got)
	}
	// A request of before the copy is done already; one of after it is done now, and says so.
	if got := patch("before", "kept"); got.field("version") != 2.0 {
		t.Errorf("the request of before is done again: %v", got)
	}
	again := patch("after", "anew")
	if again.field("version") != lost.field("version") || !strings.Contains(again.body, "anew") || strings.Contains(again.body, "lost") {
		t.Errorf("the request of after the copy got %v, and gets %v", lost, again)
	}
	if got := patch("after", "anew"); got.field("version") != again.field("version") {
		t.Errorf("and again %v", got)
	}
	var log struct {
		Decisions []struct {
			CallID string `json:"call_id"`
		}
	}
	for range 2 {
		if got := call("call-after"); got.field("decision") != "ALLOW" {
			t.Errorf("the call of after the copy: %v", got)
		}
	}
	if err := json.Unmarshal([]byte(d.done(t, "GET", "/v1/decisions?run_id="+moved, "", "").body), &log); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, decision := range log.Decisions {
		counts[decision.CallID]++
	}
	if counts["call-before"] != 1 || counts["call-after"] != 1 {
		t.Errorf("decided are %v", counts)
	}
	// NATS has more than the store, and no id twice.
	d.unique(t)
}

// serving waits until every replica of every service reads the store.
func (d *drill) serving(t testing.TB) {
	t.Helper()
	for _, path := range []string{"/v1/runs", "/v1/decisions", "/v1/approvals", "/v1/sessions"} {
		eventually(t, path+" is served", func() error {
			for range 20 { // replicas take turns
				if got := d.ask(t, "GET", path, "", ""); got.status != http.StatusOK {
					return errors.New(got.String())
				}
			}
			return nil
		})
	}
}

// wordsOfRestore reports that an event says why an approval is asked again.
func wordsOfRestore(ev *eventv1.Event) bool {
	return strings.Contains(ev.GetApprovalChanged().GetReason(), "the store was restored from a backup of")
}

// in requires that a run is in a state.
func (d *drill) in(t testing.TB, run, state string) error {
	t.Helper()
	if got := d.ask(t, "GET", "/v1/runs/"+run, "", ""); got.field("state") != state {
		return fmt.Errorf("it is not in %s: %v", state, got)
	}
	return nil
}

// pending is the id of the approval that waits.
func (d *drill) pending(t testing.TB) (id string) {
	t.Helper()
	eventually(t, "humans are asked", func() error {
		var list struct {
			Approvals []struct {
				ApprovalID string `json:"approval_id"`
			}
		}
		got := d.ask(t, "GET", "/v1/approvals?status=PENDING", "", "")
		if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list.Approvals) != 1 {
			return errors.New(got.String())
		}
		id = list.Approvals[0].ApprovalID
		return nil
	})
	return id
}

// decide grants an approval.
func (d *drill) decide(t testing.TB, approval string) {
	t.Helper()
	got := d.send(t, "POST", "/v1/approvals/"+approval+"/approve", d.tokens[auth.Approver], `{}`)
	if got.status >= 300 {
		t.Fatalf("decide: %v", got)
	}
}

// unique requires that the stream has no id twice.
func (d *drill) unique(t testing.TB) {
	t.Helper()
	all := d.events(t, bus.Subject{Namespace: d.namespace})
	total := uint64(0)
	for _, n := range all.holds(t) {
		total += n
	}
	ids := map[string]bool{}
	for range total {
		m, err := all.watcher.Next(all.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ids[m.ID] {
			t.Errorf("the stream has %s twice", m.ID)
		}
		ids[m.ID] = true
	}
}

// ballast fills a store directly.
func ballast(t *testing.T, st store.Store) {
	t.Helper()
	data := []byte(strings.Repeat("x", 1000))
	for i := range 200 {
		key := store.Key{Namespace: "ballast", Kind: "thing", ID: fmt.Sprint(i)}
		for range 10 {
			put := store.Put{Key: key, Expect: store.AnyVersion, Data: data, History: data, Earlier: [][]byte{data, data, data}}
			if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{put}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
}

// killed starts a command, and kills it when it has done a part. It reports whether that was in time.
func killed(t *testing.T, part func() bool, args ...string) bool {
	t.Helper()
	cmd := exec.Command(binary(t, "interlock"), args...)
	cmd.Env = cleanEnv()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	poll := time.NewTicker(200 * time.Microsecond)
	defer poll.Stop()
	for {
		select {
		case err := <-exited:
			if err != nil {
				t.Fatalf("it failed: %v", err)
			}
			return false
		case <-poll.C:
			if !part() {
				continue
			}
			_ = cmd.Process.Kill()
			return (<-exited) != nil
		}
	}
}

// bytesOf is the size of the files with a pattern.
func bytesOf(t *testing.T, pattern string) (size int64) {
	t.Helper()
	for _, name := range must[[]string](t)(filepath.Glob(pattern)) {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}

// TestBackupKilled kills backups and restores amid their work: a backup is there whole or not at
// all, and a half restore is not used until it is begun again.
func TestBackupKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		from, into := t.TempDir(), t.TempDir()
		ballast(t, must[*sqlitestore.Store](t)(sqlitestore.Open(t.Context(),
			sqlitestore.Config{Path: filepath.Join(from, "interlock.db")})))
		file := backupKilled(t, "--data-dir", from)
		half := filepath.Join(into, "interlock.db.restoring")
		if !killed(t, func() bool { return bytesOf(t, half) > 100_000 }, "backup", "restore", file, "--data-dir", into) {
			t.Fatal("the restore was not killed in time")
		}
		out := runCommand(t, 2, "up", "--data-dir", into, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
		if !strings.Contains(out, "a restore was interrupted: run interlock backup restore again") {
			t.Errorf("half a store is used: %s", out)
		}
		runCommand(t, 0, "backup", "restore", file, "--data-dir", into)
		same(t, must[*sqlitestore.Store](t)(sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(into, "interlock.db")})))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		from, into := redistest.Start(t), redistest.Start(t)
		ballast(t, must[*redisstore.Store](t)(redisstore.Open(t.Context(), redisstore.Config{URL: from.URL()})))
		file := backupKilled(t, "--store", from.URL())
		client := into.Client(t)
		part := func() bool { return client.DBSize(context.Background()).Val() > 20 }
		if !killed(t, part, "backup", "restore", file, "--store", into.URL()) {
			t.Fatal("the restore was not killed in time")
		}
		out := runCommand(t, 2, "store", "accept-rollback", "--store", into.URL())
		if !strings.Contains(out, "run interlock backup restore again with the same file") {
			t.Errorf("half a store is used: %s", out)
		}
		runCommand(t, 0, "backup", "restore", file, "--store", into.URL())
		same(t, must[*redisstore.Store](t)(redisstore.Open(t.Context(), redisstore.Config{URL: into.URL()})))
	})
}

// backupKilled makes a backup after one that was killed.
func backupKilled(t *testing.T, store ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup")
	part := func() bool { return bytesOf(t, file+".*.part") > 100_000 }
	if !killed(t, part, append([]string{"backup", "create", file}, store...)...) {
		t.Fatal("the backup was not killed in time")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup that was killed is there: %v", err)
	}
	runCommand(t, 0, append([]string{"backup", "create", file}, store...)...)
	if left := bytesOf(t, file+".*.part"); left > 0 {
		t.Errorf("%d bytes are left of the backup that was killed", left)
	}
	return file
}

// same requires that a store has the data of ballast.
func same(t *testing.T, st store.Store) {
	t.Helper()
	defer st.Close()
	for i := range 200 {
		key := store.Key{Namespace: "ballast", Kind: "thing", ID: fmt.Sprint(i)}
		record, err := st.Get(t.Context(), key)
		history, failed := st.History(t.Context(), key, 0, 1000)
		if err := errors.Join(err, failed); err != nil || record.Version != 40 || len(history) != 40 {
			t.Fatalf("%s is version %d with %d entries: %v", key, record.Version, len(history), err)
		}
	}
}

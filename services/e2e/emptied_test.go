package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// empty removes all that a killed Redis has kept, and starts it again.
func empty(t *testing.T, redis *redistest.Server, dir string) (restore func()) {
	t.Helper()
	redis.Kill()
	files := filepath.Join(dir, "appendonlydir")
	restore = copyOf(t, files)
	if err := errors.Join(os.RemoveAll(files), redis.Restart()); err != nil {
		t.Fatal(err)
	}
	return restore
}

// refusedAsRolledBack demands that a process is not ready, and says why.
func refusedAsRolledBack(t *testing.T, base string) {
	t.Helper()
	eventually(t, base+" refuses the store", func() error {
		resp, err := http.Get(base + "/readyz?verbose")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			t.Fatalf("%s is ready with an empty store: %s", base, text)
		}
		if !strings.Contains(string(text), string(fault.StoreRolledBack)) {
			return fmt.Errorf("%s says %s", base, text)
		}
		return nil
	})
}

// healthOf is gRPC's health of a process and, under that name, of its taking calls.
func healthOf(t *testing.T, s *shape, p *process, name string) healthpb.HealthCheckResponse_ServingStatus {
	t.Helper()
	conn := (&world{shape: s, namespace: "default"}).dial(t, p.serving(t, "grpc"), "")
	return must[*healthpb.HealthCheckResponse](t)(healthpb.NewHealthClient(conn).Check(within(t), &healthpb.HealthCheckRequest{Service: name})).GetStatus()
}

// runOf starts a run as an agent, and returns a function that reads it again.
func runOf(t *testing.T, s *shape) (read func() error) {
	t.Helper()
	post := func(path, body string) error {
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPost, s.http+path, strings.NewReader(body)))
		req.Header.Set("Authorization", "Bearer "+s.tokens[auth.Operator])
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode >= 300 {
			err = fmt.Errorf("%s: %s", resp.Status, text)
		}
		return err
	}
	eventually(t, "a workflow is registered", func() error {
		return post("/v1/workflows", `{"id": "kept", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	})
	return func() error { return post("/v1/runs", `{"workflow": "kept"}`) }
}

// S19.3: Redis is emptied while every service is down: with all of them started anew, none is ready, and
// no decision is made without the runs and policies that were there. The old file brings all back.
func TestEmptiedRedisIsNeverReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	redis := redistest.StartIn(t, dir)
	s := startSeparateOn(t, []string{"--store", redis.URL()})
	starts := runOf(t, &s.shape)
	if err := starts(); err != nil {
		t.Fatal(err)
	}
	s.killAll()
	restore := empty(t, redis, dir)
	s.launch(t)
	for _, p := range s.keepers() {
		refusedAsRolledBack(t, "http://"+p.serving(t, "admin"))
	}
	eventually(t, "gRPC health says it too", func() error {
		for _, p := range s.keepers() {
			if got := healthOf(t, &s.shape, p, ""); got != healthpb.HealthCheckResponse_NOT_SERVING {
				return fmt.Errorf("%s is %v", p.name, got)
			}
		}
		return nil
	})
	if got := healthOf(t, &s.shape, s.engine[0], rpc.Accepting); got != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("the engine takes no calls, and cannot say why: %v", got)
	}
	if err := starts(); err == nil || !strings.Contains(err.Error(), string(fault.StoreRolledBack)) {
		t.Errorf("a run on an emptied store: %v", err)
	}
	s.killAll()
	// A second start is no better than the first.
	redis.Kill()
	if err := redis.Restart(); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	for _, p := range s.keepers() {
		refusedAsRolledBack(t, "http://"+p.serving(t, "admin"))
	}
	s.killAll()
	redis.Kill()
	restore()
	if err := redis.Restart(); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	eventually(t, "all are ready with the old file", func() error {
		for _, p := range s.keepers() {
			if err := ready("http://" + p.serving(t, "admin")); err != nil {
				return err
			}
		}
		return starts()
	})
}

// S19.3: an emptied Redis whose NATS is away is not ready either: it cannot be known that it was always empty.
// When an operator has accepted the loss, it is used as a new one.
func TestEmptiedRedisWaitsForItsWitness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	redis := redistest.StartIn(t, dir)
	s := startSeparateOn(t, []string{"--store", redis.URL()})
	s.killAll()
	s.natsServer.Stop()
	empty(t, redis, dir)
	p := s.service(t, "interlock-state-store", s.stateArgs()...)
	eventually(t, "it says what it waits for", func() error {
		if err := ready("http://" + p.serving(t, "admin")); err == nil {
			t.Fatal("it is ready with an empty store")
		}
		if !strings.Contains(p.log.String(), "only the event stream says whether it always was") {
			return fmt.Errorf("its log is\n%s", p.log.tail(2000))
		}
		return nil
	})
	s.natsServer.Start()
	refusedAsRolledBack(t, "http://"+p.serving(t, "admin"))
	cmd := exec.CommandContext(within(t), binary(t, "interlock"), "store", "accept-rollback", "--store", redis.URL())
	cmd.Env = cleanEnv()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "Accepted:") {
		t.Fatalf("accept-rollback: %v: %s", err, out)
	}
	eventually(t, "it is ready with a new store", func() error { return ready("http://" + p.serving(t, "admin")) })
}

// S19.3: interlock up on a Redis knows it too, by the stream in its data folder, and with SQLite by the
// mark next to the file.
func TestEmptiedStoreOfUp(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		redis := redistest.StartIn(t, dir)
		u := startUp(t, "--store", redis.URL())
		u.process.kill()
		empty(t, redis, dir)
		u.start(t)
		refusedAsRolledBack(t, u.http)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		u := startUp(t)
		u.process.kill()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(u.data.Database() + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		u.start(t)
		refusedAsRolledBack(t, u.http)
	})
}

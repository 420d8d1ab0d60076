package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestDrainLosesNothing ends `interlock up` with SIGTERM in the middle of calls
// and with every kind of stream open, and starts it again.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "drain"}
	c := w.as(t, auth.Agent)
	l := newLedger(t, c, 8)
	streams := openStreams(t, w, l.runs[0])
	end := l.load(within(t), c)
	l.reaches(t, 200)
	u.process.drain(t)
	end()
	for name, ended := range streams {
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("the %s continues after the server has ended", name)
		}
	}
	for reason, n := range l.failures {
		if reason != fault.Unavailable {
			t.Errorf("%d calls ended with %s while draining, not %s", n, reason, fault.Unavailable)
		}
	}
	u.restart(t)
	l.verify(t, w, w.as(t, auth.Agent))
}

// openStreams opens one stream of each kind and waits until it is open. Each
// channel is closed when its stream ends.
func openStreams(t *testing.T, w *world, id string) map[string]<-chan struct{} {
	t.Helper()
	c := w.as(t, auth.Agent)
	watch := must[enginev1.RunService_WatchRunClient](t)(c.runs.WatchRun(within(t), &enginev1.WatchRunRequest{RunId: id}))
	must[*enginev1.WatchRunResponse](t)(watch.Recv())
	checks := must[policyv1.PolicyEnforcerService_CheckToolCallsClient](t)(c.policy.CheckToolCalls(within(t)))
	if err := checks.Send(&policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{{RunId: id, Tool: "T"}}}); err != nil {
		t.Fatal(err)
	}
	must[*policyv1.CheckToolCallsResponse](t)(checks.Recv())

	session := w.send(t, http.MethodPost, "/mcp", w.tokens[auth.Agent], initialize)
	return map[string]<-chan struct{}{
		"watch stream":     done(func() { drainStream(watch.Recv) }),
		"stream of checks": done(func() { drainStream(checks.Recv) }),
		"event stream":     w.listen(t, "/v1/events", nil),
		"MCP stream":       w.listen(t, "/mcp", http.Header{"Mcp-Session-Id": session.header["Mcp-Session-Id"]}),
	}
}

func done(work func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() { defer close(ended); work() }()
	return ended
}

func drainStream[T any](recv func() (T, error)) {
	for {
		if _, err := recv(); err != nil {
			return
		}
	}
}

// listen opens a stream of server-sent events and reads it to its end.
func (w *world) listen(t *testing.T, path string, header http.Header) <-chan struct{} {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodGet, w.http+path, nil))
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Agent])
	req.Header.Set("Accept", "text/event-stream")
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s", path, resp.Status)
	}
	return done(func() {
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
	})
}

// TestKillLosesNothing kills `interlock up` in the middle of transitions, three
// times.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "kill"}
	l := newLedger(t, w.as(t, auth.Agent), 8)
	for range 3 {
		end := l.load(within(t), w.as(t, auth.Agent))
		l.reaches(t, 100)
		u.process.kill()
		end()
		u.restart(t)
		l.resume(t, w.as(t, auth.Agent))
	}
	l.verify(t, w, w.as(t, auth.Agent))
}

// resume finishes the transition that each worker did not hear the end of, by
// its idempotency key.
func (l *ledger) resume(t testing.TB, c *caller) {
	t.Helper()
	for _, id := range l.runs {
		if !l.move(within(t), c, id, int64(len(l.moved[id]))+1) {
			t.Fatalf("run %s does not continue", id)
		}
	}
}

// TestReplicaFaults ends replicas of a running system under load: one at a time,
// in good order and not. Callers that try again lose no answer.
func TestReplicaFaults(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "replicas"}
	every := w.replicas(t, auth.Agent)
	l := newLedger(t, every, 8)
	l.retry = true
	end := l.load(within(t), every)
	l.reaches(t, 50)
	s.engine[0].kill()
	l.reaches(t, 100)
	s.restartEngine(t, 0)
	l.reaches(t, 50)
	s.policy[0].kill()
	l.reaches(t, 100)
	s.engine[1].drain(t)
	l.reaches(t, 100)
	s.restartEngine(t, 1)
	l.reaches(t, 50)
	end()
	for reason, n := range l.failures {
		if reason != fault.Unavailable && reason != fault.CommitUncertain {
			t.Errorf("%d calls ended with %s", n, reason)
		}
	}
	l.verify(t, w, every)
}

// replicas is a caller of all replicas, those that serve.
func (w *world) replicas(t testing.TB, role auth.Role) *caller {
	t.Helper()
	engines := w.dial(t, strings.Join(w.engines, ","), w.tokens[role])
	return &caller{
		workflows: enginev1.NewWorkflowServiceClient(engines), runs: enginev1.NewRunServiceClient(engines),
		policy: policyv1.NewPolicyEnforcerServiceClient(w.dial(t, strings.Join(w.policies, ","), w.tokens[role])),
	}
}

// TestStoreDown: without its store Interlock allows no call (S7.2), and continues
// when the store is back.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "store"}
	c, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	c.register(t, pingPong)
	id := c.start(t, "ping-pong").GetRunId()
	c.expect(t, id, "InA", allow, "") // the caches are warm
	t.Run("killed", func(t *testing.T) {
		s.redis.Kill()
		nothingAllowed(t, w, id, c, other)
		if err := s.redis.Restart(); err != nil {
			t.Fatal(err)
		}
		allowedAgain(t, id, c, other)
	})
	t.Run("hanging", func(t *testing.T) {
		if err := s.redis.Pause(); err != nil {
			t.Fatal(err)
		}
		nothingAllowed(t, w, id, c, other)
		if err := s.redis.Resume(); err != nil {
			t.Fatal(err)
		}
		allowedAgain(t, id, c, other)
	})
	contiguous(t, id, other.history(t, id))
}

// nothingAllowed asks in every way; the answer is a denial or an error.
func nothingAllowed(t *testing.T, w *world, id string, callers ...*caller) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	all(t, 8, func(i int) error {
		c := callers[i%len(callers)]
		d, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: id, Tool: "InA"})
		if err == nil && (d.GetDecision() != deny || codeOf(d) != "POLICY_UNAVAILABLE") {
			return fmt.Errorf("without a store the check answers %v", d)
		}
		if err != nil && fault.ReasonOf(err) != fault.Unavailable && fault.ReasonOf(err) != fault.DeadlineExceeded {
			return fmt.Errorf("without a store the check fails with %w", err)
		}
		resp, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: id, Event: "NO_SUCH_EVENT"})
		if err == nil {
			return fmt.Errorf("without a store the transition answers %v", resp)
		}
		return nil
	})
	body := strings.NewReader(`{"tool":"InA"}`)
	req := must[*http.Request](t)(http.NewRequestWithContext(ctx, http.MethodPost, w.http+"/v1/runs/"+id+"/check", body))
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Agent])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Interlock-Namespace", w.namespace)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); strings.Contains(string(text), `"ALLOW"`) {
		t.Errorf("without a store REST answers %s", text)
	}
}

func allowedAgain(t *testing.T, id string, callers ...*caller) {
	t.Helper()
	for _, c := range callers {
		eventually(t, "checks are allowed again", func() error {
			d, err := c.policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{RunId: id, Tool: "InA"})
			if err == nil && d.GetDecision() != allow {
				err = errors.New(d.GetMessage())
			}
			return err
		})
		// Each replica finds out by itself that the store is back.
		eventually(t, "the engine answers again", func() error {
			_, err := c.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: id})
			return err
		})
	}
}

// TestNATSDown: calls continue without NATS, and their events are announced when it
// is back, at the same place or with a stream that has to be made anew.
func TestNATSDown(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "nats"}
	c := w.replicas(t, auth.Agent)
	l := newLedger(t, c, 4)
	end := l.load(within(t), c)
	l.reaches(t, 50)
	s.natsServer.Stop()
	l.reaches(t, 100)
	s.natsServer.Start()
	l.reaches(t, 50)
	end()
	if len(l.failures) != 0 {
		t.Errorf("without NATS calls failed: %v", l.failures)
	}
	l.verify(t, w, c)
}

// TestSecondUpIsRefused: two processes on one data folder would be two truths.
func TestSecondUpIsRefused(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	second := start(t, "interlock", "up", "--data-dir", string(u.data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	second.ended(t)
	if second.err == nil || !strings.Contains(second.log.String(), string(u.data)) && !strings.Contains(second.log.String(), "in use") {
		t.Errorf("a second server ended with %v:\n%s", second.err, second.log)
	}
	w := &world{shape: &u.shape, namespace: "second"}
	w.as(t, auth.Agent).register(t, pingPong)
	u.process.signal(t, syscall.SIGINT)
	u.process.ended(t)
	if u.process.err != nil {
		t.Errorf("after Ctrl-C it ended with %v", u.process.err)
	}
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// sharedWork is the schema of these tests' shared state.
const sharedWork = `{
  "type": "object", "required": ["n"], "additionalProperties": false,
  "properties": {"n": {"type": "integer"}, "ticket": {"type": "integer"}, "log": {"type": "array", "items": {"type": "string"}}}
}`

// work is sharedWork without its ticket, which no change of it may lose.
type work struct {
	N   int      `json:"n"`
	Log []string `json:"log"`
}

// sdkShape is an Interlock behind one address.
type sdkShape struct {
	t      *testing.T
	target string
	shape  *shape
	// disturb kills a part of it that has a replica.
	disturb func()
}

func (s *sdkShape) client(role auth.Role, namespace, session string) *sdk.Client {
	s.t.Helper()
	c := must[*sdk.Client](s.t)(sdk.Dial(s.target, sdk.Options{Token: s.shape.tokens[role], Namespace: namespace, Session: session}))
	s.t.Cleanup(func() { c.Close() })
	return c
}

// schema registers sharedWork in a namespace.
func (s *sdkShape) schema(namespace string) {
	s.t.Helper()
	schemas := statev1.NewSchemaServiceClient(s.client(auth.Operator, namespace, "").Conn())
	must[*statev1.RegisterSchemaResponse](s.t)(schemas.RegisterSchema(within(s.t),
		&statev1.RegisterSchemaRequest{Name: "work", JsonSchema: []byte(sharedWork)}))
}

func TestSDK(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, *sdkShape){
		"gated": sdkGated, "branches": sdkBranches, "state": sdkState, "sessions": sdkSessions, "runner": sdkRunner, "components": sdkComponents, "schedules": sdkSchedules, "sets": sdkSets,
	}
	run := func(t *testing.T, at *shape, target string, disturb func()) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, &sdkShape{t, target, at, disturb})
			})
		}
	}
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		u := startUp(t)
		run(t, &u.shape, u.engines[0], func() {})
	})
	t.Run("through the gateway", func(t *testing.T) {
		t.Parallel()
		s := startSeparate(t)
		run(t, &s.shape, s.gateway.serving(t, "grpc"), func() { s.state[0].kill() })
	})
}

// sdkGated is an agent's way through a workflow (S2, S3, S4).
func sdkGated(t *testing.T, s *sdkShape) {
	(&world{shape: s.shape, namespace: "gated"}).as(t, auth.Agent).register(t, guarded)
	c := s.client(auth.Agent, "gated", "one")
	ctx := within(t)
	call := func(tool string, input any) (sdk.Result, bool, error) {
		ran := false
		result, err := c.Guard(ctx, tool, input, func(context.Context) (sdk.Result, error) {
			ran = true
			return sdk.Result{Output: []byte("said")}, nil
		})
		return result, ran, err
	}
	var denied *sdk.DeniedError
	if _, ran, err := call("Read", nil); ran || !errors.As(err, &denied) || denied.Code != "NOT_FOUND" || sdk.Reason(err) != fault.NotFound {
		t.Errorf("without a run: %t, %v", ran, err)
	}
	run := must[*sdk.Run](t)(c.Load(ctx, "guarded", sdk.LoadOptions{Workspace: "/repo", Context: map[string]int{"n": 1}}))
	if run.State != "working" || run.SessionID != "one" || !strings.Contains(string(run.Context), `"n":1`) || run.BlockedEnv[0] != "TOKEN" {
		t.Errorf("loaded %+v", run)
	}
	if _, ran, err := call("Bash", map[string]string{"command": "go test ./... && rm -rf /"}); ran || !errors.As(err, &denied) ||
		denied.Code != "COMMAND_NOT_ALLOWED" || !slices.Contains(denied.AllowedTools, "Edit") || len(denied.LegalEvents) != 2 {
		t.Errorf("a command: %t, %v", ran, err)
	}
	if result, ran, err := call("Bash", map[string]string{"command": "go test ./..."}); err != nil || !ran || string(result.Output) != "said" || result.Notice != "" {
		t.Errorf("a command: %t, %+v, %v", ran, result, err)
	}
	var rejected *sdk.RejectedError
	if _, err := c.Transition(ctx, "SHIP", nil); !errors.As(err, &rejected) || rejected.Code != "UNKNOWN_EVENT" || rejected.State != "working" {
		t.Errorf("an unknown event: %v", err)
	}
	edit := map[string]string{"file_path": "/repo/db/1.sql", "old_string": "a", "new_string": "b"}
	if result, ran, err := call("Edit", edit); err != nil || !ran || !strings.HasPrefix(result.Notice, "[INTERLOCK INTERRUPT]") {
		t.Errorf("a migration: %t, %+v, %v", ran, result, err)
	}
	if run := must[*sdk.Run](t)(c.GetRun(ctx)); run.State != "checking" || run.Interrupt != "migration" || run.ReturnTo != "working" {
		t.Errorf("interrupted %+v", run)
	}
	must[*sdk.Run](t)(c.Transition(ctx, "OK", map[string]string{"rationale": "checked"}))
	if run := must[*sdk.Run](t)(c.ForRun(run.ID).Transition(ctx, "DONE", nil)); !run.Ended() || run.Status != "COMPLETED" {
		t.Errorf("ended as %+v", run)
	}
}

// sdkBranches: S5.3, sessions that each work in a branch.
func sdkBranches(t *testing.T, s *sdkShape) {
	agent := (&world{shape: s.shape, namespace: "branches"}).as(t, auth.Agent)
	agent.register(t, pipelineSuite)
	agent.register(t, pipeline)
	main := s.client(auth.Agent, "branches", "main")
	ctx := within(t)
	must[*sdk.Run](t)(main.Load(ctx, "pipeline", sdk.LoadOptions{}))
	if run := must[*sdk.Run](t)(main.Transition(ctx, "BUILT", nil)); len(run.Branches) != 3 {
		t.Errorf("forked into %+v", run.Branches)
	}
	ok := func(context.Context) (sdk.Result, error) { return sdk.Result{}, nil }
	for branch, tool := range map[string]string{"lint": "Lint", "types": "Types"} {
		c := main.ForSession("in-" + branch)
		if run := must[*sdk.Run](t)(c.Load(ctx, "pipeline", sdk.LoadOptions{Branch: branch})); run.Branch != branch {
			t.Errorf("%s is in %q", branch, run.Branch)
		}
		if _, err := c.Guard(ctx, tool, nil, ok); err != nil {
			t.Errorf("%s: %v", branch, err)
		}
		if _, err := c.Guard(ctx, "Tests", nil, ok); err == nil {
			t.Errorf("%s reaches out of its branch", branch)
		}
		must[*sdk.Run](t)(c.Transition(ctx, "OK", nil))
	}
}

// sdkState: concurrent changes, while a replica of the state-store dies (S10.3).
func sdkState(t *testing.T, s *sdkShape) {
	s.schema("state")
	c := s.client(auth.Agent, "state", "root")
	ctx := within(t)
	st := must[sdk.State](t)(c.CreateState(ctx, "work", map[string]any{"n": 0, "log": []string{}, "ticket": int64(9007199254740993)}))

	const writers, each = 6, 20
	watched := make(chan error, 1)
	go func() {
		next := int64(1)
		for change, err := range c.WatchState(ctx, "", 0) {
			if err != nil || change.Version != next || change.StateID != st.ID {
				watched <- fmt.Errorf("watched version %d, want %d: %w", change.Version, next, err)
				return
			}
			if next++; next > 1+writers*each {
				break
			}
		}
		watched <- nil
	}()
	all(t, writers, func(i int) error {
		for n := range each {
			if i == 0 && n == each/2 {
				s.disturb()
			}
			var err error
			if n%2 == 0 {
				_, err = sdk.UpdateStateAs(ctx, c, "", func(w *work) error {
					w.N++
					return nil
				})
			} else {
				_, err = c.PatchState(ctx, st.ID, sdk.Patch{sdk.Add("/log/-", fmt.Sprintf("%d.%d", i, n))})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := <-watched; err != nil {
		t.Error(err)
	}
	st = must[sdk.State](t)(c.ReadState(ctx, "", "/n", "/ticket", "/log", "/none"))
	if st.Version != 1+writers*each || string(st.Parts["/n"]) != fmt.Sprint(writers*each/2) || string(st.Parts["/ticket"]) != "9007199254740993" ||
		strings.Count(string(st.Parts["/log"]), ".") != writers*each/2 || len(st.Parts) != 3 {
		t.Errorf("at version %d: %s", st.Version, st.Parts)
	}
	if _, err := c.PatchState(ctx, "", sdk.Patch{sdk.Replace("/n", "many")}); sdk.Reason(err) != fault.SchemaViolation {
		t.Errorf("against the schema: %v", err)
	}
	if _, err := c.ForSession("stranger").ReadState(ctx, st.ID); sdk.Reason(err) != fault.PermissionDenied {
		t.Errorf("another tree: %v", err)
	}
}

// sdkSessions: a child reports before it is done (S11.2), asked in place.
func sdkSessions(t *testing.T, s *sdkShape) {
	s.schema("sessions")
	parent := s.client(auth.Agent, "sessions", "parent")
	ctx := within(t)
	st := must[sdk.State](t)(parent.CreateState(ctx, "work", work{Log: []string{}}))
	made := must[sdk.Session](t)(parent.CreateSession(ctx, sdk.NewSession{Name: "child", Parent: "parent"}))
	if again := must[sdk.Session](t)(parent.CreateSession(ctx, sdk.NewSession{Name: "child", Parent: "parent"})); again.ID != made.ID || made.StateID != st.ID {
		t.Errorf("made %+v and %+v", made, again)
	}
	child := parent.ForSession("child")
	stopped := must[sdk.Stopped](t)(child.StopSession(ctx, sdk.StopOptions{InPlace: true}))
	if !strings.Contains(stopped.Prompt, `"n"`) || stopped.Session.StateUpdate != "PENDING" {
		t.Errorf("stopped as %+v", stopped)
	}
	must[sdk.State](t)(child.PatchState(ctx, "", sdk.Patch{sdk.Replace("/n", 1)}))
	if stopped = must[sdk.Stopped](t)(child.StopSession(ctx, sdk.StopOptions{InPlace: true})); stopped.Prompt != "" || stopped.Session.StateUpdate != "COMPLETED" {
		t.Errorf("stopped as %+v", stopped)
	}
}

// sdkRunner: a runner starts a child, has it report, and calls its parent back
// (S11.2, S11.5).
func sdkRunner(t *testing.T, s *sdkShape) {
	s.schema("runner")
	runner := s.client(auth.Operator, "runner", "")
	parent := s.client(auth.Agent, "runner", "parent")
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	must[sdk.State](t)(parent.CreateState(ctx, "work", work{Log: []string{}}))
	must[sdk.Session](t)(parent.CreateSession(ctx, sdk.NewSession{Name: "child", Parent: "parent", Prompt: "count"}))

	var mu sync.Mutex
	var done []string
	err := runner.Work(ctx, sdk.Runner{Name: "r", MaxInFlight: 2}, func(ctx context.Context, task sdk.Task) error {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, string(task.Kind)+" "+task.SessionName)
		switch task.Kind {
		case "START":
			if task.Given == 1 {
				return fmt.Errorf("not here: %w", sdk.ErrNotRun)
			}
			if task.Prompt != "count" {
				t.Errorf("started with %q", task.Prompt)
			}
		case "STATE_UPDATE":
			s.disturb()
			_, err := sdk.UpdateStateAs(ctx, runner.ForSession(task.SessionID), task.StateID, func(w *work) error {
				w.N++
				return nil
			})
			return err
		case "CALLBACK":
			if len(task.Callbacks) != 1 || task.Callbacks[0].StateUpdate != "COMPLETED" || task.Callbacks[0].StateVersion != 2 {
				t.Errorf("called back with %+v", task.Callbacks)
			}
			stop() // finished work is acknowledged all the same
		}
		return nil
	})
	want := []string{"START child", "START child", "STATE_UPDATE child", "CALLBACK parent"}
	if !errors.Is(err, context.Canceled) || !slices.Equal(done, want) {
		t.Errorf("%v: done %v, want %v", err, done, want)
	}
	tasks := must[*statev1.ListTasksResponse](t)(statev1.NewTaskServiceClient(runner.Conn()).ListTasks(within(t), &statev1.ListTasksRequest{}))
	if len(tasks.GetTasks()) > 0 {
		t.Errorf("left undone: %v", tasks.GetTasks())
	}
}

// sdkComponents: the values of its component that a runner's agent leaves are kept at the end of
// its execution, and none where it fails (S12.3, S15.2).
func sdkComponents(t *testing.T, s *sdkShape) {
	runner := s.client(auth.Operator, "components", "")
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	components := statev1.NewComponentServiceClient(runner.Conn())
	must[*statev1.CreateComponentResponse](t)(components.CreateComponent(ctx, &statev1.CreateComponentRequest{
		Definition: []byte(`{"name": "Memory", "slug": "memory", "persistence": "session", "schema_definition": {"seen": {"type": "integer"}}, "initial_values": {"seen": 7}}`),
	}))
	must[sdk.Session](t)(runner.CreateSession(ctx, sdk.NewSession{Name: "rememberer", Prompt: "look", StateRef: "memory"}))
	err := runner.Work(ctx, sdk.Runner{Name: "r", MaxInFlight: 1}, func(_ context.Context, task sdk.Task) error {
		if task.Execution == nil || task.Execution.Slug != "memory" {
			t.Fatalf("the task has %+v", task.Execution)
		}
		if task.Given == 1 {
			task.Execution.Values = []byte(`{"seen": 99}`)
			return fmt.Errorf("not here: %w", sdk.ErrNotRun)
		}
		if string(task.Execution.Values) != `{"seen":7}` {
			t.Errorf("it begins with %s", task.Execution.Values)
		}
		task.Execution.Values = []byte(`{"seen": 8}`)
		stop() // finished work is kept all the same
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the runner ends with %v", err)
	}
	var kept *statev1.GetComponentValuesResponse
	// This client does not ask again when a busy machine has lost its connection.
	eventually(t, "the component is read", func() (err error) {
		kept, err = components.GetComponentValues(within(t), &statev1.GetComponentValuesRequest{Session: "rememberer"})
		return err
	})
	if got := string(kept.GetExecution().GetValues()); got != `{"seen":8}` {
		t.Errorf("kept is %s", got)
	}
}

// sdkSets: S26.4, S26.9, a set is applied in one commit, and can wait as a shadow.
func sdkSets(t *testing.T, s *sdkShape) {
	c, ctx := s.client(auth.Operator, "sets", ""), within(t)
	rules := func(tool string) json.RawMessage {
		return json.RawMessage(`{"name": "calls", "role": "agent", "default": "allow", "deny": [{"capability": "tool:` + tool + `"}]}`)
	}
	change := func(expected, version int64) []*policyv1.SetChange {
		return []*policyv1.SetChange{{Kind: policyv1.DefinitionKind_DEFINITION_KIND_POLICY, Name: "calls", ExpectedVersion: expected, Version: version}}
	}
	apply := func(req *policyv1.ApplySetRequest) *policyv1.DefinitionSet {
		set, changed, err := c.ApplySet(ctx, req)
		if err != nil || !changed {
			t.Fatalf("%v: %t, %v", req, changed, err)
		}
		return set
	}
	must[sdk.Definition](t)(c.RegisterPolicy(ctx, "", rules("WebFetch"), sdk.Staged()))
	if _, err := c.GetPolicy(ctx, "calls", 0); sdk.Reason(err) != fault.NotFound {
		t.Errorf("a staged version is live: %v", err)
	}
	if set := apply(&policyv1.ApplySetRequest{Name: "shop", Changes: change(0, 1), Repo: "r", Commit: "c"}); set.GetVersion() != 1 || set.GetCommit() != "c" || len(set.GetObjects()) != 1 {
		t.Errorf("applied %v", set)
	}
	must[sdk.Definition](t)(c.RegisterPolicy(ctx, "", rules("WebSearch"), sdk.Staged()))
	if set := apply(&policyv1.ApplySetRequest{Name: "shop", ExpectedVersion: 1, Changes: change(1, 2), Shadow: durationpb.New(time.Hour)}); len(set.GetShadow().GetObjects()) != 1 {
		t.Errorf("shadowed %v", set)
	}
	if _, _, err := c.ApplySet(ctx, &policyv1.ApplySetRequest{Name: "shop", ExpectedVersion: 2, Changes: change(1, 2)}); sdk.Reason(err) != fault.FailedPrecondition {
		t.Errorf("before its shadow is over: %v", err)
	}
	apply(&policyv1.ApplySetRequest{Name: "shop", ExpectedVersion: 2, Changes: change(1, 2), Now: true})
	if live := must[*policyv1.Policy](t)(c.GetPolicy(ctx, "calls", 0)); live.GetVersion() != 2 {
		t.Errorf("live is %v", live)
	}
	if set := must[*policyv1.DefinitionSet](t)(c.GetSet(ctx, "shop")); set.GetVersion() != 3 || set.GetShadow() != nil {
		t.Errorf("the set is %v", set)
	}
	if all := must[[]*policyv1.DefinitionSet](t)(c.ListSets(ctx)); len(all) != 1 {
		t.Errorf("listed %v", all)
	}
}

// sdkSchedules: S25.20, S25.26, an operator keeps a schedule.
func sdkSchedules(t *testing.T, s *sdkShape) {
	(&world{shape: s.shape, namespace: "schedules"}).as(t, auth.Operator).register(t, guarded)
	c := s.client(auth.Operator, "schedules", "")
	ctx := within(t)
	spec := &enginev1.ScheduleSpec{Name: "nightly", Workflow: "guarded", Cron: "0 7 * * *", Zone: "Europe/Berlin"}
	if made := must[*enginev1.Schedule](t)(c.CreateSchedule(ctx, spec, false)); made.GetVersion() != 1 || made.GetNextAt() == nil {
		t.Errorf("created %v", made)
	}
	spec.Cron = "@daily"
	if changed := must[*enginev1.Schedule](t)(c.UpdateSchedule(ctx, spec, 1)); changed.GetSpec().GetCron() != "@daily" {
		t.Errorf("updated %v", changed)
	}
	if first := must[*enginev1.Schedule](t)(c.GetSchedule(ctx, "nightly", 1)); first.GetSpec().GetCron() != "0 7 * * *" {
		t.Errorf("version 1 is %v", first)
	}
	if _, err := c.UpdateSchedule(ctx, spec, 1); sdk.Reason(err) != fault.VersionConflict {
		t.Errorf("at another version: %v", err)
	}
	must[*enginev1.Schedule](t)(c.PauseSchedule(ctx, "nightly"))
	run, session, err := c.TriggerSchedule(ctx, "nightly", sdk.IdempotencyKey("k"))
	if again, _, failed := c.TriggerSchedule(ctx, "nightly", sdk.IdempotencyKey("k")); errors.Join(err, failed) != nil || again != run {
		t.Errorf("triggered %s and %s: %v, %v", run, again, err, failed)
	}
	if got := must[*sdk.Run](t)(s.client(auth.Agent, "schedules", session).GetRun(ctx)); got.ID != run || got.Workflow != "guarded" {
		t.Errorf("the session drives %+v", got)
	}
	if got := must[*enginev1.Schedule](t)(c.ResumeSchedule(ctx, "nightly")); got.GetLastRunId() != run || got.GetCounts().GetStarted() != 1 {
		t.Errorf("resumed %v", got)
	}
	if times := must[[]time.Time](t)(c.ScheduleTimes(ctx, "nightly", 3)); len(times) != 3 {
		t.Errorf("the times are %v", times)
	}
	if all := must[[]*enginev1.Schedule](t)(c.ListSchedules(ctx)); len(all) != 1 {
		t.Errorf("listed %v", all)
	}
	if err := c.DeleteSchedule(ctx, "nightly", 0); err != nil {
		t.Error(err)
	}
	if _, err := c.GetSchedule(ctx, "nightly", 0); sdk.Reason(err) != fault.NotFound {
		t.Errorf("deleted: %v", err)
	}
}

// Go code of the documentation compiles, as a part of a function; a test in it passes.
func TestDocumentedGo(t *testing.T) {
	t.Parallel()
	imports := map[string]string{
		"context": "context", "errors": "errors", "exec": "os/exec", "fmt": "fmt", "iter": "iter", "json": "encoding/json", "log": "log", "os": "os",
		"testing": "testing", "time": "time", "sdk": module + "pkg/sdk", "sdktest": module + "pkg/sdk/sdktest", "fault": module + "pkg/fault",
	}
	block := regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	dir := t.TempDir()
	files, tests := []string{}, []string{}
	for name, text := range documents(t) {
		for _, match := range block.FindAllStringSubmatchIndex(text, -1) {
			body := text[match[2]:match[3]]
			line := 1 + strings.Count(text[:match[2]], "\n")
			list, suffix, isTest := &files, ".go", strings.HasPrefix(body, "func Test")
			code := fmt.Sprintf("func _(ctx context.Context, client *sdk.Client) error {\n//line %s:%d\n%s\nreturn nil\n}\n", filepath.Base(name), line, body)
			if isTest {
				list, suffix, code = &tests, "_test.go", fmt.Sprintf("//line %s:%d\n%s", filepath.Base(name), line, body)
			}
			head := "package main\n"
			for used, path := range imports {
				if regexp.MustCompile(`\b` + used + `\.`).MatchString(code) {
					head += fmt.Sprintf("import %q\n", path)
				}
			}
			*list = append(*list, filepath.Join(dir, fmt.Sprintf("snippet%d%s", len(*list), suffix)))
			if err := os.WriteFile((*list)[len(*list)-1], []byte(head+code), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files) < 7 {
		t.Fatalf("found %d blocks of Go: the documentation has lost its examples, or this test looks in the wrong place", len(files))
	}
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", os.DevNull, main}, files...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if len(tests) == 0 {
		t.Fatal("found no test: the documentation of the fake has lost its example")
	}
	run := exec.CommandContext(t.Context(), "go", append([]string{"test"}, tests...)...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

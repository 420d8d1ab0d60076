package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// setFolder writes a set whose workflow, policy, schema and component have a number, and returns its folder.
func setFolder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"interlock.yaml": "name: gov\nprune: true\n",
		"flow.json": fmt.Sprintf(`{"id": "flow", "initial": "work", "description": "%d", "meta": {"policy": ["calls"]},
			"states": {"work": {"allowed_tools": ["Read"], "on": {"DONE": "done"}}, "done": {"type": "final"}}}`, n),
		"schemas/handover.json": fmt.Sprintf(`{"type": "object", "description": "%d"}`, n),
		"memory.json":           fmt.Sprintf(`{"name": "Memory", "slug": "memory", "description": "%d", "schema_definition": {}}`, n),
		"calls.json":            fmt.Sprintf(`{"name": "calls", "description": "%d", "role": "agent", "default": "allow"}`, n),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// interlock runs a command as the operator, and returns its output and its exit code.
func (w *world) interlock(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(within(t), binary(t, "interlock"), append(args, "--server", w.http, "--namespace", w.namespace)...)
	cmd.Env = w.operatorEnv()
	out, err := cmd.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// applied is what a set has made live: the numbers of its workflow and of its policy. The schema and the component
// have that of the workflow.
func (w *world) applied(t *testing.T) (flow, calls string) {
	t.Helper()
	number := func(definition []byte) string {
		_, rest, _ := strings.Cut(string(definition), `"description": "`)
		n, _, _ := strings.Cut(rest, `"`)
		return n
	}
	policies := policyv1.NewPolicyServiceClient(w.dial(t, w.policies[1], w.tokens[auth.Operator]))
	p := must[*policyv1.GetPolicyResponse](t)(policies.GetPolicy(within(t), &policyv1.GetPolicyRequest{Name: "calls"}))
	f := must[*enginev1.GetWorkflowResponse](t)(w.at(t, 1, auth.Agent).workflows.GetWorkflow(within(t), &enginev1.GetWorkflowRequest{Name: "flow"}))
	schemas := statev1.NewSchemaServiceClient(w.dial(t, w.states[0], w.tokens[auth.Agent]))
	s := must[*statev1.GetSchemaResponse](t)(schemas.GetSchema(within(t), &statev1.GetSchemaRequest{Name: "handover"}))
	components := statev1.NewComponentServiceClient(w.dial(t, w.states[0], w.tokens[auth.Agent]))
	c := must[*statev1.GetComponentResponse](t)(components.GetComponent(within(t), &statev1.GetComponentRequest{Slug: "memory"}))
	flow, calls = number(f.GetWorkflow().GetDefinition()), number(p.GetPolicy().GetDefinition())
	if schema, component := number(s.GetSchema().GetJsonSchema()), c.GetComponent().GetDescription(); schema != flow || component != flow {
		t.Errorf("schema %q and component %q are live with workflow %q", schema, component, flow)
	}
	return flow, calls
}

// applies: S26.1, S26.5, S26.6, on any replica and store: appliers at once do not mix, an application that was cut short is
// completed by the next one, and a hotfix beside stays.
func applies(t *testing.T, w *world) {
	const appliers = 4
	var all sync.WaitGroup
	codes := make([]int, appliers)
	texts := make([]string, appliers)
	for i := range appliers {
		dir := setFolder(t, i)
		all.Go(func() { texts[i], codes[i] = w.interlock(t, "apply", dir, "--yes") })
	}
	all.Wait()
	won := 0
	for i, code := range codes {
		switch {
		case code == 0:
			won++
		case code != 1 || !strings.Contains(texts[i], "plan again"):
			t.Errorf("an applier ends with %d: %s", code, texts[i])
		}
	}
	if flow, calls := w.applied(t); won == 0 || flow != calls || flow == "" {
		t.Fatalf("%d appliers have won, and workflow %q and policy %q are live", won, flow, calls)
	}

	// Cut short before the commit: the versions are there, and no run gets them.
	before, _ := w.applied(t)
	operator, next := w.as(t, auth.Operator), setFolder(t, 10)
	run := w.as(t, auth.Agent).start(t, "flow")
	text := must[[]byte](t)(os.ReadFile(filepath.Join(next, "flow.json")))
	schema := must[[]byte](t)(os.ReadFile(filepath.Join(next, "schemas", "handover.json")))
	schemas := statev1.NewSchemaServiceClient(w.dial(t, w.states[0], w.tokens[auth.Operator]))
	must[*statev1.RegisterSchemaResponse](t)(schemas.RegisterSchema(within(t), &statev1.RegisterSchemaRequest{Name: "handover", JsonSchema: schema, Staged: true}))
	staged := must[*enginev1.RegisterWorkflowResponse](t)(operator.workflows.RegisterWorkflow(within(t), &enginev1.RegisterWorkflowRequest{Definition: text, Staged: true}))
	if flow, _ := w.applied(t); flow != before || staged.GetWorkflow().GetLiveVersion() == staged.GetWorkflow().GetVersion() {
		t.Errorf("a staged version is live: %q", flow)
	}
	if got := w.as(t, auth.Agent).start(t, "flow"); got.GetWorkflowVersion() != run.GetWorkflowVersion() {
		t.Errorf("a run is started at the staged version %d", got.GetWorkflowVersion())
	}
	if out, code := w.interlock(t, "apply", next, "--yes", "--migrate", "never"); code != 0 {
		t.Fatalf("the next application ends with %d: %s", code, out)
	}
	if flow, calls := w.applied(t); flow != "10" || calls != "10" {
		t.Errorf("workflow %q and policy %q are live", flow, calls)
	}

	// Cut short after the commit: the next plan has the runs that have not moved.
	if out, code := w.interlock(t, "plan", next); code != 3 || !strings.Contains(out, "2 runs to move") {
		t.Errorf("a plan ends with %d: %s", code, out)
	}
	if out, code := w.interlock(t, "apply", next, "--yes"); code != 0 || !strings.Contains(out, "moved      2 runs of flow") {
		t.Errorf("the runs move with %d: %s", code, out)
	}
	if out, code := w.interlock(t, "plan", next); code != 0 {
		t.Errorf("then a plan ends with %d: %s", code, out)
	}

	// A hotfix beside stays, and the next application says so.
	hotfix := setFolder(t, 11)
	if out, code := w.interlock(t, "policy", "put", filepath.Join(hotfix, "calls.json")); code != 0 {
		t.Fatalf("a hotfix ends with %d: %s", code, out)
	}
	if out, code := w.interlock(t, "apply", setFolder(t, 12), "--yes"); code != 1 || !strings.Contains(out, "! policy    calls  was changed by operator") {
		t.Errorf("over a hotfix: %d, %s", code, out)
	}
	if flow, calls := w.applied(t); flow != "10" || calls != "11" {
		t.Errorf("workflow %q and policy %q are live", flow, calls)
	}
}

package engine_test

import (
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Anyone who judges by a run that is named by its id learns that another one is driven.
func TestSupersededOverTheContract(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var runs []string
	for _, name := range []string{"one", "two"} {
		definition := `{"id": "` + name + `", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`
		if _, err := r.workflows.RegisterWorkflow(t.Context(), &enginev1.RegisterWorkflowRequest{Definition: []byte(definition)}); err != nil {
			t.Fatal(err)
		}
		resp, err := r.runs.StartRun(t.Context(), &enginev1.StartRunRequest{Workflow: name, SessionId: "s"})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, resp.GetRun().GetRunId())
	}
	for i, want := range []string{runs[1], ""} {
		resp, err := r.runs.GetRun(t.Context(), &enginev1.GetRunRequest{RunId: runs[i], Active: true})
		if err != nil || resp.GetRun().GetSupersededBy() != want {
			t.Errorf("run %d is superseded by %q, %v; want %q", i, resp.GetRun().GetSupersededBy(), err, want)
		}
	}
}

package brief_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// TestChanges: what an event has brought about in addition to the new state (S4.2, S5.2,
// S5.4, S5.5).
func TestChanges(t *testing.T) {
	t.Parallel()
	forked := ci()
	forked.Fork.Branches = forked.Fork.Branches[1:2]
	with := func(run *enginev1.Run, change func(*enginev1.Run)) *enginev1.Run {
		run = proto.CloneOf(run)
		change(run)
		return run
	}
	plain := testing1()
	for _, row := range []struct {
		name          string
		before, after *enginev1.Run
		want          []string
	}{
		{"nothing else", plain, with(plain, func(r *enginev1.Run) { r.State = "deploying" }), nil},
		{"not known before", nil, plain, nil},
		{"not known after", plain, nil, nil},
		{
			"a child", plain, with(plain, func(r *enginev1.Run) { r.RunId, r.Workflow, r.ParentRunId = "run_2", "suite", "run_1" }),
			[]string{"A child run has started: run_2 of suite. Its rules are in force until it ends."},
		},
		{
			"a child's child", with(plain, func(r *enginev1.Run) { r.ParentRunId = "run_0" }),
			with(plain, func(r *enginev1.Run) { r.RunId, r.Workflow, r.ParentRunId = "run_2", "suite", "run_1" }),
			[]string{"A child run has started: run_2 of suite. Its rules are in force until it ends."},
		},
		{
			"a child's end", with(plain, func(r *enginev1.Run) { r.RunId, r.Workflow, r.ParentRunId = "run_2", "suite", "run_1" }), plain,
			[]string{"The child run run_2 of suite has ended; the run run_1 of deploy continues."},
		},
		{
			"two ends at once", with(plain, func(r *enginev1.Run) { r.RunId, r.Workflow, r.ParentRunId = "run_3", "inner", "run_2" }), plain,
			[]string{"The child run run_3 of inner has ended; the run run_1 of deploy continues."},
		},
		{"a fork", plain, ci(), []string{"The run is now in 4 branches."}},
		{
			"a branch's end", ci(), with(ci(), func(r *enginev1.Run) {
				r.Branch = "docs"
				r.Fork.Branches[1].Status, r.Fork.Branches[1].State = enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED, "types_done"
			}),
			[]string{"The branch types is complete.", "You are now in the branch docs."},
		},
		{
			"a branch's end in a session of its own", ci(), with(ci(), func(r *enginev1.Run) {
				r.BranchOver = true
				r.Fork.Branches[1].Status, r.Fork.Branches[1].State = enginev1.BranchStatus_BRANCH_STATUS_FAILED, "types_bad"
			}),
			[]string{"The branch types has failed in types_bad."},
		},
		{
			"an inner join", ci(), with(ci(), func(r *enginev1.Run) { r.Fork.Branches[2].Fork = nil }),
			[]string{"The branch scan/deep has ended, and its fork has joined."},
		},
		{
			"a join", forked, with(plain, func(r *enginev1.Run) { r.State = "deploying" }),
			[]string{"The branch types has ended.", "The fork of BUILD_DONE has joined: the run is in deploying."},
		},
		{
			"a fork that fails the run", forked, with(plain, func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_FAILED }),
			[]string{"The branch types has ended.", "The fork of BUILD_DONE has failed, and the run with it."},
		},
		{
			"the end of an interrupt",
			with(plain, func(r *enginev1.Run) { r.Interrupt = &enginev1.Interruption{Name: "pb_check", ReturnTo: "testing"} }), plain,
			[]string{"The interrupt pb_check is over."},
		},
	} {
		if got := brief.Changes(row.before, row.after); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

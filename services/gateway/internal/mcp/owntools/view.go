package owntools

import (
	"strconv"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// runView is a run as every edge shows it, and the parts that only agents need.
type runView struct {
	jsonview.Run
	// IterationsLeft is nil where the state has no limit.
	IterationsLeft *int64 `json:"iterations_left,omitzero"`
	// ActiveRun is the run whose rules are in force, where that is another one.
	ActiveRun *runView `json:"active_run,omitzero"`
	// SupersededBy is the run that the session drives now, where that is another.
	SupersededBy string `json:"superseded_by,omitzero"`
	// Question of a process, and the answers that it takes now.
	Question string   `json:"question,omitzero"`
	Answers  []string `json:"answers,omitzero"`
}

func viewRun(run *enginev1.Run) runView {
	v := runView{Run: jsonview.RunOf(run), SupersededBy: run.GetSupersededBy()}
	if limit := run.GetRules().GetMaxIterations(); limit > 0 {
		left := max(limit-run.GetUsage().GetIterations(), 0)
		v.IterationsLeft = &left
	}
	if run.GetWorkflowMeta().GetProcess() {
		v.Question, v.Answers = run.GetRules().GetInstructions(), brief.Answers(run)
	}
	return v
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

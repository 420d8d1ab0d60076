package brief

import (
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Opening returns the text to inject before the first turn of a process: its prompt, and
// where it stands (S8.5), within MaxBytes.
func Opening(prompt string, run *enginev1.Run) string {
	opening := clip(prompt, MaxBytes/2) + "\n"
	return opening + describe(run, "", MaxBytes-len(opening))
}

// Answers returns those that the present question of a process takes now; none while
// humans are asked about one, and when the process is over (S8.3).
func Answers(run *enginev1.Run) []string {
	if run.GetStatus() != enginev1.RunStatus_RUN_STATUS_RUNNING {
		return nil
	}
	var answers []string
	for _, e := range run.GetRules().GetLegalEvents() {
		answers = append(answers, e.GetEvent())
	}
	return answers
}

// answerFacts returns facts on how the question of a process is answered.
func answerFacts(run *enginev1.Run, prefix string, size int) []string {
	answers := Answers(run)
	if len(answers) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Answers: %s. Give one with %sprocess_step(answer=...).", list(quoted(answers), size), prefix)}
}

// Asks returns the questions that a run has: that of a process, to its agent, and the one
// that waits for humans or has just been decided by them.
func Asks(run *enginev1.Run, prefix string) []string {
	var asks []string
	if run.GetWorkflowMeta().GetProcess() && ToolStatusOf(run) == Judged {
		asks = append(asks, "Question: "+clip(run.GetRules().GetInstructions(), MaxStateBytes/4))
		asks = append(asks, answerFacts(run, prefix, MaxStateBytes/4)...)
	}
	return append(asks, approvalFacts(run, MaxStateBytes/16)...)
}

package toolcall

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// checkWrites applies write detection (R3): without a tool that writes files the
// shell must not write either. What an entry of allowed_commands names by its own
// words is the author's choice.
func checkWrites(plan *shell.Plan, named []int) string {
	for _, f := range plan.Findings {
		switch {
		case f.Kind == shell.Dumps:
			continue
		case f.Kind != shell.Hidden && f.Command >= 0 && f.Command < len(named) && f.Word < named[f.Command]:
			continue
		}
		by := ""
		if f.Command >= 0 {
			by = " in " + document.Quote(plan.Commands[f.Command].String())
		}
		return fmt.Sprintf("it could change files: it %s%s. The state allows no tool that writes files, so its commands may only read; output may go to /dev/null, but not to files", describe(f), by)
	}
	return ""
}

// checkEnvironment applies blocked_env (R4).
func checkEnvironment(state *workflow.StateView, plan *shell.Plan) string {
	for _, name := range plan.Reads {
		if state.BlocksEnv(name) {
			return fmt.Sprintf("it reads the variable %s, which is blocked in this state; run it without that variable", document.Quote(name))
		}
	}
	for _, f := range plan.Findings {
		if f.Kind != shell.Writes {
			return fmt.Sprintf("it %s, which could show variables that are blocked in this state; name the variables you need, and run plain commands", describe(f))
		}
	}
	return ""
}

package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// Lines of Interlock's own commands, which run without a jail because it would hide the server from them (S20.1). So they
// must do no more than ask the server: a file that they read could be one that a jail hides.

var (
	// serving are the commands of agents that need the server.
	serving = []string{"check", "report", "run", "state", "session", "component"}
	// leading are the flags of theirs that choose the server, or name a file.
	leading = []string{"--server", "--token", "--ca", "--data-dir", "--insecure", "--prompt-file"}
	// documents are the flags whose value is JSON, or else the name of a file.
	documents = []string{"--op", "--merge", "--patch", "--values"}
	// fromFile are the subcommands with a file as an operand, unless the flag --input is there.
	fromFile = []string{"create", "put"}
)

// planIsOwn reports a line that consists of commands of Interlock which are for agents, and which only ask the server. They run
// without a jail.
func planIsOwn(plan *shell.Plan) bool {
	other := func(f shell.Finding) bool { return f.Kind != shell.Stranger || f.About != program }
	if plan.Empty || len(plan.Sets) > 0 || plan.Background || slices.ContainsFunc(plan.Findings, other) {
		return false
	}
	return !slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
		return c.Assigns > 0 || len(c.Words) < 2 || !c.Words[0].Static || c.Words[0].Text != program || judgeVerb(c, c.Words[1:]) != "" ||
			!onlyAsks(c.Words[1:])
	})
}

// OnlyOwn reports a call of a shell whose line consists of commands of Interlock which are for agents, and which only ask the
// server: it runs without a jail, also where one is demanded.
func OnlyOwn(call Call) bool {
	line, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	return err == nil && planIsOwn(plan)
}

// onlyAsks reports a command of Interlock that asks the server which it finds itself, and reads no file that its words name.
func onlyAsks(args []shell.Word) bool {
	if !slices.Contains(serving, args[0].Text) || slices.ContainsFunc(args, func(w shell.Word) bool { return !w.Static }) {
		return false
	}
	input := false
	for i, w := range args {
		name, value, joined := strings.Cut(w.Text, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1].Text
		}
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(w.Text, "@"), slices.Contains(leading, name), strings.HasPrefix(name, "-") && joined && strings.HasPrefix(value, "@"):
			return false
		case slices.Contains(documents, name) && !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "["):
			return false
		}
		input = input || name == "--input"
	}
	return args[0].Text != "state" || len(args) < 2 || !slices.Contains(fromFile, args[1].Text) || input
}

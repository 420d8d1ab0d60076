package hook

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/hookevent"
	"github.com/interlock-run/interlock/services/internal/hookwire"
)

// Jail describes the jail of an agent's machine for commands.
type Jail struct {
	// Level is 0 to 3, and Missing the reason why it is not higher.
	Level   int
	Missing string
	// Command begins a line that runs another one in a jail, such as "/usr/bin/interlock jail --data-dir /d"; empty where
	// there is none.
	Command string
}

// jailFrom reads the headers of the hook's program about jails. Unreadable ones are no
// jail.
func jailFrom(header http.Header) Jail {
	level, err := strconv.ParseUint(header.Get(hookwire.JailHeader), 10, 8)
	if err != nil || level > 3 {
		level = 0
	}
	return Jail{Level: int(level), Missing: header.Get(hookwire.JailMissingHeader), Command: header.Get(hookwire.JailCommandHeader)}
}

// jailing is how calls of an agent get into a jail: by a changed input.
type jailing struct {
	// shells are the tools, as the agent names them, whose input has one line for a POSIX shell in "command", and may be
	// changed.
	shells []string
	// shown is true where the agent holds its user's own rules against the line as it was changed: then the line must
	// show the one that runs in the jail.
	shown bool
	// granted is true where an input can be changed only with a permission.
	granted bool
}

// longestJailed bounds the line of a jail, which Linux takes as one argument of at most 128 KiB, quoted by the agent
// once more.
const longestJailed = 96 << 10

// jailLevel returns the level of the jail that a call can be run in: 0 where its input cannot be
// changed.
func (ev *event) jailLevel(opts Options, run *enginev1.Run) int32 {
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	tool := cmp.Or(ev.raw.tool, ev.Tool)
	_, ok := ev.line()
	switch {
	case !ok || opts.Jail.Command == "" || ev.inSkill() || ev.kind == hookevent.Permission || !slices.Contains(how.shells, tool):
		return 0
	case how.granted && !run.GetRules().GetToolsRestricted():
		return 0 // to change the input would be to grant it
	}
	return int32(opts.Jail.Level) //nolint:gosec // 0 to 3
}

// tooLong is why a line that runs in a jail is denied for its length: an agent must not get out of the jail by it.
func (ev *event) tooLong(opts Options, level int32) string {
	line, _ := ev.line()
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	if level == 0 || toolcall.OnlyOwn(toolcall.Call{Input: ev.input()}) || quotedTwice(how.wrap(opts.Jail.Command, longestID, longestID, line)) <= longestJailed {
		return ""
	}
	return fmt.Sprintf("%s is denied: its command line is too long for a jail, which takes %d KiB with each quote counted several times. "+
		"Run it in parts, or write the text to a file with a tool that edits and run that", ev.Tool, longestJailed>>10)
}

// longestID is as long as the longest id.
var longestID = strings.Repeat("x", 256)

// quotedTwice returns how long a line is when its agent quotes it.
func quotedTwice(line string) int { return len(line) + 5*strings.Count(line, "'") }

// line returns the command line of a call.
func (ev *event) line() (string, bool) {
	var args struct {
		Command *string `json:"command"`
	}
	if ev.input().Kind() != '{' || json.Unmarshal(ev.input(), &args) != nil || args.Command == nil {
		return "", false
	}
	return *args.Command, true
}

// barrier ends the shell that would read the line that is only shown. An alias, a function of the user's, cannot stand for it.
// A shell without the word builtin, such as dash, ends at the next line.
const barrier = "\n\\builtin exit\n\\exit\n"

// wrap returns the line that runs another one in its jail.
//
// Claude Code holds its user's rules (`Bash(git push:*)`) against the changed line. So that they keep their meaning,
// the line itself stands at the end, where no shell gets to: shells read a line when they have run the one before.
func (j jailing) wrap(command, run, call, line string) string {
	wrapped := command + " --run " + quoted(run) + " --call " + quoted(call) + " -- " + quoted(line)
	if j.shown {
		wrapped += barrier + line
	}
	return wrapped
}

// quoted returns one word of a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// unwrapped returns the line of which wrap has made another one. False: it was not made
// so.
func (j jailing) unwrapped(command, wrapped string) (line string, ok bool) {
	rest, begins := strings.CutPrefix(wrapped, command+" --run ")
	if command == "" || !begins {
		return "", false
	}
	var words [3]string // run, call, line
	for i, after := range []string{" --call ", " -- ", ""} {
		word, left, ok := unquoted(rest)
		if !ok {
			return "", false
		}
		words[i] = word
		if rest, ok = strings.CutPrefix(left, after); !ok {
			return "", false
		}
	}
	return words[2], j.wrap(command, words[0], words[1], words[2]) == wrapped
}

// unquoted returns the quoted word that a text begins with.
func unquoted(text string) (word, rest string, ok bool) {
	var b strings.Builder
	for {
		inside, found := strings.CutPrefix(text, "'")
		part, after, closed := strings.Cut(inside, "'")
		if !found || !closed {
			return "", "", false
		}
		b.WriteString(part)
		if text, found = strings.CutPrefix(after, `\'`); !found {
			return b.String(), after, true
		}
		b.WriteByte('\'')
	}
}

// unwrap gives a call that was changed for its jail the input that was checked.
func (ev *event) unwrap(opts Options) (changed bool, err error) {
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	if !slices.Contains(how.shells, cmp.Or(ev.raw.tool, ev.Tool)) {
		return false, nil
	}
	line, ok := ev.line()
	if !ok {
		return false, nil
	}
	if rest, is := strings.CutPrefix(line, pin(opts.Jail.Command)); is && opts.Jail.Command != "" {
		line = rest
	} else if line, ok = how.unwrapped(opts.Jail.Command, line); !ok {
		return false, nil
	}
	ev.Input, err = withCommand(ev.Input, line)
	return err == nil, err
}

// jailed returns the input of an allowed call that runs its line in its jail: that of the call, with another
// line.
func (ev *event) jailed(opts Options, d *policyv1.CheckToolCallResponse) (jsontext.Value, error) {
	line, ok := ev.line()
	if !ok || d.GetRunId() == "" || d.GetCallId() == "" {
		return nil, fmt.Errorf("the call of %s must run in a jail, and cannot", ev.Tool)
	}
	how := dialects[cmp.Or(opts.Agent, ClaudeCode)].jail
	input := ev.input()
	if ev.raw.tool != "" {
		input = object(ev.raw.input)
	}
	return withCommand(input, how.wrap(opts.Jail.Command, d.GetRunId(), d.GetCallId(), line))
}

// pinned returns the input of a call that runs commands of Interlock without a jail: its line runs this program, and none
// that a command has put in PATH, such as in a virtual environment of the workspace. It is nil for other calls.
func (ev *event) pinned(opts Options) (jsontext.Value, error) {
	line, ok := ev.line()
	if !ok || ev.raw.tool != "" || !toolcall.OnlyOwn(toolcall.Call{Input: ev.input()}) {
		return nil, nil
	}
	return withCommand(ev.input(), pin(opts.Jail.Command)+line)
}

// pin begins a line in which the word interlock is the program of a jail's command.
func pin(command string) string {
	program, _, _ := strings.Cut(command, " ")
	if word, _, ok := unquoted(command); ok {
		program = quoted(word)
	}
	return "interlock() { " + program + " \"$@\"; }\n"
}

// withCommand returns an input with another line. Where the input names a folder, the line that was checked
// enters it.
func withCommand(input jsontext.Value, line string) (jsontext.Value, error) {
	args := map[string]jsontext.Value{}
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, fmt.Errorf("read the input of a command: %w", err)
	}
	command, err := jsontext.AppendQuote(nil, line)
	if err != nil {
		return nil, fmt.Errorf("write the input of a command: %w", err)
	}
	args["command"] = command
	for _, name := range folderNames {
		if args[name].Kind() == '"' {
			delete(args, name)
		}
	}
	changed, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write the input of a command: %w", err)
	}
	return changed, nil
}

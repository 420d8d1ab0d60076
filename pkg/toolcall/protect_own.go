package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Commands of Interlock, and against it (S13.3).

// program is the name of Interlock's binary.
const program = "interlock"

// agentVerbs are the commands that are for agents too; of those with a list, only its
// subcommands.
var agentVerbs = map[string]map[string]bool{
	"check": nil, "report": nil, "validate": nil, "test": nil, "viz": nil, "fmt": nil, "verify": nil, "version": nil, "help": nil,
	"--version": nil, "--help": nil, "-h": nil,
	"run":       words("get transition --help"),
	"state":     words("create get list put patch history diff watch lock renew unlock --help"),
	"session":   words("create get list tree stop resume result --help"),
	"component": words("list get values begin commit --help"),
}

// humanVerbs are commands of Interlock that give them away where the use of a program's
// words is unknown.
var humanVerbs = words(`up approval token policy process run workflow decisions audit schema session task runner mcp hook init demo tail
backup store events upstream call migrate context env doctor`)

// signallers stop processes or services; the second group only with such a word.
var (
	signallers = words("kill pkill killall killall5 skill fuser xkill")
	managers   = words("systemctl service docker podman nerdctl kubectl launchctl supervisorctl pm2 rc-service initctl sc taskkill")
	stopping   = words("stop kill restart disable mask rm remove delete down pause unload bootout try-restart scale")
)

// attachers look into other processes.
var attachers = []string{
	"gdb", "gdb-multiarch", "gdbserver", "lldb", "gcore", "strace", "ltrace", "perf", "dlv", "rr", "reptyr", "bpftrace", "uftrace", "py-spy", "rbspy",
}

// attaches reports a word that names a process, or could.
func attaches(w shell.Word) bool {
	return !w.Static || w.Text == "attach" || strings.HasPrefix(w.Text, "-p") || strings.HasPrefix(w.Text, "--p") || strings.HasPrefix(w.Text, "--attach") ||
		w.Text != "" && strings.Trim(w.Text, "0123456789") == ""
}

// serverLine is how servers are usually started: pkill -f compares it.
const serverLine = program + " up --data-dir " + dataFolder + " --http 127.0.0.1:7420 --grpc 127.0.0.1:7421 --nats 127.0.0.1:7422"

// meansServer reports a pattern of a few words that meets serverLine.
func meansServer(w shell.Word) bool {
	return w.Static && len(w.Text) > 4 && w.Text[0] != '-' && strings.Contains(serverLine, strings.Trim(w.Text, "^$.*"))
}

// judgeOwn describes why a command of Interlock, or one against it, is denied.
func judgeOwn(c shell.Command) string {
	if c.Assigns >= len(c.Words) {
		return ""
	}
	args := c.Words[c.Assigns:]
	name := baseOf(args[0])
	switch {
	case isProgram(name):
		return judgeVerb(c, args[1:])
	case managers[name] && slices.ContainsFunc(args[1:], namesProgram) &&
		slices.ContainsFunc(args[1:], func(w shell.Word) bool { return stopping[w.Text] || !w.Static }):
		return fmt.Sprintf(ownSignal, document.Quote(c.String()))
	}
	for i, w := range args[1:] { // a wrapper that is not known
		if isProgram(baseOf(w)) && i+2 < len(args) && (humanVerbs[args[i+2].Text] || !args[i+2].Static) && !readers[name] && name != "git" {
			return judgeVerb(c, args[i+2:])
		}
	}
	return ""
}

func judgeVerb(c shell.Command, args []shell.Word) string {
	if len(args) == 0 {
		return ""
	}
	denied := fmt.Sprintf(ownCommand, document.Quote(c.String()))
	subcommands, ok := agentVerbs[args[0].Text]
	switch {
	case !ok || !args[0].Static:
		return denied
	case subcommands == nil:
		return ""
	case len(args) < 2 || !args[1].Static || !subcommands[args[1].Text]:
		return denied
	}
	return ""
}

func baseOf(w shell.Word) string {
	return strings.ToLower(w.Text[strings.LastIndexByte(w.Text, '/')+1:])
}

func isProgram(base string) bool {
	return strings.TrimSuffix(base, ".exe") == program || strings.HasPrefix(base, "interlock@")
}

func namesProgram(w shell.Word) bool { return strings.Contains(strings.ToLower(w.Text), program) }

// mentions reports a text with the word interlock in it.
func mentions(text string) bool {
	text = squeezed(text)
	for {
		_, after, ok := strings.Cut(text, program)
		if !ok {
			return false
		}
		before := text[:len(text)-len(after)-len(program)]
		if !inWord(before, len(before)-1) && !inWord(after, 0) {
			return true
		}
		text = after
	}
}

func inWord(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i]
	return c == '_' || c == '-' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

// squeezed returns a text in lower case without the characters that a shell takes away.
func squeezed(text string) string {
	return strings.ToLower(strings.NewReplacer(`'`, "", `"`, "", "\\\n", "", `\`, "").Replace(text))
}

var tokenBytes = []byte(tokenPrefix)

const tokenPrefix = "ilk_"

// isToken reports a text with a static token of Interlock in it.
func isToken(text string) bool {
	const least = 32
	for {
		_, after, ok := strings.Cut(text, tokenPrefix)
		if !ok {
			return false
		}
		n := 0
		for n < len(after) && (inWord(after, n) || 'A' <= after[n] && after[n] <= 'Z') {
			n++
		}
		if n >= least {
			return true
		}
		text = after
	}
}

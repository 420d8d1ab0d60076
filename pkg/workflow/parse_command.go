package workflow

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// defaultCommandsTool is the tool whose commands are judged (S1.5).
const defaultCommandsTool = "Bash"

func (r metaSection) commands(f document.Fields, s *State) {
	r.opaqueCommands(f, s)
	s.AllowedCommandsTool = defaultCommandsTool
	if tool, ok := f.Str("allowed_commands_tool"); ok {
		r.statePart().toolName(tool, f.At.Key("allowed_commands_tool"), toolname.Grants)
		s.AllowedCommandsTool = tool
		if !f.Has("allowed_commands") {
			r.report.Warnf(f.At.Key("allowed_commands_tool"), document.CodeNoEffect, "without \"allowed_commands\" it has no effect; add them or remove it")
		}
	}
	entries, ok := r.commandEntries(f)
	s.CommandsRestricted = f.Has("allowed_commands")
	if !ok {
		return
	}
	s.AllowedCommands = document.Texts(entries)
	r.report.Duplicates(entries)
	if s.ToolsRestricted && !permits(s.AllowedTools, s.AllowedCommandsTool) {
		r.report.Warnf(f.At.Key("allowed_commands"), document.CodeNoEffect,
			"%s is not in \"allowed_tools\", so no command can run at all; add it or remove the commands", document.Quote(s.AllowedCommandsTool))
	}
}

func (r metaSection) opaqueCommands(f document.Fields, s *State) {
	choice, ok := f.Enum("opaque_commands", "allow", "deny")
	s.OpaqueDenied = choice == "deny"
	if table := newToolTable(s); ok && (!s.ToolsRestricted || table.editable) {
		r.report.Warnf(f.At.Key("opaque_commands"), document.CodeNoEffect,
			"it applies where \"allowed_tools\" is given and names no tool that writes files; restrict them or remove it")
	}
}

// declaredCommands reads meta.commands and meta.unknown_commands.
func (r metaSection) declaredCommands(m document.Fields) {
	choice, _ := m.Enum("unknown_commands", "allow", "deny")
	r.def.Meta.UnknownCommands = choice == "allow"
	if r.def.Meta.UnknownCommands {
		r.report.Warnf(m.At.Key("unknown_commands"), CodeTooBroad,
			"states without edits run every program that is not described, with all its writes; describe programs in \"commands\" instead")
	}
	commands, ok := m.Object("commands")
	if !ok {
		return
	}
	if n := commands.Value.Len(); n > maxItems {
		r.report.Errorf(commands.At, document.CodeTooMany, "there are %d programs, the limit is %d", n, maxItems)
		return
	}
	r.def.Meta.Commands = make(map[string]CommandClass, commands.Value.Len())
	for name := range commands.Value.Members() {
		if name == "" || strings.ContainsFunc(name, unseen) || strings.ContainsAny(name, " /*?[]{}$'\"\\|&;<>()`=~") {
			r.report.Errorf(commands.At.Key(name), document.CodeName,
				"%s is not the name of one program; write it without folder, arguments and wildcards", document.Quote(name))
		}
		class, ok := commands.Enum(name, string(CommandReads), string(CommandOpaque), string(CommandWrites))
		r.def.Meta.Commands[name] = CommandClass(class)
		if ok && CommandClass(class) != CommandWrites && shell.Knows(name) {
			r.report.Warnf(commands.At.Key(name), document.CodeNoEffect,
				"Interlock knows the effects of %s, and judges it by them; to let a state run more of it, list its commands in \"allowed_commands\"", document.Quote(name))
		}
	}
}

func permits(tools []string, name string) bool {
	return slices.ContainsFunc(tools, func(tool string) bool {
		prefix, wild := strings.CutSuffix(tool, "*")
		return tool == name || wild && strings.HasPrefix(name, prefix)
	})
}

var (
	// operators join or redirect commands, or run one inside another. An entry
	// is one simple command, so a line that has them is judged part by part and
	// never matches an entry that does (R2).
	operators = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("&&|\\|\\||[|<>`]|\\$[({A-Za-z_]|(^|[^\\\\]);|&\\s*$")
	})
	optIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@[A-Za-z]*$`) })
)

// anyProgram run any program that they are given: an entry of that name alone allows all.
var anyProgram = []string{
	"bash", "sh", "dash", "zsh", "ksh", "fish", "ash", "busybox", "eval", "exec", "source", ".", "env", "xargs", "sudo", "su", "doas",
	"ssh", "nohup", "command", "python", "python3", "python2", "node", "deno", "bun", "perl", "ruby", "php", "lua", "awk", "gawk", "osascript",
	"pwsh", "powershell", "npx", "bunx", "uvx",
}

// inlineCode are the flags that make such a program run its argument.
var inlineCode = []string{"-c", "-e", "-lc", "-ic", "-p", "--eval", "--print", "-r", "-x"}

// command checks one entry of allowed_commands.
func (r metaSection) command(entry string, at *document.Path) {
	switch words := strings.Fields(entry); {
	case shell.IsConfinement(entry):
		r.report.Errorf(at, CodeCommand, "the text of an object is no command; only \"allowed_commands\" takes objects, and without the quotes around them")
	case len(words) == 0:
		r.report.Errorf(at, document.CodeEmpty, "the command is empty; write one or remove the item")
		r.report.Errorf(at, CodeCommand, "an empty command cannot match; write a command or remove the item")
	case strings.ContainsFunc(entry, unseen):
		r.report.Errorf(at, CodeCommand, "%s has control or invisible characters; write one command on one line", document.Quote(entry))
	case strings.ContainsAny(entry, "&|<>`$;") && operators().MatchString(entry):
		r.report.Errorf(at, CodeCommand, "%s is more than one plain command and never matches; list each command alone", document.Quote(entry))
	case entry[0] == '@' && optIn().MatchString(entry) && entry != "@inert":
		r.report.Errorf(at, CodeCommand, "there is no %s%s; the only set of commands is \"@inert\"", document.Quote(entry),
			r.report.DidYouMean(entry, slices.Values([]string{"@inert"})))
	case strings.Trim(entry, "*? \t") == "":
		r.report.Warnf(at, CodeTooBroad, "%s allows every command; list the commands", document.Quote(entry))
	case !slices.ContainsFunc(words, func(word string) bool { return !assigns(word) }):
		r.report.Warnf(at, CodeTooBroad, "%s only sets variables, so it allows every command that begins so; write the command after them", document.Quote(entry))
	case tooBroad(words):
		r.report.Warnf(at, CodeTooBroad, "%s runs any program it is given, so it allows everything; list the commands that you trust", document.Quote(entry))
	}
}

func unseen(c rune) bool { return !unicode.IsPrint(c) }

// assigns reports a word that sets a variable.
func assigns(word string) bool {
	name, _, assigned := strings.Cut(word, "=")
	return assigned && name != "" && name[0] > '9' && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

func tooBroad(words []string) bool {
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if !slices.Contains(anyProgram, strings.TrimSuffix(program, "*")) {
		return false
	}
	return len(words) == 1 || len(words) == 2 && (slices.Contains(inlineCode, words[1]) || strings.Trim(words[1], "*?") == "")
}

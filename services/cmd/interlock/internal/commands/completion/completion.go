// Package completion prints completion scripts for shells.
package completion

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/names"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// Name is the word of the command. It needs the grammar of every command.
const Name = "completion"

// Command prints a completion script.
type Command struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Run prints a script that completes commands, flags and the values of flags
// that have a choice. Its words are those of the parser itself, so it cannot
// fall behind.
func (c *Command) Run(parser *kong.Kong, io console.Streams) error {
	t := words{next: map[string][]string{}, values: map[string][]string{}, names: map[string]string{}}
	t.collect(parser.Model.Node, "", nil)
	switch c.Shell {
	case "fish":
		t.fish(io.Out)
	case "zsh":
		fmt.Fprintln(io.Out, "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit")
		t.bash(io.Out)
	default:
		t.bash(io.Out)
	}
	return nil
}

// words are the possible next words: next by the path of commands ("run list"), values by
// path and flag ("run list --format"). names are the kinds of things that the server has
// names of, by path and by path and flag.
type words struct {
	next, values map[string][]string
	names        map[string]string
}

// kindOf returns the kind of things that an argument or a flag of a command names; empty for
// none.
func kindOf(path, name string) string {
	family, verb, _ := strings.Cut(path, " ")
	if name == "name" && verb != "create" && verb != "register" {
		name = family
	}
	if slices.Contains(names.Kinds, name) {
		return name
	}
	return ""
}

// named reports that a flag takes names that the server has: init takes files, and the
// states of a run are those of its workflow.
func named(path, flag string) bool {
	return flag != "state" && path != "hook" && !strings.HasPrefix(path, "init ")
}

// collect fills in a command and those below it. Flags of a command are those of its
// parents too.
func (t words) collect(node *kong.Node, path string, above []*kong.Flag) {
	var flags []*kong.Flag
	for _, flag := range slices.Concat(above, node.Flags) {
		if !flag.Hidden && !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			t.next[path] = append(t.next[path], child.Name)
			t.collect(child, strings.TrimSpace(path+" "+child.Name), flags)
		}
	}
	for _, flag := range flags {
		t.next[path] = append(t.next[path], "--"+flag.Name)
		if flag.Enum != "" {
			t.values[strings.TrimSpace(path+" --"+flag.Name)] = strings.Split(flag.Enum, ",")
		}
		if kind := kindOf(path, flag.Name); kind != "" && named(path, flag.Name) {
			t.names[strings.TrimSpace(path+" --"+flag.Name)] = kind
		}
	}
	for _, arg := range node.Positional {
		if arg.Enum != "" {
			t.next[path] = append(t.next[path], strings.Split(arg.Enum, ",")...)
		}
		if kind := kindOf(path, arg.Name); kind != "" && t.names[path] == "" { // of several, the first
			t.names[path] = kind
		}
	}
}

// paths returns the paths of all commands but the first, sorted.
func (t words) paths() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.next)), func(p string) bool { return p == "" })
}

// bash prints a function that finds the command that the line is at, and the possible
// next words. No name in it is special to zsh, which takes it too.
func (t words) bash(out io.Writer) {
	fmt.Fprint(out, `_interlock() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="" choice="" kind="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${at:+$at }${COMP_WORDS[i]}" in
`)
	for _, path := range t.paths() {
		fmt.Fprintf(out, "      %s) at=%s ;;\n", shellwords.Quote(path), shellwords.Quote(path))
	}
	fmt.Fprint(out, "    esac\n  done\n  case \"${at:+$at }$prev\" in\n")
	for _, flag := range slices.Sorted(maps.Keys(t.values)) {
		fmt.Fprintf(out, "    %s) choice=%s ;;\n",
			shellwords.Quote(flag), shellwords.Quote(strings.Join(t.values[flag], " ")))
	}
	t.kinds(out, func(key string) bool { return strings.Contains(key, "--") })
	fmt.Fprint(out, "  esac\n  if [ -z \"$choice$kind\" ]; then\n    case \"$at\" in\n")
	for _, path := range slices.Sorted(maps.Keys(t.next)) {
		fmt.Fprintf(out, "      %s) choice=%s ;;\n",
			shellwords.Quote(path), shellwords.Quote(strings.Join(t.next[path], " ")))
	}
	fmt.Fprint(out, "    esac\n    case \"$at\" in\n")
	t.kinds(out, func(key string) bool { return !strings.Contains(key, "--") })
	fmt.Fprint(out, `    esac
  fi
  case "$cur" in -*) kind="" ;; esac
  [ -z "$kind" ] || choice="$choice $(interlock names "$kind" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$choice" -- "$cur"))
}
complete -o default -F _interlock interlock
`)
}

// kinds prints the kinds that the server is asked for, of the keys that are wanted.
func (t words) kinds(out io.Writer, wanted func(key string) bool) {
	for _, key := range slices.Sorted(maps.Keys(t.names)) {
		if wanted(key) {
			fmt.Fprintf(out, "    %s) kind=%s ;;\n", shellwords.Quote(key), t.names[key])
		}
	}
}

func (t words) fish(out io.Writer) {
	var quoted []string
	for _, path := range t.paths() {
		quoted = append(quoted, shellwords.Quote(path))
	}
	fmt.Fprintf(out, `function __interlock_at
  set -l at
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    contains -- $next %s; and set at $next
  end
  echo $at
end
`, strings.Join(quoted, " "))
	for _, path := range slices.Sorted(maps.Keys(t.next)) {
		fmt.Fprintf(out, "complete -c interlock -n %s -a %s\n",
			shellwords.Quote(`test "$(__interlock_at)" = "`+path+`"`), shellwords.Quote(strings.Join(t.next[path], " ")))
	}
	for _, path := range slices.Sorted(maps.Keys(t.names)) {
		if !strings.Contains(path, "--") {
			fmt.Fprintf(out, "complete -c interlock -n %s -a '(interlock names %s 2>/dev/null)'\n",
				shellwords.Quote(`test "$(__interlock_at)" = "`+path+`"`), t.names[path])
		}
	}
}

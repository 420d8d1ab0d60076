package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Run prints a script that completes commands and flags. Its words are those of
// the parser itself, so it can not fall behind.
func (c *completionCommand) Run(parser *kong.Kong, io streams) error {
	words := map[string][]string{}
	collect(parser.Model.Node, "", words)
	switch c.Shell {
	case "fish":
		for path, next := range words {
			condition := "test (count (commandline -opc)) -eq 1"
			if path != "" {
				condition = "__fish_seen_subcommand_from " + path[strings.LastIndexByte(path, ' ')+1:]
			}
			fmt.Fprintf(io.out, "complete -c interlock -n %q -a %q\n", condition, strings.Join(next, " "))
		}
		return nil
	case "zsh":
		fmt.Fprintln(io.out, "autoload -U +X bashcompinit && bashcompinit")
	}
	fmt.Fprintln(io.out, "_interlock() {\n  local path=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\" words=\"\"\n  case \"$path\" in")
	for path, next := range words {
		fmt.Fprintf(io.out, "    %q) words=%q ;;\n", path, strings.Join(next, " "))
	}
	fmt.Fprintln(io.out, "  esac\n  COMPREPLY=($(compgen -W \"$words\" -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -F _interlock interlock")
	return nil
}

// collect fills, for each path of commands, the words that may follow it.
func collect(node *kong.Node, path string, words map[string][]string) {
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		words[path] = append(words[path], child.Name)
		collect(child, strings.TrimSpace(path+" "+child.Name), words)
	}
	for _, flag := range node.Flags {
		if !flag.Hidden {
			words[path] = append(words[path], "--"+flag.Name)
		}
	}
}

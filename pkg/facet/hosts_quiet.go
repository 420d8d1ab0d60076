package facet

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
)

// asksOfItself are words that have a program print a text about itself alone.
var asksOfItself = wordSet(`--version --help`)

// gitAsksItself reports git remote and git config where they print settings.
func gitAsksItself(words []shell.Word) bool {
	switch words[0].Text {
	case "remote":
		return len(words) == 1 || len(words) == 2 && words[1].Static && (words[1].Text == "-v" || words[1].Text == "--verbose")
	case "config":
		return len(words) == 3 && words[1].Static && words[1].Text == "--get" && words[2].Static && !strings.HasPrefix(words[2].Text, "-")
	default:
		return false
	}
}

package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/visible"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
)

// Text makes text from agents safe for one line of a terminal: invisible characters are
// shown by their code, not obeyed.
func Text(text string) string { return visible.Text(oneLine.Replace(text), false) }

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// Lines does the work of Text for text of several lines.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// Indented returns JSON for people, as visible text of several lines.
func Indented(text jsontext.Value) string {
	lines, err := jsontext.AppendFormat(nil, text, jsontext.WithIndent("  "))
	if err != nil {
		return Lines(string(text))
	}
	return visible.JSON(string(lines))
}

// Operations writes a JSON Patch for people, an operation on a line.
func Operations(w io.Writer, patch jsontext.Value) {
	list, err := jsonfile.Members(patch, jsontext.KindBeginArray)
	if err != nil {
		fmt.Fprintln(w, Text(string(patch)))
		return
	}
	for _, operation := range list {
		fmt.Fprintln(w, Text(string(operation.Value)))
	}
}

// Counted returns a number and its unit.
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// longest is how much of a text Shortened keeps, in characters.
const longest = 120

// Shortened returns the beginning of a text that is too long for a line.
func Shortened(text string) string {
	runes := []rune(text)
	if len(runes) <= longest {
		return text
	}
	return string(runes[:longest]) + "..."
}

// Argument returns the command line, or else the file or the address, in the input of a call; empty for none.
func Argument(input []byte) string {
	if len(input) == 0 {
		return ""
	}
	if line, _ := toolinput.CommandLine(input); line != "" {
		return line
	}
	var named struct {
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
		URL      string `json:"url"`
	}
	if json.Unmarshal(input, &named) != nil {
		return ""
	}
	return cmp.Or(named.FilePath, named.Path, named.URL)
}

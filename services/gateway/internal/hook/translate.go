package hook

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Workflows and policies name tools as Claude Code does, so that one holds for every agent:
// its tools are Bash with command, Read, Write and Edit with file_path, and so on. Other
// names of an agent are translated before it is checked.

// tools are an agent's own names of tools that Claude Code has too.
type tools map[string]string

// waiting are members of the input of an agent's own shell that say how its answer is waited
// for, by the kind of their values. The check is without them.
type waiting map[string]jsontext.Kind

// translated returns a call in the words of Claude Code: names of tools, and of the file
// and the folder in its input.
func (t tools) translated(ev *event, unchecked waiting) error {
	ev.raw = rawCall{ev.Tool, ev.Input}
	if name, ok := t[ev.Tool]; ok {
		ev.Tool = name
	}
	input := bytes.TrimSpace(ev.Input)
	if len(input) == 0 || input[0] != '{' {
		return nil // it has no names
	}
	args := map[string]jsontext.Value{}
	if err := json.Unmarshal(input, &args, jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("the input of %s cannot be read: %w", ev.Tool, err)
	}
	changed := false
	switch ev.Tool {
	case "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Delete":
		var err error
		if changed, err = renamed(args, "file_path", "absolute_path", "path", "target_file", "filePath"); err != nil {
			return fmt.Errorf("the input of %s: %w", ev.Tool, err)
		}
	case "Bash":
		var err error
		if changed, err = inFolder(args, ev.WorkingDir); err != nil {
			return fmt.Errorf("the input of %s: %w", ev.Tool, err)
		}
		for name, kind := range unchecked {
			if value, there := args[name]; there && (value.Kind() == kind || kind == 't' && value.Kind() == 'f') {
				delete(args, name)
				changed = true
			}
		}
	}
	if !changed {
		return nil
	}
	written, err := json.Marshal(args, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("the input of %s cannot be written: %w", ev.Tool, err)
	}
	ev.Input = written
	return nil
}

// renamed gives the member that has one of some names the name that it has elsewhere. It is
// left with the name that it has, too: the input stays that of the call. Which of two that
// differ the tool would take is not known.
func renamed(args map[string]jsontext.Value, name string, others ...string) (changed bool, err error) {
	found, there := args[name]
	for _, other := range others {
		value, also := args[other]
		switch {
		case !also:
		case !there:
			found, there, changed = value, true, true
		case string(text(value)) != string(text(found)):
			return false, fmt.Errorf("it names two files, %s and %s", found, value)
		}
	}
	if changed {
		args[name] = found
	}
	return changed, nil
}

// folderNames are the members that name the folder that a command runs in.
var folderNames = []string{"dir_path", "directory", "working_directory", "cwd"}

// inFolder has a command begin in the folder that it is run in, where that is not the one
// that the agent works in. The command says it then, and no other member. Which of two that
// differ the tool would take is not known.
func inFolder(args map[string]jsontext.Value, workingDir string) (changed bool, err error) {
	if args["command"].Kind() != '"' {
		return false, nil
	}
	var named []string
	for _, name := range folderNames {
		if value := args[name]; value.Kind() == '"' {
			folder := string(text(value))
			if isHere(folder, workingDir) {
				folder = ""
			}
			named = append(named, folder)
			delete(args, name)
		}
	}
	if len(named) == 0 {
		return false, nil
	}
	for _, folder := range named[1:] {
		if folder != named[0] {
			return false, fmt.Errorf("it names two folders, %q and %q", cmp.Or(named[0], workingDir), cmp.Or(folder, workingDir))
		}
	}
	if named[0] == "" {
		return true, nil
	}
	command := "cd '" + strings.ReplaceAll(named[0], "'", `'\''`) + "' && " + string(text(args["command"]))
	args["command"], err = jsontext.AppendQuote(nil, command)
	return true, err
}

// isHere reports whether a folder is the one that the agent works in. One with .. in it may
// lead elsewhere by a link.
func isHere(folder, workingDir string) bool {
	if folder == "" || strings.Contains(folder, "..") {
		return folder == ""
	}
	clean := path.Clean(folder)
	return clean == "." || workingDir != "" && clean == path.Clean(workingDir)
}

// object returns an object that may be written as the text of one.
func object(value jsontext.Value) jsontext.Value {
	if value.Kind() != '"' {
		return value
	}
	if inner := jsontext.Value(text(value)); inner.IsValid() && inner.Kind() == '{' {
		return inner
	}
	return value
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	shown "github.com/interlock-run/interlock/pkg/visible"
)

// documentLimits are for texts that only the server can judge the size of.
var documentLimits = document.Limits{Bytes: maxFile - 1}

// documentFile reads a file as JSON, which it may be written in or YAML. What is
// wrong with it is told, and errNo.
func documentFile(file string, io streams) ([]byte, error) {
	src, err := definition(file, io)
	if err != nil || isYAML(file) {
		return src, err
	}
	if _, problems := document.ParseAll(src, documentLimits); problems.HasErrors() {
		return nil, refuse(file, problems, io)
	}
	return src, nil
}

// jsonOrFile is JSON given on the command line, or in a file that is named there:
// as @FILE, or plainly when its name is not JSON.
func jsonOrFile(flag, arg string, io streams) ([]byte, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return documentFile(file, io)
	}
	_, problems := document.ParseAll([]byte(arg), documentLimits)
	switch {
	case !problems.HasErrors():
		return []byte(arg), nil
	case strings.ContainsAny(arg[:min(1, len(arg))], " {[\""):
		return nil, fmt.Errorf("--%s is not good JSON: %s", flag, problems[0].Message)
	}
	text, err := documentFile(arg, io)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--%s is neither JSON nor a file: %w", flag, err)
	}
	return text, err
}

// operations joins operations of a JSON Patch, given one by one or as lists.
func operations(flag string, given []string, io streams) ([]byte, error) {
	var all [][]byte
	for _, arg := range given {
		text, err := jsonOrFile(flag, arg, io)
		if err != nil {
			return nil, err
		}
		switch text = bytes.TrimSpace(text); text[0] {
		case '{':
			all = append(all, text)
		case '[':
			list, err := members(text, jsontext.KindBeginArray)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", flag, err)
			}
			for _, operation := range list {
				all = append(all, operation.value)
			}
		default:
			return nil, fmt.Errorf(`--%s must be operations of a JSON Patch, like '{"op": "add", "path": "/a", "value": 1}'`, flag)
		}
	}
	return append(append([]byte("["), bytes.Join(all, []byte(","))...), ']'), nil
}

// indented is JSON for people, as visible text of several lines.
func indented(text jsontext.Value) string {
	lines, err := jsontext.AppendFormat(nil, text, jsontext.WithIndent("  "))
	if err != nil {
		return visibleLines(string(text))
	}
	return shown.JSON(string(lines))
}

package input

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
)

// Limits are for texts that only the server can judge the size of.
var Limits = document.Limits{Bytes: maxFile - 1}

// Object returns a JSON object given on the command line, or in a file named @FILE, or on
// standard input (@-). It is nil for an empty argument.
func Object(flag, arg string, io console.Streams) ([]byte, error) {
	if arg == "" {
		return nil, nil
	}
	data := []byte(arg)
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		var err error
		if data, err = File(file, io.In); err != nil {
			return nil, err
		}
	}
	value, problems := document.ParseAll(data, document.Limits{})
	if problems.HasErrors() {
		return nil, console.Misusedf("--%s is not good JSON: %s; write it like '{\"key\": \"value\"}', or @FILE",
			flag, problems[0].Message)
	}
	if value.Kind() != document.Object {
		return nil, console.Misusedf("--%s must be a JSON object, like '{\"key\": \"value\"}'", flag)
	}
	return data, nil
}

// JSON returns JSON given on the command line, or in a file that is named there: as
// @FILE, or plainly when its name is not JSON.
func JSON(flag, arg string, io console.Streams) ([]byte, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		src, err := Document(file, io)
		return src.JSON, err
	}
	_, problems := document.ParseAll([]byte(arg), Limits)
	switch {
	case !problems.HasErrors():
		return []byte(arg), nil
	case strings.ContainsAny(arg[:min(1, len(arg))], " {[\""):
		return nil, console.Misusedf("--%s is not good JSON: %s", flag, problems[0].Message)
	}
	src, err := Document(arg, io)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, console.Misusedf("--%s is neither JSON nor a file: %w", flag, err)
	}
	return src.JSON, err
}

// Operations joins operations of a JSON Patch, given one by one or as lists. Each
// keeps its text.
func Operations(flag string, given []string, io console.Streams) ([]byte, error) {
	var all [][]byte
	for _, arg := range given {
		text, err := JSON(flag, arg, io)
		if err != nil {
			return nil, err
		}
		switch text = bytes.TrimSpace(text); text[0] {
		case '{':
			all = append(all, text)
		case '[':
			list, err := jsonfile.Members(text, jsontext.KindBeginArray)
			if err != nil {
				return nil, console.Misusedf("--%s: %w", flag, err)
			}
			for _, operation := range list {
				all = append(all, operation.Value)
			}
		default:
			return nil, console.Misusedf("--%s must be operations of a JSON Patch, "+
				`like '{"op": "add", "path": "/a", "value": 1}'`, flag)
		}
	}
	return append(append([]byte("["), bytes.Join(all, []byte(","))...), ']'), nil
}

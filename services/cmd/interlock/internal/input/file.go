// Package input reads what the user gives a command: files, standard input, and
// JSON on the command line.
//
// It judges form only. What a document means is up to the commands.
package input

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// maxFile bounds what is read of a file: a little over the limit, so that the
// validator can say that it is too large.
const maxFile = 4 << 20

// File reads a file; - is standard input, unless that is nil.
func File(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" && stdin != nil {
		return AtMost(stdin, maxFile)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err // it names the file and says why
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name the files in it, e.g. %s", file, filepath.Join(file, "*.json"))
	}
	return AtMost(f, maxFile)
}

// AtMost reads up to a limit, in bytes, and drops the rest.
func AtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}

// IsYAML reports that a file is YAML by its name.
func IsYAML(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return true
	default:
		return false
	}
}

// Definition reads a file as the JSON that servers take.
func Definition(file string, io console.Streams) ([]byte, error) {
	src, err := File(file, io.In)
	if err != nil || !IsYAML(file) {
		return src, err
	}
	value, problems := document.FromYAML(src)
	if problems.HasErrors() {
		return nil, Refuse(file, problems, io)
	}
	return value.AppendJSON(nil), nil
}

// Document reads a file as JSON, which it may be written in or YAML. It prints what
// is wrong with the file and then returns console.ErrNo.
func Document(file string, io console.Streams) ([]byte, error) {
	src, err := Definition(file, io)
	if err != nil || IsYAML(file) {
		return src, err
	}
	if _, problems := document.ParseAll(src, Limits); problems.HasErrors() {
		return nil, Refuse(file, problems, io)
	}
	return src, nil
}

// Refuse prints a file's problems, and returns console.ErrNo.
func Refuse(file string, problems document.Problems, io console.Streams) error {
	show.Problems(io.Err, file, problems)
	return console.ErrNo
}

// Workspace is the folder that file patterns are relative to: as given, or this one.
func Workspace(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find this folder: %w; give --workspace", err)
	}
	return here, nil
}

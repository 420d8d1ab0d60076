// Package input reads the input of a command: files, standard input, and JSON on the
// command line.
//
// It judges form only. The commands interpret documents.
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

// maxFile is the most that is read of a file: a little over the limit, so that the
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
		return nil, fmt.Errorf("%s is a folder: name the files in it, e.g. %s, or %s for all below", file, filepath.Join(file, "*.json"), filepath.ToSlash(filepath.Clean(file))+Below)
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

// Text returns a text given on the command line, or in a file named @FILE, or on standard input
// (@-).
func Text(arg string, io console.Streams) ([]byte, error) {
	if file, ok := strings.CutPrefix(arg, "@"); ok {
		return File(file, io.In)
	}
	return []byte(arg), nil
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

// IsDefinition reports that a name is that of a file with a definition.
func IsDefinition(name string) bool {
	return IsYAML(name) || strings.EqualFold(filepath.Ext(name), ".json")
}

// Source is a definition, or another document, as its author wrote it.
type Source struct {
	// Name is the file's, or - for standard input.
	Name string
	// Text is the content of the file, and JSON its form for servers.
	Text, JSON []byte
	// Wanted is the kind that is read, such as "policy"; empty for any.
	Wanted string
}

// Definition reads a file as the JSON that servers take, which judge it.
func Definition(file string, io console.Streams) (Source, error) {
	text, err := File(file, io.In)
	src := Source{Name: file, Text: text, JSON: text}
	if err != nil || !src.IsYAML() {
		return src, err
	}
	value, problems := document.FromYAML(text)
	if problems.HasErrors() {
		return src, src.Refuse(problems, io)
	}
	src.JSON = value.AppendJSON(nil)
	return src, nil
}

// Document does the work of Definition for a file that must be strict JSON or YAML before
// a server sees it. It prints the problems of the file and then returns console.ErrNo.
func Document(file string, io console.Streams) (Source, error) {
	src, err := Definition(file, io)
	if err != nil || src.IsYAML() {
		return src, err
	}
	if _, problems := document.ParseAll(src.JSON, Limits); problems.HasErrors() {
		return src, src.Refuse(problems, io)
	}
	return src, nil
}

// IsYAML reports whether the source is written in YAML: by its name, and where it has
// none by how it begins.
func (s Source) IsYAML() bool {
	return IsYAML(s.Name) || s.Name == "-" && document.LooksLikeYAML(s.Text)
}

// Parse reads the source with all its problems.
func (s Source) Parse() (document.Value, document.Problems) {
	if s.IsYAML() {
		return document.FromYAML(s.Text)
	}
	return document.ParseAll(s.Text, document.Limits{})
}

// Places finds where problems of the source stand.
func (s Source) Places(problems document.Problems) []document.Place {
	return document.Places(s.Text, s.IsYAML(), problems)
}

// Problems prints the problems of the source.
func (s Source) Problems(out io.Writer, problems document.Problems) {
	show.Problems(out, s.Name, s.Text, problems, s.Places(problems))
}

// Warning is a server's warning on an accepted definition.
type Warning interface {
	GetPointer() string
	GetCode() string
	GetMessage() string
}

// Warn prints the warnings of a server about the source.
func Warn[W Warning](s Source, warnings []W, out io.Writer) {
	problems := make(document.Problems, len(warnings))
	for i, w := range warnings {
		problems[i] = document.Problem{
			Pointer: w.GetPointer(), Code: w.GetCode(), Severity: document.SeverityWarning, Message: w.GetMessage(),
		}
	}
	s.Problems(out, problems)
}

// Refuse prints the problems of the source, and returns console.ErrNo.
func (s Source) Refuse(problems document.Problems, io console.Streams) error {
	s.Reject(problems, io.Err, io.Err)
	return console.ErrNo
}

// Reject prints the problems of the source to out, and its purpose, if not for this, to hints.
func (s Source) Reject(problems document.Problems, out, hints io.Writer) {
	// Of a file of scenarios, all problems come from its being no definition.
	if s.kind() != "scenario file" {
		s.Problems(out, problems)
	}
	if hint := s.Misplaced(); hint != "" {
		fmt.Fprintln(hints, "interlock: "+show.Text(hint))
	}
}

// takers are the commands that take documents, by their kind.
var takers = map[string]string{
	"workflow": "interlock workflow register", "process": "interlock process register", "policy": "interlock policy put",
	"component": "interlock component create", "scenario file": "interlock test",
}

// Misplaced describes the purpose of a source whose shape is that of another kind than the
// wanted one.
func (s Source) Misplaced() string {
	kind := s.kind()
	if kind == "" || kind == s.Wanted || s.Wanted == "" && kind != "scenario file" {
		return ""
	}
	return fmt.Sprintf("%s looks like a %s: `%s %[1]s`", s.Name, kind, takers[kind])
}

// kind returns the kind of a source by its shape, empty if there is none.
func (s Source) kind() string {
	value, _ := s.Parse()
	kind := document.KindOf(value)
	if _, cases := value.Get("cases"); cases && kind == "" {
		return "scenario file"
	}
	return kind
}

// NoProperties refuses a file of properties, by its name, where a definition is wanted: each
// property would be reported as an unknown field.
func NoProperties(file string) error {
	name, ok := strings.CutSuffix(file, ".properties.yaml")
	if !ok {
		return nil
	}
	return console.Misusedf("%s states properties of a workflow: name the workflow, such as %s.json; `interlock verify` reads both", show.Text(file), show.Text(name))
}

// Workspace returns the folder that file patterns are relative to: as given, or this one.
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

// Parsed reads a file, JSON or YAML by its name. It prints the problems of the text, and then
// returns console.ErrNo.
func Parsed(file string, io console.Streams) (Source, document.Value, error) {
	text, err := File(file, io.In)
	if err != nil {
		return Source{}, document.Value{}, err
	}
	src := Source{Name: file, Text: text}
	value, problems := src.Parse()
	if problems.HasErrors() {
		return src, value, src.Refuse(problems, io)
	}
	return src, value, nil
}

// Package configfile reads the flags of a server from a YAML file: every flag by its name,
// without the hyphens. A flag on the command line wins over the file, and so does an
// environment variable.
package configfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/pkg/document"
)

// Flag names the file on a command line, and Variable in the environment.
const (
	Flag     = "config"
	Variable = "INTERLOCK_CONFIG"
)

// maxFile bounds a file, in bytes.
const maxFile = 1 << 20

// Named returns the file that a command line or the environment names; empty for none.
func Named(args []string, getenv func(string) string) string {
	for i, arg := range args {
		switch name, value, given := strings.Cut(arg, "="); {
		case arg == "--":
			return getenv(Variable)
		case name == "--"+Flag && given:
			return value
		case name == "--"+Flag && i+1 < len(args):
			return args[i+1]
		}
	}
	return getenv(Variable)
}

// File has the settings of a file.
type File struct {
	name  string
	text  []byte
	value document.Value
}

// Read reads a file. Its error shows each problem with its place.
func Read(name string) (*File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", Flag, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("--%s: %s is larger than %d bytes", Flag, name, maxFile)
	}
	f := &File{name: name, text: text}
	if strings.TrimSpace(string(text)) == "" {
		return f, nil
	}
	value, problems := document.FromYAML(text)
	if len(problems) > 0 {
		return nil, f.refuse(problems)
	}
	f.value = value
	switch value.Kind() {
	case document.Object, document.Null:
		return f, nil
	default:
		return nil, f.refuse(document.Problems{{Message: "this must be an object: one flag a line, such as `grpc: 127.0.0.1:7431`"}})
	}
}

// refuse makes one error of problems, a line each.
func (f *File) refuse(problems document.Problems) error {
	places := document.Places(f.text, true, problems)
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = f.name
		if i < len(places) && places[i].Line > 0 {
			lines[i] += fmt.Sprintf(":%d:%d", places[i].Line, places[i].Column)
		}
		lines[i] += ": " + p.Message
	}
	return fmt.Errorf("--%s: %s", Flag, strings.Join(lines, "\n"))
}

// Options make kong read the file, and refuse it when it does not fit.
func (f *File) Options() []kong.Option {
	return []kong.Option{
		kong.Resolvers(resolver{f}),
		kong.PostBuild(func(parser *kong.Kong) error { return f.check(parser.Model) }),
	}
}

// check refuses flags that no command of the application has, and values that cannot be
// theirs, with the places.
func (f *File) check(app *kong.Application) error {
	if f.value.Kind() != document.Object {
		return nil
	}
	known := flagsOf(app)
	var problems document.Problems
	for name, value := range f.value.Members() {
		pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		flag := known[name]
		if flag == nil {
			problems = append(problems, document.Problem{Pointer: pointer, Message: unknown(name, known)})
			continue
		}
		if err := fits(flag, value); err != nil {
			problems = append(problems, document.Problem{Pointer: pointer, Message: name + " " + err.Error()})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return f.refuse(problems)
}

// fits tries a value on a flag.
func fits(flag *kong.Flag, value document.Value) error {
	text, err := textOf(flag, value)
	if err != nil {
		return err
	}
	target := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.Scan().PushTyped(text, kong.FlagValueToken), target); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--"+flag.Name+": "))
	}
	if flag.Enum != "" && !slices.Contains(strings.Split(flag.Enum, ","), fmt.Sprint(text)) {
		return fmt.Errorf("is one of %s, not %q", flag.Enum, text)
	}
	return nil
}

type resolver struct{ *File }

// Validate implements kong.Resolver. The file was checked before.
func (resolver) Validate(*kong.Application) error { return nil }

func unknown(name string, known map[string]*kong.Flag) string {
	if known[strings.TrimLeft(name, "-")] != nil {
		return fmt.Sprintf("%q is written without hyphens in front: %s", name, strings.TrimLeft(name, "-"))
	}
	if dashed := strings.ReplaceAll(strings.ToLower(name), "_", "-"); known[dashed] != nil {
		return fmt.Sprintf("there is no flag %q; write %s", name, dashed)
	}
	return fmt.Sprintf("there is no flag %q here; --help lists them", name)
}

// Resolve implements kong.Resolver. kong has set variables of the environment before, as
// a default: that stays.
func (r resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == Flag || slices.ContainsFunc(flag.Envs, func(name string) bool { return os.Getenv(name) != "" }) {
		return nil, nil
	}
	value, given := r.value.Get(flag.Name)
	if !given {
		return nil, nil
	}
	return textOf(flag, value)
}

// textOf returns a value as a command line has it.
func textOf(flag *kong.Flag, value document.Value) (any, error) {
	switch value.Kind() {
	case document.String:
		return value.Str(), nil
	case document.Bool:
		if !flag.IsBool() {
			return nil, errors.New("takes a text, not true or false: put it in quotes")
		}
		return value.Bool(), nil
	case document.Number:
		return value.String(), nil
	case document.Array:
		if !flag.IsSlice() {
			return nil, errors.New("takes one value, not a list")
		}
		var parts []any
		for _, element := range value.Elements() {
			if element.Kind() != document.String {
				return nil, errors.New("takes a list of texts")
			}
			parts = append(parts, element.Str())
		}
		return parts, nil
	default:
		return nil, fmt.Errorf("takes a text, a number, true or false, or a list of texts, not %s", article(value.Kind()))
	}
}

func article(k document.Kind) string {
	if k == document.Object {
		return "an object"
	}
	return "nothing"
}

// flagsOf returns the flags of an application and all its commands that a file may have.
func flagsOf(app *kong.Application) map[string]*kong.Flag {
	known := map[string]*kong.Flag{}
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, is := node.(*kong.Flag); is && !flag.Hidden && flag.Name != "help" && flag.Name != Flag {
			known[flag.Name] = flag
		}
		return next(nil)
	})
	return known
}

// Schema returns the JSON Schema of files for an application.
func Schema(app *kong.Application, title string) ([]byte, error) {
	properties := map[string]any{}
	for name, flag := range flagsOf(app) {
		property := map[string]any{"description": flag.Help}
		switch {
		case flag.IsBool():
			property["type"] = "boolean"
		case flag.IsSlice():
			property["type"], property["items"] = "array", map[string]any{"type": "string"}
		case flag.Enum != "":
			property["enum"] = strings.Split(flag.Enum, ",")
		default:
			property["type"] = []string{"string", "number"}
		}
		if flag.HasDefault && flag.Default != "" {
			property["default"] = flag.Default
		}
		properties[name] = property
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object",
		"additionalProperties": false, "properties": properties,
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make the schema: %w", err)
	}
	return append(text, '\n'), nil
}

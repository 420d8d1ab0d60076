package verify

import (
	"fmt"
	"os"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// Compile reads a file with a workflow or a process, JSON or YAML by its name, as a version of
// that number, and its digest. It prints the problems of the definition, and then returns
// console.ErrNo.
func Compile(file string, number int64, io console.Streams) (definition.Compiled, string, error) {
	if err := input.NoProperties(file); err != nil {
		return definition.Compiled{}, "", err
	}
	src, err := input.Definition(file, io)
	if err != nil {
		return definition.Compiled{}, "", err
	}
	value, problems := src.Parse()
	if !problems.HasErrors() {
		_, problems = compiled(value)
	}
	if problems.HasErrors() {
		return definition.Compiled{}, "", src.Refuse(problems, io)
	}
	m, err := definition.Flags{}.Compile(src.JSON, number)
	if err != nil {
		return m, "", fmt.Errorf("%s: %w", show.Text(file), err)
	}
	return m, document.Digest(value), nil
}

// Named returns the runs that a command line names: those of exported files, and the ids of
// the others. A run that is named twice would be counted twice, and is refused.
func Named(names []string, io console.Streams) (traces []*conform.Trace, ids []string, err error) {
	seen := map[string]bool{}
	again := func(id string) error {
		if seen[id] {
			return console.Misusedf("run %s is named twice", id)
		}
		seen[id] = true
		return nil
	}
	for _, name := range names {
		if _, err := os.Stat(name); err != nil {
			if err := noFile(name); err != nil {
				return nil, nil, err
			}
			if err := again(name); err != nil {
				return nil, nil, err
			}
			ids = append(ids, name)
			continue
		}
		t, err := FromFile(name, io)
		if err != nil {
			return nil, nil, err
		}
		if err := again(t.RunID); err != nil {
			return nil, nil, err
		}
		traces = append(traces, t)
	}
	return traces, ids, nil
}

// noFile refuses the name of a file that is not there, where the id of a run can stand too.
func noFile(name string) error {
	if !strings.ContainsAny(name, `/\`) && !input.IsDefinition(name) {
		return nil
	}
	return fmt.Errorf("there is no file %s; `interlock verify --run RUN --save FILE` exports a run", show.Text(name))
}

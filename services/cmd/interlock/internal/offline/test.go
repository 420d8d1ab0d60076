package offline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Test is the command that plays scenario files.
type Test struct {
	Files       []string             `arg:"" name:"file" help:"Scenario files, folders of *.test.yaml, or FOLDER/... for all below; - is standard input." placeholder:"FILE"`
	Format      string               `help:"Output: text, json or junit." enum:"text,json,junit" default:"text"`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none, as the server's --enforcement." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
	Coverage    bool                 `help:"List the states and transitions that no case reaches."`
}

// tested is the outcome of all files.
type tested struct {
	files    []testedFile
	coverage scenario.Coverage
}

// testedFile is one scenario file: its results, or why it has none.
type testedFile struct {
	name     string
	results  []scenario.Result
	problems []scenario.Problem
	unread   error
}

func (f *testedFile) valid() bool { return f.unread == nil && len(f.problems) == 0 }

func (f *testedFile) failed() int {
	n := 0
	for i := range f.results {
		if !f.results[i].OK {
			n++
		}
	}
	return n
}

// Run tests every file. A problem of one does not keep the others from being tested.
func (c *Test) Run(_ context.Context, io console.Streams) error {
	names, missing := scenarioFiles(c.Files)
	var all tested
	for _, name := range names {
		all.files = append(all.files, all.test(name, c.Enforcement, io))
	}
	printed := c.print(io, &all)
	invalid, failed := 0, 0
	for i := range all.files {
		f := &all.files[i]
		failed += f.failed()
		if f.valid() {
			continue
		}
		invalid++
		if f.unread != nil {
			missing = append(missing, f.unread)
		}
		for _, p := range f.problems {
			fmt.Fprintln(io.Err, show.Text(p.String()))
		}
	}
	if invalid > 0 {
		missing = append(missing, fmt.Errorf("%s could not be tested", show.Counted(invalid, "file")))
	}
	if err := errors.Join(append(missing, printed)...); err != nil {
		return err
	}
	if failed > 0 {
		return console.ErrNo
	}
	return nil
}

func (t *tested) test(name string, enforcement workflow.Enforcement, io console.Streams) testedFile {
	f := testedFile{name: name}
	src, err := input.File(name, io.In)
	if err != nil {
		f.unread = err
		return f
	}
	suite, problems := scenario.Parse(scenario.Source{Name: name, Text: src, Enforcement: enforcement}, func(ref string) (scenario.Source, error) {
		path := ref
		if !filepath.IsAbs(ref) {
			path = filepath.Join(filepath.Dir(name), filepath.FromSlash(ref))
		}
		text, err := input.File(path, nil)
		return scenario.Source{Name: path, Text: text}, err
	})
	if f.problems = problems; suite != nil {
		f.results = suite.Play(&t.coverage)
	}
	return f
}

func (c *Test) print(io console.Streams, t *tested) error {
	switch c.Format {
	case "json":
		if c.Coverage {
			t.printCoverage(io.Err, true)
		}
		return t.printJSON(io.Out)
	case "junit":
		if c.Coverage {
			t.printCoverage(io.Err, true)
		}
		return t.printJUnit(io.Out)
	default:
		t.printText(io.Out)
		t.printCoverage(io.Out, c.Coverage)
		return nil
	}
}

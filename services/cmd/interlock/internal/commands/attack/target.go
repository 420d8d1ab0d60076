package attack

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
)

// target is the attacked definition.
type target struct {
	model      *verify.Model
	properties []workflow.Property
	// The documents that it was read from.
	definitions, policies, sources []source
}

// read reads the files of the command line.
func (c *Command) read(io console.Streams) (*target, error) {
	t := &target{model: &verify.Model{}}
	for i, file := range append([]string{c.Workflow}, c.Invoked...) {
		if err := input.NoProperties(file); err != nil {
			return nil, err
		}
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		if err := t.define(src, value, c.reference(file), i == 0, io); err != nil {
			return nil, err
		}
	}
	for _, file := range c.Policy {
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		if err := t.judge(src, value, c.reference(file), io); err != nil {
			return nil, err
		}
	}
	var files []string
	if sibling := strings.TrimSuffix(c.Workflow, filepath.Ext(c.Workflow)) + ".properties.yaml"; exists(sibling) {
		files = append(files, sibling)
	}
	if c.Properties != "" {
		files = append(files, c.Properties)
	}
	for _, file := range files {
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		if err := t.demand(src, value, io); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// target reads the documents that are in a schedule.
func (s *schedule) target(io console.Streams) (*target, error) {
	t := &target{model: &verify.Model{}}
	for i, d := range s.Definitions {
		src, value, err := parsed(d, io)
		if err != nil {
			return nil, err
		}
		if err := t.define(src, value, d.File, i == 0, io); err != nil {
			return nil, err
		}
	}
	for _, d := range s.Policies {
		src, value, err := parsed(d, io)
		if err != nil {
			return nil, err
		}
		if err := t.judge(src, value, d.File, io); err != nil {
			return nil, err
		}
	}
	for _, d := range s.Properties {
		src, value, err := parsed(d, io)
		if err != nil {
			return nil, err
		}
		if err := t.demand(src, value, io); err != nil {
			return nil, err
		}
	}
	if len(s.Definitions) == 0 {
		return nil, console.Misusedf("the schedule has no workflow: write it again with interlock attack --out")
	}
	return t, nil
}

// parsed reads a document of a schedule.
func parsed(d source, io console.Streams) (input.Source, document.Value, error) {
	src := input.Source{Name: d.File, Text: d.Text}
	value, problems := document.ParseAll(d.Text, document.Limits{})
	if problems.HasErrors() {
		return src, value, src.Refuse(problems, io)
	}
	return src, value, nil
}

// define adds a workflow or a process.
func (t *target) define(src input.Source, value document.Value, file string, main bool, io console.Streams) error {
	d := verify.Definition{Text: value, File: file}
	var problems document.Problems
	if process.Is(value) {
		var def *process.Definition
		if def, problems = process.ParseValue(value); !problems.HasErrors() {
			d.Process = process.Compile(def, 1)
			d.Machine = d.Process.Machine()
		}
	} else {
		var def *workflow.Definition
		if def, problems = workflow.ParseValue(value); !problems.HasErrors() {
			d.Machine = workflow.Compile(def, 1)
		}
	}
	if problems.HasErrors() {
		return src.Refuse(problems, io)
	}
	t.definitions = append(t.definitions, source{file, value.AppendJSON(nil)})
	if main {
		t.model.Main, t.properties = d, d.Machine.Definition().Properties
	} else {
		t.model.Others = append(t.model.Others, d)
	}
	return nil
}

// judge adds a policy.
func (t *target) judge(src input.Source, value document.Value, file string, io console.Streams) error {
	p, problems := rules.ParsePolicyValue(value)
	if problems.HasErrors() {
		return src.Refuse(problems, io)
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	t.policies = append(t.policies, source{file, value.AppendJSON(nil)})
	t.model.Policies = append(t.model.Policies, verify.Policy{Policy: p, Text: value, File: file})
	return nil
}

// demand adds properties.
func (t *target) demand(src input.Source, value document.Value, io console.Streams) error {
	more, problems := workflow.ParseProperties(value, t.model.Main.Machine.Definition())
	if problems.HasErrors() {
		return src.Refuse(problems, io)
	}
	t.sources = append(t.sources, source{src.Name, value.AppendJSON(nil)})
	t.properties = append(t.properties, more...)
	return nil
}

// reference returns how a scenario finds a file: relative to the folder that it is
// written to.
func (c *Command) reference(file string) string {
	if c.Out == "" || filepath.IsAbs(file) {
		return file
	}
	from, err := filepath.Abs(c.Out)
	if err != nil {
		return file
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

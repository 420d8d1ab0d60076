// Package offline has the commands that need no server: they validate, format, test
// and draw definitions.
//
// It must never open a connection.
package offline

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// Validate is the command that validates files.
type Validate struct {
	Files       []string             `arg:"" optional:"" name:"file" help:"Files to validate, JSON or YAML by their names, or FOLDER/... for all below; - is standard input." placeholder:"FILE"`
	Strict      bool                 `help:"Treat warnings as errors, and warn of states that let the agent run any command where people approve."`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none, as the server's --enforcement." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
	Schema      string               `help:"Only print the JSON Schema of a kind of file, for editors." enum:"workflow,policy,process,component,scenario," default:"" placeholder:"KIND"`
	Format      string               `help:"Output: text or json." enum:"text,json" default:"text"`
}

// verdict is the result for one file.
type verdict struct {
	File     string            `json:"file"`
	Kind     string            `json:"kind"`
	OK       bool              `json:"ok"`
	Problems document.Problems `json:"-"`
	// Located are the problems for programs.
	Located []located `json:"problems"`
	source  input.Source
}

// located is a problem with where it stands in the file, 0 for unknown.
type located struct {
	document.Problem
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// Run judges every file, and returns console.ErrNo when one is not valid.
func (c *Validate) Run(_ context.Context, io console.Streams) error {
	switch {
	case c.Schema != "" && len(c.Files) > 0:
		return console.Misusedf("--schema only prints a schema: leave the files out")
	case c.Schema != "":
		_, err := io.Out.Write(definition.Schemas()[c.Schema])
		return err
	case len(c.Files) == 0:
		return console.Misusedf("name the files to validate, - for standard input; see interlock validate --help")
	}
	files, err := input.Definitions(c.Files)
	if err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(files))
	ok := true
	var unread []error
	for _, file := range files {
		if err := input.NoProperties(file); err != nil {
			unread = append(unread, err)
			continue
		}
		src, err := input.File(file, io.In)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		v := validate(input.Source{Name: file, Text: src}, c.Strict, c.Enforcement)
		ok = ok && v.OK
		verdicts = append(verdicts, v)
	}
	// Readable files are judged in any case.
	if err := errors.Join(append(unread, c.print(io, verdicts))...); err != nil {
		return err
	}
	if !ok {
		return console.ErrNo
	}
	return nil
}

func (c *Validate) print(io console.Streams, verdicts []verdict) error {
	if c.Format == "json" {
		return show.JSON(io.Out, verdicts)
	}
	for _, v := range verdicts {
		if v.OK {
			fmt.Fprintf(io.Out, "%s: ok (%s)\n", show.Text(v.File), v.Kind)
			v.source.Problems(io.Out, v.Problems)
			continue
		}
		v.source.Reject(v.Problems, io.Out, io.Err)
	}
	return nil
}

// validate detects a document's kind by its shape and finds every problem.
func validate(src input.Source, strict bool, enforcement workflow.Enforcement) verdict {
	v := verdict{File: src.Name, Kind: "workflow", Located: []located{}, source: src}
	value, problems := src.Parse()
	if !problems.HasErrors() || value.Kind() == document.Object {
		if kind := document.KindOf(value); kind != "" {
			v.Kind = kind
		}
	}
	if v.Kind == "workflow" {
		value = enforcement.Effective(value)
	}
	if value.Kind() == document.Object {
		problems = append(problems, judge(v.Kind, value)...)
	} else if !problems.HasErrors() {
		problems = judge(v.Kind, value)
	}
	if strict {
		problems = problems.Strict()
		// Whether it matters is the deployment's: this stays a warning.
		switch {
		case problems.HasErrors():
		case v.Kind == "workflow":
			problems = append(problems, OpenShells(value)...)
		case v.Kind == "policy":
			problems = append(problems, openPolicy(value)...)
		}
	}
	v.Problems, v.OK = problems, !problems.HasErrors()
	for i, place := range src.Places(problems) {
		v.Located = append(v.Located, located{problems[i], place.Line, place.Column})
	}
	return v
}

func judge(kind string, value document.Value) document.Problems {
	var problems document.Problems
	switch kind {
	case "process":
		_, problems = process.ParseValue(value)
	case "policy":
		_, problems = rules.ParsePolicyValue(value)
	case "component":
		_, problems = document.ParseComponentValue(value)
	default:
		_, problems = workflow.ParseValue(value)
	}
	return problems
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

type validateCommand struct {
	Files  []string `arg:"" name:"file" help:"Files to validate, JSON or YAML by their names; - is standard input." placeholder:"FILE"`
	Strict bool     `help:"Treat warnings as errors."`
	Format string   `help:"Output: text or json." enum:"text,json" default:"text"`
}

// verdict is the result for one file.
type verdict struct {
	File     string            `json:"file"`
	Kind     string            `json:"kind"`
	OK       bool              `json:"ok"`
	Problems document.Problems `json:"problems"`
}

func (c *validateCommand) Run(_ context.Context, io streams) error {
	verdicts := make([]verdict, 0, len(c.Files))
	ok := true
	var unread []error
	for _, file := range c.Files {
		src, err := readFile(file, io)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		v := validate(file, src, c.Strict)
		ok = ok && v.OK
		verdicts = append(verdicts, v)
	}
	// What could be read is judged in any case.
	if err := errors.Join(append(unread, c.print(io, verdicts))...); err != nil {
		return err
	}
	if !ok {
		return errNo
	}
	return nil
}

func (c *validateCommand) print(io streams, verdicts []verdict) error {
	if c.Format == "json" {
		return printJSON(io.out, verdicts)
	}
	for _, v := range verdicts {
		if v.OK {
			fmt.Fprintf(io.out, "%s: ok (%s)\n", visible(v.File), v.Kind)
		}
		for _, p := range v.Problems {
			fmt.Fprintln(io.out, problemLine(v.File, p))
		}
	}
	return nil
}

// problemLine is one problem of a file on one line.
func problemLine(file string, p document.Problem) string {
	return visible(fmt.Sprintf("%s: %s: %s", file, p.Severity, p))
}

// validate tells a document's kind by its shape and finds every problem.
func validate(file string, src []byte, strict bool) verdict {
	v := verdict{File: file, Kind: "workflow", Problems: document.Problems{}}
	value, problems := parseFile(file, src)
	if !problems.HasErrors() || value.Kind() == document.Object {
		if kind := document.KindOf(value); kind != "" {
			v.Kind = kind
		}
	}
	if value.Kind() == document.Object {
		problems = append(problems, judge(v.Kind, value)...)
	} else if !problems.HasErrors() {
		problems = judge(v.Kind, value)
	}
	if strict {
		problems = problems.Strict()
	}
	v.Problems = append(v.Problems, problems...)
	v.OK = !problems.HasErrors()
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

func parseFile(file string, src []byte) (document.Value, document.Problems) {
	if isYAML(file) {
		return document.FromYAML(src)
	}
	return document.ParseAll(src, document.Limits{})
}

func isYAML(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return true
	default:
		return false
	}
}

// maxFile bounds what is read of a file: a little over the limit, so that the
// validator can say that it is too large.
const maxFile = 4 << 20

func readFile(file string, io streams) ([]byte, error) {
	if file == "-" {
		return readAtMost(io.in, maxFile)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err // it names the file and says why
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name the files in it, e.g. %s", file, filepath.Join(file, "*.json"))
	}
	return readAtMost(f, maxFile)
}

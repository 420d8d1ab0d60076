package offline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Fmt is the command that formats definitions.
type Fmt struct {
	Files []string `arg:"" optional:"" name:"file" help:"Definitions in JSON, or FOLDER/... for all below; - or none is standard input." placeholder:"FILE"`
	Check bool     `short:"l" xor:"mode" help:"List the files that differ, without writing them, and exit 1 if any does."`
	Write bool     `short:"w" xor:"mode" help:"Write each file that differs in place."`
}

// Run lays definitions out. Text that is not JSON is explained and left alone.
func (c *Fmt) Run(_ context.Context, io console.Streams) error {
	var files []string
	for _, arg := range c.Files {
		found, err := input.Definitions([]string{arg})
		if err != nil {
			return err
		}
		if _, below := input.Folder(arg); below {
			found = slices.DeleteFunc(found, input.IsYAML)
		}
		files = append(files, found...)
	}
	if len(c.Files) == 0 {
		files = []string{"-"}
	}
	var failed []error
	ok := true
	for _, file := range files {
		good, err := c.format(file, io)
		failed = append(failed, err)
		ok = ok && good
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if !ok {
		return console.ErrNo
	}
	return nil
}

// format does one file, and returns whether it has no problems.
func (c *Fmt) format(file string, io console.Streams) (bool, error) {
	switch {
	case input.IsYAML(file):
		return false, fmt.Errorf("%s is YAML: only JSON is formatted", file)
	case c.Write && file == "-":
		return false, errors.New("standard input cannot be written: name files, or leave -w out")
	}
	before, err := input.File(file, io.In)
	if err != nil {
		return false, err
	}
	after, problems := Format(before)
	if problems.HasErrors() {
		input.Source{Name: file, Text: before}.Problems(io.Err, problems)
		return false, nil
	}
	same := bytes.Equal(before, after)
	switch {
	case c.Check:
		if !same {
			fmt.Fprintln(io.Out, show.Text(file))
		}
		return same, nil
	case c.Write:
		if same {
			return true, nil
		}
		return true, (&jsonfile.File{Path: file, Before: before, After: after}).Save()
	default:
		_, err = io.Out.Write(after)
		return true, err
	}
}

// Format lays out a document: known fields in their order, unknown
// ones behind the field that they were written behind, names and scalars as they
// were written. Whether the definition is valid otherwise does not matter.
func Format(src []byte) ([]byte, document.Problems) {
	value, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return nil, problems
	}
	if value.Kind() != document.Object {
		var report document.Report
		report.Errorf(nil, document.CodeType, "a definition must be an object, not a %s", value.Kind())
		return nil, report.Problems()
	}
	e, err := readElement(jsontext.NewDecoder(bytes.NewReader(src)))
	if err != nil {
		var report document.Report
		report.Errorf(nil, document.CodeJSONSyntax, "%v", err)
		return nil, report.Problems()
	}
	form := workflowForm
	if kind := document.KindOf(value); kind != "" && kind != "workflow" {
		form = &fmtShape{}
	}
	var l fmtLayout
	l.element(e, form, 0, 0)
	l.WriteByte('\n')
	return l.Bytes(), nil
}

// Package verify has the command that decides properties of every run of a workflow, and
// whether a recorded run was decided by its definition.
package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// Command verifies files.
type Command struct {
	client.Connection
	Files       []string             `arg:"" optional:"" name:"file" help:"Workflows and processes, and policies that judge their calls, JSON or YAML by their names. NAME.properties.yaml next to NAME.json is read too. FOLDER/... is all below." placeholder:"FILE"`
	Properties  string               `help:"A file of more properties, of the first workflow." placeholder:"FILE"`
	Schema      string               `help:"The schema of the shared state that evidence may be of, JSON or YAML: shows who may write the values that the guards read." placeholder:"FILE"`
	MaxStates   int                  `help:"The most states that are explored for one property." default:"1000000" placeholder:"N"`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none, as the server's --enforcement." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
	Strict      bool                 `help:"Treat warnings as properties that are not kept."`
	Out         string               `help:"Write counterexamples there, as scenarios for interlock test." placeholder:"DIR"`
	Certificate string               `help:"Write a certificate of the proofs about the first workflow." placeholder:"FILE"`
	Check       string               `help:"Confirm a certificate: explore again, and compare." placeholder:"FILE"`
	Format      string               `help:"Output: text, json, sarif or junit." enum:"text,json,sarif,junit" default:"text"`
	Run_        string               `name:"run" help:"Check that a recorded run was decided as its definition and policies say: the id of a run of a server, or an exported file." placeholder:"RUN|FILE"`
	Save        string               `help:"With --run, export the run there: with its history, its decisions and their definitions." placeholder:"FILE"`
}

// checked has the findings about one file.
type checked struct {
	File   string
	Source input.Source
	Model  *verify.Model
	verify.Report
	props []workflow.Property
}

// Run verifies every workflow that is named.
func (c *Command) Run(ctx context.Context, io console.Streams, version console.Version) error {
	if c.Run_ != "" && c.Schema != "" {
		return console.Misusedf("--schema is about possible runs of a workflow, and --run about one run: give one of them")
	}
	if c.Run_ != "" {
		return c.conform(ctx, io)
	}
	if c.Save != "" {
		return console.Misusedf("--save exports the run that --run names: give --run RUN too")
	}
	if len(c.Files) == 0 {
		return console.Misusedf("name the files to verify; see interlock verify --help")
	}
	if c.MaxStates < 1 {
		return console.Misusedf("--max-states must be at least 1")
	}
	all, err := c.read(io)
	if err != nil {
		return err
	}
	if c.Check != "" {
		return c.confirm(io, &all[0])
	}
	for i := range all {
		f := &all[i]
		f.Report = verify.Check(f.Model, f.props, verify.Options{
			MaxStates: c.MaxStates, Builtin: true,
			Progress: progress(io),
		})
		if err := c.write(f); err != nil {
			return err
		}
	}
	if c.Certificate != "" {
		if err := c.certify(&all[0], string(version)); err != nil {
			return err
		}
	}
	if err := c.print(io, all); err != nil {
		return err
	}
	return c.answer(all)
}

// answer returns the exit code: 1 when something is refuted, 2 when something is not
// decided.
func (c *Command) answer(all []checked) error {
	undecided := 0
	for i := range all {
		switch {
		case all[i].Worst() == verify.Refuted, c.Strict && len(all[i].Warnings) > 0:
			return console.ErrNo
		case all[i].Worst() == verify.Undecided:
			undecided++
		}
	}
	if undecided > 0 {
		return fmt.Errorf("not everything was decided, in %s", show.Counted(undecided, "file"))
	}
	return nil
}

// progress shows on standard error how far a long exploration is.
func progress(io console.Streams) func(string, int) bool {
	last := time.Now()
	return func(property string, states int) bool {
		if time.Since(last) > 2*time.Second {
			last = time.Now()
			fmt.Fprintf(io.Err, "interlock: %s: %d states so far\n", show.Text(property), states)
		}
		return true
	}
}

// read reads all files: each workflow is verified, and can be invoked by the others.
func (c *Command) read(io console.Streams) ([]checked, error) {
	var all []checked
	var policies []verify.Policy
	files, err := input.Definitions(c.Files)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := input.NoProperties(file); err != nil {
			return nil, err
		}
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		name := c.reference(file)
		if document.KindOf(value) == "policy" {
			p, err := policyOf(src, value, name, io)
			if err != nil {
				return nil, err
			}
			policies = append(policies, p)
			continue
		}
		if !process.Is(value) {
			value = c.Enforcement.Effective(value)
		}
		d, problems := compiled(value)
		if problems.HasErrors() {
			return nil, src.Refuse(problems, io)
		}
		d.File = name
		all = append(all, checked{
			File: file, Source: src, Model: &verify.Model{Main: d},
			props: d.Machine.Definition().Properties,
		})
	}
	if len(all) == 0 {
		return nil, console.Misusedf("name a workflow or a process: policies alone have no runs")
	}
	schema, err := c.schema(io)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Model.Policies, all[i].Model.Schema = policies, schema
		for j := range all {
			if i != j {
				all[i].Model.Others = append(all[i].Model.Others, all[j].Model.Main)
			}
		}
		if err := c.properties(&all[i], i == 0, io); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// schema reads the one of the shared state, if it is named.
func (c *Command) schema(io console.Streams) (*document.Schema, error) {
	if c.Schema == "" {
		return nil, nil
	}
	src, value, err := input.Parsed(c.Schema, io)
	if err != nil {
		return nil, err
	}
	schema, problems := document.CompileSchema(value)
	if problems.HasErrors() {
		return nil, src.Refuse(problems, io)
	}
	return schema, nil
}

// reference returns how a counterexample finds a file: relative to the folder that it is
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

func compiled(value document.Value) (verify.Definition, document.Problems) {
	if process.Is(value) {
		def, problems := process.ParseValue(value)
		if problems.HasErrors() {
			return verify.Definition{}, problems
		}
		p := process.Compile(def, 1)
		return verify.Definition{Machine: p.Machine(), Process: p, Text: value}, nil
	}
	def, problems := workflow.ParseValue(value)
	if problems.HasErrors() {
		return verify.Definition{}, problems
	}
	return verify.Definition{Machine: workflow.Compile(def, 1), Text: value}, nil
}

func policyOf(src input.Source, value document.Value, name string, io console.Streams) (verify.Policy, error) {
	p, problems := rules.ParsePolicyValue(value)
	if problems.HasErrors() {
		return verify.Policy{}, src.Refuse(problems, io)
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(src.Name), filepath.Ext(src.Name))
	}
	return verify.Policy{Policy: p, Text: value, File: name}, nil
}

// Policies reads files of policies.
func Policies(files []string, io console.Streams) ([]verify.Policy, error) {
	var all []verify.Policy
	for _, file := range files {
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		p, err := policyOf(src, value, file, io)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// properties adds those of the files that stand next to a workflow, or that are named.
func (c *Command) properties(f *checked, first bool, io console.Streams) error {
	named := ""
	if first {
		named = c.Properties
	}
	more, err := MoreProperties(f.File, named, f.Model.Main.Machine.Definition(), io)
	f.props = append(f.props, more...)
	return err
}

// MoreProperties returns those of a workflow that are not in its own file: of the file that
// stands next to it, and of the one that is named, if any.
func MoreProperties(workflowFile, named string, def *workflow.Definition, io console.Streams) ([]workflow.Property, error) {
	var files []string
	sibling := input.PropertiesOf(workflowFile)
	if _, err := os.Stat(sibling); err == nil {
		files = append(files, sibling)
	}
	if named != "" {
		files = append(files, named)
	}
	var all []workflow.Property
	for _, file := range files {
		src, value, err := input.Parsed(file, io)
		if err != nil {
			return nil, err
		}
		more, problems := workflow.ParseProperties(value, def)
		if problems.HasErrors() {
			return nil, src.Refuse(problems, io)
		}
		all = append(all, more...)
	}
	return all, nil
}

// write keeps counterexamples as scenarios.
func (c *Command) write(f *checked) error {
	if c.Out == "" {
		return nil
	}
	for i := range f.Results {
		r := &f.Results[i]
		if r.Counterexample == nil || len(r.Counterexample.Scenario) == 0 {
			continue
		}
		if err := os.MkdirAll(c.Out, 0o755); err != nil {
			return fmt.Errorf("write counterexamples: %w", err)
		}
		if err := os.WriteFile(filepath.Join(c.Out, scenarioName(f, r)), r.Counterexample.Scenario, 0o644); err != nil {
			return fmt.Errorf("write a counterexample: %w", err)
		}
	}
	return nil
}

func scenarioName(f *checked, r *verify.Result) string {
	plain := func(name string) string {
		return strings.Map(func(c rune) rune {
			if c == '/' || c == '\\' || c == ' ' || c == ':' {
				return '-'
			}
			return c
		}, name)
	}
	return plain(f.Workflow) + "." + plain(r.Property.Name) + ".test.yaml"
}

func (c *Command) certify(f *checked, version string) error {
	certificate := verify.Certify(f.Model, &f.Report, verify.Options{MaxStates: c.MaxStates}, version)
	text, err := json.Marshal(certificate, indented)
	if err != nil {
		return fmt.Errorf("encode the certificate: %w", err)
	}
	if err := os.WriteFile(c.Certificate, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	return nil
}

// confirm explores the texts of a certificate again.
func (c *Command) confirm(io console.Streams, f *checked) error {
	text, err := input.File(c.Check, io.In)
	if err != nil {
		return err
	}
	var certificate verify.Certificate
	if err := json.Unmarshal(text, &certificate, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%s is not a certificate that `interlock verify FILE --certificate CERTIFICATE` has written", c.Check)
	}
	differs := verify.Confirm(&certificate, f.Model, f.props, verify.Options{Progress: progress(io)})
	for _, text := range differs {
		fmt.Fprintln(io.Out, show.Text(c.Check+": "+text))
	}
	if len(differs) > 0 {
		return console.ErrNo
	}
	proved := 0
	for _, p := range certificate.Properties {
		if p.Verdict.Holds() {
			proved++
		}
	}
	fmt.Fprintf(io.Out, "%s: confirmed: %d of %d proved\n", show.Text(c.Check), proved, len(certificate.Properties))
	if proved < len(certificate.Properties) {
		return errors.New("not everything in the certificate is proved")
	}
	return nil
}

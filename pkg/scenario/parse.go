package scenario

import (
	"path"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// codeUnreadable is the problem of a file that a scenario names.
const codeUnreadable document.Code = "UNREADABLE"

// Source is a file that was read.
type Source struct {
	// Name is how people know it: with the folder that it is in.
	Name string
	// Text is JSON or YAML, by the name: a scenario file is YAML unless it ends in
	// .json, and a definition is JSON unless it ends in .yaml or .yml.
	Text []byte
	// Enforcement of a scenario file is written into its workflows that name none.
	Enforcement workflow.Enforcement
}

// Bounds of one file (TOO_MANY).
const (
	maxCases     = 10_000
	maxSteps     = 100_000 // of one case
	maxWorkflows = 1_000
	maxItems     = 10_000 // of one list
)

// defaultWorkspace is where runs work when a file does not say.
const defaultWorkspace = "/workspace"

// Parse reads a scenario file and the definitions that it names, and reports all
// that is wrong with them at once, warnings aside. open reads a file by the name
// that the scenario file gives, relative to its own folder. The suite is nil when
// there are problems.
func Parse(file Source, open func(name string) (Source, error)) (*Suite, []Problem) {
	p := &parser{
		open: open, enforcement: file.Enforcement,
		suite: &Suite{File: file.Name, workflows: make(map[string]*definition), workspace: defaultWorkspace},
	}
	v, problems := read(file.Text, strings.ToLower(path.Ext(file.Name)) != ".json")
	p.report.Add(problems...)
	if !v.IsZero() {
		p.lines = newLines(file.Text)
		p.file(v)
	}
	for _, problem := range p.report.Problems() {
		if problem.Severity != document.SeverityWarning {
			p.problems = append(p.problems, Problem{problem, file.Name, p.lines.of(problem.Pointer)})
		}
	}
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.suite, nil
}

func read(text []byte, yaml bool) (document.Value, document.Problems) {
	if yaml {
		return document.FromYAML(text)
	}
	return document.ParseAll(text, document.Limits{})
}

// parser reads one scenario file. Its report is of that file; problems are those
// of the others.
type parser struct {
	open     func(name string) (Source, error)
	suite    *Suite
	report   document.Report
	lines    lines
	problems []Problem
	// answers is true when cases are about a process, whose events are answers.
	answers bool
	// inline is true when definitions must be written in the text itself.
	inline bool

	enforcement workflow.Enforcement
	known       []reference // workflows, before they are read
}

func (p *parser) file(v document.Value) {
	f, ok := p.report.Object(v, nil, "a scenario file")
	if !ok {
		return
	}
	if kind := document.KindOf(v); kind != "" && kind != "component" && !f.Has("cases") {
		p.report.Errorf(nil, document.CodeType,
			"this is a %s, not a scenario file: write cases in another file, which names this one as its \"%[1]s\"", kind)
		return
	}
	f.Known("a scenario file", "workflow", "process", "workflows", "policy", "workspace", "cases")
	p.definitions(f)
	if workspace, ok := f.Text("workspace"); ok {
		p.suite.workspace = workspace
	}
	f.Require("cases")
	cases, ok := f.List("cases", maxCases)
	if !ok {
		return
	}
	if cases.Len() == 0 {
		p.report.Errorf(f.At.Key("cases"), document.CodeEmpty, "there is no case to test; add one")
	}
	for i, v := range cases.Elements() {
		p.testCase(v, f.At.Key("cases").At(i))
	}
}

// definitions reads the definitions that the cases test.
func (p *parser) definitions(f document.Fields) {
	neither := `"workflow" is missing; name the workflow's file, or write it here`
	if p.inline {
		neither = `"workflow" is missing; write the workflow here, or a "process"`
	}
	switch {
	case f.Has("workflow") && f.Has("process"):
		p.report.Errorf(f.At.Key("process"), document.CodeConflict, "a file tests a workflow or a process, not both; split it")
	case !f.Has("workflow") && !f.Has("process"):
		p.report.Errorf(f.At.Key("workflow"), document.CodeRequired, "%s", neither)
	}
	p.answers = f.Has("process")
	if v, ok := f.Value.Get("workflow"); ok {
		p.refer(v, f.At.Key("workflow"))
	}
	if list, ok := f.List("workflows", maxWorkflows); ok {
		for i, v := range list.Elements() {
			p.refer(v, f.At.Key("workflows").At(i))
		}
	}
	p.compile(f.Has("workflow"))
	if v, ok := f.Value.Get("process"); ok {
		p.process(v, f.At.Key("process"))
	}
	p.policies(f)
}

// process reads the process that cases are about.
func (p *parser) process(v document.Value, at *document.Path) {
	r, ok := p.resolve(v, at, "process")
	if !ok {
		return
	}
	def, problems := process.ParseValue(r.value)
	p.addProblems(r, problems)
	if def == nil {
		return
	}
	compiled := process.Compile(def, 1)
	p.suite.main = p.newDefinition(compiled.Machine(), r)
	p.suite.main.process = compiled
	for _, policy := range compiled.Policies() {
		if set := rules.Compile(policy, 1); set.For(callerRole) {
			p.suite.main.policies = append(p.suite.main.policies, set)
		}
	}
}

func (p *parser) newDefinition(m *workflow.Machine, r reference) *definition {
	d := &definition{machine: m, file: p.suite.File, digest: document.Digest(r.value)}
	if r.source != nil {
		d.file = r.source.Name
	}
	return d
}

// reference is a definition that the file names or holds.
type reference struct {
	value document.Value
	at    *document.Path
	// source is the file that it is in, nil for this one.
	source *Source
}

// refer finds a workflow, before any is judged: they name each other.
func (p *parser) refer(v document.Value, at *document.Path) {
	if r, ok := p.resolve(v, at, "workflow"); ok {
		p.known = append(p.known, r)
	}
}

// resolve reads the file that a definition is in, unless it is written here.
func (p *parser) resolve(v document.Value, at *document.Path, what string) (reference, bool) {
	switch {
	case v.Kind() == document.Object:
		return reference{value: v, at: at}, true
	case p.inline:
		p.report.Errorf(at, document.CodeType, "write the %s itself, an object", what)
		return reference{}, false
	case v.Kind() != document.String:
		p.report.Errorf(at, document.CodeType, "name the %s's file, or write the %s itself, an object", what, what)
		return reference{}, false
	}
	source, err := p.open(v.Str())
	if err != nil {
		p.report.Errorf(at, codeUnreadable, "%s; name a file, relative to this one's folder", err)
		return reference{}, false
	}
	extension := strings.ToLower(path.Ext(source.Name))
	value, problems := read(source.Text, extension == ".yaml" || extension == ".yml")
	r := reference{value: value, at: at, source: &source}
	if problems.HasErrors() {
		p.addProblems(r, problems)
		return reference{}, false
	}
	return r, true
}

// addProblems reports the problems of a definition where it is.
func (p *parser) addProblems(r reference, problems document.Problems) {
	if r.source == nil {
		for _, problem := range problems {
			problem.Pointer = r.at.String() + problem.Pointer
			p.report.Add(problem)
		}
		return
	}
	at := newLines(r.source.Text)
	for _, problem := range problems {
		if problem.Severity != document.SeverityWarning {
			p.problems = append(p.problems, Problem{problem, r.source.Name, at.of(problem.Pointer)})
		}
	}
}

// compile reads the workflows. The first one is the one that cases are about when
// the file says so.
func (p *parser) compile(first bool) {
	for i, r := range p.known {
		r.value = p.enforcement.Effective(r.value)
		def, problems := workflow.ParseValue(r.value)
		p.addProblems(r, problems)
		if def == nil {
			continue
		}
		if _, twice := p.suite.workflows[def.ID]; twice {
			p.report.Errorf(r.at, document.CodeConflict, "there is a workflow %s already, and an invoke could mean either; keep one",
				document.Quote(def.ID))
			continue
		}
		d := p.newDefinition(workflow.Compile(def, 1), r)
		p.suite.workflows[def.ID] = d
		if i == 0 && first {
			p.suite.main = d
		}
	}
}

package verify

import (
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Question is a model with the properties that it is asked for.
type Question struct {
	Model      *model.Model
	Properties []workflow.Property
	// MaxStates that the caller wants; 0 when it does not say.
	MaxStates int
}

// Bounds of a question (TOO_MANY).
const (
	mostInvoked  = 100
	mostPolicies = 100
)

// ParseQuestion reads one document: a workflow or a process, and optionally workflows that
// it invokes, policies, more properties, the schema of the shared state, and max_states. All that is wrong with it is
// reported at once, by pointers into it; then the question is nil.
func ParseQuestion(v document.Value) (*Question, document.Problems) {
	var report document.Report
	q := &Question{Model: &model.Model{}}
	f, ok := report.Object(v, nil, "a question")
	if !ok {
		return nil, report.Problems()
	}
	f.Known("a question", "workflow", "process", "workflows", "policies", "properties", "schema", "max_states")
	key := "workflow"
	if f.Has("process") {
		key = "process"
	}
	f.Require(key)
	if f.Has("workflow") && f.Has("process") {
		report.Errorf(f.At.Key("process"), document.CodeConflict, "it is about one definition: a workflow or a process; remove one")
	}
	if value, ok := f.Value.Get(key); ok {
		q.Model.Main = parseDefinition(&report, value, f.At.Key(key))
	}
	others, _ := f.List("workflows", mostInvoked)
	for i, value := range others.Elements() {
		if d := parseDefinition(&report, value, f.At.Key("workflows").At(i)); d.Machine != nil {
			q.Model.Others = append(q.Model.Others, d)
		}
	}
	policies, _ := f.List("policies", mostPolicies)
	for i, value := range policies.Elements() {
		at := f.At.Key("policies").At(i)
		p, problems := rules.ParsePolicyValue(value)
		adopt(&report, problems, at)
		if p == nil {
			continue
		}
		if p.Name == "" {
			p.Name = "policy " + strconv.Itoa(i)
		}
		q.Model.Policies = append(q.Model.Policies, model.Policy{Policy: p, Text: value})
	}
	if value, ok := f.Value.Get("schema"); ok {
		schema, problems := document.CompileSchema(value)
		adopt(&report, problems, f.At.Key("schema"))
		q.Model.Schema = schema
	}
	if most, ok := f.Integer("max_states", 1); ok {
		q.MaxStates = int(min(most, explore.DefaultStates))
	}
	if q.Model.Main.Machine != nil {
		q.Properties = q.Model.Main.Machine.Definition().Properties
		if value, ok := f.Value.Get("properties"); ok {
			more, problems := workflow.ParseProperties(value, q.Model.Main.Machine.Definition())
			adopt(&report, problems, f.At.Key("properties"))
			q.Properties = append(q.Properties[:len(q.Properties):len(q.Properties)], more...)
		}
	}
	if report.HasErrors() {
		return nil, report.Problems()
	}
	return q, nil
}

func parseDefinition(report *document.Report, v document.Value, at *document.Path) model.Definition {
	if process.Is(v) {
		def, problems := process.ParseValue(v)
		adopt(report, problems, at)
		if def == nil || problems.HasErrors() {
			return model.Definition{}
		}
		p := process.Compile(def, 1)
		return model.Definition{Machine: p.Machine(), Process: p, Text: v}
	}
	def, problems := workflow.ParseValue(v)
	adopt(report, problems, at)
	if def == nil {
		return model.Definition{}
	}
	return model.Definition{Machine: workflow.Compile(def, 1), Text: v}
}

// adopt reports errors of a part where it stands.
func adopt(report *document.Report, problems document.Problems, at *document.Path) {
	for _, p := range problems {
		if p.Severity == document.SeverityWarning {
			continue
		}
		p.Pointer = at.String() + p.Pointer
		report.Add(p)
	}
}

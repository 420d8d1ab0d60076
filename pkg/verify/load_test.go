package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// value reads YAML, of which JSON is a part.
func value(t testing.TB, src string) document.Value {
	t.Helper()
	v, problems := document.FromYAML([]byte(src))
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, src)
	}
	return v
}

// definition compiles a workflow, or a process.
func definition(t testing.TB, v document.Value) verify.Definition {
	t.Helper()
	if process.Is(v) {
		def, problems := process.ParseValue(v)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		p := process.Compile(def, 1)
		return verify.Definition{Machine: p.Machine(), Process: p, Text: v}
	}
	def, problems := workflow.ParseValue(v)
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, v)
	}
	return verify.Definition{Machine: workflow.Compile(def, 1), Text: v}
}

// model is a workflow alone, with policies.
func model(t testing.TB, src string, policies ...string) *verify.Model {
	t.Helper()
	m := &verify.Model{}
	for i, part := range strings.Split(src, "\n---\n") {
		d := definition(t, value(t, part))
		if i == 0 {
			m.Main = d
		} else {
			m.Others = append(m.Others, d)
		}
	}
	for _, src := range policies {
		v := value(t, src)
		p, problems := rules.ParsePolicyValue(v)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		m.Policies = append(m.Policies, verify.Policy{Policy: p, Text: v})
	}
	return m
}

// properties reads properties of a workflow.
func properties(t testing.TB, m *verify.Model, src string) []workflow.Property {
	t.Helper()
	all, problems := workflow.ParseProperties(value(t, src), m.Main.Machine.Definition())
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems, src)
	}
	return all
}

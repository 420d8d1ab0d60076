package attack

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const examples = "../../../examples/"

// value reads a file of YAML, of which JSON is a part, or a text where it has several lines.
func value(t testing.TB, file string) document.Value {
	t.Helper()
	text := []byte(file)
	if !strings.Contains(file, "\n") {
		var err error
		if text, err = os.ReadFile(examples + file); err != nil {
			t.Fatal(err)
		}
	}
	v, problems := document.FromYAML(text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return v
}

// load reads a workflow with its properties, its invoked workflows and its policies.
func load(t testing.TB, files ...string) (*verify.Model, []workflow.Property) {
	t.Helper()
	m := &verify.Model{}
	for i, file := range files {
		v := value(t, file)
		if document.KindOf(v) == "policy" {
			p, problems := rules.ParsePolicyValue(v)
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			if p.Name == "" {
				p.Name = "policy"
			}
			m.Policies = append(m.Policies, verify.Policy{Policy: p, Text: v})
			continue
		}
		d := compiled(t, v)
		if i == 0 {
			m.Main = d
		} else {
			m.Others = append(m.Others, d)
		}
	}
	def := m.Main.Machine.Definition()
	all := def.Properties
	if strings.Contains(files[0], "\n") {
		return m, all
	}
	sibling := strings.TrimSuffix(files[0], ".json") + ".properties.yaml"
	if _, err := os.Stat(examples + sibling); err != nil {
		return m, all
	}
	more, problems := workflow.ParseProperties(value(t, sibling), def)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return m, append(all, more...)
}

func compiled(t testing.TB, v document.Value) verify.Definition {
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
		t.Fatal(problems)
	}
	return verify.Definition{Machine: workflow.Compile(def, 1), Text: v}
}

package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/report"
)

// Who may write what guards read, and what makes no sense about that.
func TestWrittenEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ evidence, schema, may, code string }{
		{`"op": "eq", "value": "passed"`, `{}`, "every session of the tree", report.CodeAnyoneWrites},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["session:**", "source:human"]}`, "session:**, source:human", report.CodeAnyoneWrites},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["role:agent"]}`, "role:agent", report.CodeAnyoneWrites},
		{`"op": "eq", "value": "passed", "writer": "kim"`, `{}`, "every session of the tree", ""},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["session:gate/*"]}`, "session:gate/*", ""},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["state:a"]}`, "state:a", report.CodeSelfWritten},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["session:gate/*", "state:w/a"]}`, "session:gate/*, state:w/a", report.CodeSelfWritten},
		{`"op": "eq", "value": "passed", "writer": "kim"`, `{"x-interlock-writers": ["state:w/a"]}`, "state:w/a", ""},
		{
			`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["state:a"], "allOf": [{"x-interlock-writers": ["state:end"]}]}`,
			"state:a; and one of state:end", "",
		},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["state:other/a"]}`, "state:other/a", ""},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["state:b"]}`, "state:b", ""},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["state:w/b"]}`, "state:w/b", report.CodeNoSuchState},
		{
			`"op": "eq", "value": "passed"`, `{"x-interlock-writers": ["role:agent"], "allOf": [{"x-interlock-writers": ["source:human"]}]}`,
			"role:agent; and one of source:human", "",
		},
		{`"op": "eq", "value": "passed"`, `{"x-interlock-writers": []}`, "no writer after the state was created", report.CodeNobodyWrites},
		{`"op": "eq", "value": "passed", "writer": "kim"`, `{"x-interlock-writers": ["session:gate/*"]}`, "session:gate/*", report.CodeWriterMayNot},
		{`"op": "eq", "value": "passed", "writer": "gate/kim"`, `{"x-interlock-writers": ["session:gate/*"]}`, "session:gate/*", ""},
		{`"op": "eq", "value": "passed", "writer": "kim"`, `{"x-interlock-writers": ["session:gate/*", "role:operator"]}`, "session:gate/*, role:operator", ""},
		{`"op": "eq", "value": "passed"`, `{"enum": ["pending"], "x-interlock-writers": ["source:human"]}`, "source:human", report.CodeValueNeverFit},
		{`"op": "neq", "value": "passed"`, `{"enum": ["passed"], "x-interlock-writers": ["source:human"]}`, "source:human", ""},
	} {
		text := fmt.Sprintf(`{"workflow": {"id": "w", "initial": "a", "states": {"a": {"on": {"GO": {"target": "end", "guard": "g"}}}, "end": {"type": "final"}},
			"guards": {"g": {"evidence": "e"}}, "evidence": {"e": {"state": "/verdict", %s}}}, "schema": {"properties": {"verdict": %s}}}`, c.evidence, c.schema)
		found := verify.Check(question(t, text).Model, nil, verify.Options{Builtin: true})
		if len(found.Written) != 1 || found.Written[0].MayWrite() != c.may {
			t.Errorf("%s %s: %+v", c.evidence, c.schema, found.Written)
		}
		var codes []string
		for _, w := range found.Warnings {
			if w.Pointer == "/evidence/e" {
				codes = append(codes, w.Code)
			}
		}
		if got := strings.Join(codes, " "); got != c.code {
			t.Errorf("%s %s: %q, want %q", c.evidence, c.schema, got, c.code)
		}
	}
}

func question(t *testing.T, text string) *verify.Question {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	q, problems := verify.ParseQuestion(v)
	if q == nil {
		t.Fatal(problems)
	}
	return q
}

// What the agent can write itself is no evidence for a step to more rights.
func TestRightsThatAnyoneWrites(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{``: false, `, "schema": {}`: true, `, "schema": {"x-interlock-writers": ["source:human"]}`: false} {
		q := question(t, `{"workflow": {"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["Read"], "on": {"GO": {"target": "b", "guard": "g"}}},
			"b": {"allowed_tools": ["Bash"], "on": {"END": "end"}}, "end": {"type": "final"}},
			"guards": {"g": {"evidence": "e"}}, "evidence": {"e": {"state": "/ok", "op": "eq", "value": true}}}`+schema+`}`)
		found := verify.Check(q.Model, nil, verify.Options{Builtin: true})
		jump := false
		for _, w := range found.Warnings {
			jump = jump || w.Code == report.CodeRightsJump
		}
		if jump != want {
			t.Errorf("%s: %v", schema, found.Warnings)
		}
	}
}

package definition_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

func compiled(t *testing.T) map[string]*document.Schema {
	t.Helper()
	schemas := map[string]*document.Schema{}
	for kind, text := range definition.Schemas() {
		v, problem := document.Parse(text, document.Limits{})
		if problem != nil {
			t.Fatal(kind, problem)
		}
		schema, problems := document.CompileSchema(v)
		if schema == nil {
			t.Fatal(kind, problems)
		}
		schemas[kind] = schema
	}
	return schemas
}

// accepts reports that the product takes a document.
func accepts(kind string, v document.Value, text []byte) bool {
	var problems document.Problems
	switch kind {
	case "workflow":
		_, problems = workflow.Parse(text)
	case "policy":
		_, problems = rules.ParsePolicy(text)
	case "process":
		_, problems = process.ParseValue(v)
	case "component":
		_, problems = document.ParseComponent(text)
	}
	return !problems.HasErrors()
}

// Every example and every scenario of this repository fits its schema.
func TestSchemasFitExamples(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	seen := map[string]int{}
	err := filepath.WalkDir("../../../examples", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".json" && filepath.Ext(file) != ".yaml" || strings.Contains(file, ".properties.") {
			return err // properties have no schema of their own: they are part of a workflow's
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		v, problems := document.FromYAML(text)
		if len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
			return nil
		}
		kind := "workflow"
		switch {
		case strings.Contains(file, ".test."):
			kind = "scenario"
		case has(v, "role"):
			kind = "policy"
		case has(v, "slug"):
			kind = "component"
		case !has(v, "id") || asks(v):
			kind = "process"
		}
		seen[kind]++
		if problems := schemas[kind].Validate(v); len(problems) > 0 {
			t.Errorf("%s as a %s: %v", file, kind, problems)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"workflow", "policy", "process", "scenario"} {
		if seen[kind] == 0 {
			t.Errorf("there is no example of a %s: %v", kind, seen)
		}
	}
}

func has(v document.Value, name string) bool {
	_, ok := v.Get(name)
	return ok
}

// asks reports a process: its states have questions.
func asks(v document.Value) bool {
	states, _ := v.Get("states")
	for _, state := range states.Members() {
		if has(state, "question") {
			return true
		}
	}
	return false
}

// A change of a good document that the product refuses, the schema refuses too, and it takes
// the texts that the product takes.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for _, row := range []struct {
		kind, text string
		// changes are members to set, by JSON Pointer, and whether that is refused.
		good, bad []string
	}{
		{
			"policy", `{"role":"agent","allow":[{"capability":"bash","rate_limit":{"max_calls":3,"window_seconds":60}}],"ask":[{"capability":"mcp:mail:*"}],
			"deny":[{"capability":"tool:WebFetch"}],"email_config":{"max_emails_per_session":2,"allowed_to":["*@example.com"]}}`,
			[]string{`/default="deny"`, `/session_budget_usd=2.5`, `/allow/0/rate_limit/scope="session"`, `/allow/0/budget_limit={"max_usd":1,"period":"daily"}`, `/meta={"tools":["Pay"]}`, `/$schema="x"`, `/allow/0/capability="mcp:*"`},
			[]string{
				`/alow=[]`, `/default="maybe"`, `/allow/0/rate_limits={}`, `/allow/0/rate_limit/max_calls=0`, `/allow/0/rate_limit/burst=1`, `/deny/0/rate_limit={"max_calls":1,"window_seconds":1}`,
				`/role=""`, `/role=7`, `/ask={}`, `/allow/0/capability="filesystem:x"`, `/email_config/allowed_too=[]`, `/session_budget_usd=0`, `/allow/0/budget_limit={"max_usd":0,"period":"daily"}`, `/allow/0/budget_limit={"max_usd":1,"period":"weekly"}`,
			},
		},
		{
			"process", `{"name":"check","initial":"a","states":{"a":{"question":"Done?","answers":{"yes":{"next":null},"no":{"next":"b","action":"warn"}}},"b":{"question":"Why?","answers":{"so":{"next":null,"action":"complete"}}}}}`,
			[]string{`/initial_prompt="Hello"`, `/description="x"`, `/session_budget_usd=1`, `/tags=["x"]`, `/x-note=1`, `/states/a/x-note=1`, `/policy={"role":"agent"}`},
			[]string{`/stats={}`, `/name="Not a slug"`, `/states/a/answer={}`, `/states/a/answers/yes/nxt="a"`, `/states/a/answers/yes/action="explode"`, `/states/a/answers/yes={}`, `/states/a/question=""`, `/policy={"role":"agent","alow":[]}`, `/states={}`},
		},
		{
			"component", `{"name":"Memory","slug":"memory","schema_definition":{"notes":{"type":"string"}},"initial_values":{"notes":""}}`,
			[]string{`/persistence="long_term"`, `/tags=["a"]`, `/description="x"`, `/x-note=1`},
			[]string{`/persistance="none"`, `/persistence="forever"`, `/slug="A b"`, `/name=""`, `/tags="a"`},
		},
		{
			"workflow", `{"id":"w","initial":"a","states":{"a":{"allowed_tools":["Read","@client"],"on":{"GO":{"target":"z","guard":"g"}}},"z":{"type":"final"}},"context":{"t":null},"guards":{"g":{"field":"t","op":"eq","value":1}}}`,
			[]string{`/description="x"`, `/states/a/description="x"`, `/states/a/x-note=1`, `/id="größe"`, `/states/a/max_iterations=3`, `/meta={"tools":["Pay"],"owner":"me"}`, `/states/prüfen={"on":{"GO":"z"}}`, `/states/a/on/計画="z"`},
			[]string{`/guardz={}`, `/states/a/alowed_tools=[]`, `/states/a/on/GO/gaurd="g"`, `/guards/g/vale=1`, `/meta={"approval_mod":"ui"}`, `/states/a/max_iterations=0`, `/id=" x"`, `/states/a b={}`, `/id="a/b"`, `/guards/g/op="is"`, `/states/a/allowed_tools="Read"`, `/initial=7`},
		},
	} {
		for _, change := range append(append([]string{""}, row.good...), row.bad...) {
			text := changed(t, row.text, change)
			v, problem := document.Parse(text, document.Limits{})
			if problem != nil {
				t.Fatal(change, problem)
			}
			refused := len(schemas[row.kind].Validate(v)) > 0
			if judged := !accepts(row.kind, v, text); judged != refused {
				t.Errorf("%s with %s: the product refuses it: %t; the schema: %t", row.kind, change, judged, refused)
			}
		}
	}
}

// changed is a document with one member set.
func changed(t *testing.T, text, change string) []byte {
	t.Helper()
	if change == "" {
		return []byte(text)
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	pointer, value, _ := strings.Cut(change, "=")
	parts := strings.Split(pointer[1:], "/")
	at := doc
	for _, part := range parts[:len(parts)-1] {
		switch in := at.(type) {
		case map[string]any:
			at = in[part]
		case []any:
			at = in[int(part[0]-'0')]
		}
	}
	var to any
	if err := json.Unmarshal([]byte(value), &to); err != nil {
		t.Fatal(change, err)
	}
	at.(map[string]any)[parts[len(parts)-1]] = to
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

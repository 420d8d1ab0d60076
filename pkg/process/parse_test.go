package process_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
)

func codes(problems document.Problems) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Code+" "+p.Pointer)
	}
	return strings.Join(all, "; ")
}

// TestParseProblems covers S8 and the codes of fields (S1.3).
func TestParseProblems(t *testing.T) {
	t.Parallel()
	const head = `"name":"gate","initial":"q",`
	states := func(s string) string { return `{` + head + `"states":` + s + `}` }
	answers := func(a string) string { return states(`{"q":{"question":"ok?","answers":` + a + `}}`) }
	with := func(fields string) string {
		return `{` + head + fields + `,"states":{"q":{"question":"ok?","answers":{"yes":{"next":null}}}}}`
	}
	named := func(name string) string { return strings.Replace(with(`"initial_prompt":""`), `"gate"`, name, 1) }
	tests := map[string]struct{ src, want string }{
		"smallest":        {answers(`{"yes":{"next":null}}`), ""},
		"nothing":         {`{}`, "REQUIRED /initial; REQUIRED /name; REQUIRED /states"},
		"a list":          {`[]`, "TYPE "},
		"syntax":          {`{"name":}`, "JSON_SYNTAX "},
		"name empty":      {named(`""`), "EMPTY /name; NAME /name"},
		"name upper case": {named(`"Gate"`), "NAME /name"},
		"name blank":      {named(`"a b"`), "NAME /name"},
		"name underscore": {named(`"a_b"`), "NAME /name"},
		"name a number":   {named(`5`), "TYPE /name"},
		"name too long":   {named(`"` + strings.Repeat("a", 129) + `"`), "NAME /name"},
		"initial unknown": {strings.Replace(answers(`{"yes":{"next":null}}`), `"initial":"q"`, `"initial":"Q"`, 1), "UNKNOWN_STATE /initial"},
		"initial null":    {strings.Replace(answers(`{"yes":{"next":null}}`), `"initial":"q"`, `"initial":null`, 1), "TYPE /initial"},
		"initial ends":    {states(`{"q":{"question":"?"}}`), "INITIAL_FINAL /initial"},

		"states null":      {states(`null`), "TYPE /states"},
		"states a list":    {states(`[]`), "TYPE /states"},
		"states empty":     {states(`{}`), "EMPTY /states"},
		"state null":       {states(`{"q":null}`), "TYPE /states/q"},
		"state name":       {answers(`{"yes":{"next":null}}`), ""},
		"state reserved":   {states(`{"q":{"question":"?","answers":{"y":{"next":"__proto__"}}},"__proto__":{"question":"?"}}`), "RESERVED /states/__proto__"},
		"question missing": {states(`{"q":{"answers":{"yes":{"next":null}}}}`), "REQUIRED /states/q/question"},
		"question empty":   {states(`{"q":{"question":"","answers":{"yes":{"next":null}}}}`), "EMPTY /states/q/question"},
		"question number":  {states(`{"q":{"question":1,"answers":{"yes":{"next":null}}}}`), "TYPE /states/q/question"},
		"answers a list":   {answers(`[]`), "TYPE /states/q/answers"},
		"answers null":     {answers(`null`), "TYPE /states/q/answers"},
		"state near miss":  {states(`{"q":{"question":"?","answerss":{},"answers":{"y":{"next":null}}}}`), "UNKNOWN_FIELD /states/q/answerss"},
		"state hint":       {states(`{"q":{"question":"?","icon":"x","answers":{"y":{"next":null}}}}`), "UNKNOWN_HINT /states/q/icon"},

		"answer like n/a":      {answers(`{"n/a":{"next":null},"yes, really!":{"next":null}}`), ""},
		"answer empty":         {answers(`{"":{"next":null}}`), "EMPTY /states/q/answers/"},
		"answer reserved":      {answers(`{"$x":{"next":null}}`), "RESERVED /states/q/answers/$x"},
		"answer of the engine": {answers(`{"BRANCH_DONE:x":{"next":null}}`), "RESERVED /states/q/answers/BRANCH_DONE:x"},
		"answer with newline":  {answers(`{"a\nb":{"next":null}}`), "NAME /states/q/answers; NAME /states/q/answers/a\nb"},
		"answer a string":      {answers(`{"yes":"q"}`), "TYPE /states/q/answers/yes"},
		"answer null":          {answers(`{"yes":null}`), "TYPE /states/q/answers/yes"},
		"next missing":         {answers(`{"yes":{"action":"complete"}}`), "REQUIRED /states/q/answers/yes/next"},
		"next a number":        {answers(`{"yes":{"next":1}}`), "TYPE /states/q/answers/yes/next"},
		"next false":           {answers(`{"yes":{"next":false}}`), "TYPE /states/q/answers/yes/next"},
		"next unknown":         {answers(`{"yes":{"next":"zz"}}`), "UNKNOWN_STATE /states/q/answers/yes/next"},
		"next empty":           {answers(`{"yes":{"next":""}}`), "UNKNOWN_STATE /states/q/answers/yes/next"},
		"action unknown":       {answers(`{"yes":{"next":null,"action":"stop"}}`), "ENUM /states/q/answers/yes/action"},
		"action case":          {answers(`{"yes":{"next":null,"action":"Block"}}`), "ENUM /states/q/answers/yes/action"},
		"action null":          {answers(`{"yes":{"next":null,"action":null}}`), "TYPE /states/q/answers/yes/action"},
		"answer unknown field": {answers(`{"yes":{"next":null,"note":"x"}}`), "UNKNOWN_FIELD /states/q/answers/yes/note"},
		"block continues":      {answers(`{"yes":{"next":"q","action":"block"},"no":{"next":null}}`), "CONFLICT /states/q/answers/yes; CONFLICT /states/q/answers/yes/next"},
		"complete continues":   {answers(`{"yes":{"next":"q","action":"complete"},"no":{"next":null}}`), "CONFLICT /states/q/answers/yes; CONFLICT /states/q/answers/yes/next"},
		"warn continues":       {answers(`{"yes":{"next":"q","action":"warn"},"no":{"next":null}}`), ""},
		"human, and the end":   {answers(`{"yes":{"next":null,"action":"notify_human"}}`), ""},

		"no end":      {answers(`{"yes":{"next":"q"}}`), "NO_FINAL /states"},
		"dead end":    {states(`{"q":{"question":"?","answers":{"y":{"next":"r"},"n":{"next":null}}},"r":{"question":"?","answers":{"y":{"next":"r"}}}}`), "DEAD_END /states/r"},
		"unreachable": {states(`{"q":{"question":"?","answers":{"n":{"next":null}}},"r":{"question":"?"}}`), "UNREACHABLE /states/r"},
		"terminal":    {states(`{"q":{"question":"?","answers":{"n":{"next":"r"}}},"r":{"answers":{}}}`), ""},

		"prompt a number":   {with(`"initial_prompt":1`), "TYPE /initial_prompt"},
		"budget 0":          {with(`"session_budget_usd":0`), "RANGE /session_budget_usd"},
		"budget a string":   {with(`"session_budget_usd":"5"`), "TYPE /session_budget_usd"},
		"tools":             {with(`"allowed_tools":["memory_read","task_list","process_step"]`), ""},
		"tools outside":     {with(`"allowed_tools":["Bash"]`), "NO_EFFECT /allowed_tools/0"},
		"tools by mistake":  {with(`"allowed_tools":["bash"]`), "UNKNOWN_TOOL /allowed_tools/0"},
		"tools declared":    {with(`"meta":{"tools":["bash"]},"allowed_tools":["bash"]`), "NO_EFFECT /allowed_tools/0"},
		"tools of a policy": {with(`"policy":{"role":"agent","deny":[{"capability":"tool:Bsh"}]}`), "UNKNOWN_TOOL /policy/deny/0/capability"},
		"tools by prefix":   {with(`"allowed_tools":["memory_*","mem*","*"]`), ""},
		"prefix outside":    {with(`"allowed_tools":["bash*"]`), "NO_EFFECT /allowed_tools/0"},
		"tools a string":    {with(`"allowed_tools":"memory_read"`), "TYPE /allowed_tools"},
		"tools empty":       {with(`"allowed_tools":[""]`), "EMPTY /allowed_tools/0"},
		"tools twice":       {with(`"allowed_tools":["process_step","process_step"]`), "DUPLICATE_ITEM /allowed_tools/1"},
		"email":             {with(`"email_config":{"max_emails_per_session":"3"}`), "TYPE /email_config/max_emails_per_session"},
		"policy null":       {with(`"policy":null`), "TYPE /policy"},
		"policy rule":       {with(`"policy":{"role":"agent","ask":[{"capability":"bash","budget_limit":{"max_usd":1,"period":"yearly"}}]}`), "ENUM /policy/ask/0/budget_limit/period"},
		"policy capability": {with(`"policy":{"role":"agent","deny":[{"capability":"Bash"}]}`), "CAPABILITY /policy/deny/0/capability"},
		"near miss":         {with(`"initial_promt":"x"`), "UNKNOWN_FIELD /initial_promt"},
		"deny at the top":   {with(`"deny":[]`), "UNKNOWN_FIELD /deny"},
		"hint":              {with(`"team":"x"`), "UNKNOWN_HINT /team"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, problems := process.Parse([]byte(tt.src))
			if got := codes(problems); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, problems)
			}
			if (d == nil) != problems.HasErrors() {
				t.Errorf("definition %v with %v", d, problems)
			}
		})
	}
}

const deployGate = `{
  "name": "deploy-gate",
  "initial": "env-check",
  "initial_prompt": "Walk through the deployment checklist before pushing to production.",
  "states": {
    "env-check": {
      "question": "Is the target environment correct?",
      "answers": {"yes": {"next": "migration-check"}, "no": {"next": null, "action": "block"}}
    },
    "migration-check": {
      "question": "Have all migrations been reviewed?",
      "answers": {
        "yes": {"next": null, "action": "complete"}, "n/a": {"next": null, "action": "complete"}, "no": {"next": null, "action": "block"}
      }
    }
  },
  "policy": {
    "role": "agent",
    "allow": [{"capability": "bash", "rate_limit": {"max_calls": 50, "window_seconds": 3600}}],
    "ask": [{"capability": "mcp:filesystem:write_file"}, {"capability": "mcp:filesystem:delete_file"}],
    "deny": []
  },
  "createdAt": "2026-01-01T00:00:00.000Z"
}`

// TestIs distinguishes processes from workflows, also invalid ones.
func TestFieldsOfWorkflows(t *testing.T) {
	t.Parallel()
	_, problems := process.Parse([]byte(`{"name":"gate","initial":"q","states":{"q":{"allowed_commands":[],"question":"?","answers":{"y":{"next":null}}}}}`))
	want := `a state has no field "allowed_commands": it belongs elsewhere, and has no effect here; remove it`
	if len(problems) != 1 || problems[0].Message != want {
		t.Errorf("got %v", problems)
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		deployGate: true,
		`{"name": "x", "initial": "a", "states": {"a": {"question": "?"}}}`: true,
		`{"id": "x", "initial": "a", "states": {"a": {"on": {}}}}`:          false,
		`{"id": "x", "name": "x", "initial": "a", "states": {"a": {}}}`:     false,
		`{"role": "agent", "deny": []}`:                                     false,
		`[]`:                                                                false,
	} {
		v, problem := document.Parse([]byte(src), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		if got := process.Is(v); got != want {
			t.Errorf("%t of %s", got, src)
		}
	}
}

// TestParseGate reads a whole deploy gate, from JSON and from YAML.
func TestParseGate(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func([]byte) (*process.Definition, document.Problems){"JSON": process.Parse, "YAML": process.ParseYAML} {
		d, problems := read([]byte(deployGate))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		if d.Name != "deploy-gate" || d.Initial != "env-check" || len(d.States) != 2 || d.Policy.Allow[0].Rate.MaxCalls != 50 || d.ToolsRestricted {
			t.Errorf("%s: read %+v", name, d)
		}
		answers := d.States[0].Answers
		if answers[0].Next != "migration-check" || answers[0].Ends() || !answers[1].Ends() || answers[1].Action != process.Block {
			t.Errorf("%s: answers %+v", name, answers)
		}
	}
}

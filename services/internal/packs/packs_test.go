package packs_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// open is a workflow without restrictions, for packs that have none.
const open = `{"id": "open", "initial": "working", "meta": {"enforcement": "always"}, "states": {"working": {"on": {"DONE": "done"}}, "done": {"type": "final"}}}`

// rendered has the files of a pack by their kinds.
type rendered map[packs.Kind]packs.File

func (r rendered) text(k packs.Kind) string { return string(r[k].Text) }

// workflow returns the workflow of the pack, or else one without restrictions.
func (r rendered) workflow() string {
	if text := r.text(packs.Workflow); text != "" {
		return text
	}
	return open
}

func render(t *testing.T, p *packs.Pack, set packs.Settings) rendered {
	t.Helper()
	files, err := p.Render(set)
	if err != nil {
		t.Fatal(err)
	}
	all := rendered{}
	for _, f := range files {
		all[f.Kind] = f
	}
	return all
}

func value(t *testing.T, text string) document.Value {
	t.Helper()
	v, problems := document.ParseAll([]byte(text), document.Limits{})
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems.Err(), text)
	}
	return v
}

func fromYAML(t *testing.T, text string) document.Value {
	t.Helper()
	v, problems := document.FromYAML([]byte(text))
	if problems.HasErrors() {
		t.Fatalf("%v\n%s", problems.Err(), text)
	}
	return v
}

// each runs a test for every pack.
func each(t *testing.T, test func(t *testing.T, p *packs.Pack)) {
	t.Helper()
	t.Parallel()
	all, err := packs.List()
	if err != nil || len(all) < 16 {
		t.Fatalf("%d packs: %v", len(all), err)
	}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// TestValid: the definitions of each pack are valid without warnings, and have the names that the pack says.
func TestValid(t *testing.T) {
	each(t, func(t *testing.T, p *packs.Pack) {
		all := render(t, p, nil)
		if text := all.text(packs.Workflow); text != "" {
			def, problems := workflow.ParseValue(value(t, text))
			for _, problem := range problems {
				t.Errorf("workflow: %v", &problem)
			}
			if def != nil && (def.ID != p.Workflow || def.Meta.Enforcement != workflow.Always) {
				t.Errorf("the workflow is %q, with enforcement %q", def.ID, def.Meta.Enforcement)
			}
		}
		if text := all.text(packs.Policy); text != "" {
			policy, problems := rules.ParsePolicyValue(value(t, text))
			for _, problem := range problems {
				t.Errorf("policy: %v", &problem)
			}
			if policy != nil && (len(p.Policies) != 1 || policy.Name != p.Policies[0] || policy.Role != "agent") {
				t.Errorf("the policy is %q of %q", policy.Name, policy.Role)
			}
		}
		for _, kind := range []packs.Kind{packs.Tests, packs.Page} {
			if all.text(kind) == "" {
				t.Errorf("it has no %s", kind)
			}
		}
	})
}

// TestProved: every property of each pack is proved, and verify has no warning.
func TestProved(t *testing.T) {
	each(t, func(t *testing.T, p *packs.Pack) {
		if n := proved(t, render(t, p, nil)); n < 3 {
			t.Errorf("it has %d properties", n)
		}
	})
}

// proved fails for properties that are not proved, and returns how many there are.
func proved(t *testing.T, all rendered) int {
	t.Helper()
	members := []document.Member{
		{Name: "workflow", Value: value(t, all.workflow())},
		{Name: "properties", Value: fromYAML(t, all.text(packs.Properties))},
	}
	if text := all.text(packs.Policy); text != "" {
		members = append(members, document.Member{Name: "policies", Value: document.ArrayValue([]document.Value{value(t, text)})})
	}
	q, problems := verify.ParseQuestion(document.ObjectValue(members))
	if q == nil {
		t.Fatal(problems.Err())
	}
	report := verify.Check(q.Model, q.Properties, verify.Options{Builtin: true})
	for _, r := range report.Results {
		if r.Verdict != verify.Proved {
			text := ""
			if r.Counterexample != nil {
				text = strings.Join(r.Counterexample.Steps, "\n")
			}
			t.Errorf("%s: %s: %s\n%s", r.Property.Name, r.Verdict, r.Reason, text)
		}
	}
	for _, w := range report.Warnings {
		if w.Code != "RIGHTS_JUMP" { // back to looking or browsing, where commands or hosts are not listed
			t.Errorf("warning: %+v", w)
		}
	}
	return len(q.Properties)
}

// play plays a scenario file next to the files of a pack.
func play(t *testing.T, all rendered, name, text string, coverage *scenario.Coverage) {
	t.Helper()
	byName := map[string][]byte{"open.json": []byte(open)}
	for _, f := range all {
		byName[f.Name] = f.Text
	}
	suite, problems := scenario.Parse(scenario.Source{Name: name, Text: []byte(text)}, func(name string) (scenario.Source, error) {
		found, there := byName[name]
		if !there {
			return scenario.Source{}, fmt.Errorf("there is no %s", name)
		}
		return scenario.Source{Name: name, Text: found}, nil
	})
	if suite == nil {
		t.Fatal(problems)
	}
	for _, r := range suite.Play(coverage) {
		if !r.OK {
			t.Errorf("%s:%d: %s: step %d: %s: want %s, got %s", r.File, r.Line, r.Case, r.Step, r.Action, r.Expected, r.Actual)
		}
	}
}

// TestScenarios: the scenarios of each pack pass, and reach every state and transition of its workflow.
func TestScenarios(t *testing.T) {
	each(t, func(t *testing.T, p *packs.Pack) {
		all := render(t, p, nil)
		var coverage scenario.Coverage
		play(t, all, all[packs.Tests].Name, all.text(packs.Tests), &coverage)
		for _, w := range coverage.Workflows() {
			for _, s := range append(w.States, w.Transitions...) {
				if !s.Reached && p.Workflow != "" {
					t.Errorf("no scenario reaches %s", s.Name)
				}
			}
		}
	})
}

// event is one line of a walk: an event of Claude Code's hooks, or the act of a person or of time between them.
type event struct {
	Hook     string         `json:"hook_event_name"`
	Folder   string         `json:"cwd"`
	Tool     string         `json:"tool_name"`
	Input    map[string]any `json:"tool_input"`
	ID       string         `json:"tool_use_id"`
	Response any            `json:"tool_response"`

	Approve string `json:"x-approve"`
	Advance string `json:"x-advance"`
	Expect  string `json:"x-expect"`
}

// step returns the step of a scenario that an event stands for, with the calls' command lines in a jail of a level.
func (e *event) step(t *testing.T, level int) map[string]any {
	t.Helper()
	switch {
	case e.Approve != "":
		return map[string]any{"approve": map[string]any{"by": e.Approve}}
	case e.Advance != "":
		return map[string]any{"advance": e.Advance}
	case e.Hook == "PreToolUse" && e.Tool == "mcp__interlock__transition":
		step := map[string]any{"event": e.Input["event"]}
		if data, there := e.Input["data"]; there {
			step["data"] = data
		}
		return step
	case e.Hook == "PreToolUse":
		call := map[string]any{"tool": e.Tool, "input": e.Input}
		if e.Tool == "Bash" && level > 0 {
			call["jail"] = level
		}
		step := map[string]any{"call": call}
		if e.Expect != "" {
			step["expect"] = map[string]any{"decision": e.Expect}
		}
		return step
	case e.Hook == "PostToolUse" || e.Hook == "PostToolUseFailure":
		report := map[string]any{"tool": e.Tool, "ok": e.Hook == "PostToolUse"}
		if text, isText := e.Response.(string); isText && strings.HasPrefix(e.Tool, "mcp__") {
			report["output"] = text
		}
		return map[string]any{"report": report}
	default:
		t.Fatalf("%+v", e)
		return nil
	}
}

// walk returns a session of Claude Code as a scenario file, and how many calls it makes.
func walk(t *testing.T, p *packs.Pack, all rendered, level int) (file string, calls int) {
	t.Helper()
	text, err := p.Walk()
	if err != nil {
		t.Fatal(err)
	}
	var steps []map[string]any
	workspace := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		workspace = cmp.Or(workspace, e.Folder)
		if e.Hook == "PostToolUse" && e.Tool == "mcp__interlock__transition" {
			continue
		}
		if e.Hook == "PreToolUse" {
			calls++
		}
		steps = append(steps, e.step(t, level))
	}
	doc := map[string]any{
		"workflow": "open.json", "workspace": workspace,
		"cases": []any{map[string]any{"name": "a session", "given": map[string]any{"at": "2026-11-30T09:00:00Z"}, "steps": steps}},
	}
	if all.text(packs.Workflow) != "" {
		doc["workflow"] = all[packs.Workflow].Name
	}
	if all.text(packs.Policy) != "" {
		doc["policy"] = all[packs.Policy].Name
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), calls
}

// TestSilent: a session of Claude Code in which all is well meets no refusal, without a jail and in one. People are
// asked only where the session says so.
func TestSilent(t *testing.T) {
	each(t, func(t *testing.T, p *packs.Pack) {
		all := render(t, p, nil)
		for _, level := range []int{0, 3} {
			file, calls := walk(t, p, all, level)
			play(t, all, "walk.test.json", file, nil)
			if calls < 7 {
				t.Errorf("the session makes %d calls", calls)
			}
		}
	})
}

// others are values of parameters that are not the defaults.
var others = map[string][]string{
	"autonomous":        {"budget_usd=2.5", "commands_per_hour=50", "hours=90m", "silence=5m", "push_to=refs/heads/bot/**", "remote=fork", "jail=3", "denied=npm publish,terraform,gh pr merge,sudo"},
	"bounded-write":     {"paths=src/**,test/**", "push_to=refs/heads/bot/*", "remote=fork", "max_files=20", "max_lines=90", "jail=3"},
	"cloud-cost":        {"files=infra/**/*.tf", "estimate_tool=mcp__cost__estimate", "most=12.5", "lend=GOOGLE_APPLICATION_CREDENTIALS"},
	"coding-tdd":        {"test_command=npm test", "test_files=**/*.spec.ts", "settings=package.json"},
	"data-export":       {"export_tool=mcp__erp__dump", "send_tool=mcp__post__send", "tables=public.users", "rows_call=10", "rows_day=20", "to=ann@example.org", "reviewers=kim"},
	"db-migration":      {"host=db.example.org", "scratch_host=copy", "database=shop", "files=db/*.sql", "backup_command=./backup.sh", "statements=3"},
	"email-outreach":    {"send_tool=mcp__post__send", "research_tools=mcp__crm__get_contact", "from=ann@example.org", "never_to=*@rival.net", "letters_session=2", "letters_day=3", "zone=America/New_York"},
	"incident":          {"namespace=pay", "context=live-eu", "changes=1", "deadline=2h", "silence=5m"},
	"k8s-operator":      {"namespace=pay", "context=live-eu", "manifest=deploy/web.yaml", "watch=1h"},
	"pr-review":         {"comments=1"},
	"propose-only":      {"folder=docs/rfc/*", "code=allow", "jail=1", "away=curl"},
	"read-only":         {"tools=Read,Bash", "code=allow", "jail=3", "away=curl,git commit"},
	"release":           {"test_command=go test ./...", "staging_command=./deploy.sh staging", "production_command=./deploy.sh production", "soak=1h", "people=2", "deadline=1d"},
	"research-browsing": {"notes=out/*", "bytes=1000000"},
	"secrets-hygiene":   {"files=**/.env,**/.env.*,**/.ssh/**,**/*.pem,**/.aws/**"},
	"support-refund":    {"read_tools=mcp__stripe__retrieve_*", "refund_tool=mcp__pay__refund", "tell_tool=mcp__post__send", "small=20.5", "most=80", "day_session=40", "day_all=90"},
}

// TestSettings: with other values of its parameters each pack is valid, keeps its properties, and passes its tests.
func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, p *packs.Pack) {
		set := packs.Settings{}
		for _, assignment := range others[p.Name] {
			if err := p.Set(set, assignment); err != nil {
				t.Fatal(err)
			}
		}
		if len(set) == 0 {
			t.Error("no parameter has another value")
		}
		all := render(t, p, set)
		play(t, all, all[packs.Tests].Name, all.text(packs.Tests), nil)
		proved(t, all)
	})
}

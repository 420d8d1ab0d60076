package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/document"
	questions "github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// documentation is everything that people read.
var documentation = []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md", "../../examples/*.md", "../../pkg/sdk/README.md"}

// snippet matches a fenced block that is marked for this test by its second word:
//
//	json workflow [FILE]   a definition without problems
//	json schema [FILE]     a JSON Schema that states can conform to
//	json component [FILE]  a state component without problems
//	json policy [FILE]     a policy without problems
//	json process [FILE]    a process without problems
//	yaml properties FILE   properties that a transcript proves
//	yaml scenario [FILE]   scenarios that all pass
//	json event             an event as the product writes it
//	yaml envoy             a configuration of Envoy that asks by ext_authz
//	yaml agentgateway      one of agentgateway
//	yaml agent FILE        an agent, which commands of the document create
//	yaml config FILE       a file of --config, which TestDocumentedStarts starts
//	yaml set FILE          the file of a set, which commands of the document apply
//	sh program FILE        what commands of the document run; js program FILE, too
//	console transcript     commands after "$ ", and what they print
//	console server         the same, next to an `interlock up` in that folder
//
// A block with a FILE is also written there. Commands run in a folder of the
// document's own, which has those files and a copy of the examples. Those next to a
// server share one shell, so that variables and functions hold.
var snippet = regexp.MustCompile("(?m)^```(json workflow|json schema|json component|json policy|json process|yaml scenario|yaml properties|json event|yaml envoy|yaml agentgateway|yaml agent|yaml config|yaml set|sh program|js program|" +
	"console transcript|console server)(?: (\\S+))?\n((?s:.*?)\n)```$")

// leastSnippets of each kind keep the documentation from losing its examples, and
// this test from looking in the wrong place.
var leastSnippets = map[string]int{
	"json workflow": 8, "yaml scenario": 5, "json event": 45, "console transcript": 8,
	"json schema": 2, "json component": 4, "json policy": 5, "json process": 2, "sh program": 1, "js program": 1, "console server": 30,
	"yaml properties": 1, "yaml envoy": 1, "yaml agentgateway": 1, "yaml agent": 1, "yaml config": 1, "yaml set": 1,
}

// guide is one file of the documentation, and the folder of its snippets.
type guide struct {
	name, folder string
	shell        *shell // next to the server of the file; nil before it is needed
}

// Snippets of the documentation have the results that it shows.
func TestDocumentationSnippets(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for name, text := range documents(t) {
		d := &guide{name: name, folder: t.TempDir()}
		if err := os.CopyFS(filepath.Join(d.folder, "examples"), os.DirFS("../../examples")); err != nil {
			t.Fatal(err)
		}
		for _, match := range snippet.FindAllStringSubmatch(text, -1) {
			kind, file, body := match[1], match[2], match[3]
			seen[kind]++
			if file != "" {
				if err := write(filepath.Join(d.folder, file), body); err != nil {
					t.Fatal(err)
				}
			}
			map[string]func(*testing.T, string, string){
				"json workflow": d.workflow, "json schema": d.schema, "json component": d.component,
				"json policy": d.policy, "json process": d.process, "yaml scenario": d.scenario, "yaml properties": d.program,
				"json event": d.event, "yaml envoy": d.envoy, "yaml agentgateway": d.agentgateway, "yaml agent": d.program, "yaml config": d.program, "yaml set": d.program, "sh program": d.program, "js program": d.program, "console transcript": d.transcript, "console server": d.session,
			}[kind](t, file, body)
		}
	}
	for kind, least := range leastSnippets {
		if seen[kind] < least {
			t.Errorf("found %d of %q, which were at least %d", seen[kind], kind, least)
		}
	}
}

// write writes a snippet, in its folder.
func write(file, body string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(body), 0o600)
}

// A reader who follows one page after the other, in one folder and on one server, gets the shown results of each
// page: no page breaks another.
func TestDocumentationOnOneServer(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	reader := &guide{folder: t.TempDir()}
	if err := os.CopyFS(filepath.Join(reader.folder, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	first := []string{"../../README.md", "../../docs/quickstart.md"}
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(name string) bool { return slices.Contains(first, name) })
	for _, name := range append(first, rest...) {
		reader.name = name
		for _, match := range snippet.FindAllStringSubmatch(texts[name], -1) {
			kind, file, body := match[1], match[2], match[3]
			if file != "" {
				if err := write(filepath.Join(reader.folder, file), body); err != nil {
					t.Fatal(err)
				}
			}
			if kind == "console server" {
				reader.session(t, file, body)
			}
		}
	}
}

func (d *guide) schema(t *testing.T, _, body string) {
	value, problems := document.ParseAll([]byte(body), document.Limits{})
	if len(problems) == 0 {
		_, problems = document.CompileSchema(value)
	}
	if len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d *guide) component(t *testing.T, _, body string) {
	if _, problems := document.ParseComponent([]byte(body)); len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d *guide) policy(t *testing.T, _, body string) {
	if _, problems := rules.ParsePolicy([]byte(body)); len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d *guide) process(t *testing.T, _, body string) {
	if _, problems := questions.Parse([]byte(body)); len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d *guide) program(t *testing.T, file, _ string) {
	if file == "" {
		t.Errorf("%s: a program needs the name of its file", d.name)
	}
}

func (d *guide) workflow(t *testing.T, _, body string) {
	_, problems := workflow.Parse([]byte(body))
	problems = slices.DeleteFunc(problems, func(p document.Problem) bool {
		return p.Code == workflow.CodeClaimedRights // some show comparisons, which the agent sets
	})
	if len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d *guide) scenario(t *testing.T, file, body string) {
	if file == "" {
		file = "snippet.test.yaml"
	}
	suite, problems := scenario.Parse(scenario.Source{Name: file, Text: []byte(body)}, func(name string) (scenario.Source, error) {
		text, err := os.ReadFile(filepath.Join(d.folder, name))
		return scenario.Source{Name: name, Text: text}, err
	})
	if suite == nil {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
		return
	}
	for _, r := range suite.Play(nil) {
		if !r.OK {
			t.Errorf("%s: %s: line %d: %s: want %s, got %s in\n%s", d.name, r.Case, r.Line, r.Action, r.Expected, r.Actual, body)
		}
	}
}

func (d *guide) event(t *testing.T, _, body string) {
	ev, err := bus.Decode([]byte(body))
	if err != nil {
		t.Errorf("%s: %v in\n%s", d.name, err, body)
		return
	}
	if !strings.HasPrefix(ev.GetId(), bus.EventID(ev)) || ev.GetPayload() == nil {
		t.Errorf("%s: event %s is not as the product writes it: id %s", d.name, ev.GetId(), bus.EventID(ev))
	}
}

// Every example validates without a word, except for warnings that are its point.
func TestExamplesValidate(t *testing.T) {
	t.Parallel()
	warned := []string{"branched-evaluate.json", "complete-reference.json", "enforcement-while-running.json", "guarded-approval.json", "invoke.json", "release-train.json"}
	found := 0
	err := filepath.WalkDir("../../examples", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".json" {
			return err
		}
		found++
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		problems := parseExample(src)
		if problems.HasErrors() || (len(problems) > 0) != slices.Contains(warned, filepath.Base(file)) {
			t.Errorf("%s: %v", file, problems)
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Fatalf("%d examples: %v", found, err)
	}
}

// parseExample parses an example as its kind.
func parseExample(src []byte) (problems document.Problems) {
	value, _ := document.ParseAll(src, document.Limits{})
	switch document.KindOf(value) {
	case "policy":
		_, problems = rules.ParsePolicy(src)
	case "process":
		_, problems = questions.Parse(src)
	default:
		_, problems = workflow.Parse(src)
	}
	return problems
}

// Relative links in the documentation lead somewhere, to headings too.
func TestDocumentationLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	checked := 0
	for name, text := range documents(t) {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			checked++
			file, heading := filepath.Join(filepath.Dir(name), match[1]), match[2]
			if match[1] == "" {
				file = name
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", name, match[1], err)
				continue
			}
			if heading != "" && !slices.Contains(headings(t, file), heading) {
				t.Errorf("%s links to a heading #%s that %s does not have", name, heading, file)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links found: this test looks in the wrong place", checked)
	}
}

// headings are the anchors of a file: those that it has by name, and those of its
// headings, as GitHub makes them.
func headings(t *testing.T, file string) []string {
	t.Helper()
	var anchors []string
	for _, match := range anchor.FindAllStringSubmatch(string(must[[]byte](t)(os.ReadFile(file))), -1) {
		anchors = append(anchors, match[1])
	}
	for line := range strings.Lines(string(must[[]byte](t)(os.ReadFile(file)))) {
		title, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !found || !strings.HasPrefix(line, "#") {
			continue
		}
		title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
		anchors = append(anchors, strings.ReplaceAll(title, " ", "-"))
	}
	return anchors
}

// TestDocumentationIndex fails for a page of docs that the index does not list, or that it
// lists twice.
func TestDocumentationIndex(t *testing.T) {
	t.Parallel()
	const index = "../../docs/README.md"
	text, pages := string(must[[]byte](t)(os.ReadFile(index))), must[[]string](t)(filepath.Glob("../../docs/*.md"))
	if len(pages) < 40 {
		t.Fatalf("only %d pages found: this test looks in the wrong place", len(pages))
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if listed := strings.Count(text, "]("+name+") |"); page != index && listed != 1 {
			t.Errorf("%s lists %s %d times", index, name, listed)
		}
	}
}

// The table of docs/mcp.md has every tool that agents are offered, with every
// argument.
func TestDocumentedTools(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	client := exec.CommandContext(within(t), binary(t, "interlock"), "mcp", "--data-dir", string(u.data))
	client.Env = cleanEnv()
	client.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"docs","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
	out := must[[]byte](t)(client.Output())
	offered := map[string][]string{}
	for line := range bytes.Lines(out) {
		var message struct {
			Result struct {
				Tools []struct {
					Name        string `json:"name"`
					InputSchema struct {
						Properties map[string]any `json:"properties"`
						Required   []string       `json:"required"`
					} `json:"inputSchema"`
				} `json:"tools"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, tool := range message.Result.Tools {
			arguments := []string{}
			for name := range tool.InputSchema.Properties {
				if !slices.Contains(tool.InputSchema.Required, name) {
					name += "?"
				}
				if name != "agent?" { // the hook's, not the agent's
					arguments = append(arguments, name)
				}
			}
			offered[tool.Name] = slices.Sorted(slices.Values(arguments))
		}
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|([^|]*)\\|")
	documented := map[string][]string{}
	for _, match := range row.FindAllStringSubmatch(string(must[[]byte](t)(os.ReadFile("../../docs/mcp.md"))), -1) {
		if _, tool := offered[match[1]]; tool {
			names := strings.FieldsFunc(strings.ReplaceAll(match[2], "`", ""), func(r rune) bool { return r == ',' || r == ' ' })
			documented[match[1]] = slices.Sorted(slices.Values(names))
		}
	}
	if len(offered) == 0 || !maps.EqualFunc(offered, documented, slices.Equal) {
		t.Errorf("docs/mcp.md has\n%v\nand the server\n%v", documented, offered)
	}
}

// documents are the texts of the documentation by their files.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range documentation {
		for _, file := range must[[]string](t)(filepath.Glob(pattern)) {
			texts[file] = string(must[[]byte](t)(os.ReadFile(file)))
		}
	}
	return texts
}

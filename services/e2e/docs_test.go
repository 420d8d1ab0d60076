package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// documentation is everything that people read.
var documentation = []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md", "../../examples/*.md"}

// snippet matches a fenced block that is marked for this test by its second word:
//
//	json workflow [FILE]   a definition without problems
//	yaml scenario [FILE]   scenarios that all pass
//	json event             an event as the product writes it
//	console transcript     commands after "$ ", and what they print
//
// A block with a FILE is also written there. Commands run in a folder of the
// document's own, which has those files and a copy of the examples.
var snippet = regexp.MustCompile("(?m)^```(json workflow|yaml scenario|json event|console transcript)(?: (\\S+))?\n((?s:.*?)\n)```$")

// document is one file of the documentation, and the folder of its snippets.
type document struct{ name, folder string }

// Snippets of the documentation do what they are shown to do.
func TestDocumentationSnippets(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for name, text := range documents(t) {
		d := document{name, t.TempDir()}
		if err := os.CopyFS(filepath.Join(d.folder, "examples"), os.DirFS("../../examples")); err != nil {
			t.Fatal(err)
		}
		for _, match := range snippet.FindAllStringSubmatch(text, -1) {
			kind, file, body := match[1], match[2], match[3]
			seen[kind]++
			if file != "" {
				if err := os.WriteFile(filepath.Join(d.folder, file), []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			map[string]func(*testing.T, string, string){
				"json workflow": d.workflow, "yaml scenario": d.scenario, "json event": d.event, "console transcript": d.transcript,
			}[kind](t, file, body)
		}
	}
	for kind, least := range map[string]int{"json workflow": 8, "yaml scenario": 5, "json event": 33, "console transcript": 8} {
		if seen[kind] < least {
			t.Errorf("found %d of %q: the documentation has lost its examples, or this test looks in the wrong place", seen[kind], kind)
		}
	}
}

func (d document) workflow(t *testing.T, _, body string) {
	if _, problems := workflow.Parse([]byte(body)); len(problems) > 0 {
		t.Errorf("%s: %v in\n%s", d.name, problems, body)
	}
}

func (d document) scenario(t *testing.T, file, body string) {
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

func (d document) event(t *testing.T, _, body string) {
	ev, err := bus.Decode([]byte(body))
	if err != nil {
		t.Errorf("%s: %v in\n%s", d.name, err, body)
		return
	}
	if !strings.HasPrefix(ev.GetId(), bus.EventID(ev)) || ev.GetPayload() == nil {
		t.Errorf("%s: event %s is not as the product writes it: id %s", d.name, ev.GetId(), bus.EventID(ev))
	}
}

// transcript runs the commands of a block and holds what they print against what
// the block shows.
func (d document) transcript(t *testing.T, _, body string) {
	commands := strings.Split("\n"+body, "\n$ ")
	if strings.TrimSpace(commands[0]) != "" || len(commands) < 2 {
		t.Errorf("%s: a transcript begins with a command, after \"$ \":\n%s", d.name, body)
	}
	for _, shown := range commands[1:] {
		command, want, _ := strings.Cut(shown, "\n")
		run := exec.CommandContext(t.Context(), "bash", "-c", command)
		run.Dir = d.folder
		run.Env = append(cleanEnv(), "PATH="+filepath.Dir(binary(t, "interlock"))+string(os.PathListSeparator)+os.Getenv("PATH"))
		got, err := run.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if !shows(lines(want), lines(string(got))) {
			t.Errorf("%s: $ %s\nis shown as\n%s\nand prints\n%s", d.name, command, want, got)
		}
	}
}

// lines are those of a text, without the blank ones at its end.
func lines(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// shows reports that lines of output are those that are shown, where "..." stands
// for any number of lines.
func shows(shown, output []string) bool {
	switch {
	case len(shown) == 0:
		return len(output) == 0
	case strings.TrimSpace(shown[0]) == "...":
		return shows(shown[1:], output) || len(output) > 0 && shows(shown, output[1:])
	default:
		return len(output) > 0 && shown[0] == output[0] && shows(shown[1:], output[1:])
	}
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		shown, output string
		want          bool
	}{
		{"", "", true},
		{"a\nb", "a\nb\n", true},
		{"a", "a\nb", false},
		{"a\nb", "a", false},
		{"a", "b", false},
		{"a\n...", "a", true},
		{"...\nc", "a\nb\nc", true},
		{"a\n  ...\nc", "a\nb\nb\nc", true},
		{"a\n...\nc", "a\nb", false},
		{"...", "", true},
		{"", "a", false},
	} {
		if got := shows(lines(row.shown), lines(row.output)); got != row.want {
			t.Errorf("%q shows %q: %t", row.shown, row.output, got)
		}
	}
}

// Every example validates without a word, except for warnings that are its point.
func TestExamplesValidate(t *testing.T) {
	t.Parallel()
	warned := []string{"complete-reference.json", "guarded-approval.json", "invoke.json", "release-train.json"}
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
		_, problems := workflow.Parse(src)
		if problems.HasErrors() || (len(problems) > 0) != slices.Contains(warned, filepath.Base(file)) {
			t.Errorf("%s: %v", file, problems)
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Fatalf("%d examples: %v", found, err)
	}
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

// headings are the anchors of a file's headings, as GitHub makes them.
func headings(t *testing.T, file string) []string {
	t.Helper()
	var anchors []string
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

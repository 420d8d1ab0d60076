package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// snippet matches a fenced block that is marked for this test: ```json workflow.
var snippet = regexp.MustCompile("(?s)```json (workflow|event)\n(.*?)```")

// Examples in the documentation must work as they are written.
func TestDocumentationSnippets(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range snippet.FindAllStringSubmatch(string(text), -1) {
			kind, body := match[1], []byte(match[2])
			seen[kind]++
			switch kind {
			case "workflow":
				if _, problems := workflow.Parse(body); len(problems) > 0 {
					t.Errorf("%s: %v in\n%s", file, problems, body)
				}
			case "event":
				ev, err := bus.Decode(body)
				if err != nil {
					t.Errorf("%s: %v in\n%s", file, err, body)
					continue
				}
				if !strings.HasPrefix(ev.GetId(), bus.EventID(ev)) || ev.GetPayload() == nil {
					t.Errorf("%s: event %s is not as the product writes it: id %s", file, ev.GetId(), bus.EventID(ev))
				}
			}
		}
	}
	if seen["workflow"] == 0 || seen["event"] < 9 {
		t.Errorf("found %v: the documentation has lost its examples, or this test looks in the wrong place", seen)
	}
}

// Every example validates without a word.
func TestExamplesValidate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := workflow.Parse(src); len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
		}
	}
}

// Relative links in the documentation lead somewhere.
func TestDocumentationLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	checked := 0
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range link.FindAllStringSubmatch(string(text), -1) {
				checked++
				if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
					t.Errorf("%s links to %s: %v", file, match[1], err)
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d links found: this test looks in the wrong place", checked)
	}
}

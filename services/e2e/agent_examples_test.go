package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The agents of examples/agents are those of docs/agent-examples.md. The test suites of
// the SDKs of TypeScript and Python run the other two.

const agentExamples = "../../docs/agent-examples.md"

// block is the text of the only block of a kind on a page.
func block(t *testing.T, page, kind string) string {
	t.Helper()
	all := regexp.MustCompile("(?ms)^```"+regexp.QuoteMeta(kind)+"\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	if len(all) != 1 {
		t.Fatalf("the page has %d blocks of %s", len(all), kind)
	}
	return all[0][1]
}

func TestAgentExamplesAreTheFiles(t *testing.T) {
	t.Parallel()
	page := string(must[[]byte](t)(os.ReadFile(agentExamples)))
	for kind, name := range map[string]string{
		"json workflow": "release.json", "json": "turns.jsonl", "go program": "go/main.go", "ts": "typescript/agent.ts", "python": "python/agent.py",
	} {
		file := string(must[[]byte](t)(os.ReadFile(filepath.Join("../../examples/agents", name))))
		if block(t, page, kind) != file {
			t.Errorf("docs/agent-examples.md has another %s than examples/agents/%s: copy the file into its block", kind, name)
		}
		if lines := strings.Count(file, "\n"); lines >= 150 {
			t.Errorf("examples/agents/%s has %d lines: an example is shorter than 150", name, lines)
		}
	}
}

func TestAgentExample(t *testing.T) {
	t.Parallel()
	page := string(must[[]byte](t)(os.ReadFile(agentExamples)))
	interlock := binary(t, "interlock")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, "../../examples/agents/run", "go")
	run.Env, run.WaitDelay = append(cleanEnv(), "INTERLOCK_BINARY="+interlock), patience
	out, err := run.Output()
	if err != nil {
		t.Fatalf("examples/agents/run go: %v\n%s%s", err, out, stderrOf(err))
	}
	want := strings.ReplaceAll(regexp.QuoteMeta(block(t, page, "text")), `\.\.\.`, ".*")
	if !regexp.MustCompile("^" + want + "$").Match(out) {
		t.Errorf("the agent prints\n%s\nand the page has\n%s", out, block(t, page, "text"))
	}
	for line, times := range map[string]int{
		`  denied: Tool "Bash" is not allowed in state "plan".`: 1,
		"  waits for a human\n  approved; now in deploy\n":      1,
		"  deployed version 2\n":                                1,
		"deployments: 1\n":                                      1,
	} {
		if got := strings.Count(string(out), line); got != times {
			t.Errorf("the agent prints %q %d times, want %d", line, got, times)
		}
	}
}

// stderrOf returns a program's standard error before it failed.
func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

package packs_test

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// reads are lines that the core takes for reading: in a state without edits they pass, no code of the workspace runs, and none of
// their programs may ask a server, runs code of the line or records changes.
func reads(t *testing.T, all []string) (lines []string) {
	t.Helper()
	const looking = `{"id": "looking", "initial": "looking", "states": {"looking": {"allowed_tools": ["Read", "Bash"], "opaque_commands": "deny", "on": {"DONE": "done"}}, "done": {"type": "final"}}}`
	refused := map[string]bool{}
	for _, r := range refusals(t, rendered{packs.Workflow: {Name: "looking.json", Text: []byte(looking)}}, all, 0) {
		refused[r.line] = true
	}
	for _, line := range all {
		plan, err := shell.Parse(line)
		if err == nil && !refused[line] && !slices.ContainsFunc(plan.Commands, otherThanReading) {
			lines = append(lines, line)
		}
	}
	return lines
}

// otherThanReading are commands that may ask a server, are given code, or record changes.
func otherThanReading(c shell.Command) bool {
	switch c.Program() {
	case "curl", "wget", "docker", "gh", "kubectl", "helm", "npm", "npx", "go", "golangci-lint", "openssl", "lsof":
		return true
	case "git":
		return slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Text == "add" || w.Text == "commit" })
	case "python", "python3", "node":
		return slices.ContainsFunc(c.Words, func(w shell.Word) bool { return w.Text == "-c" || w.Text == "-e" || w.Text == "-p" })
	default:
		return false
	}
}

// TestReadingLines: of lines that only read, packs for looking refuse at most 0.5 %.
func TestReadingLines(t *testing.T) {
	t.Parallel()
	all, _ := lines(t)
	reading := reads(t, all)
	if len(reading) < 30 {
		t.Fatalf("%d of %d lines only read", len(reading), len(all))
	}
	for _, name := range []string{"pr-review"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := packs.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			refused := refusals(t, render(t, p, nil), reading, 0)
			for _, r := range refused {
				t.Logf("%.160s", r.code+": "+r.line)
			}
			t.Logf("%d of %d lines are refused", len(refused), len(reading))
			if len(refused)*200 > len(reading) {
				t.Errorf("%d of %d lines are refused", len(refused), len(reading))
			}
		})
	}
}

// TestActs: of acts that cannot be taken back, autonomous runs none, and bounded-write asks first.
func TestActs(t *testing.T) {
	t.Parallel()
	acts := []string{
		"git lfs push origin main", "git config remote.origin.pushurl https://example.org/x", "git -c alias.p=push p", "sh -c 'git push origin main'",
		"helm delete shop", "helm -n shop uninstall web", "npx lerna publish", "npm owner add eve", "docker image push acme/shop", "skopeo copy a b",
		"./gradlew publishToMavenCentral", "rclone delete remote:x", "terraform force-unlock 1", "rm -rf /*", "dd if=/dev/zero of=/dev/sda", "redis-cli -h db flushall",
	}
	for _, name := range []string{"autonomous", "bounded-write"} {
		p, err := packs.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		refused := refusals(t, render(t, p, nil), acts, 0)
		for _, line := range acts {
			if !slices.ContainsFunc(refused, func(r refusal) bool { return r.line == line }) {
				t.Errorf("%s allows %s", name, line)
			}
		}
	}
}

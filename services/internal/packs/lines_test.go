package packs_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/services/internal/packs"
)

// lines are command lines to measure: of the file of JSON lines {"line": ...}, gzipped, that AGENT_LINES names, or the harmless
// ones of this package. A here-document is one line.
func lines(t *testing.T) (all []string, own bool) {
	t.Helper()
	name := os.Getenv("AGENT_LINES")
	if name == "" {
		text, err := os.ReadFile("testdata/harmless.txt")
		if err != nil {
			t.Fatal(err)
		}
		end := ""
		for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
			if end == "" {
				all = append(all, line)
			} else {
				all[len(all)-1] += "\n" + line
			}
			if _, word, here := strings.Cut(line, "<<'"); here && end == "" {
				end = strings.TrimSuffix(word, "'")
			} else if line == end {
				end = ""
			}
		}
		return all, true
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	read := bufio.NewScanner(z)
	read.Buffer(nil, 1<<22)
	for read.Scan() {
		var c struct{ Line string }
		if err := json.Unmarshal(read.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Line)
	}
	return all, false
}

// TestLines: of harmless command lines, the packs for daily coding refuse or ask about at most 0.5 %, without a jail and in
// one. Of the lines of this package they refuse none.
func TestLines(t *testing.T) {
	t.Parallel()
	all, own := lines(t)
	if len(all) < 100 {
		t.Fatalf("%d lines", len(all))
	}
	for _, name := range []string{"secrets-hygiene", "bounded-write", "autonomous"} {
		for _, level := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s at level %d", name, level), func(t *testing.T) {
				t.Parallel()
				p, err := packs.Get(name)
				if err != nil {
					t.Fatal(err)
				}
				refused := refusals(t, render(t, p, nil), all, level)
				for _, r := range refused {
					t.Logf("%.160s", r.code+": "+r.line)
				}
				t.Logf("%d of %d lines are refused or asked about", len(refused), len(all))
				if own && len(refused) > 0 || len(refused)*200 > len(all) {
					t.Errorf("%d of %d lines are refused or asked about", len(refused), len(all))
				}
			})
		}
	}
}

// refusal is a line that is not allowed, and the code of the answer.
type refusal struct{ code, line string }

// refusals returns the lines that the first state of a pack, and its policy, do not allow.
func refusals(t *testing.T, files rendered, all []string, level int) (refused []refusal) {
	t.Helper()
	const most = 500 // cases of one file
	for at := 0; at < len(all); at += most {
		var cases []any
		for i, line := range all[at:min(at+most, len(all))] {
			call := map[string]any{"tool": "Bash", "input": map[string]any{"command": line, "description": "Run it"}}
			if level > 0 {
				call["jail"] = level
			}
			cases = append(cases, map[string]any{"name": fmt.Sprint(at + i), "steps": []any{map[string]any{"call": call}}})
		}
		doc := map[string]any{"workflow": "open.json", "workspace": "/home/ann/shop", "cases": cases}
		byName := map[string][]byte{"open.json": []byte(open)}
		for kind, f := range files {
			byName[f.Name] = f.Text
			switch kind {
			case packs.Workflow:
				doc["workflow"] = f.Name
			case packs.Policy:
				doc["policy"] = f.Name
			default:
			}
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		suite, problems := scenario.Parse(scenario.Source{Name: "lines.test.json", Text: text}, func(name string) (scenario.Source, error) {
			return scenario.Source{Name: name, Text: byName[name]}, nil
		})
		if suite == nil {
			t.Fatal(problems)
		}
		for i, r := range suite.Play(nil) {
			if !r.OK {
				code, _ := r.Actual.Get("code")
				refused = append(refused, refusal{code.Str(), all[at+i]})
			}
		}
	}
	return refused
}

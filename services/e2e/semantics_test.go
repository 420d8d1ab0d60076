package e2e

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ownPages begins the addresses of pages that files name which are read outside of the repository.
const ownPages = "https://github.com/interlock-run/interlock/blob/main/"

// rulesPage has every rule, with its number as an anchor.
const rulesPage = "docs/semantics.md"

var (
	anchor = regexp.MustCompile(`<a id="([sr][\d.]*)"></a>`)
	// rule is a citation of one rule; topic is one of a whole section.
	rule  = regexp.MustCompile(`\bS\d+\.\d+\b|\bR\d\b`)
	topic = regexp.MustCompile(`\bS\d+\b`)
	// page names a document, by its path from the file, from the root or from docs.
	page     = regexp.MustCompile(`[\w./-]*\w\.md\b`)
	decision = regexp.MustCompile(`\b(?:ADR |adr/)(\d{3})\b`)
)

// S1.3 ... S12.4: every cited rule exists, and every rule has a test.
func TestCitations(t *testing.T) {
	t.Parallel()
	c := citations{rules: rulesOf(string(must[[]byte](t)(os.ReadFile("../../" + rulesPage)))), tested: map[string]bool{}}
	if len(c.rules) < 90 {
		t.Fatalf("%s has %d rules: this test looks in the wrong place", rulesPage, len(c.rules))
	}
	names, texts := sources(t)
	c.files = names
	for name, text := range texts {
		for _, problem := range c.read(name, text) {
			t.Error(problem)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.rules)) {
		if rule.MatchString(id) && !c.tested[id] {
			t.Errorf("no test cites %s: cite it in the test that fails when the rule is broken", id)
		}
	}
}

// The scanner finds citations, and skips other words.
func TestCitationsAreFound(t *testing.T) {
	t.Parallel()
	rules := rulesOf(`## <a id="s2"></a>S2 ... ### <a id="s2.7"></a>S2.7 ... <a id="r3"></a>R3`)
	files := map[string]bool{"docs/semantics.md": true, "docs/adr/020-x.md": true, "examples/README.md": true}
	for _, c := range []struct {
		name, text, problem string
		tested              []string
	}{
		{name: "a.go", text: "// S2.7, S2 and (R3).\npackage a"},
		{name: "a.go", text: "package a\n\n// It does that (S2.9).", problem: "a.go:3: S2.9"},
		{name: "a.go", text: "package a // (S7)", problem: "a.go:1: S7"},
		{name: "a.go", text: "/*\nR1\n*/\npackage a", problem: "a.go:2: R1"},
		{name: "a.go", text: "package a\nvar about = `as S2.8 says`", problem: "a.go:2: S2.8"},
		{name: "a.go", text: "package a\nvar S7, R1 = 1, `house.md`"},
		{name: "a_test.go", text: "package a\nvar name = `a case (S2.7)`", tested: []string{"S2.7"}},
		{name: "a_test.go", text: "package a\nfunc TestS2_7() {}\n// R3: so", tested: []string{"R3"}},
		{name: "testdata/a.txt", text: "# R3: so", tested: []string{"R3"}},
		{name: "examples/a.test.yaml", text: "# S2.7", tested: []string{"S2.7"}},
		{name: "e2e/a.test.mjs", text: "// S2.7", tested: []string{"S2.7"}},
		{name: "a.proto", text: "// Runs (S2.7), as S9.1.", problem: "a.proto:1: S9.1"},
		{name: "docs/a.md", text: "See [S2.7](semantics.md#s2.7)."},
		{name: "docs/a.md", text: "See [house](house.md).", problem: "docs/a.md:1: house.md"},
		{name: "a.go", text: "package a // docs/semantics.md, README.md", problem: "a.go:1: README.md"},
		{name: "examples/a.yaml", text: "# README.md has more, and ADR 020"},
		{name: "examples/a.yaml", text: "files: [b.md]"},
		{name: "a.lua", text: "local n = 0 -- of S2.8", problem: "a.lua:1: S2.8"},
		{name: "a.go", text: "package a // docs/adr/021 says why", problem: "a.go:1: adr/021"},
	} {
		got := citations{rules: rules, files: files, tested: map[string]bool{}}
		problems := strings.Join(got.read(c.name, []byte(c.text)), "\n")
		if c.problem == "" && problems != "" || !strings.HasPrefix(problems, c.problem) {
			t.Errorf("%s %q: problems %q, want %q", c.name, c.text, problems, c.problem)
		}
		if tested := slices.Sorted(maps.Keys(got.tested)); !slices.Equal(tested, c.tested) {
			t.Errorf("%s %q: tests %v, want %v", c.name, c.text, tested, c.tested)
		}
	}
}

// citations reads texts for their citations.
type citations struct {
	rules map[string]bool // that there are, with their sections
	files map[string]bool // paths from the root
	// tested are the rules that tests cite.
	tested map[string]bool
}

// rulesOf are the rules and sections of a page, by their anchors.
func rulesOf(page string) map[string]bool {
	rules := map[string]bool{}
	for _, match := range anchor.FindAllStringSubmatch(page, -1) {
		rules[strings.ToUpper(match[1])] = true
	}
	return rules
}

// read returns the wrong citations of a file, and notes which rules a
// test cites.
func (c *citations) read(name string, text []byte) (problems []string) {
	text = bytes.ReplaceAll(text, []byte(ownPages), nil)
	said := prose(name, text)
	for i, line := range strings.Split(string(text), "\n") {
		report := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, fmt.Sprintf(format, args...)))
		}
		for _, id := range slices.Concat(rule.FindAllString(line, -1), topic.FindAllString(said[i], -1)) {
			switch inCode := !strings.Contains(said[i], id); {
			case inCode && !strings.Contains(id, ".") && !isTest(name):
			case isTest(name) && c.rules[id] && rule.MatchString(id):
				c.tested[id] = true
			case !c.rules[id] && (!inCode || strings.Contains(id, ".")):
				report("%s is not a rule of %s", id, rulesPage)
			}
		}
		for _, file := range page.FindAllString(said[i], -1) {
			if !c.finds(name, file) {
				report("%s is not a file of the repository", file)
			}
		}
		for _, match := range decision.FindAllStringSubmatch(said[i], -1) {
			if !c.decided(match[1]) {
				report("%s is not a decision of docs/adr", match[0])
			}
		}
	}
	return problems
}

// isTest reports the files of tests, of which any line can cite a rule.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || strings.HasSuffix(name, ".test.yaml") || strings.HasSuffix(name, ".test.mjs")
}

// finds looks for a document from where it is cited, from the root, and in docs.
func (c *citations) finds(from, file string) bool {
	return c.files[path.Join(path.Dir(from), file)] || c.files[path.Clean(file)] || c.files[path.Join("docs", file)]
}

func (c *citations) decided(number string) bool {
	for file := range c.files {
		if strings.HasPrefix(file, "docs/adr/"+number+"-") {
			return true
		}
	}
	return false
}

// prose is the text of a file for its readers, by lines: comments where it is code.
func prose(name string, text []byte) []string {
	lines := strings.Split(string(text), "\n")
	switch path.Ext(name) {
	case ".md", ".html", ".proto":
		return lines
	case ".go":
		return goComments(text, len(lines))
	case ".lua":
		return after(lines, "--")
	case ".mjs":
		return after(lines, "//")
	default:
		return after(lines, "#")
	}
}

// after returns the text of the lines from a mark on.
func after(lines []string, mark string) []string {
	said := make([]string, len(lines))
	for i, line := range lines {
		if at := strings.Index(line, mark); at >= 0 {
			said[i] = line[at:]
		}
	}
	return said
}

func goComments(text []byte, lines int) []string {
	said := make([]string, lines)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return said
		}
		if kind == token.COMMENT {
			for i, line := range strings.Split(literal, "\n") {
				said[file.Line(at)-1+i] += line
			}
		}
	}
}

// sources are the texts that people write, by their paths from the root, and the
// names of all files.
func sources(t *testing.T) (names map[string]bool, texts map[string][]byte) {
	t.Helper()
	names, texts = map[string]bool{}, map[string][]byte{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, filepath.FromSlash("../../")))
		switch hidden := strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." && entry.Name() != ".github"; {
		case entry.IsDir() && (hidden || slices.Contains([]string{"bin", "dist", "node_modules", "third_party"}, entry.Name())):
			return filepath.SkipDir
		case entry.IsDir() || !entry.Type().IsRegular():
			return nil
		}
		names[name] = true
		switch path.Ext(name) {
		case ".go", ".proto", ".md", ".yaml", ".yml", ".txt", ".txtar", ".sh", ".lua", ".html", ".mjs", "":
			text, err := os.ReadFile(file)
			if err == nil && !bytes.Contains(text, []byte{0}) && name != "services/e2e/semantics_test.go" && name != "NOTICE" { // licences of others
				texts[name] = text
			}
			return err
		}
		return nil
	})
	if err != nil || len(texts) < 500 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	return names, texts
}

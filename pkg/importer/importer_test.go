package importer_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/importer"
)

var update = flag.Bool("update", false, "write the expected translations of testdata")

// TestTranslate compares whole policies with their translations, which people have read.
func TestTranslate(t *testing.T) {
	t.Parallel()
	machine := importer.Options{Workspace: "/srv/shop", Home: "/home/me"}
	for _, test := range []struct {
		name, from, file string
		options          importer.Options
	}{
		{"claude", importer.ClaudeCode, "claude.json", machine},
		{"claude-nowhere", importer.ClaudeCode, "claude.json", importer.Options{User: true}},
		{"claude-quiet", importer.ClaudeCode, "claude-quiet.json", machine},
		{"claude-plan", importer.ClaudeCode, "claude-plan.json", machine},
		{"stripe", importer.Intercept, "stripe.yaml", importer.Options{Server: "stripe"}},
		{"listed", importer.Intercept, "listed.yaml", importer.Options{Server: "github"}},
		{"refunds", importer.Cedar, "refunds.cedar", importer.Options{}},
		{"refunds-everyone", importer.Cedar, "refunds.cedar", importer.Options{Server: "crm", Everyone: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			result, err := importer.Translate(test.from, src, test.options)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", test.name+".want")
			got := written(t, result)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is translated otherwise than %s says:\n%s", test.file, golden, got)
			}
		})
	}
}

// written returns a result for people: the rules, one a line, and the notes.
func written(t *testing.T, r importer.Result) string {
	t.Helper()
	var b strings.Builder
	for name, v := range r.Policy.Members() {
		if v.Len() == 0 {
			fmt.Fprintf(&b, "%s %s\n", name, v)
			continue
		}
		for _, rule := range v.Elements() {
			line := jsontext.Value(rule.AppendJSON(nil))
			if err := line.Compact(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", name, line)
		}
	}
	for _, n := range r.Left {
		fmt.Fprintf(&b, "LEFT %d restricts=%t %s: %s\n", n.Line, n.Restricts, n.Text, n.Why)
	}
	for _, n := range r.Stricter {
		fmt.Fprintf(&b, "STRICTER %d %s: %s\n", n.Line, n.Text, n.Why)
	}
	return b.String()
}

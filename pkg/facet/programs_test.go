package facet_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

var update = flag.Bool("update", false, "write the results into testdata")

// TestPrograms compares the facets of command lines with the tables: git, k8s and sql.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for file, parts := range map[string][]condition.Facet{
		"git.txt": {condition.GitVerb, condition.GitRefs, condition.GitRemote, condition.GitForce, condition.GitDelete},
		"k8s.txt": {condition.K8sVerb, condition.K8sResource, condition.K8sName, condition.K8sNamespace, condition.K8sContext},
		"sql.txt": {condition.SQLKinds, condition.SQLTables, condition.SQLFunctions, condition.SQLStatements},
	} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var written strings.Builder
		for row := range strings.Lines(string(text)) {
			line, want, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
			got := show(line, parts)
			written.WriteString(line + "\t" + got + "\n")
			if got != want && !*update {
				t.Errorf("%s\n got %s\nwant %s", line, got, want)
			}
		}
		if *update {
			if err := os.WriteFile("testdata/"+file, []byte(written.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// show returns the facets of a command line as the tables have them: values with , between them, ~
// before those that are not sure, and ? for a facet that is not known.
func show(line string, parts []condition.Facet) string {
	line = strings.ReplaceAll(line, `\n`, "\n")
	input, _ := json.Marshal(map[string]string{"command": line})
	facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
	var all []string
	for _, name := range parts {
		set := facts.Facet(name)
		var values []string
		for _, e := range set.Values {
			text := strings.Trim(e.Value.String(), `"`)
			if e.Unsure {
				text = "~" + text
			}
			values = append(values, text)
		}
		if !set.Known {
			values = append(values, "?")
		}
		_, part, _ := strings.Cut(string(name), ".")
		if len(values) > 0 {
			all = append(all, part+"="+strings.Join(values, ","))
		}
	}
	return strings.Join(all, " ")
}

// TestToolsWithoutPrograms: a tool that Interlock does not know may do anything; one that it knows and
// that is no shell runs no program.
func TestToolsWithoutPrograms(t *testing.T) {
	t.Parallel()
	for _, name := range []condition.Facet{condition.GitRefs, condition.K8sVerb, condition.SQLKinds} {
		if set := facet.Of(facet.Subject{Tool: "mcp__x__y"}).Facet(name); set.Known {
			t.Errorf("%s of an unknown tool is known", name)
		}
		if set := facet.Of(facet.Subject{Tool: "Read"}).Facet(name); !set.Known || len(set.Values) > 0 {
			t.Errorf("%s of Read is %+v", name, set)
		}
		if set := facet.Of(facet.Subject{Tool: "Bash", Input: []byte(`{`)}).Facet(name); set.Known {
			t.Errorf("%s of a line that cannot be read is known", name)
		}
	}
}

package facet_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

var hostParts = []condition.Facet{condition.Host, condition.IP, condition.Port, condition.Scheme, condition.Method, condition.URLPath}

// TestHosts compares the hosts of calls with the table (S21.12). A line that begins with a tool's name and { is the
// input of that tool; any other is a command line.
func TestHosts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/hosts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for row := range strings.Lines(string(text)) {
		row = strings.TrimSuffix(row, "\n")
		call, want, _ := strings.Cut(row, "\t")
		if strings.HasPrefix(row, "#") {
			written.WriteString(row + "\n")
			continue
		}
		got := showSets(hostCall(call), hostParts)
		written.WriteString(call + "\t" + got + "\n")
		if got != want && !*update {
			t.Errorf("%s\n got %s\nwant %s", call, got, want)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/hosts.txt", []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// hostTools are described for the tests of hosts.
var hostTools = facet.Tools{
	"get":    {URLs: []string{"/url", "/pages/*/url"}, Method: "/method"},
	"dial":   {Hosts: []string{"/host"}, Closed: true},
	"line":   {Command: "/line"},
	"closed": {URLs: []string{"/url"}, Closed: true},
	"mute":   {Reads: []string{"/path"}},
	"none":   {URLs: []string{}},
}

// hostCall returns the call of a row of the tables.
func hostCall(call string) *facet.Facts {
	if tool, input, ok := strings.Cut(call, " {"); ok && !strings.ContainsAny(tool, " ;") {
		return facet.Of(facet.Subject{Tool: tool, Input: []byte("{" + strings.ReplaceAll(input, `\t`, "\t")), Tools: hostTools})
	}
	input, _ := json.Marshal(map[string]string{"command": strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(call)})
	return facet.Of(facet.Subject{Tool: "Bash", Input: input})
}

func showSets(facts *facet.Facts, names []condition.Facet) string {
	var all []string
	for _, name := range names {
		set := facts.Facet(name)
		var values []string
		for _, e := range set.Values {
			text := strings.Trim(e.Value.String(), `"`)
			for _, other := range e.Also {
				text += "|" + strings.Trim(other.String(), `"`)
			}
			values = append(values, text)
		}
		if !set.Known {
			values = append(values, "?")
		}
		if len(values) > 0 {
			all = append(all, string(name)+"="+strings.Join(values, ","))
		}
	}
	return strings.Join(all, " ")
}

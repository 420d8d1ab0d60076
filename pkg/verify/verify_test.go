package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

func TestTry(t *testing.T) {
	for name, c := range map[string]string{
		"deploy-pipeline": `{a: {never: {tool: Bash, command: "helm upgrade *"}, unless: {event: TESTED}, while: running}, b: {before: {state: deploying}, always: {event: TESTED}},
 c: {always_possible: true}, d: {never: {command: "kubectl apply *"}, while: running}, e: {never: {command: "kubectl apply"}}, f: {at_most: 3, tool: Bash, while: running}, g: {never: {tool: Edit}, while: running}, h: {can_be_decided: true}}`,
		"ci-pipeline":                 `{a: {always_possible: true}, b: {before: {state: deploying}, always: {state: lint_done}}, c: {before: {state: deploying}, always: {state: failed}}, d: {never: {state: failed}}}`,
		"release-train/release-train": `{a: {always_possible: true}, b: {never: {event: SHIP}}}`,
	} {
		src, err := os.ReadFile(filepath.Join("../../examples", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		m := model(t, string(src))
		if !strings.Contains(string(src), "SHIP") {
			c = strings.ReplaceAll(c, ", b: {never: {event: SHIP}}", "")
		}
		for _, r := range verify.Check(m, properties(t, m, c), verify.Options{}).Results {
			t.Logf("%s %s: %s %d %s %v", name, r.Property.Name, r.Verdict, r.States, r.Reason, r.Notes)
			if r.Counterexample != nil {
				t.Logf("%s", r.Counterexample.Scenario[:min(len(r.Counterexample.Scenario), 100)])
				t.Log(strings.Join(r.Counterexample.Steps, "\n"))
			}
		}
	}
}

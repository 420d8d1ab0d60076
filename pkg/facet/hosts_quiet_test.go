package facet_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

// TestQuietLines: S21.12. Lines that print settings or a version reach no host; the ones next to them may.
func TestQuietLines(t *testing.T) {
	t.Parallel()
	for line, quiet := range map[string]bool{
		"psql --version": true, "python3 --version": true, "unzip -l a.zip": true, "pgrep -af x": true, "git remote": true, "git remote -v": true, "git config --get user.name": true,
		"git remote show origin": false, "git remote update": false, "git config user.name": false, "git config --get x y": false, "./x --version": false, "psql --version -h x": false, "hostname -f": false,
	} {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		facts := facet.Of(facet.Subject{Tool: "Bash", Input: input, Workspace: "/w"})
		if set := facts.Facet(condition.Host); (set.Known && len(set.Values) == 0) != quiet {
			t.Errorf("%s: %+v", line, set)
		}
	}
}

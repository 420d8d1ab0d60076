package offline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
)

// scenarioEndings are the endings of scenario files in folders.
var scenarioEndings = []string{".test.yaml", ".test.yml", ".test.json"}

func isScenario(name string) bool {
	return slices.ContainsFunc(scenarioEndings, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// scenarioFiles finds the files that arguments name, each once, and says which
// arguments name none.
func scenarioFiles(args []string) (names []string, missing []error) {
	seen := make(map[string]bool)
	for _, arg := range args {
		found, err := scenariosOf(arg)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: there is no *.test.yaml here; name a scenario file, or FOLDER/... for all below a folder", arg)
		}
		if err != nil {
			missing = append(missing, err)
		}
		for _, name := range found {
			if name = filepath.Clean(name); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names, missing
}

func scenariosOf(arg string) ([]string, error) {
	if root, below := input.Folder(arg); below {
		return input.Walk(root, isScenario)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		var found []string
		for _, e := range entries {
			if !e.IsDir() && isScenario(e.Name()) {
				found = append(found, filepath.Join(arg, e.Name()))
			}
		}
		return found, nil
	case err != nil && strings.ContainsAny(arg, "*?["):
		found, err := filepath.Glob(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		return found, nil
	default: // also when it does not exist: reading it says so
		return []string{arg}, nil
	}
}

package e2e

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/interlock-run/interlock/"

// levels of the house, docs/architecture.md: imports point down or stay level.
// The longest prefix decides.
var levels = map[string]int{
	"pkg/authority": 0, "pkg/workflow": 0, "pkg/process": 0, "pkg/shell": 0, "pkg/toolcall": 0, "pkg/toolinput": 0, "pkg/facet": 0, "pkg/jail": 0,
	"pkg/rules": 0, "pkg/importer": 0, "pkg/document": 0, "pkg/consent": 0, "pkg/signature": 0, "pkg/jsonobject": 0,
	"pkg/pathglob": 0, "pkg/verify": 0, "pkg/verify/conform": 0, "pkg/verify/suggest": 0, "pkg/attack": 0, "pkg/receipt": 0, "pkg/bundle": 0, "pkg/schedule": 0, "pkg/condition": 0, "pkg/mail": 0, "pkg/sqlscan": 0, "pkg/evidence": 0, "pkg/diagram": 0, "pkg/scenario": 0, "pkg/session": 0,
	"pkg/visible": 0, "pkg/placeholder": 0, "services/internal/hookevent": 0, "services/internal/hookwire": 0, "pkg/toolname": 0, "pkg/pricing": 0, "pkg/webhook": 0, "pkg/randtest": 1, "pkg/internal/randtest": 0, "pkg/disktest": 0, "pkg/signature/signaturetest": 0, "pkg/certtest": 0, "pkg/internal/reread": 0, "pkg/internal/tlsfiles": 1, "pkg/internal/dial": 1,

	"pkg/store": 1, "pkg/health": 1, "pkg/fault": 1, "pkg/auth": 1, "pkg/typeid": 1, "services/internal/snapshot": 1,
	"services/internal/sessionread": 1,
	"services/internal/standing":    3,
	"services/internal/retry":       1,
	"services/internal/halts":       1,
	"services/internal/catalog":     1,
	"services/internal/personread":  1,
	"services/internal/namespaces":  1,
	"services/internal/build":       1,
	"services/internal/idempotency": 1,
	"services/internal/bootstrap":   1,
	"services/internal/shield":      1,
	"services/internal/sweep":       1,
	"services/internal/ledger":      1,
	"services/internal/sessionend":  1,
	"services/internal/runnotice":   1,
	"services/internal/storeguard":  1,
	"services/internal/storequota":  1,
	"services/internal/seal":        1,
	"services/internal/storeseal":   1,
	"services/internal/principal":   1,
	"services/internal/wakeup":      1,
	"services/internal/packs":       1,
	"services/internal/definition":  1,
	"pkg/auth/sessiontoken":         1,
	"pkg/auth/persontoken":          1,
	"pkg/sdk/breakglass":            1,

	"services/engine/internal": 2, "services/policyenforcer/internal": 2, "services/internal/redact": 0, "services/statestore/internal": 2, "services/approval/internal/app": 2, "services/approval/internal/people": 2, "pkg/people": 1,

	// The contracts are for translators, and not for packages below.
	"gen":                  3,
	"pkg/store/redisstore": 3, "pkg/store/sqlitestore": 3, "pkg/store/storetest": 3,
	"pkg/bus": 3, "pkg/bus/bustest": 3, "pkg/rpc": 3, "pkg/sdk": 3, "pkg/telemetry": 3, "pkg/auth/oidc": 3,
	"services/policyenforcer/internal/enforcertest": 3, "services/engine/internal/rpc": 3, "services/policyenforcer/internal/rpc": 3, "services/statestore/internal/rpc": 3,
	"services/approval/internal/rpc": 3, "services/approval/internal/webhook": 3,
	"services/gateway/internal": 3, "services/internal/jsonview": 3, "services/internal/traced": 3, "services/internal/recorded": 3, "services/internal/replayed": 3, "services/internal/receipts": 3, "services/internal/protomap": 3, "services/internal/listing": 3,
	"services/internal/jailer": 3, "services/internal/background": 3, "services/internal/beginning": 3, "services/internal/unlock": 3, "services/internal/tree": 3,
	"services/internal/metrics": 3, "services/internal/presence": 3, "services/internal/sharedread": 3, "services/internal/natsserver": 3, "services/internal/decided": 3, "services/internal/accessrefusal": 3, "services/internal/datadir": 3, "services/internal/configfile": 1, "services/internal/commandline": 4,

	// Output and commands without a server do not know a connection.
	"services/cmd/interlock/internal/console": 3, "services/cmd/interlock/internal/jsonfile": 3,
	"services/cmd/interlock/internal/show": 3, "services/cmd/interlock/internal/input": 3,
	"services/cmd/interlock/internal/shellwords": 3, "services/cmd/interlock/internal/contexts": 3, "services/cmd/interlock/internal/offline": 3,
	"services/cmd/interlock/internal/client": 4,

	"services/engine": 4, "services/policyenforcer": 4, "services/statestore": 4, "services/approval": 4, "services/gateway": 4, "services/internal/daemon": 4,

	"services/internal/allinone": 5, "services/internal/attack": 5, "services/cmd": 5, "services/e2e": 5,
}

func levelOf(t *testing.T, path string) int {
	t.Helper()
	for prefix := path; prefix != "."; prefix = filepath.Dir(prefix) {
		if level, ok := levels[prefix]; ok {
			return level
		}
	}
	t.Errorf("%s is on no level: add it to the table and to docs/architecture.md", path)
	return 0
}

// serviceOf is the service that a package belongs to, or "".
func serviceOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[0] != "services" {
		return ""
	}
	switch parts[1] {
	case "internal", "cmd", "e2e":
		return ""
	default:
		return parts[1]
	}
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	checked := 0
	for file, imports := range sourceImports(t, "../..") {
		from := filepath.Dir(file)
		for _, path := range imports {
			to, ours := strings.CutPrefix(path, module)
			if !ours || strings.Contains(to, "/internal/puretest") {
				continue
			}
			checked++
			if levelOf(t, from) < levelOf(t, to) {
				t.Errorf("%s (level %d) imports %s (level %d): imports point down", file, levelOf(t, from), to, levelOf(t, to))
			}
			if a, b := serviceOf(from), serviceOf(to); a != "" && b != "" && a != b {
				t.Errorf("%s imports the service %s: services meet through their contracts only", file, b)
			}
		}
	}
	if checked < 100 {
		t.Fatalf("only %d imports of our own were found: this test looks in the wrong place", checked)
	}
}

// sourceImports returns the imports of every Go file of pkg and services that is
// not a test, by its path from the root.
func sourceImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, dir := range []string{"pkg", "services"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			for _, spec := range parsed.Imports {
				value, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				found[name] = append(found[name], value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

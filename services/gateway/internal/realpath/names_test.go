package realpath_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/services/gateway/internal/realpath"
)

// TestNames: S21.11, a link counts as what it leads to.
func TestNames(t *testing.T) {
	t.Parallel()
	repo := realpath.Of(t.TempDir())
	other := realpath.Of(t.TempDir())
	for _, folder := range []string{"conf", "src"} {
		if err := os.Mkdir(filepath.Join(repo, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"src/conf": "../conf", "src/key": "../conf/secret.txt", "out": other, "src/plain": "a.go", "itself": "itself"} {
		if err := os.Symlink(to, filepath.Join(repo, link)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	for _, row := range []struct {
		tool, input, workspace, folder string
		want                           []string
	}{
		{"Read", `{"file_path": "src/a.go"}`, repo, repo, nil},
		{"Read", `{"file_path": "src/key"}`, repo, repo, []string{"src/key conf/secret.txt"}},
		{"Read", `{"file_path": "src/conf/x"}`, repo, repo, []string{"src/conf/x conf/x"}},
		{"Edit", `{"file_path": "out/new", "old_string": "a", "new_string": "b"}`, repo, repo, []string{"out/new " + other + "/new"}},
		{"Bash", `{"command": "cat src/key > out/x"}`, repo, repo, []string{"src/key conf/secret.txt", "out/x " + other + "/x"}},
		{"Bash", `{"command": "cd src && cat key"}`, repo, repo, []string{"src/key conf/secret.txt"}},
		{"Bash", `{"command": "cat key"}`, repo, filepath.Join(repo, "src"), []string{"src/key conf/secret.txt"}},
		{"Read", `{"file_path": "key"}`, "", filepath.Join(repo, "src"), []string{"key " + repo + "/conf/secret.txt", repo + "/src/key " + repo + "/conf/secret.txt"}},
		{"Read", `{"file_path": "x"}`, "", filepath.Join(repo, "src"), nil},
		{"Read", `{"file_path": "~/x"}`, repo, repo, nil},
		{"Read", `{"file_path": "x"}`, "", "", nil},
		{"WebFetch", `{"url": "https://example.com"}`, repo, repo, nil},
		{"mcp__x__do", `{"path": "src/key"}`, repo, repo, nil},
	} {
		var got []string
		for _, name := range realpath.Names(row.tool, []byte(row.input), row.workspace, row.folder) {
			got = append(got, name.GetName()+" "+name.GetReal())
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s %s: %q, want %q", row.tool, row.input, got, row.want)
		}
	}
	var many []string
	for i := range 300 {
		name := fmt.Sprintf("src/link%d", i)
		if err := os.Symlink("../conf", filepath.Join(repo, name)); err != nil {
			t.Fatal(err)
		}
		many = append(many, name)
	}
	input, _ := json.Marshal(map[string][]string{"paths": many})
	if got := realpath.Names("mcp__filesystem__read_multiple_files", input, repo, repo); len(got) != 256 {
		t.Errorf("%d names", len(got))
	}
}

package workspace

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Hooks in managed settings count, and are not held against what init wrote.
func TestManagedHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "interlock")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, event := range hookEvents {
		command := program + " hook --server http://127.0.0.1:1"
		if !event.stop {
			command += " || exit 2"
		}
		events = append(events, `"`+event.name+`": [{"hooks": [{"type": "command", "command": "`+command+`"}]}]`)
	}
	file := filepath.Join(dir, "managed-settings.json")
	if err := os.WriteFile(file, []byte(`{"hooks": {`+strings.Join(events, ", ")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, findings, err := (&Doctor{Dir: dir, Managed: file}).hooks()
	if err != nil || len(findings) != 1 || findings[0].level != fine || got.written != "" || !slices.Contains(got.files, file) {
		t.Errorf("%+v %v %v", got, findings, err)
	}
	if all := changedSince(datadir.Dir(dir), dir, got); len(all) > 0 {
		t.Errorf("they are compared with what init wrote: %v", all)
	}
}

// A data folder in the workspace is found, also by a link.
func TestDataFolderInWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	workspace, outside := filepath.Join(dir, "w"), filepath.Join(dir, "w2")
	for _, folder := range []string{filepath.Join(workspace, "data"), outside} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(workspace, "data"), link); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{filepath.Join(workspace, "data"): true, workspace: true, link: true, outside: false, dir: false} {
		if got := len(inWorkspace(datadir.Dir(folder), workspace)) > 0; got != want {
			t.Errorf("%s is in the workspace: %v", folder, got)
		}
	}
}

// Whether a user may change a file goes by the file, and by the folder that it is in.
func TestMayChange(t *testing.T) {
	t.Parallel()
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "x")
	file := filepath.Join(dir, "settings.json")
	for _, tc := range []struct {
		folder, file os.FileMode
		want         bool
	}{{0o755, 0o644, false}, {0o755, 0o666, true}, {0o777, 0o644, true}} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tc.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, tc.folder); err != nil {
			t.Fatal(err)
		}
		if got := mayChange(file, nobody); got != tc.want {
			t.Errorf("%o in %o: %v", tc.file, tc.folder, got)
		}
	}
}

// S13.7: whether a user may read the tokens goes by owner, group and mode; any doubt says
// yes.
func TestMayRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		mode os.FileMode
		who  *user.User
		want bool
	}{
		{0o600, me, true},
		{0o600, nobody, false},
		{0o644, nobody, true},
		{0o640, nobody, false},
		{0o600, &user.User{Uid: "0"}, true},
		{0o600, &user.User{Uid: "99999", Gid: "x", Username: "gone"}, true},
	} {
		if err := os.Chmod(file, tc.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayRead(info, tc.who); got != tc.want {
			t.Errorf("%o for %s: %v", tc.mode, tc.who.Username, got)
		}
	}
}

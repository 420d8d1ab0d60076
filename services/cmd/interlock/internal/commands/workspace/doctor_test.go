package workspace

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Hooks in managed settings count, and are not compared with those of init.
func TestManagedHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "interlock")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, event := range hookEvents {
		events = append(events, `"`+event.name+`": [{"hooks": [{"type": "command", "command": "`+program+
			`", "args": ["hook", "--server", "http://127.0.0.1:1"], "onFailure": "block"}]}]`)
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

// S13.7, S13.10: an entry that may not block when its program fails is found.
func TestHooksThatDoNotBlock(t *testing.T) {
	t.Parallel()
	const rest = `"type": "command", "command": "/i/interlock", "timeout": 15`
	for entry, want := range map[string]string{
		`{` + rest + `, "args": ["hook"], "onFailure": "block"}`:                       "",
		`{` + rest + `, "args": ["hook"], "onFailure": "block", "statusMessage": "x"}`: "",
		`{` + rest + `, "args": ["hook"]}`:                                             "onFailure",
		`{` + rest + `, "args": ["hook"], "onFailure": "continue"}`:                    "onFailure",
		`{` + rest + `, "args": ["hook"], "onFailure": "Block"}`:                       "onFailure",
		`{` + rest + `, "args": ["hook"], "onFailure": "block", "async": true}`:        "async",
		`{` + rest + `, "args": ["hook"], "onFailure": "block", "asyncRewake": true}`:  "asyncRewake",
		`{` + rest + `, "args": ["hook"], "onFailure": "block", "once": true}`:         "once",
		`{` + rest + `, "args": ["hook"], "onFailure": "block", "if": "Bash(rm *)"}`:   `"if"`,
		`{` + rest + `, "args": "hook", "onFailure": "block"}`:                         "args",
		`{"type": "command", "command": "interlock hook", "onFailure": "block"}`:       "a shell",
		`{"type": "command", "command": "interlock hook || exit 2", "timeout": 15}`:    "a shell",
		`{"type": "command", "command": "interlock hook || true", "timeout": 15}`:      "a shell",
	} {
		if got := lacks(jsontext.Value(entry)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}

// Any change of an entry of ours is seen, and a change of how it is laid out is not.
func TestChangedHooks(t *testing.T) {
	t.Parallel()
	settings := func(entry string) string {
		return written(jsontext.Value(`{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [` + entry + `]}]}}`))
	}
	was := settings(`{"type": "command", "command": "/i/interlock", "args": ["hook", "--data-dir", "/d"], "timeout": 15, "onFailure": "block"}`)
	if was == "" || settings("{\n"+`"onFailure":"block","timeout":15,"args":["hook","--data-dir","/d"],"command":"/i/interlock","type":"command"}`) != was {
		t.Errorf("the layout counts: %q", was)
	}
	for _, entry := range []string{
		`{"type": "command", "command": "/i/interlock", "args": ["hook", "--data-dir", "/d"], "timeout": 1, "onFailure": "block"}`,
		`{"type": "command", "command": "/i/interlock", "args": ["hook", "--data-dir", "/e"], "timeout": 15, "onFailure": "block"}`,
		`{"type": "command", "command": "/i/interlock", "args": ["hook", "--data-dir", "/d"], "timeout": 15}`,
		`{"type": "command", "command": "/i/interlock", "args": ["hook", "--data-dir", "/d"], "timeout": 15, "onFailure": "block", "async": true}`,
	} {
		if settings(entry) == was {
			t.Errorf("%s counts as unchanged", entry)
		}
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

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Root returns the folder that holds the default data folders of this user's workspaces:
// interlock in $XDG_STATE_HOME.
func Root() (Dir, error) {
	if state := os.Getenv("XDG_STATE_HOME"); IsAbs(state) {
		return Dir(join(state, "interlock")), nil
	}
	if local := os.Getenv("LOCALAPPDATA"); runtime.GOOS == "windows" && local != "" {
		return Dir(join(local, "interlock")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !IsAbs(home) {
		return "", errors.New("neither XDG_STATE_HOME nor HOME is an absolute path, so there is no default data folder: give --data-dir")
	}
	return Dir(join(home, ".local", "state", "interlock")), nil
}

// Of returns the default data folder of a workspace. It is outside of the workspace: a search
// of all files there must not read tokens.
func Of(workspace string) (Dir, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	real := realOf(workspace)
	return Dir(root.join(plain(base(real)) + "-" + Digest(real)[:12])), nil
}

// Seen returns the file that remembers the history of the store of a default data folder, next to the folder:
// an older copy of the folder does not have it. Empty for any other folder, whose surroundings are not the
// server's.
func (d Dir) Seen() string {
	root, err := Root()
	if err != nil || realOf(parentOf(string(d))) != realOf(string(root)) {
		return ""
	}
	return clean(string(d)) + ".seen"
}

// MarkTwin returns the file in which the seal of a default data folder remembers the same as in Mark, next to the folder: an
// older copy of the folder does not have it. Empty for any other folder, as for Seen.
func (d Dir) MarkTwin() string {
	if seen := d.Seen(); seen != "" {
		return strings.TrimSuffix(seen, ".seen") + ".mark"
	}
	return ""
}

// realOf returns the absolute path of a workspace without links, as far as it exists.
func realOf(workspace string) string {
	if full, err := absolute(workspace); err == nil {
		workspace = full
	}
	if real, err := withoutLinks(workspace); err == nil {
		return real
	}
	return workspace
}

// longestBase keeps paths of sockets short enough for every system.
const longestBase = 24

// plain returns a short name for a folder: letters and digits of ASCII, dots and dashes.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return strings.TrimLeft(name[:min(len(name), longestBase)], ".-")
}

// record returns the file that names the folder's workspace.
func (d Dir) record() string { return d.join("workspace") }

// Workspace returns the workspace that the folder's record names, or empty.
func (d Dir) Workspace() string {
	text, err := os.ReadFile(d.record())
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// serves reports that a folder is of this user, and that its record names a workspace. Two
// names of one folder are one workspace.
func (d Dir) serves(workspace string) bool {
	recorded := d.Workspace()
	return recorded != "" && ours(string(d)) && sameFolder(recorded, workspace)
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, other := os.Stat(b)
	return err == nil && other == nil && os.SameFile(first, second)
}

// pointer is the content of the file .interlock in a workspace. It holds no secret.
type pointer struct {
	DataDir string `json:"data_dir"`
}

// longestPointer is more than any pointer needs.
const longestPointer = 8 << 10

// errGone says that a pointer names a folder that does not exist.
var errGone = errors.New("the data folder does not exist")

// pointed returns the data folder that the pointer of a workspace names. The folder has to
// name the workspace back: anyone who can write to a workspace can write a pointer.
func pointed(workspace string) (Dir, error) {
	file := Dir(workspace).join(Default)
	dir, ok := named(workspace)
	if !ok {
		return "", fmt.Errorf("%s is no pointer to a data folder: remove it, and start `interlock up` there again", file)
	}
	if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s names %s: %w; start `interlock up` there again", file, dir, errGone)
	}
	if !ours(string(dir)) {
		return "", fmt.Errorf("%s names %s, which belongs to another user, so it is not trusted: remove the file, "+
			"and start `interlock up` there again", file, dir)
	}
	if !dir.serves(workspace) {
		return "", fmt.Errorf("%s names %s, which is the data folder of %s: if you moved that workspace to here, run `interlock data move`; "+
			"if this is a copy, remove the file and start `interlock up` here", file, dir, recordedName(dir))
	}
	return dir, nil
}

// named returns the folder that the pointer of a workspace names, which is not to be trusted yet.
func named(workspace string) (Dir, bool) {
	var p pointer
	file := Dir(workspace).join(Default)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longestPointer {
		return "", false
	}
	text, err := os.ReadFile(file)
	ok := err == nil && json.Unmarshal(text, &p) == nil && IsAbs(p.DataDir)
	return Dir(p.DataDir), ok
}

func recordedName(d Dir) string {
	if name := d.Workspace(); name != "" {
		return name
	}
	return "no workspace"
}

// In returns the data folder of a workspace, and false when it has none yet. Its default folder
// comes first, so that a pointer or a folder in the workspace, which agents may write, never
// leads away from it.
func In(workspace string) (Dir, bool) {
	if own, err := Of(workspace); err == nil && own.serves(workspace) {
		return own, true
	}
	inside := Dir(Dir(workspace).join(Default))
	info, err := os.Stat(string(inside))
	switch {
	case err != nil:
		return "", false
	case !info.IsDir():
		dir, err := pointed(workspace)
		return dir, err == nil
	}
	_, err = os.Stat(inside.Tokens())
	return inside, err == nil && ours(string(inside))
}

// At returns the data folder that a path names: .interlock in a workspace names the folder of
// the workspace, any other path itself.
func At(path string) (Dir, error) {
	if base(path) != Default {
		return Dir(path), nil
	}
	workspace := parentOf(path)
	if dir, ok := In(workspace); ok {
		return dir, nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return pointed(workspace)
	}
	return Dir(path), nil
}

// New returns the data folder for a server that starts in a workspace: the one that the
// workspace has, or else its default one.
func New(workspace string) (Dir, error) {
	if dir, ok := In(workspace); ok {
		return dir, nil
	}
	info, err := os.Stat(Dir(workspace).join(Default))
	switch {
	case err == nil && info.IsDir(): // made by hand, or by a server that did not come up
		return Dir(Dir(workspace).join(Default)), nil
	case err == nil:
		if _, err := pointed(workspace); err != nil && !errors.Is(err, errGone) {
			return "", err
		}
	}
	own, err := Of(workspace)
	if err != nil {
		return "", err
	}
	if other := own.Workspace(); other != "" && !sameFolder(other, workspace) {
		return "", fmt.Errorf("the data folder %s is of %s: give another with --data-dir", own, other)
	}
	return own, nil
}

// Inside reports that a folder is in a workspace, where searches of all files read it.
func (d Dir) Inside(workspace string) bool {
	at, root := realOf(string(d)), realOf(workspace)
	return at == root || strings.HasPrefix(at, strings.TrimSuffix(root, string(os.PathSeparator))+string(os.PathSeparator))
}

// Claim records the workspace in its default data folder, and writes the pointer to it. Other
// folders stay as they are.
func (d Dir) Claim(workspace string) error {
	if own, err := Of(workspace); err != nil || own != d {
		return nil //nolint:nilerr // without a default folder, it is another one
	}
	workspace = realOf(workspace)
	if d.Workspace() != workspace {
		if err := os.WriteFile(d.record(), []byte(workspace+"\n"), 0o600); err != nil {
			return fmt.Errorf("record the workspace of the data folder: %w", err)
		}
	}
	file := Dir(workspace).join(Default)
	if at, err := pointed(workspace); err == nil && at == d {
		return nil
	}
	text, err := json.Marshal(pointer{string(d)})
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the pointer to the data folder: %w; choose a folder with --data-dir", err)
	}
	return nil
}

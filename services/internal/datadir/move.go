package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Move moves the data folder of a workspace to its default place: one that is in the workspace,
// or one that the workspace has left behind when it was moved. Both are the same when it is there.
func Move(workspace string) (from, to Dir, err error) {
	if to, err = Of(workspace); err != nil {
		return "", "", err
	}
	if to.serves(workspace) {
		return to, to, nil
	}
	if from, err = misplaced(workspace); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(string(to)); err == nil {
		return "", "", fmt.Errorf("%s exists: move it away first", to)
	}
	unlock, err := from.Lock()
	if err != nil {
		return "", "", err
	}
	defer unlock()         //nolint:errcheck // the lock ends with its file
	from.RemoveEndpoints() // of a server that did not end well
	if err := os.MkdirAll(parentOf(string(to)), 0o700); err != nil {
		return "", "", fmt.Errorf("move the data folder: %w", err)
	}
	if err := moveFolder(from, to); err != nil {
		return "", "", fmt.Errorf("move the data folder: %w", err)
	}
	return from, to, to.Claim(workspace)
}

// misplaced returns the data folder of a workspace that is not at its default place.
func misplaced(workspace string) (Dir, error) {
	inside := Dir(Dir(workspace).join(Default))
	info, err := os.Stat(string(inside))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s has no data folder: start `interlock up` there", workspace)
	case info.IsDir():
		if _, err := os.Stat(inside.Tokens()); err != nil || !ours(string(inside)) {
			return "", fmt.Errorf("%s is no data folder of yours that a server has used: it cannot be moved", inside)
		}
		return inside, nil
	}
	dir, err := pointed(workspace)
	if err == nil {
		return dir, nil
	}
	left, named := named(workspace)
	if !named || !ours(string(left)) || left.Workspace() == "" {
		return "", err
	}
	if _, exists := os.Stat(left.Workspace()); exists == nil {
		return "", err // which has its data still
	}
	return left, nil
}

// moveFolder renames a folder, or copies it to another file system and removes it then.
func moveFolder(from, to Dir) error {
	err := os.Rename(string(from), string(to))
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	partial := string(to) + ".partial"
	if err := errors.Join(os.RemoveAll(partial), copyTree(string(from), partial)); err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	if err := os.Rename(partial, string(to)); err != nil {
		return err
	}
	return os.RemoveAll(string(from))
}

// copyTree copies folders and plain files with their modes. Sockets belong to a server.
func copyTree(from, to string) error {
	if info, err := os.Lstat(from); err != nil || !info.IsDir() {
		return cmp.Or(err, fmt.Errorf("%s is not a folder, or a link to one: move what it leads to", from))
	}
	return fs.WalkDir(os.DirFS(from), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch target := join(to, name); {
		case entry.IsDir():
			return os.Mkdir(target, info.Mode().Perm())
		case info.Mode().IsRegular():
			return copyFile(join(from, name), target, info.Mode().Perm())
		case info.Mode().Type() == fs.ModeSocket:
			return nil
		}
		return fmt.Errorf("%s is neither a file nor a folder: remove it first", join(from, name))
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

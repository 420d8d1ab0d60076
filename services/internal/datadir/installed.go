package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Digest returns a text in the form that SetInstalled keeps.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// installedFile returns digests of the hooks that were written, by workspace.
func (d Dir) installedFile() string { return d.join("installed.json") }

// Installed returns the digest of the hooks that `interlock init` wrote into a workspace,
// or empty.
func (d Dir) Installed(workspace string) (string, error) {
	all, err := d.readInstalled()
	return all[workspace], err
}

func (d Dir) readInstalled() (map[string]string, error) {
	data, err := os.ReadFile(d.installedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	all := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the files of init: %w", err)
	}
	return all, nil
}

// SetInstalled keeps the digest of the hooks of a workspace.
func (d Dir) SetInstalled(workspace, digest string) error {
	err := d.alone(func() error {
		all, err := d.readInstalled()
		if err != nil {
			return err
		}
		all[workspace] = digest
		return replaceFile(d.installedFile(), all)
	})
	if err != nil {
		return fmt.Errorf("keep the files of init: %w", err)
	}
	return nil
}

// replaceFile writes a value into a file at once: readers see the whole of it, or what was there before.
func replaceFile(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// replacedFile returns the files that init has changed, with their texts before that.
func (d Dir) replacedFile() string { return d.join("replaced.json") }

// replacement is one of them.
type replacement struct {
	// Before is its text; nil when it was not there.
	Before *string `json:"before"`
	// After is the digest of the text that init wrote.
	After string `json:"after"`
	// Made are the folders that init has made for the file, the innermost first.
	Made []string `json:"made,omitempty"`
}

// SetReplaced keeps the text of a file from before init wrote it. The text before init wrote it
// for the first time counts, as long as only init has changed it since.
// made are the folders that init makes for it.
func (d Dir) SetReplaced(path string, before []byte, after string, made []string) error {
	err := d.alone(func() error { return d.addReplaced(path, before, after, made) })
	if err != nil {
		return fmt.Errorf("keep the files that init replaced: %w", err)
	}
	return nil
}

func (d Dir) addReplaced(path string, before []byte, after string, made []string) error {
	all, err := d.readReplaced()
	if err != nil {
		return err
	}
	kept := replacement{After: Digest(after), Made: made}
	if text := string(before); before != nil {
		kept.Before = &text
	}
	if first, known := all[path]; known && first.After == Digest(string(before)) {
		kept.Before, kept.Made = first.Before, slices.Concat(made, first.Made)
	}
	all[path] = kept
	return replaceFile(d.replacedFile(), all)
}

// Replaced returns the text of a file before init wrote it, nil for not there; known is false
// where it is not as init wrote it any more.
func (d Dir) Replaced(path, now string) (before *string, known bool, err error) {
	all, err := d.readReplaced()
	if err != nil {
		return nil, false, err
	}
	kept, ok := all[path]
	return kept.Before, ok && kept.After == Digest(now), nil
}

func (d Dir) readReplaced() (map[string]replacement, error) {
	all := map[string]replacement{}
	data, err := os.ReadFile(d.replacedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the files that init replaced: %w", err)
	}
	return all, nil
}

// Made returns the folders that init has made for a file, the innermost first.
func (d Dir) Made(path string) ([]string, error) {
	all, err := d.readReplaced()
	return all[path].Made, err
}

// Wrote reports that init has written a file for this data folder.
func (d Dir) Wrote(path string) bool {
	all, _ := d.readReplaced() // an unreadable record is ignored
	_, known := all[path]
	return known
}

// RemoveUnused removes a data folder that has only files of init.
func (d Dir) RemoveUnused() error {
	names := []string{".gitignore", ".ignore", "installed.json", "replaced.json", "workspace"}
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the data folder: %w", err)
	}
	for _, entry := range entries {
		if !slices.Contains(names, entry.Name()) {
			return nil
		}
	}
	return os.RemoveAll(string(d))
}

// Unpoint removes the pointer of a workspace. It stays while a server runs from the folder.
func Unpoint(workspace string) error {
	if _, ok := named(workspace); !ok {
		return nil
	}
	if dir, err := pointed(workspace); err == nil {
		if e, err := dir.ReadEndpoints(); err != nil || e.GRPC != "" {
			return nil //nolint:nilerr // a server may run
		}
	}
	return os.Remove(Dir(workspace).join(Default))
}

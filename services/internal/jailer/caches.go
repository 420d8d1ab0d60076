package jailer

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Emptied is the note of a witness whose command, or the run before it, has left too much.
const Emptied = "/tmp and the copies of caches of this run were emptied: they held more than kept_mb of the state's limits"

// RemoveRun removes the folder of a run, unless a command uses it.
func RemoveRun(folder string) error {
	if inUse(folder) {
		return nil
	}
	return RemoveCaches(folder)
}

// RemoveCaches removes a run's copies of caches. Commands make folders there that cannot be written, such
// as Go's modules.
func RemoveCaches(folder string) error {
	const all = 0o700
	// WalkDir visits a folder before it reads it. What cannot be changed here is reported by RemoveAll.
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, all)
		}
		return nil
	})
	return os.RemoveAll(folder)
}

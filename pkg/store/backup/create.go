package backup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Create makes a file that only its owner may read, whole or not at all: until it is
// durable it has another name, which ends with ".part".
func Create(path string, write func(out *bufio.Writer) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("backup: %s exists: name another file, or remove it", path)
	}
	for _, left := range parts(path) {
		_ = os.Remove(left) // of a backup that was killed
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part") // 0600
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() {
		if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	out := bufio.NewWriterSize(file, blockSize)
	err = write(out)
	if err == nil {
		err = errors.Join(out.Flush(), file.Sync())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	// A link takes no name that another has taken in the meantime.
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("backup: %s exists: name another file, or remove it", path)
	} else if err != nil { // there are no links
		if err := os.Rename(file.Name(), path); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
	}
	return syncFolder(filepath.Dir(path))
}

// parts returns the files that killed backups have left.
func parts(path string) []string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	var left []string
	for _, entry := range entries {
		middle, ours := strings.CutPrefix(entry.Name(), filepath.Base(path)+".")
		middle, part := strings.CutSuffix(middle, ".part")
		if ours && part && strings.Trim(middle, "0123456789") == "" {
			left = append(left, filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	return left
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	_ = folder.Sync() // some systems cannot
	return folder.Close()
}

// Package realpath finds the real names of files that an agent names, where they are on
// this machine: an interrupt's pattern is meant for the file, by any link (S3.8, S4.1).
package realpath

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Of returns the name of a file without symbolic links, and as its folder writes it. Of a
// file that is not there, also one that a link leads to, that of its folder counts.
func Of(name string) string {
	name = resolved(filepath.FromSlash(name), 0)
	if runtime.GOOS == "darwin" { // Linux takes no other name, and on Windows EvalSymlinks has seen to it
		name = asWritten(name, listed)
	}
	return filepath.ToSlash(name)
}

// longest is how many links are followed to missing files.
const longest = 40

func resolved(name string, followed int) string {
	const separator = string(filepath.Separator)
	for at, rest := name, ""; at != ""; {
		if short := strings.TrimRight(at, separator); short != filepath.VolumeName(short) {
			at = short
		}
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if target, err := os.Readlink(at); err == nil && followed < longest {
			if !filepath.IsAbs(target) {
				target = filepath.Dir(at) + separator + target
			}
			return resolved(target+separator+rest, followed+1)
		}
		// Not by filepath.Dir: it would take .. for the folder in which a link is.
		cut := strings.LastIndex(at, separator) + 1
		at, rest = at[:cut], filepath.Join(at[cut:], rest)
	}
	return filepath.Clean(name)
}

// asWritten returns a name as its folders write it, where file systems take upper and
// lower case for the same. list names the entries of a folder.
func asWritten(name string, list func(dir string) []string) string {
	dir := filepath.Dir(name)
	if dir == name {
		return name
	}
	base := filepath.Base(name)
	written := base
	dir = asWritten(dir, list)
	for _, entry := range list(dir) {
		if entry == base {
			return filepath.Join(dir, base)
		}
		if strings.EqualFold(entry, base) {
			written = entry
		}
	}
	return filepath.Join(dir, written)
}

func listed(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil // an unreadable folder's entry keeps its name
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // as far as they can be read
	return names
}

// Within returns a real name as it is written relative to a workspace when the file lies
// in it, by any name of the workspace; otherwise it stays as it is.
func Within(workspace, real string) string {
	if workspace == "" {
		return real
	}
	rel, err := filepath.Rel(filepath.FromSlash(Of(workspace)), filepath.FromSlash(real))
	if err != nil || !filepath.IsLocal(rel) {
		return real
	}
	return filepath.ToSlash(rel)
}

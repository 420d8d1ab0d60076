//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// On Unix, package path does the work of path/filepath. Go initialises path/filepath after most packages of the program, and
// hooks would wait for them (ADR 008).

// IsAbs reports whether a path is absolute.
func IsAbs(name string) bool         { return path.IsAbs(name) }
func join(elements ...string) string { return path.Join(elements...) }
func parentOf(name string) string    { return path.Dir(name) }
func base(name string) string        { return path.Base(name) }
func clean(name string) string       { return path.Clean(name) }

// absolute returns the absolute form of a path.
func absolute(name string) (string, error) {
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return path.Join(wd, name), nil
}

// longestChain is the most links that a path may have.
const longestChain = 255

// withoutLinks returns an absolute path with all symbolic links resolved, as filepath.EvalSymlinks does.
func withoutLinks(name string) (string, error) {
	real, rest := "/", name
	for links := 0; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		switch first {
		case "", ".":
			continue
		case "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, first)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			if !info.IsDir() && rest != "" {
				return "", &fs.PathError{Op: "resolve", Path: next, Err: syscall.ENOTDIR}
			}
			real = next
			continue
		}
		if links++; links > longestChain {
			return "", fmt.Errorf("resolve %s: %w", name, errTooManyLinks)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			real = "/"
		}
		rest = target + "/" + rest
	}
	return real, nil
}

var errTooManyLinks = errors.New("it has too many symbolic links")

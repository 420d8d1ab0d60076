package pathglob

import (
	"path"
	"strings"
)

// Root is the workspace that names are relative to, and how its file system distinguishes
// names. The zero Root is an unknown place: relative names are inside of it, absolute
// ones are not.
type Root struct {
	// Path is absolute; anything else counts as unknown.
	Path string
	// FoldCase is true where names that differ only in case, or in how accents are
	// composed, are one file: macOS and Windows.
	FoldCase bool
	// Windows is true where \ parts folders too, drives have letters, and dots and
	// blanks at the end of a name are dropped.
	Windows bool
}

// RootOf returns the kind of a workspace by its path: C:\repo and \\host\share are
// Windows', any other is Linux'. The caller must set a kind that a path does not show
// (macOS).
func RootOf(workspace string) Root {
	if windowsAbsolute(workspace) {
		return Root{Path: workspace, FoldCase: true, Windows: true}
	}
	return Root{Path: workspace}
}

// longestName bounds a clean name, in bytes: PATH_MAX of Linux.
const longestName = 4096

// Clean gives the one name by which a changed file is known: relative to the
// workspace, with / between folders, without . and .. and repeated slashes. It is
// lexical; ~, $PWD, %2e and blanks are characters like any other.
//
// A file outside of the workspace keeps its absolute name, or one that begins
// with ../ when the workspace is unknown. The name is empty when there can be no
// such file: it is empty or a folder's (it ends in a slash, or is the workspace
// itself), or no file system takes it.
func (r Root) Clean(name string) (clean string, inside bool) {
	if r.folder(name) {
		return "", false
	}
	return r.Written(name)
}

// Written does Clean for the name that a tool was asked to write to: a slash at its end
// is ignored, because many tools drop it.
func (r Root) Written(name string) (clean string, inside bool) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return "", false
	}
	if r.Windows {
		clean, inside = r.cleanWindows(name)
	} else {
		clean, inside = r.cleanPOSIX(name)
	}
	if len(clean) > longestName {
		return "", false
	}
	return clean, inside
}

func (r Root) folder(name string) bool {
	if r.Windows {
		name = strings.ReplaceAll(name, `\`, "/")
	}
	last := name[strings.LastIndexByte(name, '/')+1:]
	return last == "" || last == "." || last == ".."
}

func (r Root) cleanPOSIX(name string) (clean string, inside bool) {
	known := path.IsAbs(r.Path)
	if !path.IsAbs(name) {
		if !known {
			return relative(path.Clean(name))
		}
		name = path.Join(r.Path, name)
	}
	full := path.Clean(name)
	if full == "/" {
		return "", false
	}
	if known {
		root := path.Clean(r.Path)
		if full == root {
			return "", false
		}
		if rest, ok := strings.CutPrefix(full, strings.TrimSuffix(root, "/")+"/"); ok {
			return rest, true
		}
	}
	return full, false
}

// relative returns the meaning of a clean relative name where the workspace is unknown.
func relative(clean string) (string, bool) {
	if clean == "." || clean == ".." || strings.HasSuffix(clean, "/..") {
		return "", false
	}
	return clean, !leadsOut(clean)
}

// Outside reports that a name that Clean gave is that of a file outside of the
// workspace.
func (r Root) Outside(clean string) bool {
	return leadsOut(clean) || r.Windows && windowsAbsolute(clean)
}

func leadsOut(clean string) bool {
	return clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean)
}

package toolcall

import "slices"

// Files are the distinct names of the files that were counted in one entry of a
// state (S3.6): sorted, and never written to. It is a list in JSON; nil is none.
type Files []string

// Add counts the paths of one edit. It returns the files with them, those of them
// that are new, in the order given, and whether that is within most; 0 is no
// limit. Beyond the limit nothing is counted. Names that differ in a letter are
// two files, also where a file system takes them for one: that only counts more.
func (f Files) Add(paths []string, most int64) (files Files, added []string, ok bool) {
	seen := make(map[string]bool, len(paths))
	for _, path := range paths {
		if _, counted := slices.BinarySearch(f, path); !counted && !seen[path] {
			seen[path] = true
			added = append(added, path)
		}
	}
	if len(added) == 0 {
		return f, nil, true
	}
	if most > 0 && int64(len(f)+len(added)) > most {
		return f, added, false
	}
	files = slices.Concat(f, added)
	slices.Sort(files)
	return files, added, true
}

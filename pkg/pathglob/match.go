package pathglob

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Match reports that a file of the workspace matches. The name is one that Root.Clean
// gave; names outside do not match.
func (g Glob) Match(name string) bool { return g.matchName(split(name, false)) }

// MatchFold does Match where names that differ only in case are one file.
func (g Glob) MatchFold(name string) bool { return g.matchName(split(name, true)) }

// Set is patterns in an order that decides.
type Set []Glob

// First returns the place of the first pattern that any of files matches, or -1. Files
// are names as they were reported: all names of one file may be among them.
func (s Set) First(root Root, files []string) int {
	names := make([]fileName, 0, len(files))
	for _, file := range files {
		if clean, inside := root.Clean(file); inside {
			names = append(names, split(clean, root.FoldCase))
		}
	}
	for i, g := range s {
		for _, name := range names {
			if g.matchName(name) {
				return i
			}
		}
	}
	return -1
}

// fileName is a clean name, cut at the slashes.
type fileName struct {
	parts []string
	// folded are the parts without case; nil where case counts.
	folded []string
}

func split(name string, foldCase bool) fileName {
	if name == "" || leadsOut(name) || strings.HasSuffix(name, "/") {
		return fileName{}
	}
	n := fileName{parts: strings.Split(name, "/")}
	if foldCase {
		n.folded = strings.Split(fold(name), "/")
	}
	return n
}

func (g Glob) matchName(name fileName) bool {
	if len(name.parts) == 0 {
		return false
	}
	for _, pattern := range g.alternatives {
		if name.match(pattern) {
			return true
		}
	}
	return false
}

// match goes forward, and when it fails lets the last ** take one folder more. Going back
// to an earlier one is never needed: the segments in between were matched as early as it
// could be.
func (n fileName) match(pattern []segment) bool {
	at, retry, retryPart := 0, -1, 0
	for i := 0; i < len(n.parts); {
		switch {
		case at < len(pattern) && pattern[at].kind == folders:
			at++
			retry, retryPart = at, i
		case at < len(pattern) && n.matchPart(i, &pattern[at]):
			at++
			i++
		case retry >= 0:
			retryPart++
			at, i = retry, retryPart
		default:
			return false
		}
	}
	return at == len(pattern)
}

func (n fileName) matchPart(i int, s *segment) bool {
	if s.match(s.text, n.parts[i]) {
		return true
	}
	return n.folded != nil && s.match(s.folded, n.folded[i])
}

func (s *segment) match(pattern, part string) bool {
	if s.kind == literal {
		return pattern == part
	}
	return doublestar.MatchUnvalidated(pattern, part)
}

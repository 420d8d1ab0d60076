package condition

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/interlock-run/interlock/pkg/pathglob"
)

// pathPattern matches files. One that begins with / is absolute; one that begins with **/ is meant
// for files outside of the workspace too, where it restricts.
type pathPattern struct {
	glob     pathglob.Glob
	absolute bool
	anyPlace bool
	deep     bool // more than one part follows the **/ at its beginning
}

func newPathPattern(text string) (pattern, string) {
	rest, absolute := strings.CutPrefix(text, "/")
	if strings.HasPrefix(rest, "/") {
		return nil, "begins with //; write one / for an absolute name, none for one in the workspace"
	}
	glob, err := pathglob.Compile(norm.NFC.String(rest))
	if err != nil {
		return nil, "matches no file; " + err.Error()
	}
	below, anyPlace := strings.CutPrefix(rest, "**/")
	return pathPattern{
		glob: glob, absolute: absolute, anyPlace: (anyPlace || rest == "**") && !absolute, deep: strings.Contains(below, "/"),
	}, ""
}

func (p pathPattern) match(name string, stance Stance) Truth {
	return p.matchName(name, stance, pathglob.Glob.MatchFold, func(g pathglob.Glob, name string) bool {
		return g.Match(norm.NFC.String(name))
	})
}

// matchBelow returns, for a restriction, whether a name in the folder could match, and for an
// allowance whether all of them do.
func (p pathPattern) matchBelow(folder string, stance Stance) Truth {
	if folder == "." || folder == "/" && p.absolute || climbsOnly(folder) && !stance.allows() {
		folder = ""
	} else if folder == "/" && !stance.allows() {
		return True // the workspace is below it
	}
	return p.matchName(folder, stance, pathglob.Glob.MayMatchBelow, func(g pathglob.Glob, folder string) bool {
		return g.CoversBelow(norm.NFC.String(folder))
	})
}

// matchName compares a name in the workspace, or outside of it, where names are absolute. A name
// that begins with ../ is of a place that is not known.
func (p pathPattern) matchName(name string, stance Stance, may, does func(pathglob.Glob, string) bool) Truth {
	matches := does
	if !stance.allows() {
		matches = may
	}
	place, inside := strings.CutPrefix(name, "/")
	climbs := strings.HasPrefix(name, "../")
	windows := (pathglob.Root{Windows: true}).Outside(name)
	full, inWorkspace := strings.CutPrefix(place, "/")
	switch {
	case strings.ContainsRune(name, 0):
		return Doubt
	case inside && inWorkspace:
		return Of(p.absolute && matches(p.glob, full))
	case inside: // an absolute name
		if p.absolute || p.anyPlace && !stance.allows() {
			return Of(matches(p.glob, place))
		}
		return False
	case climbs:
		return p.matchClimbing(name, stance)
	case p.absolute || windows && stance.allows():
		return False // absolute patterns are for files outside of the workspace
	default:
		return Of(matches(p.glob, name))
	}
}

// matchClimbing compares a name of a place that is not known.
func (p pathPattern) matchClimbing(name string, stance Stance) Truth {
	if stance.allows() && !p.absolute {
		return False
	}
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	if p.anyPlace && (p.glob.MatchFold(name) || !p.deep) {
		return Of(p.glob.MatchFold(name))
	}
	return Doubt
}

// climbsOnly reports a folder that holds the workspace, which is not known.
func climbsOnly(folder string) bool {
	return folder == ".." || strings.HasPrefix(folder, "../") && strings.Trim(folder, "./") == ""
}

// refPattern matches full names of refs.
type refPattern struct {
	whole
	glob pathglob.Glob
}

func newRefPattern(text string) (pattern, string) {
	if !strings.HasPrefix(text, "refs/") && !strings.HasPrefix(text, "*") {
		return nil, "matches no full name of a ref; write refs/heads/" + text + " for a branch, refs/tags/" + text + " for a tag"
	}
	glob, err := pathglob.Compile(text)
	if err != nil {
		return nil, "matches no ref; " + err.Error()
	}
	return refPattern{glob: glob}, ""
}

func (p refPattern) match(ref string, _ Stance) Truth {
	if !strings.HasPrefix(ref, "refs/") || strings.Contains(ref, "//") || strings.Contains(ref, "..") || strings.ContainsAny(ref, " ~^:?*[\\\x7f") {
		return Doubt
	}
	return Of(p.glob.Match(ref))
}

package pathglob

import (
	"errors"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Glob is a compiled pattern. The zero Glob matches no name.
//
//   - any characters but /, also none, also a leading dot
//     ?       one character but /
//     [a-z]   one of these, [!a-z] one of the others, never /
//     {a,b}   either
//     **/     any number of folders, also none
//     /**     anything below, but not the folder itself
//     \*      the character itself
//
// A ** next to other characters is a *, and everything else stands for itself.
type Glob struct {
	source       string
	alternatives [][]segment
}

// segment is the part between two slashes.
type segment struct {
	text, folded string
	kind         kind
}

type kind uint8

const (
	literal kind = iota
	wild         // has characters with a meaning
	folders      // **: any number of folders
)

// Bounds of a pattern. Matching one name takes no more steps than expandedBytes
// times longestName.
const (
	maxPattern    = 1024 // characters
	maxBraces     = 8
	maxCommas     = 64
	expandedBytes = 8192 // of all alternatives together
)

// Compile reads a pattern. One that can match no file in the workspace is an
// error, and so is one with an alternative that cannot; the error says how to fix it.
func Compile(pattern string) (Glob, error) {
	if fix := textFix(pattern); fix != "" {
		return Glob{}, errors.New(fix)
	}
	alternatives, ok := expand(pattern, expandedBytes)
	if !ok {
		return Glob{}, errTooManyBraces
	}
	g := Glob{source: pattern}
	for _, alternative := range alternatives {
		if fix := placeFix(alternative); fix != "" {
			return Glob{}, errors.New(fix)
		}
		segments, ok := segmentsOf(alternative)
		if !ok {
			return Glob{}, errors.New("close its brackets and braces between two slashes")
		}
		g.alternatives = append(g.alternatives, segments)
	}
	return g, nil
}

var errTooManyBraces = errors.New("use fewer alternatives in braces")

// String returns the pattern as it was written.
func (g Glob) String() string { return g.source }

// textFix describes the problem with a pattern as a text.
func textFix(pattern string) string {
	switch {
	case pattern == "":
		return "write the names to match"
	case !utf8.ValidString(pattern) || strings.ContainsFunc(pattern, unicode.IsControl):
		return "remove the control characters"
	case pattern != strings.TrimSpace(pattern):
		return "remove the spaces at its ends"
	case utf8.RuneCountInString(pattern) > maxPattern:
		return "shorten it"
	case strings.Count(pattern, "{") > maxBraces || strings.Count(pattern, ",") > maxCommas:
		return errTooManyBraces.Error()
	case strings.HasPrefix(pattern, "!"):
		return "negation is not supported; name the files to match"
	case windowsAbsolute(pattern) || foldersByBackslash(pattern):
		return "write it relative to the workspace, with / between folders"
	case !doublestar.ValidatePattern(pattern):
		return "close its brackets and braces"
	}
	return ""
}

// placeFix describes why an alternative can match no file in the workspace.
func placeFix(pattern string) string {
	cleaned := path.Clean(pattern)
	switch {
	case pattern == "":
		return "remove the alternative that is empty"
	case strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~"):
		return "write it relative to the workspace, without the leading /"
	case leadsOut(cleaned):
		return "files outside the workspace are not watched"
	case strings.HasSuffix(pattern, "/") || cleaned == ".":
		return "name files, not a folder: add ** at its end"
	case leavesFolders(pattern):
		return "write it without .."
	}
	return ""
}

// leavesFolders reports a .. after a **: the parent of any number of folders has no name.
func leavesFolders(pattern string) bool {
	_, after, found := strings.Cut("/"+pattern+"/", "/**/")
	return found && strings.Contains("/"+after, "/../")
}

// foldersByBackslash reports a backslash before a letter or digit: it is not an escape
// there, so it was meant to part folders.
func foldersByBackslash(pattern string) bool {
	for i := 0; i+1 < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		next, _ := utf8.DecodeRuneInString(pattern[i+1:])
		if unicode.IsLetter(next) || unicode.IsDigit(next) {
			return true
		}
		i++
	}
	return false
}

func segmentsOf(pattern string) ([]segment, bool) {
	var segments []segment
	for text := range strings.SplitSeq(path.Clean(pattern), "/") {
		s := segment{text: text, folded: fold(text)}
		switch {
		case text == "**":
			s.kind = folders
		case !doublestar.ValidatePattern(text):
			return nil, false
		case strings.ContainsAny(text, `*?[\`):
			s.kind = wild
			s.text, s.folded = oneStar(text), oneStar(s.folded)
		}
		segments = append(segments, s)
	}
	if segments[len(segments)-1].kind == folders {
		// Something must be below: a folder itself is not a changed file.
		segments = append(segments, segment{text: "*", folded: "*", kind: wild})
	}
	return segments, true
}

// oneStar writes runs of stars as one, which they mean: the matcher takes a*** for
// more than a.
func oneStar(pattern string) string {
	var b strings.Builder
	star := false
	for i := 0; i < len(pattern); {
		end := min(after(pattern, i), len(pattern))
		if pattern[i] != '*' || !star {
			b.WriteString(pattern[i:end])
		}
		star = pattern[i] == '*'
		i = end
	}
	return b.String()
}

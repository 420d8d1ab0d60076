package toolinput

import (
	"errors"
	"fmt"
	"strings"
)

// patch has the changes of a patch: the sum over its hunks of the larger of lines removed
// and lines added (S3.6).
//
// Programs that apply patches differ in their treatment of text that is in none of their
// forms: some skip it, some apply it. So every line must be understood, or the patch is
// refused.
type patch struct {
	paths []string
	lines int64

	rest   string // the text that is left
	number int    // of the line that was read last, from 1

	removed, added int64 // of the hunk that is read
}

// readPatch reads a patch in the first form that its first line shows. named means that
// the file is named elsewhere: then the patch need not name it. The part before an error
// is returned too.
func readPatch(text string, named bool) (*patch, error) {
	p := &patch{rest: text}
	var err error
	switch first := p.firstLine(); {
	case strings.TrimSpace(first) == beginPatch:
		err = p.envelope()
	case strings.HasPrefix(first, "diff --git ") || strings.HasPrefix(first, "--- ") && !isSearch(first):
		err = p.unified()
	case named && isSearch(first):
		err = p.blocks()
	case named && strings.HasPrefix(first, "@@"):
		err = p.bare()
	default:
		err = errors.New("it must begin with *** Begin Patch, diff --git or ---")
	}
	p.endHunk()
	return p, err
}

// firstLine returns the first that is not blank; those before it are skipped.
func (p *patch) firstLine() string {
	for {
		line, ok := p.peek()
		if !ok || strings.TrimSpace(line) != "" {
			return line
		}
		p.next()
	}
}

// next reads one line, without its end.
func (p *patch) next() (line string, ok bool) {
	line, ok = p.peek()
	if ok {
		_, p.rest, _ = strings.Cut(p.rest, "\n")
		p.number++
	}
	return line, ok
}

func (p *patch) peek() (line string, ok bool) {
	line, _, _ = strings.Cut(p.rest, "\n")
	return strings.TrimRight(line, "\r"), p.rest != ""
}

func (p *patch) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", p.number, fmt.Errorf(format, args...))
}

// removeLine and addLine count one line of the hunk. A return within it breaks it.
func (p *patch) removeLine(line string) { p.removed += 1 + breaks(line) }
func (p *patch) addLine(line string)    { p.added += 1 + breaks(line) }

func (p *patch) endHunk() {
	p.lines += max(p.removed, p.added)
	p.removed, p.added = 0, 0
}

// hunkLine reads a line of a hunk that does not say how long it is.
func (p *patch) hunkLine(line string) error {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "+"):
		p.addLine(line)
	case strings.HasPrefix(line, "-"):
		p.removeLine(line)
	case strings.HasPrefix(trimmed, "@@"): // also indented: some see a hunk there
		p.endHunk()
	case line == "" || line[0] == ' ' || line[0] == '\\':
	default:
		return p.errorf("a line of a hunk begins with +, - or a space; @@ begins the next hunk")
	}
	return nil
}

// bare reads the hunks of one file.
func (p *patch) bare() error {
	for {
		line, ok := p.next()
		if !ok {
			return nil
		}
		after, _ := p.peek()
		switch {
		case strings.TrimSpace(line) == endOfFile:
		case strings.HasPrefix(line, "--- ") && strings.HasPrefix(after, "+++ ") || isMarker(line):
			return p.errorf("another file begins within the hunks of a file; write diff --git or *** Begin Patch first")
		default:
			if err := p.hunkLine(line); err != nil {
				return err
			}
		}
	}
}

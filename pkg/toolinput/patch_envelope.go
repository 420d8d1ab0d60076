package toolinput

import "strings"

// Beginnings of the lines of a Codex patch.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File:"
	deleteFile = "*** Delete File:"
	updateFile = "*** Update File:"
	moveTo     = "*** Move to:"
	endOfFile  = "*** End of File"
)

// isMarker reports a line that some program takes for one of these: also with
// blanks in front.
func isMarker(line string) bool {
	line = strings.TrimSpace(line)
	for _, marker := range []string{beginPatch, endPatch, addFile, deleteFile, updateFile, moveTo, endOfFile} {
		if strings.HasPrefix(line, marker) {
			return true
		}
	}
	return false
}

// section is the part of an envelope that the reader is in.
type section uint8

const (
	between  section = iota
	adding           // lines with +
	updating         // hunks
	updated          // the head of an update was the last line
)

// envelope reads the form that Codex and its like apply.
func (p *patch) envelope() error {
	p.next()
	in := between
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return p.errorf("%s is missing", endPatch)
		case isMarker(line) && in >= updating && strings.HasPrefix(line, " "):
			return p.errorf("a marker after a space can be read as a line or as the marker; change more lines around it")
		case isMarker(line):
			if strings.TrimSpace(line) == endPatch {
				return p.afterEnvelope()
			}
			next, err := p.marker(line, in)
			if err != nil {
				return err
			}
			in = next
		case in == adding && strings.HasPrefix(line, "+"):
			p.addLine(line)
		case in >= updating:
			if err := p.hunkLine(line); err != nil {
				return err
			}
			in = updating
		case in == between && strings.TrimSpace(line) == "":
		default:
			return p.errorf("a line of a new file begins with +, and %s, %s or %s begins a file", addFile, deleteFile, updateFile)
		}
	}
}

// marker reads the head of a file, or one of the lines that say more of it.
func (p *patch) marker(line string, in section) (section, error) {
	p.endHunk()
	trimmed := strings.TrimSpace(line)
	if trimmed == endOfFile && in >= updating {
		return updating, nil
	}
	for _, head := range []struct {
		marker string
		in     section
		legal  bool
	}{
		{addFile, adding, true},
		{deleteFile, between, true},
		{updateFile, updated, true},
		{moveTo, updating, in == updated},
	} {
		path, ok := strings.CutPrefix(trimmed, head.marker)
		if !ok || !head.legal {
			continue
		}
		path = strings.TrimPrefix(path, " ")
		if path == "" || path != strings.TrimSpace(path) || !strings.HasSuffix(line, path) {
			return in, p.errorf("%s must be followed by one space and the name of a file, without spaces at its ends", head.marker)
		}
		p.paths = append(p.paths, path)
		return head.in, nil
	}
	return in, p.errorf("%q does not belong here", trimmed)
}

// afterEnvelope makes sure that the text ends, since another program might read the rest.
func (p *patch) afterEnvelope() error {
	if line := p.firstLine(); line != "" {
		p.number++
		return p.errorf("there is text after %s; remove it", endPatch)
	}
	if len(p.paths) == 0 {
		return p.errorf("it names no file")
	}
	return nil
}

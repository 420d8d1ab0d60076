package runner

import (
	"bytes"
	"slices"
	"strings"
)

const (
	// maxLine is the longest line of an agent that is passed on in one piece.
	maxLine = 16 << 10
	// maxReason bounds the description of an agent's failure.
	maxReason = 2 << 10
)

// lines passes on its input, line by line.
type lines struct {
	pass func(line string)
	rest []byte // a line that has not ended yet
}

// Write implements io.Writer. It never fails: an agent is not stopped because its output
// is not read.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			l.pass(strings.TrimSuffix(string(l.rest[:end]), "\r"))
			l.rest = l.rest[end+1:]
		case len(l.rest) > maxLine:
			l.pass(string(l.rest[:maxLine]))
			l.rest = l.rest[maxLine:]
		default:
			l.rest = slices.Clone(l.rest)
			return len(p), nil
		}
	}
}

// flush passes on a last line that does not end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.pass(string(l.rest))
		l.rest = nil
	}
}

// tail keeps the end of its input.
type tail struct {
	text []byte
	cut  bool // something came before
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - maxReason; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// reason returns why an agent failed: how it ended, and the last lines that it wrote to
// standard error. It is text of at most maxReason bytes.
func reason(how string, stderr *tail) string {
	text := string(stderr.text)
	room := max(maxReason-len(how)-len(": "), 0)
	cut := stderr.cut
	if len(text) > room {
		text, cut = text[len(text)-room:], true
	}
	if _, whole, ok := strings.Cut(text, "\n"); cut && ok && strings.TrimSpace(whole) != "" {
		text = whole // begins in the middle of a line
	}
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "")); text == "" {
		return how
	}
	return how + ": " + text
}

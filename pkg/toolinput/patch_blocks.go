package toolinput

import "strings"

// SEARCH/REPLACE blocks, as Cline, Roo and Aider apply them:
//
//	<<<<<<< SEARCH
//	the old lines
//	=======
//	the new lines
//	>>>>>>> REPLACE
func (p *patch) blocks() error {
	const (
		between = iota
		searching
		replacing
	)
	in := between
	for {
		line, ok := p.next()
		switch {
		case !ok && in == between:
			return nil
		case in == between && isSearch(line):
			in = searching
			p.skipPlace()
		case in == searching && isDivider(line):
			in = replacing
		case in == replacing && isReplace(line):
			in = between
			p.endHunk()
		case !ok || isSearch(line) || isDivider(line) || isReplace(line):
			return p.errorf("a block is SEARCH, =======, REPLACE, each once and in this order")
		case in == searching:
			p.removeLine(line)
		case in == replacing:
			p.addLine(line)
		case strings.TrimSpace(line) != "":
			return p.errorf("it is outside the blocks; remove it")
		}
	}
}

// skipPlace skips the lines by which Roo says where a block begins.
func (p *patch) skipPlace() {
	placed := false
	for {
		line, _ := p.peek()
		switch {
		case strings.HasPrefix(line, ":start_line:") || strings.HasPrefix(line, ":end_line:"):
			placed = true
			p.next()
			continue
		case placed && line == "-------":
			p.next()
		}
		return
	}
}

// isSearch, isDivider and isReplace report lines that any of the programs takes for such
// a line.
func isSearch(line string) bool {
	return isRule(line, "<", "SEARCH") || isRule(line, "-", "SEARCH")
}

func isDivider(line string) bool { return isRule(line, "=", "") }

func isReplace(line string) bool {
	return isRule(line, ">", "REPLACE") || isRule(line, "+", "REPLACE")
}

// isRule reports three or more of a character, and a word.
func isRule(line, c, word string) bool {
	rest := strings.TrimSpace(strings.TrimLeft(line, c))
	return strings.HasPrefix(line, c+c+c) && (rest == word || word != "" && rest == word+">")
}

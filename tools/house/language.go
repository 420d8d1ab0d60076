package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	relative = regexp.MustCompile(`(?i)\b(?:what|whatever|whatsoever|whoever|whomever|whichever)\b`)
	vague    = regexp.MustCompile(`(?i)\b(?:nobody|somebody|anybody|everybody|nothing|told|tells?)\b`)
	word     = regexp.MustCompile(`\pL[\pL\pN'’-]*`)
	// quoted matches quotations and code within a line. Placeholders of formats are no words.
	quoted = regexp.MustCompile("`[^`]*`|\"[^\"]{0,200}\"|“[^”]{0,200}”|%[-+# 0-9.]*[a-zA-Z]")
	// descriptive are the second words of "X is …"; predicate those of "X returns …".
	descriptive = regexp.MustCompile(`^(?:is|are|was|were|says|tells|told|what|whether|how|why)$`)
)

// subject is one text with its rates.
type subject struct {
	name            string
	words           int
	relative, vague int
	functions, form int      // functions with a comment, and those of the form "X is …"
	hits            []string // "file:line: text" of each counted line
}

// read counts the words of lines of prose. Quotations are removed first, in the whole
// text, since they may wrap.
func (s *subject) read(file string, first int, lines []string) {
	text := quoted.ReplaceAllStringFunc(strings.Join(lines, "\n"), func(quotation string) string {
		return strings.Repeat("\n", strings.Count(quotation, "\n"))
	})
	for i, line := range strings.Split(text, "\n") {
		s.words += len(word.FindAllString(line, -1))
		r, v := len(relative.FindAllString(line, -1)), len(vague.FindAllString(line, -1))
		s.relative += r
		s.vague += v
		if r+v > 0 {
			s.hits = append(s.hits, fmt.Sprintf("%s:%d: %s", file, first+i, strings.TrimSpace(lines[i])))
		}
	}
}

// comment counts the form of a function's comment.
func (s *subject) comment(file string, line int, name, text string) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return
	}
	s.functions++
	if words[0] == name && descriptive.MatchString(words[1]) {
		s.form++
		s.hits = append(s.hits, fmt.Sprintf("%s:%d: form: %s", file, line, strings.Join(words[:min(len(words), 12)], " ")))
	}
}

// perThousand returns a count in 1,000 words.
func perThousand(count, words int) float64 { return ratio(1000*count, words) }

// percent returns a part of a hundred.
func percent(count, of int) float64 { return ratio(100*count, of) }

func ratio(count, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(count) / float64(of)
}

// markdown returns the prose of a page, by lines: without fenced and indented code,
// comments and link targets.
func markdown(text string) []string {
	lines, fence := strings.Split(text, "\n"), ""
	target := regexp.MustCompile(`\]\([^)]*\)|<[^>]*>|https?://\S+`)
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence, lines[i] = trimmed[:3], ""
		case strings.HasPrefix(line, "    ") && !strings.HasPrefix(trimmed, "-") && (i == 0 || strings.TrimSpace(lines[i-1]) == ""):
			lines[i] = ""
		default:
			lines[i] = target.ReplaceAllString(line, "]")
		}
	}
	return lines
}

// proto returns the comments of a contract, by lines.
func proto(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		_, comment, _ := strings.Cut(line, "//")
		lines[i] = comment
	}
	return lines
}

var (
	commentsOfTypeScript = regexp.MustCompile(`(?s:/\*.*?\*/)|(?m:(?:^|[ \t{(,;])//.*$)`)
	commentsOfPython     = regexp.MustCompile(`(?s:""".*?""")|(?m:(?:^|[ \t])#.*$)`)
)

// script returns the comments of TypeScript or Python, by lines.
func script(text string, python bool) []string {
	comment, marks := commentsOfTypeScript, " \t/*"
	if python {
		comment, marks = commentsOfPython, " \t#\""
	}
	var out strings.Builder
	last := 0
	for _, at := range comment.FindAllStringIndex(text, -1) {
		out.WriteString(strings.Repeat("\n", strings.Count(text[last:at[0]], "\n")))
		for i, line := range strings.Split(text[at[0]:at[1]], "\n") {
			if i > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(strings.Trim(line, marks) + " ")
		}
		last = at[1]
	}
	return strings.Split(out.String(), "\n")
}

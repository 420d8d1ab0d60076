package redact

import (
	"fmt"
	"regexp"
	"strings"
)

// pattern finds secrets in text.
type pattern struct {
	*regexp.Regexp
	// hints are folded texts. Only lines that contain one are matched, because a search for hints
	// costs a hundredth of a match. Without hints, all text is matched.
	hints []string
	// across permits matches over any number of lines. Without it, a match may continue only on the
	// next line that is not blank.
	across bool
	// secret is the index of the group that is masked, or 0 for the whole match.
	secret int
}

// maskWord matches a word of a command line.
const maskWord = `(?:"[^"\n]*"?|'[^'\n]*'?|[^\s"']+)`

// defaultPatterns match secrets of known issuers by their form, and others by what
// introduces them.
var defaultPatterns = []struct {
	text   string
	hints  []string
	across bool
}{
	{`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`, []string{"private key-----"}, true},
	{`(?i)\b(?:bearer|basic)\s+[^\s"']+`, []string{"bearer", "basic"}, false},
	{`(?i)\b(?:authorization|cookie|x-auth[\w-]*)[ \t]*:[^\r\n"']*`, []string{"authorization", "cookie", "x-auth"}, false},
	{`\B(?:-[uU]\s*|-[A-Za-z]{1,8}[uU]\s+|--(?:proxy-)?user(?:=|\s+))["']?[^\s:"']+:[^\s"']+`, []string{"-u", "u ", "u\t", "u\n", "-user"}, false},
	{`\b(?:sshpass|login|mysql\w*|mariadb[\w-]*)\b.*?[ \t]-p=?\s*(?P<secret>` + maskWord + `)`, []string{"sshpass", "login", "mysql", "mariadb"}, false},
	{`\bredis-cli\b.*?[ \t]-a\s*(?P<secret>` + maskWord + `)`, []string{"redis-cli"}, false},
	{`\b(?:echo|printf)[ \t]+(?P<secret>[^|\n]+)\|.*(?:--password-stdin|\bsudo[ \t]+-S)`, []string{"--password-stdin", "sudo"}, false},
	{`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@`, []string{"://"}, false},
	{ // of AWS, GitHub, GitLab, Slack, Stripe and others, Google, npm, SendGrid, Hugging Face, Interlock; JWT
		`\b(?:A[KS]IA[0-9A-Z]{16}\b|gh[pousr]_[0-9A-Za-z]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|` +
			`[srp]k[-_][\w-]{16,}|AIza[\w-]{30,}|npm_[0-9A-Za-z]{30,}|SG\.[\w-]{8,}\.[\w-]{8,}|hf_[0-9A-Za-z]{16,}|` +
			`il[ks]_[\w.~+/=-]{8,}|eyJ[\w-]+\.[\w-]+\.[\w-]*)`,
		[]string{
			"akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "sk_", "rk-", "rk_", "pk-", "pk_",
			"aiza", "npm_", "sg.", "hf_", "ilk_", "ils_", "eyj",
		},
		false,
	},
}

// DefaultPatterns returns the patterns of the default masks (RE2).
func DefaultPatterns() []string {
	texts := make([]string, len(defaultPatterns))
	for i := range defaultPatterns {
		texts[i] = defaultPatterns[i].text
	}
	return texts
}

func newPattern(text string) (pattern, error) {
	compiled, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, fmt.Errorf("mask %q is not a valid regular expression (RE2): %w", text, err)
	}
	if compiled.MatchString("") {
		return pattern{}, fmt.Errorf("mask %q matches empty text, so it matches everywhere; make it match at least one character", text)
	}
	p := pattern{Regexp: compiled, across: true, secret: max(compiled.SubexpIndex("secret"), 0)}
	for i := range defaultPatterns {
		if known := &defaultPatterns[i]; known.text == text {
			p.hints, p.across = known.hints, known.across
		}
	}
	return p, nil
}

// mask returns a text with the matches masked. folded is fold of the text.
func (p *pattern) mask(s, folded string) string {
	switch {
	case !p.hinted(folded):
		return s
	case p.across:
		return p.replace(s)
	}
	var kept strings.Builder
	for s != "" {
		length, foldedLength, hinted := p.passage(s, folded)
		if passage := s[:length]; hinted {
			kept.WriteString(p.replace(passage))
		} else {
			kept.WriteString(passage)
		}
		s, folded = s[length:], folded[foldedLength:]
	}
	return kept.String()
}

// passage returns the length of the first part of a text that is matched as one: lines with hints
// and a possible continuation on the next line, or one line without hints.
func (p *pattern) passage(s, folded string) (length, foldedLength int, hinted bool) {
	for length < len(s) {
		line, foldedLine := firstLine(s[length:]), firstLine(folded[foldedLength:])
		has := p.hinted(foldedLine)
		length, foldedLength = length+len(line), foldedLength+len(foldedLine)
		if !has && (!hinted || strings.TrimSpace(line) != "") {
			break
		}
		hinted = hinted || has
	}
	return length, foldedLength, hinted
}

// firstLine returns a text up to and including its first newline.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return s[:min(len(line)+1, len(s))]
}

// replace masks each match, or its group "secret".
func (p *pattern) replace(s string) string {
	if p.secret == 0 {
		return p.ReplaceAllLiteralString(s, masked)
	}
	var kept strings.Builder
	end := 0
	for _, match := range p.FindAllStringSubmatchIndex(s, -1) {
		from, to := match[2*p.secret], match[2*p.secret+1]
		if from < 0 { // a match in which the group takes no part is a secret as a whole
			from, to = match[0], match[1]
		}
		kept.WriteString(s[end:from])
		kept.WriteString(masked)
		end = to
	}
	kept.WriteString(s[end:])
	return kept.String()
}

func (p *pattern) hinted(folded string) bool {
	for _, hint := range p.hints {
		if strings.Contains(folded, hint) {
			return true
		}
	}
	return len(p.hints) == 0
}

// fold maps letters that case-insensitive patterns treat as equal to one letter.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

package app

import (
	"fmt"
	"regexp"
	"strings"
)

// maskPattern finds secrets in text.
type maskPattern struct {
	*regexp.Regexp
	// hints are texts, folded, of which a line has one where the pattern matches: to
	// look for them costs a hundredth. Without hints it is matched against all text.
	hints []string
	// across any number of lines a pattern may match; then the hints are looked for in
	// all text. Else it may continue once, after blanks, on the next line that has more.
	across bool
	// secret is the group that is masked; 0 for the whole match.
	secret int
}

// maskWord is a word of a command line.
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

// DefaultMaskPatterns are the patterns of the default masks (RE2).
func DefaultMaskPatterns() []string {
	texts := make([]string, len(defaultPatterns))
	for i := range defaultPatterns {
		texts[i] = defaultPatterns[i].text
	}
	return texts
}

func newMaskPattern(text string) (maskPattern, error) {
	compiled, err := regexp.Compile(text)
	if err != nil {
		return maskPattern{}, fmt.Errorf("mask %q is not a valid regular expression (RE2): %w", text, err)
	}
	if compiled.MatchString("") {
		return maskPattern{}, fmt.Errorf("mask %q matches empty text, so it matches everywhere; make it match at least one character", text)
	}
	p := maskPattern{Regexp: compiled, across: true, secret: max(compiled.SubexpIndex("secret"), 0)}
	for i := range defaultPatterns {
		if known := &defaultPatterns[i]; known.text == text {
			p.hints, p.across = known.hints, known.across
		}
	}
	return p, nil
}

// mask is a text without what the pattern matches. folded is fold of the text.
func (p *maskPattern) mask(s, folded string) string {
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

// passage is the next of a text that is matched as one: lines that have hints with
// what may follow on the next line, or a line that has none.
func (p *maskPattern) passage(s, folded string) (length, foldedLength int, hinted bool) {
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

// firstLine is a text up to its first newline, with that.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return s[:min(len(line)+1, len(s))]
}

// replace masks what is matched, or the group of it that is the secret.
func (p *maskPattern) replace(s string) string {
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

func (p *maskPattern) hinted(folded string) bool {
	for _, hint := range p.hints {
		if strings.Contains(folded, hint) {
			return true
		}
	}
	return len(p.hints) == 0
}

// fold is a text in one case, in which letters are equal that patterns take as equal
// when they ignore case.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

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
	// across lines a pattern may match; then the hints are looked for in all text.
	across bool
}

// defaultPatterns match secrets of known issuers by their form, and others by what
// introduces them.
var defaultPatterns = []struct {
	text   string
	hints  []string
	across bool
}{
	{`(?i)\b(?:bearer|basic)\s+[^\s"']+`, []string{"bearer", "basic"}, false},
	{
		`(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[=:]\s*(?:"[^"]*"?|'[^']*'?|[^\s"']+)`,
		[]string{"password", "passwd", "pwd", "secret", "token", "key"},
		false,
	},
	{
		`(?i)--?[\w-]*(?:password|passwd|secret|token|api[_-]?key)\s+(?:"[^"]*"?|'[^']*'?|[^\s"']+)`,
		[]string{"password", "passwd", "secret", "token", "key"},
		false,
	},
	{`\s(?:-u|--user)[\s=]+["']?[^\s:"']+:[^\s"']+`, []string{"-u"}, false},
	{`(?i)\b(?:authorization|cookie)\s*:[^\r\n"']*`, []string{"authorization", "cookie"}, false},
	{`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@`, []string{"://"}, false},
	{`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`, []string{"private key-----"}, true},
	{`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, []string{"akia", "asia"}, false},
	{
		`\bgh[pousr]_[0-9A-Za-z]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}`,
		[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"},
		false,
	},
	{`\bxox[a-z]-[\w-]{10,}`, []string{"xox"}, false},
	{`\b[srp]k[-_][\w-]{16,}`, []string{"sk-", "sk_", "rk-", "rk_", "pk-", "pk_"}, false},
	{`\bAIza[\w-]{30,}`, []string{"aiza"}, false},
	{`\bnpm_[0-9A-Za-z]{30,}`, []string{"npm_"}, false},
	{`\beyJ[\w-]+\.[\w-]+\.[\w-]*`, []string{"eyj"}, false},
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
		return maskPattern{}, fmt.Errorf("mask %q is no regular expression (RE2): %w", text, err)
	}
	if compiled.MatchString("") {
		return maskPattern{}, fmt.Errorf("mask %q matches empty text, and so everywhere; make it match at least one character", text)
	}
	p := maskPattern{Regexp: compiled, across: true}
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
		return p.ReplaceAllLiteralString(s, masked)
	}
	var kept strings.Builder
	for more := true; more; {
		var line, foldedLine string
		line, s, more = strings.Cut(s, "\n")
		foldedLine, folded, _ = strings.Cut(folded, "\n")
		if p.hinted(foldedLine) {
			line = p.ReplaceAllLiteralString(line, masked)
		}
		kept.WriteString(line)
		if more {
			kept.WriteByte('\n')
		}
	}
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

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// vocabulary are phrases that read as translated, and what the standard library and
// the documentation of Kubernetes write instead.
var vocabulary = []struct {
	part    string // of the phrase, in lower case: what is quick to look for
	phrase  *regexp.Regexp
	instead string
}{
	{"can not", regexp.MustCompile(`(?i)\bcan not\b`), "cannot"},
	{" mend", regexp.MustCompile(`(?i)\b(?:the|its|their|a) mend\b`), "how to fix it, a suggested fix"},
	{" no ", regexp.MustCompile(`(?i)(?:^|[^e]) (?:is|are|was) no (?:JSON|YAML|valid|tool name|number|object|path|URL|list|string|time)\b`), "is not a, is not valid"},
	{" on", regexp.MustCompile(`\b(?:go|goes|went) on\b`), "continue"},
	{"whoever", regexp.MustCompile(`(?i)\bwhoever\b`), "name the actor; anyone who, no matter who"},
	{"those who", regexp.MustCompile(`(?i)\bthose who\b`), "name the actor: callers that, people who"},
	{"for ever", regexp.MustCompile(`(?i)\bfor ever\b`), "forever"},
	{"hand", regexp.MustCompile(`(?i)\bin (?:its )?hand\b`), "assigned to, bound to"},
	{"without more ado", regexp.MustCompile(`(?i)\bwithout more ado\b`), "leave it out"},
	{"so many", regexp.MustCompile(`(?i)\bso many\b`), "at most N, that many"},
	{"goes the next", regexp.MustCompile(`(?i)\bgoes the next time\b`), "is retried later"},
	{"become of", regexp.MustCompile(`(?i)\bbecome of\b`), "the outcome of"},
	{"by then", regexp.MustCompile(`(?i)\bby then\b`), "since then"},
	{"meanwhile", regexp.MustCompile(`(?i)\bmeanwhile\b`), "in the meantime"},
	{"beside", regexp.MustCompile(`(?i)\bbeside\b`), "next to, in addition to"},
	{"people's tokens", regexp.MustCompile(`\bPeople's tokens\b`), "user tokens"},
	{"no matter of", regexp.MustCompile(`(?i)\bno matter of\b`), "are exempt from, does not depend on"},
	{"that there is not", regexp.MustCompile(`(?i)\bthat there is not yet\b`), "future, that does not exist yet"},
	{"told are", regexp.MustCompile(`\bTold are\b`), "these are sent"},
	{"when it likes", regexp.MustCompile(`\bwhen it likes\b`), "can"},
	// Not "// The answers", nor what is named after an answer.
	{" answers ", regexp.MustCompile(`^\s*// (?:[b-zB-Z]\w*[^e\W]|[b-zB-Z]\w*[^h\W]e) answers `), "returns, or what it does"},
}

// vocabularyFile may name the phrases.
const vocabularyFile = "services/e2e/vocabulary_test.go"

func TestVocabulary(t *testing.T) {
	t.Parallel()
	_, texts := sources(t)
	read := 0
	for name, text := range texts {
		if name == vocabularyFile || name == "CHANGELOG.md" || strings.HasPrefix(name, "gen/") {
			continue
		}
		read++
		for i, line := range strings.Split(string(text), "\n") {
			if problem := unplain(line); problem != "" {
				t.Errorf("%s:%d: %s", name, i+1, problem)
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}

// unplain returns what is wrong with the words of a line; empty for nothing.
func unplain(line string) string {
	lower := strings.ToLower(line)
	for _, v := range vocabulary {
		if !strings.Contains(lower, v.part) {
			continue
		}
		if found := v.phrase.FindString(line); found != "" {
			return fmt.Sprintf("%q: write: %s", strings.TrimSpace(found), v.instead)
		}
	}
	return ""
}

func TestVocabularyCatches(t *testing.T) {
	t.Parallel()
	for line, plain := range map[string]bool{
		"It can not be read.":                       false,
		"an error that says the mend":               false,
		"The body is no JSON.":                      false,
		"Meanwhile it goes on.":                     false,
		"Whoever asks":                              false,
		"for those who can act":                     false,
		"a record beside it":                        false,
		"help:\"At most so many.\"":                 false,
		"// Get answers the run.":                   false,
		"what has become of it":                     false,
		"The body is not valid JSON.":               true,
		"there is no list":                          true,
		"It cannot be read, and the run continues.": true,
		"besides, a recommendation on hand-written code, so the many": true,
		"// The answers are kept.":                                    true,
	} {
		if got := unplain(line); (got == "") != plain {
			t.Errorf("%q: %q", line, got)
		}
	}
}

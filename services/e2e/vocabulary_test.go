package e2e

import (
	"fmt"
	"os"
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
	except  *regexp.Regexp // has the phrase, and reads well; nil for nothing
}{
	{"can not", regexp.MustCompile(`(?i)\bcan not\b`), "cannot", nil},
	{" mend", regexp.MustCompile(`(?i)\b(?:the|its|their|a) mend\b`), "how to fix it, a suggested fix", nil},
	{
		" no ",
		regexp.MustCompile(`(?i)\b(?:is|are|was) no (?:JSON|YAML|PEM|UTF-8|valid|tool name|number|amount|boolean|` +
			`object|array|list|path|URL|text|string|time|message|files|process|answer|decision of)\b`),
		"is not a, is not valid",
		regexp.MustCompile(`(?i)\bthere (?:is|are|was) no\b`),
	},
	{" on", regexp.MustCompile(`\b(?:go|goes|went) on\b`), "continue", nil},
	{"whoever", regexp.MustCompile(`(?i)\bwhoever\b`), "name the actor; anyone who, no matter who", nil},
	{"those who", regexp.MustCompile(`(?i)\bthose who\b`), "name the actor: callers that, people who", nil},
	{"for ever", regexp.MustCompile(`(?i)\bfor ever\b`), "forever", nil},
	{"hand", regexp.MustCompile(`(?i)\bin (?:its )?hand\b`), "assigned to, bound to", nil},
	{"without more ado", regexp.MustCompile(`(?i)\bwithout more ado\b`), "leave it out", nil},
	{"so many", regexp.MustCompile(`(?i)\bso many\b`), "at most N, that many", nil},
	{"goes the next", regexp.MustCompile(`(?i)\bgoes the next time\b`), "is retried later", nil},
	{"become of", regexp.MustCompile(`(?i)\bbecome of\b`), "the outcome of", nil},
	{"by then", regexp.MustCompile(`(?i)\bby then\b`), "since then", nil},
	{"meanwhile", regexp.MustCompile(`(?i)\bmeanwhile\b`), "in the meantime", nil},
	{"beside", regexp.MustCompile(`(?i)\bbeside\b`), "next to, in addition to", nil},
	{"people's tokens", regexp.MustCompile(`\bPeople's tokens\b`), "user tokens", nil},
	{"no matter of", regexp.MustCompile(`(?i)\bno matter of\b`), "are exempt from, does not depend on", nil},
	{"that there is not", regexp.MustCompile(`(?i)\bthat there is not yet\b`), "future, that does not exist yet", nil},
	{"told are", regexp.MustCompile(`\bTold are\b`), "these are sent", nil},
	{"when it likes", regexp.MustCompile(`\bwhen it likes\b`), "can", nil},
	{
		" answers ",
		regexp.MustCompile(`^\s*// \w+ answers `),
		"returns, or what it does",
		regexp.MustCompile(`// (?:[Tt]he|[Ii]ts|[Aa]ll|[Nn]o) answers |AnswerQuestion answers `),
	},
}

// vocabularyFile may name the phrases.
const vocabularyFile = "services/e2e/vocabulary_test.go"

func TestVocabulary(t *testing.T) {
	t.Parallel()
	_, texts := sources(t)
	const citations = "services/e2e/semantics_test.go" // sources leaves it out
	texts[citations] = must[[]byte](t)(os.ReadFile("../../" + citations))
	read := 0
	for name, text := range texts {
		if name == vocabularyFile || name == "CHANGELOG.md" || strings.HasPrefix(name, "gen/") {
			continue
		}
		read++
		for _, problem := range unplainLines(string(text)) {
			t.Errorf("%s:%s", name, problem)
		}
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}

// unplainLines returns what is wrong with the words of a text, by lines. A phrase may
// begin on one line and end on the next.
func unplainLines(text string) (problems []string) {
	before := ""
	for i, line := range strings.Split(text, "\n") {
		problem := unplain(line)
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%d: %s", i+1, problem))
		}
		words := strings.TrimLeft(line, " \t/#>-")
		if both := unplain(before + " " + words); both != "" && problem == "" && unplain(before) == "" {
			problems = append(problems, fmt.Sprintf("%d: %s", i, both))
		}
		before = strings.TrimSpace(words)
	}
	return problems
}

// unplain returns what is wrong with the words of a line; empty for nothing.
func unplain(line string) string {
	lower := strings.ToLower(line)
	for _, v := range vocabulary {
		if !strings.Contains(lower, v.part) {
			continue
		}
		rest := line
		if v.except != nil {
			rest = v.except.ReplaceAllString(line, "")
		}
		if found := v.phrase.FindString(rest); found != "" {
			return fmt.Sprintf("%q: write: %s", strings.TrimSpace(found), v.instead)
		}
	}
	return ""
}

func TestVocabularyCatches(t *testing.T) {
	t.Parallel()
	for line, plain := range map[string]bool{
		"It can not be read.":                                         false,
		"an error that says the mend":                                 false,
		"The body is no JSON.":                                        false,
		"There is no JSON, and a file is no text.":                    false,
		"// Append answers the entries.":                              false,
		"Meanwhile it goes on.":                                       false,
		"Whoever asks":                                                false,
		"for those who can act":                                       false,
		"a record beside it":                                          false,
		"help:\"At most so many.\"":                                   false,
		"// Get answers the run.":                                     false,
		"what has become of it":                                       false,
		"The body is not valid JSON.":                                 true,
		"there is no list":                                            true,
		"// AnswerQuestion answers the question.":                     true,
		"It cannot be read, and the run continues.":                   true,
		"besides, a recommendation on hand-written code, so the many": true,
		"// The answers are kept.":                                    true,
	} {
		if got := unplain(line); (got == "") != plain {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// A phrase is found where it wraps, on the line where it begins, and only once.
func TestVocabularyCatchesWrapped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"package a\n\n// What can\n// not be read.":  `3: "can not": write: cannot`,
		"The run goes\non.":                          `1: "goes on": write: continue`,
		"It goes on.\nIt is well.":                   `1: "goes on": write: continue`,
		"It is well.\nIt goes on.\nIt is well.":      `2: "goes on": write: continue`,
		"What a run can do.\n\nNot all of it is so.": "",
		"\t// It can.\n\t// Not so that.":            "",
	} {
		if got := strings.Join(unplainLines(text), "\n"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

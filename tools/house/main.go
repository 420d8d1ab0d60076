// House measures the language and the shape of the code and of the documentation.
//
//	house [-root DIR] [-check | -update | -adopt SUBJECT | -hits SUBJECT]
//
// Without a flag it prints a table. A subject is the comments of one Go package
// ("comments pkg/rules"), the text of its error messages and help ("strings pkg/rules"),
// the comments of its tests ("tests pkg/rules"), or a page ("page docs/cli.md"). Folders of
// TypeScript and Python are measured like packages, by their comments. Only text counts: code
// and quotations are left out.
//
//   - relative: what, whatever, whoever, whomever and whichever in 1,000 words. Questions
//     count, too, so that the measure stays simple; the target leaves room for them.
//   - vague: nobody, somebody, anybody, everybody, nothing, told, tell and tells in 1,000
//     words.
//   - form: the percentage of functions' comments of the form "X is …" or "X says …",
//     where a comment begins with a verb in the third person ("X returns …").
//
// For packages the table also has:
//
//   - names: distinct first words of the functions' names.
//   - methods: those of the type that has the most.
//   - uphill: the percentage of uses between files that go against the order of the files.
//     That order is the one in which the fewest do, as a greedy search finds it; a use is a
//     name of the package, or a selected name that exactly one of its types declares.
//   - lines: without tests, support of tests, blank lines and comments.
//
// With -check it fails where a subject exceeds its ceiling in rates.txt. Subjects without a
// ceiling must meet the targets. With -update it lowers ceilings, and never raises one.
// With -adopt it raises them to the present rates, for packages that were split from others.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", "../..", "the repository")
	check := flag.Bool("check", false, "fail where a ceiling is exceeded")
	update := flag.Bool("update", false, "lower the ceilings to the present rates")
	adopt := flag.String("adopt", "", "raise the ceilings of the subjects that begin with this text")
	hits := flag.String("hits", "", "list the lines of the subjects that begin with this text")
	flag.Parse()
	if err := run(*root, *check, *update, *adopt, *hits); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(root string, check, update bool, adopt, hits string) error {
	h, err := measure(root)
	if err != nil {
		return err
	}
	ceilings := filepath.Join(root, "tools", "house", "rates.txt")
	switch {
	case hits != "":
		for _, s := range h.subjects {
			if strings.HasPrefix(s.name, hits) {
				fmt.Println(strings.Join(s.hits, "\n"))
			}
		}
		return nil
	case check, update, adopt != "":
		text, err := os.ReadFile(ceilings)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		present, err := parseRates(string(text))
		if err != nil {
			return err
		}
		if adopt != "" {
			return os.WriteFile(ceilings, []byte(formatRates(raise(present, h.subjects, adopt))), 0o644)
		}
		if update {
			return os.WriteFile(ceilings, []byte(formatRates(lower(present, h.subjects))), 0o644)
		}
		if problems := exceeded(present, h.subjects); len(problems) > 0 {
			return fmt.Errorf("%d subjects exceed their ceilings; `-hits SUBJECT` lists the lines:\n%s", len(problems), strings.Join(problems, "\n"))
		}
		return nil
	}
	h.print(os.Stdout)
	return nil
}

package offline

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// JUnit's form of results, as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		File    string      `xml:"file,attr"`
		Line    int         `xml:"line,attr,omitempty"`
		Failure *junitWrong `xml:"failure"`
		Error   *junitWrong `xml:"error"`
	}
	junitWrong struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (t *tested) printJUnit(out io.Writer) error {
	all := junitSuites{Name: "interlock test"}
	for i := range t.files {
		suite := t.files[i].junit()
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	return err
}

func (f *testedFile) junit() junitSuite {
	suite := junitSuite{Name: f.name, Tests: len(f.results), Failures: f.failed()}
	for i := range f.results {
		r := &f.results[i]
		c := junitCase{Name: r.Case, Class: f.name, File: f.name, Line: r.Line}
		if !r.OK {
			c.Failure = &junitWrong{
				Message: fmt.Sprintf("step %d: %s", r.Step, show.Shortened(r.Action)),
				Text:    strings.Join(differences(r), "\n"),
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if f.valid() {
		return suite
	}
	var why []string
	if f.unread != nil {
		why = append(why, f.unread.Error())
	}
	for _, p := range f.problems {
		why = append(why, p.String())
	}
	suite.Tests++
	suite.Errors++
	suite.Cases = append(suite.Cases, junitCase{
		Name: "the file is valid", Class: f.name, File: f.name,
		Error: &junitWrong{Message: "the file could not be tested", Text: strings.Join(why, "\n")},
	})
	return suite
}

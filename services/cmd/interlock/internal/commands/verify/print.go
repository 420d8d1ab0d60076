package verify

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

var indented = json.JoinOptions(json.Deterministic(true), jsontext.WithIndent("  "))

func (c *Command) print(streams console.Streams, all []checked) error {
	switch c.Format {
	case "json":
		return show.JSON(streams.Out, views(all))
	case "sarif":
		text, err := json.Marshal(c.sarif(all), indented)
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		_, err = fmt.Fprintf(streams.Out, "%s\n", text)
		return err
	case "junit":
		return JUnit(streams.Out, "interlock verify", junit(all))
	default:
		c.printText(streams.Out, all)
		return nil
	}
}

func (c *Command) printText(out io.Writer, all []checked) {
	for i := range all {
		f := &all[i]
		for j := range f.Results {
			r := &f.Results[j]
			fmt.Fprintf(out, "%s: %s: %s", show.Text(f.File), show.Text(r.Property.Name), r.Verdict)
			switch {
			case r.Verdict.Holds():
				fmt.Fprintf(out, " (%s explored)\n", show.Counted(r.States, "state"))
			default:
				fmt.Fprintf(out, ": %s\n", show.Text(r.Reason))
			}
			for _, note := range r.Notes {
				fmt.Fprintf(out, "  note: %s\n", show.Text(note))
			}
			if r.Counterexample == nil {
				continue
			}
			for k, step := range r.Counterexample.Steps {
				fmt.Fprintf(out, "  %d. %s\n", k+1, show.Text(step))
			}
			switch {
			case len(r.Counterexample.Scenario) == 0:
			case c.Out != "":
				fmt.Fprintf(out, "  written to %s\n", show.Text(c.Out+"/"+scenarioName(f, r)))
			default:
				fmt.Fprintln(out, "  --out DIR writes it as a scenario for interlock test")
			}
		}
		if c.Schema != "" && len(f.Written) == 0 {
			fmt.Fprintf(out, "%s: no evidence asks for the shared state, so its schema has no effect\n", show.Text(f.File))
		}
		for j := range f.Written {
			fmt.Fprintf(out, "%s: %s\n", show.Text(f.File), show.Text(written(&f.Written[j])))
		}
		for _, w := range f.Warnings {
			fmt.Fprintf(out, "%s: warning: %s: %s: %s\n", show.Text(f.File), show.Text(w.Pointer), w.Code, show.Text(w.Message))
		}
		if len(f.Results) == 0 {
			fmt.Fprintf(out, "%s: no properties: state them under \"properties\" of the definition, or in %s\n", show.Text(f.File), show.Text(input.PropertiesOf(f.File)))
		}
	}
}

// written describes who may write the value of an evidence.
func written(w *report.WrittenEvidence) string {
	text := fmt.Sprintf("evidence %s is %s of the shared state: may be written by %s", document.Quote(w.Evidence), w.Pointer, w.MayWrite())
	if w.Writer != "" {
		text += ", and must be by " + document.Quote(w.Writer)
	}
	return text
}

// view is a file for programs.
type view struct {
	File     string             `json:"file"`
	Workflow string             `json:"workflow"`
	Verdict  verify.Verdict     `json:"verdict"`
	Results  []resultView       `json:"results"`
	Warnings []document.Problem `json:"warnings"`
	Written  []writtenView      `json:"shared_state,omitempty"`
}

// writtenView is an evidence of the shared state: each list must name the writer.
type writtenView struct {
	Evidence string     `json:"evidence"`
	Pointer  string     `json:"pointer"`
	Writer   string     `json:"writer,omitzero"`
	MayWrite [][]string `json:"may_write"`
}

type resultView struct {
	Property string         `json:"property"`
	Kind     string         `json:"kind"`
	Verdict  verify.Verdict `json:"verdict"`
	States   int            `json:"states"`
	Explored string         `json:"explored,omitzero"`
	Reason   string         `json:"reason,omitzero"`
	Notes    []string       `json:"notes,omitempty"`
	Steps    []string       `json:"steps,omitempty"`
	Scenario string         `json:"scenario,omitzero"`
}

func views(all []checked) []view {
	list := make([]view, 0, len(all))
	for i := range all {
		f := &all[i]
		v := view{
			File: f.File, Workflow: f.Workflow, Verdict: f.Worst(), Results: []resultView{},
			Warnings: []document.Problem{},
		}
		for j := range f.Results {
			r := &f.Results[j]
			rv := resultView{
				Property: r.Property.Name, Kind: string(r.Property.Kind), Verdict: r.Verdict, States: r.States,
				Explored: r.Explored,
				Reason:   r.Reason, Notes: r.Notes,
			}
			if r.Counterexample != nil {
				rv.Steps, rv.Scenario = r.Counterexample.Steps, string(r.Counterexample.Scenario)
			}
			v.Results = append(v.Results, rv)
		}
		for _, w := range f.Warnings {
			v.Warnings = append(v.Warnings, document.Problem{
				Pointer: w.Pointer, Code: w.Code,
				Severity: document.SeverityWarning, Message: w.Message,
			})
		}
		for j := range f.Written {
			w := &f.Written[j]
			v.Written = append(v.Written, writtenView{w.Evidence, w.Pointer, w.Writer, w.Names()})
		}
		list = append(list, v)
	}
	return list
}

// The form of SARIF 2.1.0, as code hosts show it next to lines.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitzero"`
	}
)

func (c *Command) sarif(all []checked) sarifLog {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "interlock verify", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	add := func(f *checked, pointer, rule, level, message string) {
		at := sarifPhysical{Artifact: sarifArtifact{f.File}}
		if places := f.Source.Places(document.Problems{{Pointer: pointer}}); len(places) == 1 && places[0].Line > 0 {
			at.Region = &sarifRegion{places[0].Line, places[0].Column}
		}
		run.Results = append(run.Results, sarifResult{rule, level, sarifText{message}, []sarifLocation{{at}}})
		for _, known := range run.Tool.Driver.Rules {
			if known.ID == rule {
				return
			}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule})
	}
	for i := range all {
		f := &all[i]
		for j := range f.Results {
			r := &f.Results[j]
			if r.Verdict.Holds() {
				continue
			}
			level, text := "warning", fmt.Sprintf("%s: %s: %s", r.Property.Name, r.Verdict, r.Reason)
			if r.Verdict == verify.Refuted {
				level = "error"
			}
			if r.Counterexample != nil {
				text += "\n" + strings.Join(r.Counterexample.Steps, "\n")
			}
			add(f, document.Pointer("properties", r.Property.Name), string(r.Property.Kind), level, text)
		}
		for _, w := range f.Warnings {
			level := "note"
			if c.Strict {
				level = "error"
			}
			add(f, w.Pointer, w.Code, level, w.Message)
		}
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// Finding is one thing that SARIF reports on a file.
type Finding struct{ Rule, Level, Message string }

// SARIF writes the findings of a command about a file.
func SARIF(out io.Writer, command, file string, all []Finding) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: command, Rules: []sarifRule{}}}, Results: []sarifResult{}}
	for _, f := range all {
		run.Results = append(run.Results, sarifResult{f.Rule, f.Level, sarifText{f.Message}, []sarifLocation{{sarifPhysical{Artifact: sarifArtifact{file}}}}})
		if !slices.ContainsFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == f.Rule }) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule})
		}
	}
	text, err := json.Marshal(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}, indented)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

// JUnit's form, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
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
		Failure *junitWrong `xml:"failure"`
		Error   *junitWrong `xml:"error"`
	}
	junitWrong struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// Suite is the report of JUnit on a file.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is one thing of a suite: Refuted is a failure, and Undecided an error.
type Case struct {
	Name, Class   string
	Verdict       verify.Verdict
	Message, Text string
}

// JUnit writes the findings of a command about files.
func JUnit(out io.Writer, command string, all []Suite) error {
	suites := junitSuites{Name: command}
	for _, s := range all {
		suite := junitSuite{Name: s.Name, Tests: len(s.Cases)}
		for _, one := range s.Cases {
			c := junitCase{Name: one.Name, Class: one.Class}
			switch one.Verdict {
			case verify.Refuted:
				suite.Failures++
				c.Failure = &junitWrong{one.Message, one.Text}
			case verify.Undecided:
				suite.Errors++
				c.Error = &junitWrong{one.Message, one.Text}
			default:
			}
			suite.Cases = append(suite.Cases, c)
		}
		suites.Suites = append(suites.Suites, suite)
	}
	text, err := xml.MarshalIndent(suites, "", "  ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	return err
}

func junit(all []checked) []Suite {
	suites := make([]Suite, 0, len(all))
	for i := range all {
		f := &all[i]
		suite := Suite{Name: f.File}
		for j := range f.Results {
			r := &f.Results[j]
			c := Case{Name: r.Property.Name, Class: f.Workflow, Verdict: r.Verdict, Message: r.Reason}
			if r.Counterexample != nil {
				c.Text = string(r.Counterexample.Scenario)
			}
			suite.Cases = append(suite.Cases, c)
		}
		suites = append(suites, suite)
	}
	return suites
}

package attack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/verify"
)

// A finding is written as a scenario where possible: of a property that the definition does
// not keep, one that fails at its last step, as a counterexample of verify does; of an escape,
// one with the correct answers of the services.

// outcome is the outcome of one step, for a scenario.
type outcome struct {
	step attack.Step
	// run is the order of the run that it was about.
	run int
	// done is false for a refused step.
	done             bool
	decision, code   string
	rejected, before string
}

// line is one step of a scenario, with its expectation.
type line struct {
	of      outcome
	members []document.Member
}

func member(name string, v document.Value) document.Member {
	return document.Member{Name: name, Value: v}
}

func text(s string) document.Value { return document.StringValue(s) }

// Scenario returns a scenario file that shows a finding, or empty when no scenario can.
func Scenario(m *verify.Model, f *Found) []byte {
	if f.Kind != Escape && f.Kind != Broken {
		return nil
	}
	lines, ok := linesOf(f.outcomes)
	if !ok || len(lines) == 0 {
		return nil
	}
	last := &lines[len(lines)-1]
	for _, want := range wanted(&last.of) {
		candidate := slices.Clone(lines)
		candidate[len(lines)-1].members = append(slices.Clone(last.members), member("expect", document.ObjectValue([]document.Member{want})))
		written := write(m, f, candidate)
		result := playScenario(m, written)
		switch {
		case result == nil:
		case f.Kind == Broken && !result.OK && result.Step == len(lines)-1, f.Kind == Escape && result.OK:
			return written
		}
	}
	return nil
}

// wanted returns the possible expectations of the last step.
func wanted(o *outcome) []document.Member {
	if o.step.Do == attack.Check {
		return []document.Member{member("decision", text("DENY")), member("decision", text("ASK"))}
	}
	return []document.Member{member("state", text(o.before)), member("rejected", text("GUARD_FAILED"))}
}

// linesOf returns the steps of the first run. ok is false where something was done that a
// scenario cannot do.
func linesOf(all []outcome) (lines []line, ok bool) {
	for _, o := range all {
		members, expressible := membersOf(&o)
		if !expressible {
			return nil, false
		}
		if members != nil {
			lines = append(lines, line{o, members})
		}
	}
	return lines, true
}

// membersOf returns a step as a scenario has it; nil for one without an effect. ok is false
// where it has one that no scenario can have.
func membersOf(o *outcome) (members []document.Member, ok bool) {
	s := &o.step
	if s.Do == attack.Kill || !o.done && s.Do != attack.Check && s.Do != attack.Fire && s.Do != attack.Answer {
		return nil, true
	}
	if o.run != 1 || s.Branch != "" || s.Garbled || s.Qualified != "" {
		return nil, !o.done
	}
	switch s.Do {
	case attack.Check:
		return callOf(o)
	case attack.Report:
		if !vouches(s.As) {
			return nil, true // not observable
		}
		return reportOf(s), true
	case attack.Fire, attack.Answer:
		return eventOf(o)
	case attack.Decide:
		who := people[s.As]
		return []document.Member{member(map[bool]string{false: "approve", true: "reject"}[s.Reject], document.ObjectValue([]document.Member{
			member("by", text(who.Name)), member("role", text(string(who.Role))),
		}))}, who.Role != auth.Agent && s.Data == ""
	case attack.Pause, attack.Resume:
		return []document.Member{member(string(s.Do), document.ObjectValue(nil))}, people[s.As].Role == auth.Agent
	case attack.Advance:
		return []document.Member{member("advance", text(fmt.Sprint(s.Seconds, "s")))}, s.Seconds > 0
	default:
		return nil, false
	}
}

func callOf(o *outcome) ([]document.Member, bool) {
	if o.decision == "" {
		return nil, true // undecided
	}
	call := []document.Member{member("tool", text(o.step.Tool))}
	if o.step.Input != "" {
		input, problem := document.Parse([]byte(o.step.Input), document.Limits{})
		if problem != nil {
			return nil, o.decision == "DENY"
		}
		call = append(call, member("input", input))
	}
	members := []document.Member{member("call", document.ObjectValue(call))}
	if o.decision != "ALLOW" {
		members = append(members, member("expect", document.ObjectValue([]document.Member{member("decision", text(o.decision))})))
	}
	return members, true
}

func reportOf(s *attack.Step) []document.Member {
	report := []document.Member{member("tool", text(s.Tool)), member("ok", document.BoolValue(!s.Failed))}
	if len(s.Files) > 0 {
		var names []document.Value
		for _, name := range s.Files {
			names = append(names, text(name))
		}
		report = append(report, member("files_changed", document.ArrayValue(names)))
	}
	if s.Output != "" {
		report = append(report, member("output", text(s.Output)))
	}
	return []document.Member{member("report", document.ObjectValue(report))}
}

func eventOf(o *outcome) ([]document.Member, bool) {
	if !o.done && o.rejected == "" {
		return nil, true
	}
	members := []document.Member{member(string(o.step.Do), text(o.step.Event))}
	if o.step.Data != "" && o.step.Do == attack.Fire {
		data, problem := document.Parse([]byte(o.step.Data), document.Limits{})
		if problem != nil {
			return nil, !o.done
		}
		members = append(members, member("data", data))
	}
	if o.rejected != "" {
		members = append(members, member("expect", document.ObjectValue([]document.Member{member("rejected", text(o.rejected))})))
	}
	return members, true
}

// write returns the file.
func write(m *verify.Model, f *Found, lines []line) []byte {
	var b strings.Builder
	about := "found by interlock attack, seed " + fmt.Sprint(f.Seed) + ": " + string(f.Kind) + ": " + f.What
	if f.Kind == Escape {
		about += "\nthe last step follows the definition; the services answered otherwise"
	}
	for part := range strings.SplitSeq(about, "\n") {
		b.WriteString("# " + part + "\n")
	}
	key := "workflow"
	if m.Main.Process != nil {
		key = "process"
	}
	b.WriteString(key + ": " + source(m.Main.File, m.Main.Text) + "\n")
	if len(m.Others) > 0 {
		b.WriteString("workflows:\n")
		for i := range m.Others {
			b.WriteString("  - " + source(m.Others[i].File, m.Others[i].Text) + "\n")
		}
	}
	if len(m.Policies) > 0 {
		b.WriteString("policy:\n")
		for i := range m.Policies {
			b.WriteString("  - " + source(m.Policies[i].File, m.Policies[i].Text) + "\n")
		}
	}
	fmt.Fprintf(&b, "cases:\n  - name: %s\n    steps:\n", text(f.Class))
	for i := range lines {
		lead := "      - "
		for _, m := range lines[i].members {
			fmt.Fprintf(&b, "%s%s: %s\n", lead, m.Name, m.Value)
			lead = "        "
		}
	}
	return []byte(b.String())
}

// source returns a definition in a scenario: by its file, or written out.
func source(file string, v document.Value) string {
	if file != "" {
		return text(file).String()
	}
	return v.String()
}

// playScenario plays one as interlock test does; nil when it is not one.
func playScenario(m *verify.Model, written []byte) *scenario.Result {
	files := map[string]document.Value{}
	for _, d := range append([]verify.Definition{m.Main}, m.Others...) {
		files[d.File] = d.Text
	}
	for _, p := range m.Policies {
		files[p.File] = p.Text
	}
	suite, _ := scenario.Parse(scenario.Source{Name: "attack.test.yaml", Text: written}, func(name string) (scenario.Source, error) {
		v, ok := files[name]
		if !ok {
			return scenario.Source{}, fmt.Errorf("there is no file %s", name)
		}
		return scenario.Source{Name: name, Text: v.AppendJSON(nil)}, nil
	})
	if suite == nil {
		return nil
	}
	results := suite.Play(nil)
	if len(results) != 1 {
		return nil
	}
	return &results[0]
}

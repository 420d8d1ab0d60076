package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// count returns how many transitions the steps so far have made, as a scenario counts
// them.
func count(s *counterexample) document.Value {
	v, ok := s.without(len(s.lines) - 1)
	if !ok {
		return document.NumberValue("0")
	}
	return v
}

// without plays the first steps of the counterexample, and returns the count of transitions that
// they have led to.
func (s *counterexample) without(steps int) (document.Value, bool) {
	short := *s
	short.lines = slices.Clone(s.lines[:steps])
	short.add(member("advance", text("1ns")), member("expect", record(member("transition_count",
		document.NumberValue("-1")))))
	results, err := short.results("count")
	if err != "" || len(results) == 0 || results[0].Step != len(short.lines)-1 {
		return document.Value{}, false
	}
	return results[0].Actual.Get("transition_count")
}

// spurious returns the verdict on a counterexample that is none.
func (s *counterexample) spurious(r Result, why string) Result {
	r.Verdict = Undecided
	r.Reason = "spurious: the exploration found a way that no run was found to take: " + why
	r.Counterexample = nil
	return r
}

// play confirms a counterexample: every step but the last is as it must be, and the last
// is not.
func (s *counterexample) play(p *workflow.Property, r Result) Result {
	if s.wrong != "" {
		return s.spurious(r, s.wrong)
	}
	results, err := s.results(p.Name)
	switch {
	case err != "":
		return s.spurious(r, err)
	case results[0].OK:
		return s.spurious(r, "the scenario passes")
	case results[0].Step != len(s.lines)-1:
		return s.spurious(r, fmt.Sprintf("step %d, %s, is not allowed: %s", results[0].Step+1, results[0].Action,
			results[0].Message))
	}
	if len(s.facts) > 0 { // no step gives it
		r.Reason += ", once the shared state has what evidence " + document.Quote(s.facts[0]) + " demands"
		if len(s.facts) > 1 {
			r.Reason += fmt.Sprintf(", and %d more", len(s.facts)-1)
		}
	}
	r.Verdict = Refuted
	r.Counterexample = &Counterexample{
		Steps: s.steps(), Stands: s.statesVisited(), Scenario: s.scenario(p.Name, "Property "+p.Name+" is not kept: "+r.Reason+"."),
	}
	return r
}

// results plays the scenario in memory.
func (s *counterexample) results(name string) ([]scenario.Result, string) {
	files := map[string]document.Value{}
	for _, d := range append([]model.Definition{s.c.Model.Main}, s.c.Model.Others...) {
		files[d.File] = d.Text
	}
	for _, p := range s.c.Model.Policies {
		files[p.File] = p.Text
	}
	suite, problems := scenario.Parse(scenario.Source{Name: "counterexample.test.yaml", Text: s.scenario(name, name)},
		func(name string) (scenario.Source, error) {
			v, ok := files[name]
			if !ok {
				return scenario.Source{}, fmt.Errorf("there is no file %s", name)
			}
			// JSON is YAML too, for any file.
			return scenario.Source{Name: name, Text: v.AppendJSON(nil)}, nil
		})
	if suite == nil {
		all := make([]string, 0, len(problems))
		for _, problem := range problems {
			all = append(all, problem.String())
		}
		return nil, "the scenario cannot be played: " + strings.Join(all, "; ")
	}
	return suite.Play(nil), ""
}

// scenario returns the file.
func (s *counterexample) scenario(name, about string) []byte {
	var b strings.Builder
	for line := range strings.SplitSeq(about, "\n") {
		b.WriteString("# " + strings.TrimSpace(line) + "\n")
	}
	of := &s.c.Model.Main
	key := "workflow"
	if of.Process != nil {
		key = "process"
	}
	b.WriteString(key + ": " + source(of.File, of.Text) + "\n")
	if others := s.c.Model.Others; len(others) > 0 {
		b.WriteString("workflows:\n")
		for i := range others {
			if others[i].Process == nil {
				b.WriteString("  - " + source(others[i].File, others[i].Text) + "\n")
			}
		}
	}
	if policies := s.c.Model.Policies; len(policies) > 0 {
		b.WriteString("policy:\n")
		for i := range policies {
			b.WriteString("  - " + source(policies[i].File, policies[i].Text) + "\n")
		}
	}
	fmt.Fprintf(&b, "cases:\n  - name: %s\n", text(name))
	given := s.beginning()
	if len(given) > 0 {
		fmt.Fprintf(&b, "    given: %s\n", record(given...))
	}
	b.WriteString("    steps:\n")
	for i := range s.lines {
		lead := "      - "
		for _, m := range s.lines[i].all() {
			fmt.Fprintf(&b, "%s%s: %s\n", lead, m.Name, m.Value)
			lead = "        "
		}
	}
	return []byte(b.String())
}

// beginning returns the givens before the first step.
func (s *counterexample) beginning() []document.Member {
	var given []document.Member
	if len(s.given) > 0 {
		given = append(given, member("context", values(s.given)))
	}
	if len(s.facts) > 0 {
		var facts []document.Member
		for _, fact := range s.facts {
			facts = append(facts, member(fact, document.BoolValue(true)))
		}
		given = append(given, member("evidence", record(facts...)))
	}
	return given
}

// statesVisited plays the steps, and says in which states the run is before the first one, and after
// each; nil when they cannot be played.
func (s *counterexample) statesVisited() [][]string {
	of := &s.c.Model.Main
	members := []document.Member{member("workflow", of.Text)}
	if of.Process != nil {
		members[0].Name = "process"
	}
	var others, policies, steps []document.Value
	for i := range s.c.Model.Others {
		if other := &s.c.Model.Others[i]; other.Process == nil {
			others = append(others, other.Text)
		}
	}
	for i := range s.c.Model.Policies {
		policies = append(policies, s.c.Model.Policies[i].Text)
	}
	for i := range s.lines {
		steps = append(steps, record(s.lines[i].all()...))
	}
	add := func(name string, list []document.Value) {
		if len(list) > 0 {
			members = append(members, member(name, document.ArrayValue(list)))
		}
	}
	add("workflows", others)
	add("policies", policies)
	add("steps", steps)
	if given := s.beginning(); len(given) > 0 {
		members = append(members, member("given", record(given...)))
	}
	trial, problems := scenario.ParseTrial(record(members...), len(s.lines))
	if len(problems) > 0 {
		return nil
	}
	before, moments := trial.Play()
	all := [][]string{standing(&before)}
	for m := range moments {
		all = append(all, standing(&m.After))
	}
	return all
}

// standing returns the states of the outermost run: those of its branches where there are
// some.
func standing(at *scenario.Standing) []string {
	run := &at.Places[len(at.Places)-1]
	var states []string
	for _, b := range at.Branches {
		if b.RunID == run.RunID && b.Status == workflow.BranchActive {
			states = append(states, b.State)
		}
	}
	if len(states) == 0 {
		states = []string{run.State.Name}
	}
	return states
}

// source returns a definition in a scenario: by its file, or written out.
func source(file string, v document.Value) string {
	if file != "" {
		return text(file).String()
	}
	return v.String()
}

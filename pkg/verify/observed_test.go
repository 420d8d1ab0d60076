package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// observing draws a workflow whose guards ask for evidence.
func (d drawer) observing() string {
	spec := func() string {
		extra := ""
		for _, option := range []string{`, "after": "edit"`, `, "within": "entry"`, `, "count": 2`, `, "outcome": "failed"`, `, "max_age": "1m"`} {
			if d.IntN(3) == 0 {
				extra += option
			}
		}
		return fmt.Sprintf(`{"tool": "Bash", "command": %q%s}`, d.of("go test", "make lint", "git status"), extra)
	}
	var states []string
	for i := range 4 {
		var on []string
		for j := range 1 + d.IntN(3) {
			to := d.of("s0", "s1", "s2", "s3", "done")
			on = append(on, fmt.Sprintf(`"E%d": %s`, j, d.of(fmt.Sprintf("%q", to), fmt.Sprintf(`{"target": %q, "guard": "one"}`, to),
				fmt.Sprintf(`{"target": %q, "guard": "two"}`, to), fmt.Sprintf(`{"target": %q, "guard": "mixed"}`, to))))
		}
		tools := d.of(`"allowed_tools": ["Read"]`, `"allowed_tools": ["Read", "Edit"]`, `"allowed_tools": ["Bash"], "allowed_commands": ["go test", "git status"]`,
			`"allowed_tools": ["Bash", "Edit"], "allowed_commands": ["make", "go test"]`, `"allowed_tools": ["Bash", "Write"]`)
		states = append(states, fmt.Sprintf(`"s%d": {%s, "on": {%s}}`, i, tools, strings.Join(on, ", ")))
	}
	return fmt.Sprintf(`{"id": "observing", "initial": "s0", "states": {%s, "done": {"type": "final"}}, "evidence": {"a": %s, "b": %s},
		"guards": {"one": {"evidence": "a"}, "two": {"evidence": "b"}, "mixed": %s}, "meta": {"enforcement": "always"}}`,
		strings.Join(states, ", "), spec(), spec(),
		d.of(`{"all": [{"evidence": "a"}, {"evidence": "b"}]}`, `{"any": [{"evidence": "a"}, {"evidence": "b"}]}`, `{"not": {"evidence": "a"}}`))
}

// observer is a real run with what has been observed of it.
type observer struct {
	drawer
	m      *workflow.Machine
	run    workflow.Run
	record evidence.Record
	now    time.Time
}

func (o *observer) standings() evidence.Statuses {
	at := o.run.At("")
	basis := at.EvidenceOf(o.record, o.now)
	return basis.Judge(o.m.Evidence())
}

// call makes a call, and reports it, as the enforcer does.
func (o *observer) call() {
	at := o.run.At("")
	tool, input := "Bash", fmt.Sprintf(`{"command": %q}`, o.of("go test", "go test ./...", "make lint", "make all", "git status", "git status > x"))
	if o.IntN(4) == 0 {
		tool, input = o.of("Edit", "Write"), `{"file_path": "a.txt", "content": "x"}`
	}
	call := toolcall.Call{Tool: tool, Input: []byte(input)}
	if toolcall.Decide(o.m, &at, call).Decision != toolcall.Allow {
		return
	}
	n := toolcall.MeaningOf(o.m, []*workflow.Machine{o.m}, &at, call, "")
	if n.Voids {
		o.record = o.record.Edited(evidence.Edit{At: o.now})
	}
	ok := o.IntN(3) > 0
	specs := o.m.Evidence()
	for i := range specs {
		for _, name := range n.Gives {
			if specs[i].Name == name {
				o.record = o.record.Seen(o.run.ID, &specs[i], evidence.Sighting{At: o.now, CallID: "c", Edits: o.record.Edits, Entry: at.Entry}, specs[i].As(ok, nil))
			}
		}
	}
}

// TestProvedOfEvidence: what is proved of evidence, no real run breaks: neither a state
// that is entered without it, nor a call that is allowed without it.
func TestProvedOfEvidence(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 13)}
	verdicts := map[verify.Verdict]int{}
	broken := 0
	for range randtest.Size(60, 2000) {
		var src string
		for {
			if src = d.observing(); func() bool { _, p := workflow.Parse([]byte(src)); return !p.HasErrors() }() {
				break
			}
		}
		m := model(t, src)
		var all []workflow.Property
		for _, name := range []string{"a", "b"} {
			for _, subject := range []workflow.Subject{{State: "s1"}, {State: "s2"}, {State: "done"}, {Tool: "Edit"}, {Tool: "Bash", Command: "go test"}} {
				all = append(all, workflow.Property{Name: "p", Kind: workflow.Before, Subject: subject, Condition: &workflow.Condition{Evidence: name}})
			}
		}
		results := verify.Check(m, all, verify.Options{MaxStates: 100_000}).Results
		for i := range results {
			verdicts[results[i].Verdict]++
			if c := results[i].Counterexample; c != nil && results[i].Verdict == verify.Refuted && len(c.Scenario) > 0 {
				failsAtTheEnd(t, c)
			}
		}
		for range 8 {
			o := &observer{drawer: d, m: m.Main.Machine, now: noon}
			o.run = o.m.Start(workflow.StartParams{ID: "run_1", Workspace: "/workspace"}, "agent", noon).Run
			for range 30 {
				o.now = o.now.Add(time.Duration(1+d.IntN(40)) * time.Second)
				held := o.standings()
				at := o.run.At("")
				for i := range all {
					s, name := &all[i].Subject, all[i].Condition.Evidence
					input := `{"file_path": "a.txt", "old_string": "a", "new_string": "b"}`
					if s.Command != "" {
						input = `{"command": "go test"}`
					}
					if !s.Calls() || held[name].Held || o.run.Status.Ended() {
						continue
					}
					if toolcall.Decide(o.m, &at, toolcall.Call{Tool: s.Tool, Input: []byte(input)}).Decision == toolcall.Allow {
						broken++
						if results[i].Verdict == verify.Proved {
							t.Fatalf("%+v without %s is proved impossible, and allowed in %s\n%s", *s, name, at.State, src)
						}
					}
				}
				if d.IntN(3) > 0 {
					o.call()
					continue
				}
				legal := o.m.LegalEvents(o.run.State)
				if len(legal) == 0 {
					break
				}
				out := o.m.Step(&o.run, workflow.Fire{Event: legal[d.IntN(len(legal))].Event, Evidence: held, Actor: "agent"}, o.now)
				if !out.Changed {
					continue
				}
				o.run = out.Run
				for i := range all {
					if s := all[i].Subject.State; s == o.run.State && !held[all[i].Condition.Evidence].Held {
						broken++
						if results[i].Verdict == verify.Proved {
							t.Fatalf("%s without %s is proved impossible, and was entered\n%s", s, all[i].Condition.Evidence, src)
						}
					}
				}
			}
		}
	}
	t.Logf("%v; %d times a run broke one", verdicts, broken)
	if verdicts[verify.Proved] < 50 || verdicts[verify.Refuted] < 50 || broken < 100 {
		t.Errorf("the draws are too tame: %v, %d broken", verdicts, broken)
	}
}

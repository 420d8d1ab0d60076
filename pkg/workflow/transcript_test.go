package workflow_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// TestTranscripts replays testdata/transcripts: blocks of an instruction with its input,
// a line of dashes, and the outcome. Read them to see how a machine behaves; `go test
// ./pkg/workflow -run Transcripts -update` rewrites them, and the difference is reviewed.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(src))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(src) {
				t.Errorf("%s does not say what happens:\n%s", file, firstDifference(string(src), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}

// player replays one transcript.
type player struct {
	t        *testing.T
	machine  *workflow.Machine
	children map[string]*workflow.Machine // workflows that can be invoked
	run      workflow.Run
	spawned  []workflow.Run
	clock    time.Time
	// approvals counts those that were asked for.
	approvals int
}

func replay(t *testing.T, src string) string {
	t.Helper()
	p := &player{t: t, children: map[string]*workflow.Machine{}, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(src), "\n\n") {
		if strings.HasPrefix(block, "#") {
			out.WriteString(block + "\n\n")
			continue
		}
		input, _, found := strings.Cut(block, "\n----\n")
		if !found {
			input = strings.TrimSuffix(block, "\n----")
		}
		out.WriteString(input + "\n----\n" + p.play(input) + "\n\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// play follows one instruction. "in <branch>" before it says which branch it is
// meant for.
func (p *player) play(input string) string {
	p.clock = p.clock.Add(time.Second)
	line, rest, _ := strings.Cut(input, "\n")
	branch := ""
	if named, found := strings.CutPrefix(line, "in "); found {
		branch, line, _ = strings.Cut(named, " ")
	}
	verb, argument, _ := strings.Cut(line, " ")
	argument, data, _ := strings.Cut(argument, "{")
	argument = strings.TrimSpace(argument)
	if data != "" {
		data = "{" + data
	}
	switch verb {
	case "workflow":
		p.machine = machine(p.t, rest)
		return fmt.Sprintf("%s version %d", p.machine.Name(), p.machine.Version())
	case "child":
		m := machine(p.t, rest)
		p.children[m.Name()] = m
		return fmt.Sprintf("%s version %d", m.Name(), m.Version())
	case "start":
		out := p.machine.Start(workflow.StartParams{
			ID: "run_1", SessionID: "ses_1", Owner: "agent", Context: value(p.t, data),
		}, "agent", p.clock)
		p.run, p.spawned, p.approvals = out.Run, nil, 0
		return describe(&workflow.Run{}, &out)
	case "look":
		return look(p.run.At(branch))
	default:
		cmd := p.command(verb, argument, branch, value(p.t, data))
		out := p.machine.Step(&p.run, cmd, p.clock)
		before := p.run
		p.run = out.Run
		if out.Entry.Type == workflow.EventParked {
			p.approvals++
		}
		if out.Spawned != nil {
			p.spawned = append(p.spawned, out.Spawned.Run)
		}
		return describe(&before, &out)
	}
}

func (p *player) command(verb, argument, branch string, data document.Value) workflow.Command {
	first, others, _ := strings.Cut(argument, " ")
	switch verb {
	case "fire", "ask": // ask: with the id of an approval, in case that it needs one
		fire := workflow.Fire{Event: argument, Data: data, Branch: branch, Actor: "agent"}
		at := p.run.At(branch)
		if name := p.machine.State(at.State).Invokes(argument); name != "" {
			fire.Child, fire.ChildID = p.children[name], fmt.Sprintf("run_%d", len(p.spawned)+2)
		}
		if verb == "ask" {
			fire.ApprovalID = fmt.Sprintf("apr_%d", p.approvals+1)
		}
		return fire
	case "grant":
		return workflow.Grant{ApprovalID: first, Data: data, Note: others, Actor: "alice"}
	case "reject":
		return workflow.Reject{ApprovalID: first, Note: others, Actor: "alice"}
	case "expire":
		return workflow.Reject{ApprovalID: first, Outcome: workflow.ApprovalExpired, Actor: "approval"}
	case "withdraw":
		return workflow.Reject{ApprovalID: first, Outcome: workflow.ApprovalCancelled, Note: others, Actor: "agent"}
	case "divert":
		return workflow.Divert{Interrupt: first, Files: strings.Fields(others), Branch: branch, Actor: "engine"}
	case "bind":
		return workflow.Bind{Branch: first, SessionID: others, Actor: "agent"}
	case "ended":
		child := workflow.Run{ID: first}
		for _, s := range p.spawned {
			if s.ID == first {
				child = s
			}
		}
		child.Status, child.Context = workflow.Status(others), data
		return workflow.ChildEnded{Child: child, Actor: "engine"}
	case "force":
		return workflow.Force{State: argument, Context: data, Branch: branch, Actor: "olga"}
	case "agent-force":
		return workflow.Force{State: argument, Context: data, Branch: branch, Actor: "agent", Agent: true}
	case "pause":
		return workflow.Pause{Reason: argument, Actor: "agent"}
	case "hold":
		return workflow.Pause{Reason: argument, Hold: workflow.HoldOperator, Actor: "olga"}
	case "leave": // the session has ended
		return workflow.Pause{Reason: argument, Hold: workflow.HoldSessionEnd, Actor: "interlock"}
	case "resume":
		return workflow.Resume{Actor: "agent"}
	case "lift":
		return workflow.Resume{Lifts: []workflow.HoldCause{workflow.HoldOperator, workflow.HoldSessionEnd}, Actor: "olga"}
	case "return": // the session is resumed
		return workflow.Resume{Lifts: []workflow.HoldCause{workflow.HoldSessionEnd}, Actor: "interlock"}
	case "cancel":
		return workflow.Cancel{Reason: argument, Actor: "agent"}
	default:
		p.t.Fatalf("no instruction %q", verb)
		return nil
	}
}

// describe writes a result in a few lines.
func describe(before *workflow.Run, out *workflow.Result) string {
	var lines []string
	if r := out.Rejection; r != nil {
		lines = append(lines, string(r.Code)+" "+r.Message)
	}
	if out.Note != "" {
		lines = append(lines, "nothing to do: "+out.Note)
	}
	if out.Changed {
		lines = append(lines, describeEntry(&out.Entry, &out.Run)...)
		if before.Fork != nil || out.Run.Fork != nil {
			lines = append(lines, fmt.Sprintf("entries left: %v", workflow.EntriesLeft(before, &out.Run)))
		}
		lines = append(lines, describeWork(&out.Run.Lane, out.Run.Holds)...)
	}
	if s := out.Spawned; s != nil {
		lines = append(lines, fmt.Sprintf("spawns %s of %s in %s for %s at depth %d, context %s",
			s.Run.ID, s.Run.Workflow, s.Run.State, s.Run.SessionID, s.Run.Depth(), s.Run.Context))
	}
	for i := range out.Events {
		lines = append(lines, "announces "+describeEvent(&out.Events[i]))
	}
	return strings.Join(lines, "\n")
}

// describeEntry writes the history's record of a change.
func describeEntry(e *workflow.HistoryEntry, run *workflow.Run) []string {
	line := e.Type + " " + e.Event
	if e.Branch != "" {
		line += " in " + e.Branch
	}
	line += fmt.Sprintf(": %s -> %s, %s, version %d, entry %d, transitions %d",
		e.From, e.To, e.Status, e.RunVersion, run.Entry, run.TransitionCount)
	if e.SafeNext {
		line += ", safe_next"
	}
	lines := []string{line, "context " + run.Context.String()}
	for _, g := range e.Guards {
		lines = append(lines, g.String())
	}
	for key, text := range map[string]string{
		"rationale": e.Rationale, "reason": e.Reason, "interrupt": e.Interrupt, "files": strings.Join(e.Files, " "),
		"child run": e.ChildRunID, "session": e.SessionID, "approval": e.ApprovalID,
	} {
		if text != "" {
			lines = append(lines, key+" "+text)
		}
	}
	slices.Sort(lines[2+len(e.Guards):])
	for i := range e.Joins {
		lines = append(lines, "joined "+describeJoin(&e.Joins[i]))
	}
	return lines
}

func describeJoin(j *workflow.Join) string {
	line := fmt.Sprintf("%s -> %s, succeeded %t:", j.Event, j.To, j.Succeeded)
	for _, b := range j.Branches {
		line += fmt.Sprintf(" %s %s", b.Name, b.Status)
	}
	if len(j.Conflicts) > 0 {
		line += ", conflicts " + strings.Join(j.Conflicts, " ")
	}
	return line
}

// describeWork writes the work of a run in addition to being in its state.
func describeWork(run *workflow.Lane, holds []workflow.Hold) []string {
	var lines []string
	for _, h := range holds {
		lines = append(lines, fmt.Sprintf("held for %s by %s since %s: %s", h.Cause, h.By, h.Since.Format(time.TimeOnly), h.Reason))
	}
	if run.Interrupt != nil {
		lines = append(lines, fmt.Sprintf("handling %s, to return to %s", run.Interrupt.Name, run.Interrupt.ReturnTo))
	}
	if run.Child != nil {
		lines = append(lines, fmt.Sprintf("waiting for %s of %s by %s", run.Child.RunID, run.Child.Workflow, run.Child.Event))
	}
	if run.Approval != nil {
		lines = append(lines, describeApproval(run.Approval))
	}
	return append(lines, describeFork("", run.Fork)...)
}

// describeApproval writes the question to humans, and its outcome.
func describeApproval(a *workflow.Approval) string {
	line := fmt.Sprintf("%s asks for %s -> %s", a.ID, a.Event, a.To)
	if !a.Data.IsZero() {
		line += " with " + a.Data.String()
	}
	if a.Message != "" {
		line += ": " + a.Message
	}
	if a.Pending() {
		return line
	}
	line += ", " + string(a.Outcome) + " by " + a.DecidedBy
	if a.Note != "" {
		line += ": " + a.Note
	}
	return line
}

// describeFork writes branches; * marks the one of unbound callers.
func describeFork(indent string, f *workflow.ForkProgress) []string {
	if f == nil {
		return nil
	}
	var lines []string
	for i := range f.Branches {
		b := &f.Branches[i]
		mark := "-"
		if b.Name == f.Current {
			mark = "*"
		}
		line := fmt.Sprintf("%s%s %s %s in %s, entry %d, context %s", indent, mark, b.Name, b.Status, b.State, b.Entry, b.Context)
		if b.SessionID != "" {
			line += ", for " + b.SessionID
		}
		if b.Interrupt != nil {
			line += fmt.Sprintf(", handling %s, to return to %s", b.Interrupt.Name, b.Interrupt.ReturnTo)
		}
		if b.Child != nil {
			line += fmt.Sprintf(", waiting for %s of %s by %s", b.Child.RunID, b.Child.Workflow, b.Child.Event)
		}
		if b.Approval != nil {
			line += ", " + describeApproval(b.Approval)
		}
		lines = append(append(lines, line), describeFork(indent+"  ", b.Fork)...)
	}
	return lines
}

func describeEvent(ev *workflow.Event) string {
	line := ev.Type
	for _, word := range []string{
		strings.Join(ev.Guards, ", "), ev.Interrupt, ev.ChildRunID, ev.ChildWorkflow, string(ev.ChildStatus),
		strings.Join(ev.Branches, ", "), string(ev.BranchStatus), ev.SessionID, ev.ApprovalID,
	} {
		if word != "" {
			line += " " + word
		}
	}
	if ev.Branch != "" {
		line += " in " + ev.Branch
	}
	if ev.Join != nil {
		line += " " + describeJoin(ev.Join)
	}
	if ev.Message != "" {
		line += ": " + ev.Message
	}
	if ev.Reason != "" {
		line += ", for " + ev.Reason
	}
	return line
}

// look writes a run as it stands for one caller.
func look(at workflow.View) string {
	line := fmt.Sprintf("%s in %q, branch %q, entry %d, context %s", at.Status, at.State, at.Branch, at.Entry, at.Context)
	if at.Over {
		line += ", over"
	}
	return strings.Join(append([]string{line}, describeWork(at.Lane, at.Holds)...), "\n")
}

// machine compiles a definition that has no errors.
func machine(t testing.TB, src string) *workflow.Machine {
	t.Helper()
	def, problems := workflow.Parse([]byte(src))
	if problems.HasErrors() {
		t.Fatalf("definition is not valid: %v", problems)
	}
	return workflow.Compile(def, 1)
}

// value parses JSON; nothing is Missing.
func value(t testing.TB, src string) document.Value {
	t.Helper()
	if src == "" {
		return document.Value{}
	}
	v, problem := document.Parse([]byte(src), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", src, problem)
	}
	return v
}

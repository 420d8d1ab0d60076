package workflow_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// TestTranscripts replays testdata/transcripts: blocks of an instruction with
// its input, a line of dashes, and what came of it. Read them to see how a
// machine behaves; `go test ./pkg/workflow -run Transcripts -update` rewrites
// them, and the difference is reviewed.
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
	t       *testing.T
	machine *workflow.Machine
	run     workflow.Run
	clock   time.Time
}

func replay(t *testing.T, src string) string {
	t.Helper()
	p := &player{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
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

func (p *player) play(input string) string {
	p.clock = p.clock.Add(time.Second)
	line, rest, _ := strings.Cut(input, "\n")
	verb, argument, _ := strings.Cut(line, " ")
	switch verb {
	case "workflow":
		p.machine = machine(p.t, rest)
		return fmt.Sprintf("%s version %d", p.machine.Name(), p.machine.Version())
	case "start":
		out := p.machine.Start(workflow.StartParams{ID: "run_1", Owner: "agent", Context: value(p.t, argument)}, "agent", p.clock)
		p.run = out.Run
		return describe(&out)
	case "fire":
		event, data, _ := strings.Cut(argument, " {")
		if data != "" {
			data = "{" + data
		}
		return p.step(workflow.Fire{Event: event, Data: value(p.t, data), Actor: "agent"})
	case "pause":
		return p.step(workflow.Pause{Reason: argument, Actor: "agent"})
	case "hold":
		return p.step(workflow.Pause{Reason: argument, Operator: true, Actor: "olga"})
	case "resume":
		return p.step(workflow.Resume{Actor: "agent"})
	case "cancel":
		return p.step(workflow.Cancel{Reason: argument, Actor: "agent"})
	default:
		p.t.Fatalf("no instruction %q", verb)
		return ""
	}
}

func (p *player) step(cmd workflow.Command) string {
	out := p.machine.Step(p.run, cmd, p.clock)
	p.run = out.Run
	return describe(&out)
}

// describe writes a result in a few lines.
func describe(out *workflow.Result) string {
	var lines []string
	if r := out.Rejection; r != nil {
		lines = append(lines, string(r.Code)+" "+r.Message)
	}
	if out.Changed {
		e := out.Entry
		line := fmt.Sprintf("%s %s: %s -> %s, %s, version %d, entry %d, transitions %d",
			e.Type, e.Event, e.From, e.To, e.Status, e.RunVersion, out.Run.Entry, out.Run.TransitionCount)
		if e.SafeNext {
			line += ", safe_next"
		}
		lines = append(lines, line, "context "+out.Run.Context.String())
		for _, g := range e.Guards {
			lines = append(lines, g.String())
		}
		if e.Rationale != "" {
			lines = append(lines, "rationale "+e.Rationale)
		}
		if e.Reason != "" {
			lines = append(lines, "reason "+e.Reason)
		}
	}
	for _, ev := range out.Events {
		line := "announces " + ev.Type
		if len(ev.Guards) > 0 {
			line += " " + strings.Join(ev.Guards, ", ")
		}
		if ev.Message != "" {
			line += ": " + ev.Message
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
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

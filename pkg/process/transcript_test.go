package process_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// TestTranscripts replays testdata/transcripts: blocks of an instruction, a line of
// dashes, and the outcome, as the agent reads it. Read them to see how processes
// behave; `go test ./pkg/process -run Transcripts -update` rewrites them, and the
// difference is reviewed.
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

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// player replays one transcript.
type player struct {
	t       *testing.T
	process *process.Process
	run     workflow.Run
	asked   int
}

func replay(t *testing.T, src string) string {
	t.Helper()
	p := &player{t: t}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(src), "\n\n") {
		if strings.HasPrefix(block, "#") {
			out.WriteString(block + "\n\n")
			continue
		}
		input, _, _ := strings.Cut(block, "\n----")
		out.WriteString(input + "\n----\n" + p.play(input) + "\n\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// play follows one instruction.
func (p *player) play(input string) string {
	line, rest, _ := strings.Cut(input, "\n")
	verb, argument, _ := strings.Cut(line, " ")
	switch verb {
	case "file":
		return p.compile(read(p.t, argument))
	case "process":
		return p.compile([]byte(rest))
	case "start":
		out := p.process.Machine().Start(workflow.StartParams{ID: "run_1", Owner: "ann"}, "agent", noon)
		p.asked = 0
		return p.take("", out)
	case "answer": // ANSWER[: note]
		answer, note, _ := strings.Cut(argument, ": ")
		return p.take(answer, p.step(process.Fire(answer, note, fmt.Sprintf("apr_%d", p.asked+1), "agent")))
	case "grant":
		return p.take("", p.step(workflow.Grant{ApprovalID: p.last(), Note: argument, Actor: "alice"}))
	case "reject":
		return p.take("", p.step(workflow.Reject{ApprovalID: p.last(), Note: argument, Actor: "alice"}))
	case "expire":
		return p.take("", p.step(workflow.Reject{ApprovalID: p.last(), Outcome: workflow.ApprovalExpired, Actor: "approval"}))
	case "pause":
		return p.take("", p.step(workflow.Pause{Actor: "agent"}))
	case "resume":
		return p.take("", p.step(workflow.Resume{Actor: "agent"}))
	default:
		p.t.Fatalf("no instruction %q", verb)
		return ""
	}
}

func (p *player) compile(src []byte) string {
	def, problems := process.Parse(src)
	if def == nil {
		p.t.Fatal(problems)
	}
	p.process = process.Compile(def, 1)
	return fmt.Sprintf("%s version %d, tools %v", p.process.Name(), p.process.Machine().Version(), p.process.Tools())
}

func (p *player) last() string { return fmt.Sprintf("apr_%d", p.asked) }

func (p *player) step(cmd workflow.Command) workflow.Result {
	return p.process.Machine().Step(&p.run, cmd, noon)
}

// take continues with a result, and writes it: the events, the history,
// and the agent's text.
func (p *player) take(answer string, out workflow.Result) string {
	p.run = out.Run
	if r := out.Rejection; r != nil {
		return fmt.Sprintf("%s\n%s", r.Code, p.process.Explain(answer, r))
	}
	e := &out.Entry
	if e.Type == workflow.EventParked {
		p.asked++
	}
	line := fmt.Sprintf("%s, %s: %s -> %s", p.run.Status, e.Type, e.From, e.To)
	if e.Rationale != "" {
		line += ", rationale " + e.Rationale
	}
	lines := []string{line}
	var events []string
	for i := range out.Events {
		events = append(events, out.Events[i].Type)
	}
	lines = append(lines, "announces "+strings.Join(events, ", "))
	if e.Type == workflow.EventParked {
		lines = append(lines, "asks: "+e.Reason)
	}
	return strings.Join(append(lines, "> "+strings.ReplaceAll(p.process.Turn(new(p.run.At(""))).String(), "\n", "\n> ")), "\n")
}

// read reads a file of testdata.
func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

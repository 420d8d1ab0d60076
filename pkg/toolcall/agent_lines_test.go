package toolcall_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// agentLines are lines to measure: of the file of JSON lines {"line": ...}, gzipped,
// that AGENT_LINES names, or those of the manual that are allowed.
func agentLines(t *testing.T) (lines []string) {
	t.Helper()
	name := os.Getenv("AGENT_LINES")
	if name == "" {
		for _, c := range commandCases(t) {
			if c.allow && c.state == `{"allowed_tools": ["Read", "Bash"]}` && c.meta == "{}" {
				lines = append(lines, c.line)
			}
		}
		return lines
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	read := bufio.NewScanner(z)
	read.Buffer(nil, 1<<22)
	for read.Scan() {
		var c struct{ Line string }
		if err := json.Unmarshal(read.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, c.Line)
	}
	return lines
}

// TestAgentLines: of the lines that agents run, at most 0.3 % are denied only
// because a program is not known, and with a jail (S20.3) none. It logs them, and how long a judgement takes.
func TestAgentLines(t *testing.T) {
	m, run := inState(t, `{"allowed_tools": ["Read", "Bash"]}`, `{}`)
	lines := agentLines(t)
	var took []time.Duration
	denied, jailed := map[toolcall.Code]int{}, map[toolcall.Code]int{}
	for _, line := range lines {
		input := bash(line)
		start := time.Now()
		v := decide(m, run, "Bash", input)
		took = append(took, time.Since(start))
		denied[v.Code]++
		held := decideIn(m, run, line, jail.Full)
		jailed[held.Code]++
		if held.Code == toolcall.CodeCommandUnknown || held.Code == toolcall.CodeCommandUnparsable || held.Decision == toolcall.Allow && held.Jail == nil {
			t.Errorf("with a jail %s %s: %.100q", held.Decision, held.Code, line)
		}
		if v.Code == toolcall.CodeCommandUnknown {
			t.Logf("%s: %.100q", v.Detail[:min(len(v.Detail), 40)], line)
		}
	}
	slices.Sort(took)
	t.Logf("with a jail: %v", jailed)
	t.Logf("%d lines, by code: %v; p50 %s, p99 %s", len(lines), denied, took[len(took)/2], took[len(took)*99/100])
	if unknown := denied[toolcall.CodeCommandUnknown]; len(lines) < 30 || unknown*1000 > 3*len(lines) {
		t.Errorf("%d of %d lines are denied only because a program is not known", unknown, len(lines))
	}
}

package rules_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

var update = flag.Bool("update", false, "write what the explanations really are")

const explanations = "testdata/explain.txt"

// TestExplain replays testdata/explain.txt: policies and calls, a line of dashes, and the
// text for the agent. `go test ./pkg/rules -run Explain -update` rewrites it, and the
// difference is reviewed.
//
//	policy VERSION JSON    judges by this one too
//	call TOOL FIELD=VALUE  asks, and says what each policy answers
//	full N VALUE           the account of spend N of the answer holds this already
//	message                says what the agent is told of all of them together
func TestExplain(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(explanations)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(string(src)), "\n\n") {
		if strings.HasPrefix(block, "#") {
			out.WriteString(block + "\n\n")
			continue
		}
		input, _, _ := strings.Cut(block, "\n----")
		out.WriteString(input + "\n----\n")
		b := &explained{t: t, out: &out}
		for line := range strings.SplitSeq(input, "\n") {
			b.play(line)
		}
		out.WriteString("\n")
	}
	got := strings.TrimSpace(out.String()) + "\n"
	if *update {
		if err := os.WriteFile(explanations, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(src), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d is not what is said:\n%s", i+1, line)
		}
	}
}

// explained is one block.
type explained struct {
	t        *testing.T
	out      *strings.Builder
	sets     []*rules.Set
	combined rules.Combined
}

func (b *explained) play(line string) {
	words := strings.SplitN(line, " ", 3)
	switch words[0] {
	case "policy":
		version, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			b.t.Fatal(err)
		}
		b.sets = append(b.sets, rules.Compile(parse(b.t, words[2]), version))
	case "broken":
		b.sets = append(b.sets, rules.Compile(&rules.Policy{Deny: []rules.Rule{{Capability: "shell"}}}, 1), nil)
	case "call":
		call := rules.Call{Tool: words[1], Session: "s", Principal: "amir", Now: noon}
		if len(words) == 3 {
			b.fields(&call, words[2])
		}
		call.Facts = facet.Of(facet.Subject{Tool: call.Tool, Input: call.Input, SessionDepth: -1})
		var verdicts []rules.Verdict
		for _, set := range b.sets {
			v := set.Decide(call, nil)
			verdicts = append(verdicts, v)
			fmt.Fprintf(b.out, "%s\n", v.Explain())
		}
		b.combined = rules.Combine(toolcall.Verdict{Decision: toolcall.Allow, Tool: call.Tool}, verdicts, nil)
	case "full":
		n, err := strconv.Atoi(words[1])
		if err != nil {
			b.t.Fatal(err)
		}
		value, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			b.t.Fatal(err)
		}
		b.combined = b.combined.Exceeded(n, value, noon.Add(90*time.Second))
		fmt.Fprintf(b.out, "%s %s\n", b.combined.Decision, b.combined.Code)
	case "message":
		fmt.Fprintf(b.out, "%s\n", b.combined.Message())
	default:
		b.t.Fatalf("what is %q?", line)
	}
}

func (b *explained) fields(call *rules.Call, fields string) {
	for field := range strings.SplitSeq(fields, " ") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "approved":
			call.Approved = true
		case "cost":
			micros, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				b.t.Fatal(err)
			}
			call.EstimatedCost = rules.MicroUSD(micros)
		case "input":
			call.Input = []byte(value)
		case "nobody":
			call.Principal, call.Session = "", ""
		default:
			b.t.Fatalf("what is %q?", field)
		}
	}
}

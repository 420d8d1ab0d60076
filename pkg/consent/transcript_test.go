package consent_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// TestTranscripts replays testdata: blocks of instructions, a line of dashes, and
// their outcome. Read them to see how approvals are decided; `go test
// ./pkg/consent -run Transcripts -update` rewrites them, and the difference is
// reviewed.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
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
	t   *testing.T
	at  *consent.Approval
	now time.Time
	out strings.Builder
}

func replay(t *testing.T, src string) string {
	t.Helper()
	p := &player{t: t, now: noon}
	for block := range strings.SplitSeq(strings.TrimSpace(src), "\n\n") {
		if strings.HasPrefix(block, "#") {
			p.out.WriteString(block + "\n\n")
			continue
		}
		input, _, _ := strings.Cut(block, "\n----")
		p.out.WriteString(input + "\n----\n")
		for line := range strings.SplitSeq(input, "\n") {
			p.play(line)
		}
		p.out.WriteString("\n")
	}
	return strings.TrimSuffix(p.out.String(), "\n")
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// play follows one instruction.
func (p *player) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "open":
		p.open(rest)
	case "approve", "reject":
		p.decide(verb == "approve", rest)
	case "advance":
		p.advance(rest)
	case "cancel":
		by, reason, _ := strings.Cut(rest, ": ")
		p.take(p.at.Cancel(by, reason, p.now))
	case "restore":
		back, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.take(p.at.Restore(p.now.Add(-back)))
	case "void":
		p.take(p.at.Void(rest, p.now))
	case "use":
		p.take(p.at.Consume(p.digest(rest), p.now))
	case "look":
		p.printf("%s", p.at.Outcome())
		if diff := p.at.Diff(); diff != nil {
			p.printf("diff %s", diff.AppendJSON(nil))
		}
	default:
		p.t.Fatalf("no instruction %q", line)
	}
}

// digest is that of the bound action, of the one that was asked for, or another.
func (p *player) digest(what string) string {
	switch what {
	case "bound":
		return p.at.Digest
	case "asked":
		return p.at.Action.Digest()
	default:
		return p.at.Action.With(p.value(`{"other": true}`)).Digest()
	}
}

func (p *player) value(text string) document.Value {
	if text == "" {
		return document.Value{}
	}
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		p.t.Fatal(problem)
	}
	return v
}

// open reads "key=value ... {data}"; lists are parted by commas.
func (p *player) open(text string) {
	p.now = noon
	options, data, found := strings.Cut(text, "{")
	if found {
		data = "{" + data
	}
	req := consent.Request{
		ID:     "apr_1",
		Action: consent.Action{Kind: consent.Transition, Subject: p.value(`{"run": "run_1", "event": "SHIP"}`), Data: p.value(data)},
		Asker:  consent.Asker{Principal: "agent-7", SessionID: "ses_child", RootSession: "ses_root"},
	}
	t := &req.Terms
	for field := range strings.FieldsSeq(options) {
		key, value, _ := strings.Cut(field, "=")
		list := strings.Split(value, ",")
		number, _ := strconv.Atoi(value)
		age, _ := time.ParseDuration(value)
		switch key {
		case "editable":
			req.Editable = true
		case "kind":
			req.Action.Kind = consent.Kind(value)
		case "asker":
			req.Asker.Principal = value
		case "required":
			t.Required = number
		case "deny":
			t.DenyThreshold = number
		case "ttl":
			t.TTL = age
		case "after":
			t.Escalation.After = age
		case "roles":
			t.Eligible.Roles = list
		case "names":
			t.Eligible.Names = list
		case "to_roles":
			t.Escalation.To.Roles = list
		case "to_names":
			t.Escalation.To.Names = list
		default:
			p.t.Fatalf("no option %q", field)
		}
	}
	out, err := consent.Open(req, p.now)
	if err != nil {
		p.printf("error: %v", err)
		return
	}
	p.take(out)
}

// decide reads "NAME[/ROLE][/SESSION[/ROOT]] [seen bound|asked|other] [{data}] [-- note]".
func (p *player) decide(approve bool, text string) {
	text, note, _ := strings.Cut(text, " -- ")
	text, data, found := strings.Cut(text, "{")
	d := consent.Decision{Approve: approve, Note: note}
	if found {
		d.Data = p.value("{" + data)
	}
	who, seen, _ := strings.Cut(strings.TrimSpace(text), " seen ")
	if seen != "" {
		d.Digest = p.digest(seen)
	}
	parts := append(strings.Split(who, "/"), "", "", "")
	by := consent.Approver{Name: parts[0], Role: parts[1], SessionID: parts[2], RootSession: parts[3]}
	if by.Role == "" {
		by.Role = consent.RoleApprover
	}
	p.take(p.at.Decide(by, d, p.now))
}

// advance lets time pass, and makes due changes on the way.
func (p *player) advance(text string) {
	by, err := time.ParseDuration(strings.TrimSuffix(text, " unnoticed"))
	if err != nil {
		p.t.Fatal(err)
	}
	end := p.now.Add(by)
	if !strings.HasSuffix(text, " unnoticed") {
		for due := p.at.NextDue(); !due.IsZero() && !due.After(end); due = p.at.NextDue() {
			p.now = due
			p.take(p.at.Tick(p.now))
		}
	}
	p.now = end
}

// take writes a result, and continues with it.
func (p *player) take(out consent.Result) {
	at := ""
	if d := p.now.Sub(noon); d > 0 {
		at = "+" + d.String() + " "
	}
	switch {
	case out.Refusal != nil:
		p.printf("%s%s %s", at, out.Refusal.Code, out.Refusal.Message)
	case !out.Changed:
		p.printf("%snothing to do", at)
	default:
		p.at = out.Approval
		p.printf("%s%s", at, out.Approval.Status)
	}
	for i := range out.Events {
		p.printf("  %s", describe(&out.Events[i]))
	}
}

func describe(e *consent.Event) string {
	text := e.Type
	if v := e.Vote; v != nil {
		text += fmt.Sprintf(" approve=%t by %s", v.Approve, v.Name)
	}
	if who := e.Eligible.String(); who != "" {
		text += " of " + who
	}
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

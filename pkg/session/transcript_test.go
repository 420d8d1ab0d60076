package session_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/session"
)

var update = flag.Bool("update", false, "write what the transcripts really say")

// TestTranscripts replays testdata: blocks of instructions, a line of dashes, and
// their outcome. Read them to see how a tree of sessions behaves; `go test
// ./pkg/session -run Transcripts -update` rewrites them, and the difference is
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

// player replays one transcript.
type player struct {
	t    *testing.T
	tree *tree
	out  strings.Builder
}

func replay(t *testing.T, src string) string {
	t.Helper()
	p := &player{t: t}
	p.begin()
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

func (p *player) begin() {
	p.tree = newTree(p.t.Fatalf)
	p.tree.observer = p.describe
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// play follows one instruction: a verb, mostly a session's name, and the rest.
func (p *player) play(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "new": // another tree
		p.begin()
		p.setup(rest)
		return
	case "delete": // the state
		p.tree.deleted = true
		return
	case "advance":
		by, err := time.ParseDuration(rest)
		if err != nil {
			p.t.Fatal(err)
		}
		p.tree.advance(by)
		return
	}
	name, rest, _ := strings.Cut(rest, " ")
	switch verb {
	case "open":
		p.open(name, rest)
	case "create":
		p.tree.create(name)
	case "update":
		p.tree.update(name)
	case "stop":
		how, reason, _ := strings.Cut(rest, ": ")
		how, by, _ := strings.Cut(how, " by ")
		p.tree.stop(name, session.Stop{InPlace: how == "in place", End: how == "end", Error: reason, By: author(by)})
		if asked := p.tree.stored[name].Asked(); asked > 0 {
			p.printf("  asked in place, prompt %d", asked)
		}
	case "resume":
		p.tree.resume(name, rest)
	case "claim":
		p.tree.claim(name, "runner")
	case "extend":
		p.tree.extend(name, p.token(name, rest))
	case "ack":
		p.tree.ack(name, p.token(name, rest))
	case "fail":
		how, reason, _ := strings.Cut(rest, ": ")
		token, retry := strings.CutPrefix(how, "retry")
		p.tree.fail(name, p.token(name, strings.TrimSpace(token)), reason, retry)
	case "look":
		p.printf("%s %s", name, describe(p.tree.stored[name]))
	default:
		p.t.Fatalf("no instruction %q", line)
	}
}

// author is an operator, or the agent of a session.
func author(name string) *authority.Author {
	switch name {
	case "":
		return nil
	case "operator":
		return &authority.Author{Role: authority.Operator, Name: "olga"}
	default:
		return &authority.Author{Role: authority.Agent, Name: "amir", SessionID: "ses_" + name}
	}
}

// setup reads the configuration of a tree; missing values have the default.
func (p *player) setup(text string) {
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		number, err := strconv.Atoi(value)
		if err != nil {
			p.t.Fatal(err)
		}
		switch key {
		case "attempts":
			p.tree.config.MaxAttempts = number
		case "deliveries":
			p.tree.config.MaxDeliveries = number
		default:
			p.t.Fatalf("no setting %q", field)
		}
	}
}

// open reads "[under PARENT] [skip] [early] [prompt TEXT]".
func (p *player) open(name, rest string) {
	options, prompt, _ := strings.Cut(rest, "prompt ")
	words := strings.Fields(options)
	parent := ""
	if len(words) > 1 && words[0] == "under" {
		parent = words[1]
	}
	err := p.tree.open(session.Spec{
		Name: name, Prompt: prompt, Owner: "ann", Skip: slices.Contains(words, "skip"), AcceptEarly: slices.Contains(words, "early"),
	}, parent)
	if err != nil {
		p.printf("error: %v", err)
	}
}

// token is the one given, or else the one held now.
func (p *player) token(name, text string) int64 {
	if text == "" {
		return p.tree.stored[name].ClaimToken
	}
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// describe writes one change: the session as it is then, and the events.
func (p *player) describe(ch change) {
	at := ""
	if d := p.tree.now.Sub(noon); d > 0 {
		at = "+" + d.String() + " "
	}
	if !ch.result.Changed {
		p.printf("%s%s: nothing to do", at, ch.name)
		return
	}
	p.printf("%s%s %s", at, ch.name, describe(ch.after))
	for i := range ch.result.Events {
		p.printf("  %s", describeEvent(&ch.result.Events[i]))
	}
}

func describe(s *session.Session) string {
	words := []string{string(s.Status), string(s.Update)}
	say := func(when bool, format string, args ...any) {
		if when {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	say(s.Attempts > 0, "attempts %d", s.Attempts)
	say(s.InPlace && s.Update == session.UpdatePending, "in place")
	say(s.UpdatedEarly, "updated early")
	say(s.OpenChildren > 0, "open children %d", s.OpenChildren)
	say(s.Prompt != "", "prompt %q", s.Prompt)
	say(s.NextPrompt != "", "then %q", s.NextPrompt)
	say(len(s.Callbacks) > 0, "%d waiting", len(s.Callbacks))
	say(s.Cleanup, "to be cleaned")
	say(s.Error != "", "error %q", s.Error)
	if t := s.Task; t != nil {
		say(true, "%s", describeTask(t))
		switch {
		case t.Claimed():
			say(true, "until %s", t.Expires.Sub(noon))
		case !t.Ready:
			say(true, "due %s", t.Due.Sub(noon))
		}
		say(!t.Deadline.IsZero(), "deadline %s", t.Deadline.Sub(noon))
		say(t.Stopped, "agent has stopped")
		say(t.Failures > 0, "failures %d", t.Failures)
	}
	return strings.Join(words, ", ")
}

func describeTask(t *session.Task) string {
	text := t.ID + " " + string(t.Kind)
	if t.Attempt > 0 {
		text += fmt.Sprintf(" attempt %d", t.Attempt)
	}
	if t.Claimed() {
		text += fmt.Sprintf(" token %d", t.Token)
	}
	for _, cb := range t.Callbacks {
		text += " " + cb.ID
	}
	return text
}

func describeEvent(ev *session.Event) string {
	switch {
	case ev.Task != nil:
		text := ev.Type + " " + describeTask(ev.Task)
		if ev.Type == session.TaskFailed {
			text += ": " + ev.Task.Error
		}
		return text
	case ev.Callback != nil:
		cb := ev.Callback
		text := fmt.Sprintf("%s %s of %s, %s, version %d", ev.Type, cb.ID, cb.Name, cb.Update, cb.StateVersion)
		if cb.Error != "" {
			text += ": " + cb.Error
		}
		return text
	default:
		return ev.Type
	}
}

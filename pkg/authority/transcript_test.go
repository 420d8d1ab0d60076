package authority_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var update = flag.Bool("update", false, "write the verdicts into the transcripts")

// TestTranscripts replays testdata/*.txt. A line makes the scene:
//
//	run ID [workflow=W] [session=S] [owner=O] [status=S] [parent=ID] [child=ID] [hold=CAUSE,...]
//	       [fork=BRANCH[:SESSION],...] [in=BRANCH:CHILD] [always] [process]
//	bind SESSION RUN|- [BRANCH]        what a session drives
//	ended SESSION ...                  the sessions that have ended, of those
//	above SESSION ...                  the sessions above the caller's own
//	offer WORKFLOW VERSION NEWEST [always] [claims=KEY,...]
//	reset                              an empty scene
//
// and one that begins with > asks for a verdict, which stands indented below it:
//
//	> ROLE[@SESSION[#BRANCH]] OP [run=ID] [session=S] [branch=B]
//
// go test ./pkg/authority -update writes the verdicts; the difference is reviewed.
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
				t.Errorf("%s does not say what is decided; it is\n%s", file, got)
			}
		})
	}
}

func replay(t *testing.T, src string) string {
	t.Helper()
	var out strings.Builder
	s := &stage{}
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		if strings.HasPrefix(line, "  ") {
			continue // a verdict, which is written again
		}
		out.WriteString(line + "\n")
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if words[0] == ">" {
			out.WriteString("  " + s.ask(t, words[1:]) + "\n")
			continue
		}
		s.set(t, words)
	}
	return out.String()
}

// stage is a scene that is being built.
type stage struct{ authority.Scene }

func (s *stage) set(t *testing.T, words []string) {
	t.Helper()
	switch words[0] {
	case "reset":
		*s = stage{}
	case "run":
		s.run(t, words[1], words[2:])
	case "absent":
		s.Absent = append(s.Absent, words[1:]...)
	case "bind":
		b := authority.Binding{Session: words[1]}
		if words[2] != "-" {
			b.RunID = words[2]
		}
		if len(words) > 3 {
			b.Branch = words[3]
		}
		s.Bindings = slices.DeleteFunc(s.Bindings, func(had authority.Binding) bool { return had.Session == b.Session })
		s.Bindings = append(s.Bindings, b)
	case "ended":
		for i := range s.Bindings {
			s.Bindings[i].Ended = slices.Contains(words[1:], s.Bindings[i].Session)
		}
	case "above":
		s.Above, s.AboveKnown = words[1:], true
	case "offer":
		s.offer(t, words[1:])
	default:
		t.Fatalf("no instruction %q", words[0])
	}
}

func (s *stage) offer(t *testing.T, words []string) {
	t.Helper()
	o := &authority.Offer{Workflow: words[0], Enforcement: workflow.WhileRunning}
	var err error
	if o.Version, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		t.Fatal(err)
	}
	if o.Newest, err = strconv.ParseInt(words[2], 10, 64); err != nil {
		t.Fatal(err)
	}
	for _, word := range words[3:] {
		if keys, found := strings.CutPrefix(word, "claims="); found {
			o.Claims = strings.Split(keys, ",")
		}
		if kind := workflow.Enforcement(word); slices.Contains(workflow.Kinds(), kind) {
			o.Enforcement = kind
		}
	}
	s.Offer = o
}

func (s *stage) run(t *testing.T, id string, words []string) {
	t.Helper()
	n := authority.Node{Run: &workflow.Run{ID: id, Workflow: "w", Owner: "amir", Status: workflow.Running, Version: 1}, Enforcement: workflow.WhileRunning}
	run := n.Run
	var inside [][2]string
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "workflow":
			run.Workflow = value
		case "session":
			run.SessionID = value
		case "owner":
			run.Owner = value
		case "status":
			run.Status = workflow.Status(value)
		case "parent":
			parent := s.find(t, value)
			run.Parent = &workflow.Parent{RunID: value, Root: parent.Root(), Depth: 1}
		case "child":
			run.Child = &workflow.Invocation{RunID: value}
			run.Status = workflow.Waiting
		case "hold":
			run.Status = workflow.Held
			for cause := range strings.SplitSeq(value, ",") {
				by := "olga"
				if cause == string(workflow.HoldSessionEnd) {
					by = "interlock"
				}
				run.Holds = append(run.Holds, workflow.Hold{By: by, Cause: workflow.HoldCause(cause)})
			}
		case "fork":
			run.Fork = forkOf(value)
		case "in":
			branch, child, _ := strings.Cut(value, ":")
			inside = append(inside, [2]string{branch, child})
		case string(workflow.Always), string(workflow.UntilSuccess), string(workflow.WhileRunning):
			n.Enforcement = workflow.Enforcement(key)
		case "process":
			n.Process = true
		default:
			t.Fatalf("run %s has no %q", id, key)
		}
	}
	for _, in := range inside {
		i := slices.IndexFunc(run.Fork.Branches, func(b workflow.BranchProgress) bool { return b.Name == in[0] })
		run.Fork.Branches[i].Child = &workflow.Invocation{RunID: in[1]}
	}
	s.Runs = slices.DeleteFunc(s.Runs, func(had authority.Node) bool { return had.Run.ID == id })
	s.Runs = append(s.Runs, n)
}

func (s *stage) find(t *testing.T, id string) *workflow.Run {
	t.Helper()
	for _, n := range s.Runs {
		if n.Run.ID == id {
			return n.Run
		}
	}
	t.Fatalf("no run %q yet", id)
	return nil
}

func forkOf(branches string) *workflow.ForkProgress {
	fork := &workflow.ForkProgress{Event: "SPLIT"}
	for branch := range strings.SplitSeq(branches, ",") {
		name, session, _ := strings.Cut(branch, ":")
		b := workflow.BranchProgress{Name: name, Status: workflow.BranchActive, SessionID: session}
		if fork.Current == "" && session == "" {
			fork.Current = name
		}
		fork.Branches = append(fork.Branches, b)
	}
	return fork
}

// ask is the verdict on one request.
func (s *stage) ask(t *testing.T, words []string) string {
	t.Helper()
	role, token, _ := strings.Cut(words[0], "@")
	session, branch, _ := strings.Cut(token, "#")
	s.Who = authority.Who{Role: authority.Role(role), Name: "amir", Session: session, Branch: branch}
	s.Target = authority.Target{}
	for _, word := range words[2:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "run":
			s.Target.RunID = value
		case "session":
			s.Target.Session = value
		case "branch":
			s.Target.Branch = value
		case "name":
			s.Who.Name = value
		default:
			t.Fatalf("a request has no %q", key)
		}
	}
	verdict, _ := decide(&s.Scene, authority.Op(words[1]))
	return verdict
}

// decide plays a caller of the package, in words; and whether it is allowed.
func decide(s *authority.Scene, op authority.Op) (verdict string, allowed bool) {
	var aim authority.Aim
	var refusal *authority.Refusal
	if op == authority.Start {
		s.Target.Session, refusal = s.Who.StartIn(s.Target.Session)
	} else {
		aim, refusal = s.Aim(op)
	}
	if refusal == nil {
		refusal = s.Permit(op, aim)
	}
	switch {
	case refusal != nil && refusal.Need != nil:
		return fmt.Sprintf("needs %+v", *refusal.Need), false
	case refusal != nil:
		return string(refusal.Code) + ": " + refusal.Message, false
	case op == authority.Start:
		return "allowed", true
	}
	return "allowed on " + described(aim), true
}

func described(aim authority.Aim) string {
	text := aim.At.Run.ID
	if aim.At.Branch != "" {
		text += " in " + aim.At.Branch
	}
	if aim.At.Lost() {
		text += ", which is lost"
	}
	if aim.At.Run != aim.Asked.Run {
		text += ", asked of " + aim.Asked.Run.ID
	}
	return text
}

package main

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 5000).Draw(t, "total")
		limit := rapid.OneOf(rapid.IntRange(0, 6000), rapid.Just(noLimit)).Draw(t, "limit")
		most := rapid.Int32Range(1, 1000).Draw(t, "page")
		next := 0
		got, err := collect(limit, func(n int) int { return n }, func(token string, size int32) ([]int, string, error) {
			if size < 1 || size > 1000 || (token == "") != (next == 0) {
				t.Fatalf("asked for %d after %q", size, token)
			}
			var page []int
			for ; next < total && len(page) < int(min(size, most)); next++ {
				page = append(page, next)
			}
			if next == total {
				return page, "", nil
			}
			return page, "more", nil
		})
		if err != nil || len(got) != min(total, limit) || !slices.IsSorted(got) || got == nil {
			t.Fatalf("%d of %d, limit %d, %v", len(got), total, limit, err)
		}
	})
	broken := errors.New("broken")
	if _, err := collect(noLimit, func(n int) int { return n }, func(string, int32) ([]int, string, error) { return nil, "", broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// forest are the sessions of a tree, whose names are drawn.
func forest(parents map[string]string) []jsonview.Session {
	var all []jsonview.Session
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range parents {
			if !yield(name) {
				return
			}
		}
	}) {
		s := jsonview.SessionOf(&statev1.Session{SessionId: name, Name: name, ParentSessionId: parents[name], Status: statev1.SessionStatus_SESSION_STATUS_RUNNING})
		all = append(all, s)
	}
	return all
}

func drawn(n *sessionNode) string {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	n.draw(w, "", "")
	w.Flush()
	var names []string
	for line := range strings.Lines(out.String()) {
		name, _, _ := strings.Cut(line, "  running")
		names = append(names, strings.TrimRight(name, " "))
	}
	return strings.Join(names, "\n")
}

func TestTree(t *testing.T) {
	t.Parallel()
	all := forest(map[string]string{"a": "", "b": "a", "c": "b", "d": "b", "e": "a", "f": "e", "g\x1b": "f"})
	const want = `a
├─ b
│  ├─ c
│  └─ d
└─ e
   └─ f
      └─ g⟦U+001B⟧`
	if diff := gocmp.Diff(want, drawn(treeOf(all[0], all))); diff != "" {
		t.Error(diff)
	}
	if got := drawn(treeOf(all[1], all)); got != "b\n├─ c\n└─ d" {
		t.Errorf("below b:\n%s", got)
	}
	// Whatever the server says, it ends.
	loop := forest(map[string]string{"a": "b", "b": "a"})
	if got := drawn(treeOf(loop[0], loop)); got != "a\n└─ b\n   └─ a" {
		t.Errorf("a loop:\n%s", got)
	}
}

func TestWaitsFor(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*statev1.Session{
		"":                                {},
		"task_1":                          {TaskId: "task_1"},
		"2 below, to be called back by 1": {OpenChildren: 2, Callbacks: []*statev1.Callback{{}}},
		"task_1, 1 below, to be called back by 2": {TaskId: "task_1", OpenChildren: 1, Callbacks: []*statev1.Callback{{}, {}}},
	} {
		if got := (&sessionNode{Session: jsonview.SessionOf(s)}).waitsFor(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTaskTexts(t *testing.T) {
	t.Parallel()
	at := timestamppb.New(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	for want, task := range map[string]*statev1.Task{
		"start ": {Kind: statev1.TaskKind_TASK_KIND_START, Status: statev1.TaskStatus_TASK_STATUS_READY, DueAt: at, LeaseExpiresAt: at},
		"state_update (attempt 2) 2026-11-21 12:00:00": {Kind: statev1.TaskKind_TASK_KIND_STATE_UPDATE, Attempt: 2, Status: statev1.TaskStatus_TASK_STATUS_DELAYED, DueAt: at},
		"callback 2026-11-21 12:00:00":                 {Kind: statev1.TaskKind_TASK_KIND_CALLBACK, Status: statev1.TaskStatus_TASK_STATUS_LEASED, LeaseExpiresAt: at},
	} {
		view := jsonview.TaskOf(task)
		if got := taskKindText(&view) + " " + untilText(&view); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// tokensAt is a data folder of a server that runs, or not.
func tokensAt(t *testing.T, endpoints datadir.Endpoints) (folder string, tokens map[auth.Role]string) {
	t.Helper()
	dir := datadir.Dir(t.TempDir())
	tokens = auth.Generate()
	if _, err := auth.WriteFile(dir.Tokens(), tokens); err != nil {
		t.Fatal(err)
	}
	if err := dir.WriteEndpoints(endpoints); err != nil {
		t.Fatal(err)
	}
	return string(dir), tokens
}

// Agents have a token of their own or none, and never the runner's.
func TestEnvironOfAgents(t *testing.T) {
	t.Parallel()
	folder, tokens := tokensAt(t, datadir.Endpoints{HTTP: "http://127.0.0.1:1", GRPC: "127.0.0.1:2"})
	secure, _ := tokensAt(t, datadir.Endpoints{HTTP: "https://127.0.0.1:1", GRPC: "127.0.0.1:2", GRPCSocket: "/run/i.sock"})
	operator, agent := tokens[auth.Operator], tokens[auth.Agent]
	for name, tc := range map[string]struct {
		flags runnerCommand
		want  []string
	}{
		"this machine": {
			runnerCommand{clientFlags: clientFlags{Data: folder}},
			[]string{"INTERLOCK_TOKEN=" + agent, "INTERLOCK_SERVER=127.0.0.1:2", "INTERLOCK_HTTP_SERVER=http://127.0.0.1:1"},
		},
		"this machine, with TLS": {
			runnerCommand{clientFlags: clientFlags{Data: secure, Token: operator}, AgentToken: "ilk_a"},
			[]string{"INTERLOCK_TOKEN=ilk_a", "INTERLOCK_SERVER=unix:/run/i.sock", "INTERLOCK_HTTP_SERVER=https://127.0.0.1:1"},
		},
		"this machine, by a token": {
			runnerCommand{clientFlags: clientFlags{Data: folder, Token: operator, Namespace: "team"}},
			[]string{"INTERLOCK_TOKEN=" + agent, "INTERLOCK_SERVER=127.0.0.1:2", "INTERLOCK_HTTP_SERVER=http://127.0.0.1:1", "INTERLOCK_NAMESPACE=team"},
		},
		// The folder's tokens are for another server than that.
		"another machine": {
			runnerCommand{clientFlags: clientFlags{Data: folder, Token: "ilk_far", Server: "https://gateway:7420", CA: "ca.pem", Insecure: true}},
			[]string{"INTERLOCK_SERVER=https://gateway:7420", "INTERLOCK_HTTP_SERVER=https://gateway:7420", "INTERLOCK_CA=ca.pem", "INTERLOCK_INSECURE=true"},
		},
		"another machine, with a token": {
			runnerCommand{clientFlags: clientFlags{Data: folder, Token: "ilk_far", Server: "engine:7421"}, AgentToken: "ilk_b"},
			[]string{"INTERLOCK_TOKEN=ilk_b", "INTERLOCK_SERVER=engine:7421"},
		},
	} {
		token := cmp.Or(tc.flags.Token, operator)
		got, err := tc.flags.environ(t.Context(), []string{"INTERLOCK_TOKEN=" + token, "COPY=" + token})
		if diff := gocmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, flags := range map[string]runnerCommand{
		"its own":                       {clientFlags: clientFlags{Data: folder}, AgentToken: operator},
		"its own, as given":             {clientFlags: clientFlags{Token: "ilk_x", Server: "h:1"}, AgentToken: "ilk_x"},
		"an agent's, by which it works": {clientFlags: clientFlags{Data: folder, Token: agent}},
	} {
		if got, err := flags.environ(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "give --agent-token") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

package session

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	gocmp "github.com/google/go-cmp/cmp"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

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

func drawn(n *node) string {
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
	// It ends for any answer of the server.
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
		if got := (&node{Session: jsonview.SessionOf(s)}).waitsFor(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

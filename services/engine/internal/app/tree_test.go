package app

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const shipped = `{
	"id": "shipped", "initial": "work",
	"states": {"work": {"on": {"SHIP": {"target": "done", "guard": "tested"}, "WAIT": "work"}}, "done": {"type": "final"}},
	"evidence": {"tests": {"tool": "Bash", "command": "go test", "after": "edit"}},
	"guards": {"tested": {"evidence": "tests"}}
}`

// proved is a run whose tests have passed on the files "tree:sha256:a", or on files that are not known; then
// a call that may change files was allowed.
func proved(t *testing.T, a *App, tree string, edited bool) string {
	t.Helper()
	return provedBy(t, a, shipped, tree, edited)
}

// provedBy is proved of another definition.
func provedBy(t *testing.T, a *App, definition, tree string, edited bool) string {
	t.Helper()
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
		t.Fatal(err)
	}
	view, _, err := a.Starts.Start(t.Context(), vouched(operator), Start{Workflow: "shipped", SessionID: "s", Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	id := view.Run.ID
	spec := &view.Machine.Evidence()[0]
	record := evidence.Record{}.Seen(id, spec, evidence.Sighting{At: time.Now(), CallID: "c", Tree: tree}, true)
	if edited {
		record, _ = record.Changes(evidence.OpenCall{ID: "e", RunID: id, Tool: "Edit", At: time.Now()})
	}
	data, err := ledger.EncodeEvidence(&record)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.EvidenceOf(runKey("default", id)), Expect: store.AnyVersion, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func vouched(c ports.Caller) ports.Caller {
	c.Vouched = true
	return c
}

// S14.9: a transition is judged by the files as they are then; where they are not known, by the edits that were seen.
func TestTransitionsSeeTheFiles(t *testing.T) {
	t.Parallel()
	const a, b = "tree:sha256:a", "tree:sha256:b"
	says := func(tree string) ports.Trees {
		return func(context.Context, string, bool) (string, error) { return tree, nil }
	}
	for what, c := range map[string]struct {
		on     string // the files of the evidence
		edited bool   // a call is open that may change files
		trees  ports.Trees
		caller ports.Caller
		tells  string // what the caller says
		ships  bool
	}{
		"the same files":                        {a, false, says(a), agent, "", true},
		"the same files, and an edit is open":   {a, true, says(a), agent, "", true},
		"other files":                           {a, false, says(b), agent, "", false},
		"not known":                             {a, false, nil, agent, "", true},
		"not known, and an edit is open":        {a, true, nil, agent, "", false},
		"an error, and an edit is open":         {a, true, func(context.Context, string, bool) (string, error) { return a, errors.New("it is broken") }, agent, "", false},
		"an agent says so":                      {a, true, nil, agent, a, false},
		"an agent says otherwise than the disk": {a, false, says(b), agent, a, false},
		"an observer says so":                   {a, true, nil, vouched(agent), a, true},
		"an observer sees other files":          {a, false, nil, vouched(agent), b, false},
		"an observer is on another machine":     {a, false, says(b), vouched(agent), a, true},
		"without a tree, edited":                {"", true, says(a), agent, "", false},
		"without a tree":                        {"", false, says(b), agent, "", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			engine := newApp(newStore(t))
			engine.Trees = c.trees
			id := proved(t, engine, c.on, c.edited)
			out, err := engine.Moves.Transition(t.Context(), c.caller, Transition{Target: ports.Target{RunID: id}, Event: "SHIP", Tree: c.tells})
			if err != nil || (out.Rejection == nil) != c.ships {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

// S14.9: where commands may leave programs in the background, all contents are read.
func TestFilesAreReadAnew(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	var reread []bool
	a.Trees = func(_ context.Context, _ string, anew bool) (string, error) {
		reread = append(reread, anew)
		return "tree:sha256:a", nil
	}
	id := provedBy(t, a, strings.Replace(shipped, `"id": "shipped"`, `"id": "shipped", "meta": {"jail": {"background": true}}`, 1), "tree:sha256:a", false)
	if _, err := a.Moves.Transition(t.Context(), operator, Transition{Target: ports.Target{RunID: id}, Event: "SHIP"}); err != nil || len(reread) != 1 || !reread[0] {
		t.Errorf("%v, %v", reread, err)
	}
}

// S14.9: files are read only where a guard depends on them, and once for many reads.
func TestFilesAreReadSparingly(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	var walks atomic.Int64
	var tree atomic.Value
	tree.Store("tree:sha256:a")
	a.Trees = func(_ context.Context, workspace string, reread bool) (string, error) {
		walks.Add(1)
		if reread {
			t.Error("all files are read, and no program can be in the background")
		}
		if workspace != "/w" {
			t.Errorf("asked for %q", workspace)
		}
		return tree.Load().(string), nil
	}
	now := time.Now()
	a.Clock = func() time.Time { return now }
	id := proved(t, a, "tree:sha256:a", false)
	read := func() *View {
		t.Helper()
		v, err := a.Reads.Get(t.Context(), operator, ports.Target{RunID: id}, false)
		if err == nil {
			err = a.Views.See(t.Context(), "default", v)
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if _, err := fire(a, agent, id, "WAIT", "", ""); err != nil || walks.Load() != 0 {
		t.Errorf("an event without a guard: %d walks, %v", walks.Load(), err)
	}
	if _, _, err := a.Reads.List(t.Context(), operator, ListQuery{Limit: 10}); err != nil || walks.Load() != 0 {
		t.Errorf("a list: %d walks, %v", walks.Load(), err)
	}
	for range 3 {
		if s := read().Evidence[0]; !s.Held || s.Tree != "tree:sha256:a" {
			t.Errorf("%+v", s)
		}
	}
	if walks.Load() != 1 {
		t.Errorf("three reads: %d walks", walks.Load())
	}
	tree.Store("tree:sha256:b")
	now = now.Add(treeKept)
	if s := read().Evidence[0]; s.Held || s.Tree != "" || !strings.Contains(s.Missing, "a change of files since") {
		t.Errorf("%+v", s)
	}
	out, err := fire(a, agent, id, "SHIP", "", "")
	if err != nil || out.Rejection == nil || walks.Load() < 3 || !strings.Contains(out.Rejection.Message, "a change of files since") {
		t.Errorf("%d walks, %+v, %v", walks.Load(), out, err)
	}
}

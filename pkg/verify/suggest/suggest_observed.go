package suggest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Observation has the calls of a session that no state judged.
type Observation struct {
	Session string
	Calls   []conform.Traced
}

// The states of the first workflow.
const (
	working = "working"
	done    = "done"
)

// First is the first workflow for observed sessions: one state, with the tools and programs that they used.
type First struct {
	Text document.Value
	// Traces are the sessions as runs of it.
	Traces []*conform.Trace
	// Calls counts the calls in them, and Left those that the workflow denies, by the reason.
	Calls int
	Left  map[toolcall.Code]int
}

// FromObserved makes the first workflow, by the name id. Calls that no list of tools and commands can allow, such as lines whose
// commands cannot be determined, are left out of the traces.
func FromObserved(id string, sessions []Observation) (*First, error) {
	text := firstText(id, sessions)
	m, err := compiled(text, 1)
	if err != nil {
		return nil, fmt.Errorf("a workflow of the observed calls: %w", err)
	}
	f := &First{Text: text, Left: map[toolcall.Code]int{}}
	for _, session := range sessions {
		started := m.Start(workflow.StartParams{ID: session.Session, SessionID: session.Session}, "", time.Unix(0, 0).UTC())
		if started.Rejection != nil {
			return nil, fmt.Errorf("a run of the observed calls: %s", started.Rejection.Message)
		}
		t := &conform.Trace{
			RunID: session.Session, SessionID: session.Session, Version: started.Run.Version,
			Definitions: map[int64]*workflow.Machine{1: m}, History: []workflow.HistoryEntry{started.Entry},
		}
		at := started.Run.At("")
		for i := range session.Calls {
			d := session.Calls[i]
			d.State, d.Branch, d.RunVersion, d.Sequence, d.Code = working, "", started.Run.Version, int64(i+1), ""
			d.Policy = conform.PolicyVersion{}
			if v := toolcall.Decide(m, &at, toolcall.Call{Tool: d.Tool, Input: d.Input, Jail: d.Jail}); v.Decision != toolcall.Allow {
				f.Left[v.Code]++
				continue
			}
			t.Decisions = append(t.Decisions, d)
		}
		f.Calls += len(t.Decisions)
		f.Traces = append(f.Traces, t)
	}
	return f, nil
}

// firstText returns the definition with all tools and programs of the sessions.
func firstText(id string, sessions []Observation) document.Value {
	tools, programs := map[string]bool{}, map[string]bool{}
	for _, session := range sessions {
		for i := range session.Calls {
			d := &session.Calls[i]
			tools[d.Tool] = true
			if !toolcall.Shell(nil, d.Tool) {
				continue
			}
			commands, _ := commandsIn(d)
			for _, c := range commands {
				if words := c.Words[min(c.Assigns, len(c.Words)):]; len(words) > 0 && words[0].Static {
					programs[words[0].Text] = true
				}
			}
		}
	}
	object := func(members ...document.Member) document.Value { return document.ObjectValue(members) }
	member := func(name string, value document.Value) document.Member {
		return document.Member{Name: name, Value: value}
	}
	state := []document.Member{member("allowed_tools", listOf(slices.Sorted(maps.Keys(tools))))}
	if len(programs) > 0 {
		state = append(state, member("allowed_commands", listOf(slices.Sorted(maps.Keys(programs)))))
	}
	state = append(state, member("on", object(member("DONE", document.StringValue(done)))))
	return object(
		member("id", document.StringValue(id)), member("initial", document.StringValue(working)),
		member("states", object(member(working, object(state...)), member(done, object(member("type", document.StringValue("final")))))),
	)
}

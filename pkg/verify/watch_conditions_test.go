package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestWatchConditions: calls that the state's conditions have admitted are counted, and properties with when are held
// against the input of the calls (S21.10, S21.20).
func TestWatchConditions(t *testing.T) {
	t.Parallel()
	const limited = `{id: watched, initial: coding, meta: {enforcement: always}, states: {
		coding: {allowed_tools: [Read], max_iterations: 2, calls: [{tool: Read, only: {"caller.name": [ann]}}], on: {X: done}}, done: {type: final}},
		properties: {no keys: {never: {tool: Read, when: {"/file_path": {like: "*.pem"}}}}}}`
	for name, c := range map[string]struct {
		inputs []string
		masked bool
		wrong  []string
		open   int64
	}{
		"within the limit": {inputs: []string{`{"file_path":"a"}`, `{"file_path":"b"}`}},
		"above the limit":  {inputs: []string{`{"file_path":"a"}`, `{"file_path":"b"}`, `{"file_path":"c"}`}, wrong: []string{"Read c2 is call 3 of this entry"}},
		"a key":            {inputs: []string{`{"file_path":"a.pem"}`}, wrong: []string{"no keys: decision 1: Read c0 was allowed"}},
		"a masked input":   {inputs: []string{`{"file_path":"[masked]"}`}, masked: true, open: 1},
		"no text":          {inputs: []string{`{"file_path":5}`}, open: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model(t, limited)
			s := &recording{T: t, m: m.Main.Machine}
			out := s.m.Start(workflow.StartParams{ID: "run_1", SessionID: "s"}, "agent", noon)
			s.take(&out)
			for i, input := range c.inputs {
				s.call(fmt.Sprint("c", i), "Read", input, 1)
				if c.masked {
					s.seen[len(s.seen)-1].Call.Digest = "of another input"
				}
			}
			watched := conform.Watch(m, []*conform.Trace{{RunID: "run_1", SessionID: "s", Definitions: map[int64]*workflow.Machine{1: s.m}}}, s.seen, s.m.Definition().Properties)
			var wrong []string
			for _, d := range watched.Runs["run_1"].Differences {
				wrong = append(wrong, d.String())
			}
			for i := range watched.Breaches {
				wrong = append(wrong, watched.Breaches[i].String())
			}
			// Each call is open too, because the caller is not in the record.
			if open := int64(watched.Runs["run_1"].Open[conform.OpenInput]) - int64(len(c.inputs)); !slices.EqualFunc(wrong, c.wrong, strings.Contains) || open != c.open {
				t.Errorf("wrong are %q, want %q; %d more are open, want %d", wrong, c.wrong, open, c.open)
			}
		})
	}
}

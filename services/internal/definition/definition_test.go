package definition_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/definition"
)

const (
	flow = `{"id": "flow", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`
	gate = `{"name": "gate", "initial": "a", "initial_prompt": "Begin.", "states": {"a": {"question": "Go?", "answers": {"yes": {"next": null}}}}}`
)

func TestCompile(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]struct {
		name, event string
		process     bool
	}{flow: {"flow", "GO", false}, gate: {"gate", "yes", true}} {
		c, err := definition.Flags{}.Compile([]byte(src), 3)
		if err != nil {
			t.Fatal(err)
		}
		if c.Name() != want.name || c.Version() != 3 || len(c.LegalEvents("a")) != 1 || c.LegalEvents("a")[0].Event != want.event {
			t.Errorf("%s version %d with %v", c.Name(), c.Version(), c.LegalEvents("a"))
		}
		if (c.Process != nil) != want.process {
			t.Errorf("%s is a process: %t", c.Name(), c.Process != nil)
		}
	}
}

// A text that cannot be read is no machine.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"nothing": "", "half": flow[:40], "another thing": `{"role": "agent", "deny": []}`,
		"a workflow that is not valid": strings.Replace(flow, `"z"}`, `"y"}`, 1),
		"a process that is not valid":  strings.Replace(gate, `null`, `"b"`, 1),
	} {
		if c, err := (definition.Flags{}).Compile([]byte(src), 1); err == nil || c.Machine != nil || c.Process != nil {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// A setting selects the safe tools of processes (S7.8).
func TestProcessTools(t *testing.T) {
	t.Parallel()
	src := []byte(strings.Replace(gate, `"states"`, `"allowed_tools": ["notes_read", "memory_read"], "states"`, 1))
	for _, c := range []struct {
		flags definition.Flags
		want  string
	}{{definition.Flags{}, "memory_read"}, {definition.Flags{ProcessTools: []string{"process_step", "notes_*"}}, "notes_read"}} {
		got, err := c.flags.Compile(src, 1)
		if err != nil || len(got.Process.Tools()) != 1 || got.Process.Tools()[0] != c.want {
			t.Errorf("%v: %v, %v", c.flags, got.Process.Tools(), err)
		}
	}
}

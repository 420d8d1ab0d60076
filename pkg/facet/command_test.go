package facet_test

import (
	"encoding/json"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
)

// TestCommands judges lines by a rule that denies rm and one that allows git log.
func TestCommands(t *testing.T) {
	t.Parallel()
	const yes, no, doubt = condition.True, condition.False, condition.Doubt
	for line, want := range map[string]struct{ rm, log condition.Truth }{
		"rm x":                         {yes, no},
		"/bin/rm x":                    {yes, no},
		"X=1 rm x":                     {yes, no},
		"'r''m' x":                     {yes, no},
		"timeout 5 rm x":               {yes, no},
		"git log && rm x":              {yes, no},
		"sh -c 'rm x'":                 {yes, no},
		"git log":                      {no, yes},
		"git log --oneline; git log x": {no, yes},
		"/tmp/git log":                 {no, no},
		"A=1 git log":                  {no, no},
		"PAGER=/tmp/x git log":         {doubt, no},
		"'git log' x":                  {no, no},
		"git logs":                     {no, no},
		"git $X":                       {doubt, doubt},
		"$X log":                       {doubt, doubt},
		"eval \"$X\"":                  {doubt, doubt},
		"git log |":                    {doubt, doubt},
		"":                             {no, doubt},
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
		if got := read(t, `{"command": "rm"}`, condition.Restricts).Judge(facts, condition.Restricts); got != want.rm {
			t.Errorf("%s is rm: %v, want %v (%+v)", line, got, want.rm, facts.Facet(condition.Command))
		}
		if got := read(t, `{"command": "git log"}`, condition.Allows).Judge(facts, condition.Allows); got != want.log {
			t.Errorf("%s is git log: %v, want %v (%+v)", line, got, want.log, facts.Facet(condition.Command))
		}
	}
}

// TestShown judges lines by a rule about what they show: nothing that they hide puts it in doubt (S21.5).
func TestShown(t *testing.T) {
	t.Parallel()
	const yes, no, doubt = condition.True, condition.False, condition.Doubt
	for line, want := range map[string]condition.Truth{
		"npm publish":                      yes,
		"cd a && npm publish --tag next":   yes,
		"sh -c 'npm publish'":              yes,
		"docker run x npm publish":         yes,
		"cat .env":                         yes,
		"tac < deploy/.env":                yes,
		"cat ./.e''nv | head":              yes,
		"F=.env":                           yes,
		"npm test":                         no,
		"wc -l src/*.go":                   no,
		"python3 -c 'print(1)'":            no,
		"python3 - <<'E'\nopen('.env')\nE": no,
		"node -e \"$CODE\"":                no,
		"$X publish":                       no,
		"cat \"$F\"":                       no,
		"npm publish |":                    doubt,
		"":                                 no,
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		facts := facet.Of(facet.Subject{Tool: "Bash", Input: input})
		if got := read(t, `{"command.shown": ["npm publish", "* .env", "*/.env", "*=.env"]}`, condition.Restricts).Judge(facts, condition.Restricts); got != want {
			t.Errorf("%s: %v, want %v (%+v)", line, got, want, facts.Facet(condition.CommandShown))
		}
	}
	for tool, want := range map[string]condition.Truth{"Read": no, "mcp__a__run": doubt} {
		if got := read(t, `{"command.shown": "npm publish"}`, condition.Restricts).Judge(facet.Of(facet.Subject{Tool: tool}), condition.Restricts); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
}

// TestOrigin: facts about the caller are what the subject has, and else in doubt.
func TestOrigin(t *testing.T) {
	t.Parallel()
	known := facet.Of(facet.Subject{Tool: "Read", CallerName: "ann", CallerRole: "agent", SessionDepth: 2, RunState: "edit"})
	for text, want := range map[string]condition.Truth{
		`{"caller.name": "ann"}`: condition.True, `{"caller.role": ["operator"]}`: condition.False,
		`{"session.depth": {"gte": 2}}`: condition.True, `{"session.depth": {"lt": 2}}`: condition.False,
		`{"state": "edit"}`: condition.True, `{"workflow": "x"}`: condition.Doubt, `{"session.root": "x"}`: condition.Doubt,
	} {
		for _, stance := range []condition.Stance{condition.Restricts, condition.Allows} {
			if got := read(t, text, stance).Judge(known, stance); got != want {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
		}
	}
	unknown := facet.Of(facet.Subject{Tool: "Read", SessionDepth: -1})
	if got := read(t, `{"session.depth": 0}`, condition.Restricts).Judge(unknown, condition.Restricts); got != condition.Doubt {
		t.Errorf("a depth that is not known: %v", got)
	}
}

func read(t *testing.T, text string, stance condition.Stance) *condition.Condition {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	var r document.Report
	c := condition.Read(&r, v, nil, condition.Use{Stance: stance})
	if c == nil || r.HasErrors() {
		t.Fatal(text, r.Problems())
	}
	return c
}
